"""Events that recur as a heart does. Arrays only."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mne_otica.signals.low_rate import Prepared, enough, filtered, robust_scale, windows_around
from mne_otica.utils.arrays import Array, Mask, Samples

BAND = (3.0, 35.0)  # Hz; where the QRS complex is
RATES = np.geomspace(35, 210, 20)  # a minute
_FINER = np.linspace(0.93, 1.07, 15)  # of the best of these
_REFRACTORY = 0.27  # s; 220 a minute
_ALIKE = 0.15  # successive intervals of a heart differ by less than this share
_HALF = 0.15  # s on either side of a beat that its shape is taken from
# Least z of a heart: of noise it is below 5, of hearts that an ECG proves at least 10 in 30 s.
HEARTS = 6.0
PROVEN = 30.0  # z of a heart that an ECG shows, however short the recording
CERTAIN = 12.0  # z of a heart that needs no other look
PROMISING = 2.5  # z of a first look that deserves a second
_FEWEST = 5  # beats
_SHORTEST = 5.0  # s; in less, no rhythm can be recognised
_PERIODS = 60 / np.geomspace(38, 200, 26)  # s
_SPREAD = 0.16  # deviation of the log interval whose cost equals the largest gain of a rank
_SKIPPED = 0.5  # cost of a missing beat, in ranks
_RESTART = 3.0  # cost of losing the track and starting again
_REACH = 2.3  # periods back to the previous beat, with one missing


@dataclass(frozen=True)
class Rhythm:
    """Beats, and how much they are those of a heart."""

    peaks: Samples  # of the prepared signals
    z: float = 0.0  # how many successive intervals are alike, in deviations beyond chance
    rate: float = 0.0  # per minute
    flat: float = 0.0  # share of the cycle without events: little in a rhythm of the brain


NO_BEATS = Rhythm(np.array([], dtype=int))


def rhythms(prepared: Prepared) -> list[Rhythm]:
    """Return the most regular events of each signal, of the heart's field or of the pulse."""
    found = [_rhythm(row, prepared) for row in fast_course(prepared)]
    for k, best in enumerate(found):
        if best.z < CERTAIN:  # the pulse is as slow as a blink
            found[k] = max(best, _rhythm(prepared.band[k], prepared), key=lambda one: one.z)
    return found


def fast_course(prepared: Prepared) -> Array:
    """Return the signals in the band of the QRS complex."""
    return filtered(prepared.wide, prepared.sfreq, BAND[0], min(BAND[1], 0.45 * prepared.sfreq))


def one_heart(prepared: Prepared) -> Rhythm:
    """Return the beats that several signals have in common: there is one heart."""
    # The three signals most regular in an excerpt of about 120 beats, which takes a fifth of the
    # time of 10 min, are looked at in all of the recording. Hearts that an ECG proves have a z of
    # 10 in 30 s and more in more time, so hours are searched only for one that the best five
    # minutes show: in more, noise may have a z above `HEARTS`.
    excerpt = prepared.excerpt(120)
    first = rhythms(excerpt)
    some = sorted(range(len(first)), key=lambda k: -first[k].z)[:3]
    some = [k for k in some if len(first[k].peaks)]
    if not some:
        return NO_BEATS
    shorter = prepared.excerpt(300)
    alone = [first[k] for k in some] if excerpt is shorter else rhythms(shorter.pick(some))
    found = _in_common(shorter, alone)
    if shorter is prepared or found.z < HEARTS:
        return found
    return _in_common(prepared, rhythms(prepared.pick(some)))


def _in_common(prepared: Prepared, alone: list[Rhythm]) -> Rhythm:
    """Return the most regular beats, alone or with what all signals do at them as a template."""
    # The peaks of this template are beats that one signal may miss.
    fast = fast_course(prepared)
    scales = np.array([_scale(x, prepared) for x in fast])
    fast /= np.where(scales > 0, scales, np.inf)[:, np.newaxis]
    fast[:, ~prepared.good] = 0.0
    found = [best for own in alone for best in (own, *_joined(fast, own.peaks, prepared))]
    return max(found, key=lambda rhythm: rhythm.z)


def _joined(x: Array, peaks: Samples, prepared: Prepared) -> list[Rhythm]:
    """Return beats found by what all signals do at these: the highest, and those that are due."""
    found = []
    for _ in range(2):
        if len(peaks) < _FEWEST:
            break
        matched = _all_matched(x, peaks, prepared)
        candidates = _candidates(matched, prepared.sfreq)
        if len(candidates) < _FEWEST:
            break
        peaks, z = _most_regular(matched, prepared)
        found.append(_described(matched, peaks, z, prepared))
        path, gain = follow(candidates / prepared.sfreq, matched[candidates])
        due = candidates[path]
        # benchmarks.real, `eegmat_03`: without these beats, its heart is lost.
        if gain >= 9 and len(due) >= _FEWEST:  # a heart that is followed rightly
            z = _beyond_chance(_compared(due, prepared), prepared.duration / len(due))
            found.append(_described(matched, due, z, prepared))
            peaks = due
    return found


def _all_matched(x: Array, peaks: Samples, prepared: Prepared) -> Array:
    """Return all signals as one, filtered for what they do at these peaks beyond chance."""
    n = int(_HALF * prepared.sfreq)
    inside = peaks[(peaks >= n) & (peaks < x.shape[1] - n)]
    total = np.zeros(x.shape[1])
    for row in x:
        windows = windows_around(row, inside, _HALF, prepared.sfreq)
        mean = windows.mean(axis=0)
        error = windows.std(axis=0) / np.sqrt(len(windows))
        # Three standard errors less, so that chance adds nothing to the template
        shape = np.sign(mean) * np.maximum(np.abs(mean) - 3 * error, 0) * np.hanning(mean.size)
        if shape.any():
            total += np.convolve(row, shape[::-1], "same")
    return total / max(_scale(total, prepared), np.finfo(float).tiny)


def _rhythm(x: Array, prepared: Prepared) -> Rhythm:
    scale = _scale(x, prepared)
    if not scale > 0 or prepared.duration < _SHORTEST:
        return NO_BEATS
    x = np.where(prepared.good, x / scale, 0.0)
    # The QRS complex goes one way further than the other.
    low, high = np.quantile(enough(x), (0.005, 0.995))
    x = x if high >= -low else -x
    peaks, z = _most_regular(x, prepared)
    if z < PROMISING:
        return Rhythm(np.array([], dtype=int), z=z)
    matched = x
    # A QRS complex is short; with its T wave, or the swing of an electrode, it is long.
    for half in (_HALF, 2 * _HALF, 2 * _HALF):
        tried = _matched(x, peaks, half, prepared)
        again, better = _most_regular(tried, prepared)
        if better > z:
            matched, peaks, z = tried, again, better
        elif half > _HALF:
            break
    return _described(matched, peaks, z, prepared)


def _scale(x: Array, prepared: Prepared) -> float:
    return robust_scale(prepared.outside_bad(x))


def _candidates(x: Array, sfreq: float) -> Samples:
    """Return the local maxima that are the highest within the refractory time."""
    reach = max(1, int(_REFRACTORY * sfreq))
    padded = np.pad(x, 1, constant_values=-np.inf)
    peaks = np.flatnonzero((x > 0.5) & (x >= padded[:-2]) & (x >= padded[2:]))
    spans = np.c_[np.maximum(peaks - reach, 0), np.minimum(peaks + reach, x.size - 1)]
    # Such a span ends before its last sample, which is looked at by itself.
    highest = np.maximum.reduceat(x, spans.ravel())[::2] if len(peaks) else x[:0]
    return peaks[x[peaks] >= np.maximum(highest, x[spans[:, 1]])]


def _most_regular(x: Array, prepared: Prepared) -> tuple[Samples, float]:
    """Return the highest peaks, as many as are most regular beyond chance, and how much so."""
    peaks = _candidates(x, prepared.sfreq)
    ranks = np.empty(len(peaks), int)
    ranks[np.argsort(-x[peaks])] = np.arange(len(peaks))
    best, best_z, best_rate = peaks[:0], 0.0, RATES[0]
    # Then rates between this one and its neighbours: a beat that is missing costs two intervals.
    for rates in (RATES, _FINER):
        for rate in rates * (1.0 if rates is RATES else best_rate):
            n = int(rate * (prepared.duration / 60))
            if n > len(peaks) or n < _FEWEST:
                continue
            some = peaks[ranks < n]
            z = _beyond_chance(_compared(some, prepared), 60 / rate)
            if z > best_z:
                best, best_z, best_rate = some, z, rate
        if best_z < PROMISING:
            break
    return best, best_z


def _beyond_chance(same: Mask, interval: float) -> float:
    """Return how many intervals are alike, in deviations beyond what random events have."""
    if not len(same):
        return 0.0
    chance = _chance(round(interval, 3))
    share = np.count_nonzero(same) / len(same)
    return float((share - chance) / np.sqrt(chance * (1 - chance) / len(same)))


def _compared(peaks: Samples, prepared: Prepared) -> Mask:
    """Tell which successive intervals are alike, of those that no bad span interrupts."""
    same = alike(np.diff(peaks))
    if prepared.good.all():
        return same
    whole = np.diff(prepared.n_bad[peaks]) == 0
    return same[whole[1:] & whole[:-1]]


def alike(intervals: Array) -> Mask:
    """Tell which successive intervals are alike."""
    a, b = intervals[1:], intervals[:-1]
    return np.abs(a - b) < _ALIKE * np.minimum(a, b)


@lru_cache(maxsize=256)
def _chance(mean_interval: float) -> float:
    """Return how often successive intervals of random events are alike."""
    loose = max(mean_interval - _REFRACTORY, 0.02)
    intervals = _REFRACTORY - loose * np.log1p(-(np.arange(200) + 0.5) / 200)
    a, b = intervals[:, np.newaxis], intervals
    return float((np.abs(a - b) < _ALIKE * np.minimum(a, b)).mean())


def _matched(x: Array, peaks: Samples, half: float, prepared: Prepared) -> Array:
    """Return the signal, filtered for what it does at these peaks."""
    windows = windows_around(x, peaks, half, prepared.sfreq)
    if not len(windows):
        return x
    shape = np.median(windows, axis=0) * np.hanning(windows.shape[1])
    matched = np.convolve(x, shape[::-1], "same")
    return matched / max(_scale(matched, prepared), np.finfo(float).tiny)


def _described(matched: Array, peaks: Samples, z: float, prepared: Prepared) -> Rhythm:
    if len(peaks) < _FEWEST:
        return NO_BEATS
    rate = 60 * prepared.sfreq / np.median(np.diff(peaks))
    return Rhythm(peaks, z, float(rate), _flat(matched, peaks, prepared.sfreq))


def _flat(x: Array, peaks: Samples, sfreq: float) -> float:
    """Return the share of the average cycle that is within a fifth of its height of its middle."""
    cycle = windows_around(x, peaks, 0.45 * np.median(np.diff(peaks)) / sfreq, sfreq)
    if not len(cycle):
        return 0.0
    size = np.abs(cycle.mean(axis=0) - np.median(cycle.mean(axis=0)))
    return float((size < 0.2 * size.max()).mean())


def locking(prepared: Prepared, beats: Samples) -> Array:
    """Return the height of the average at the beats, in deviations of each signal."""
    sfreq = prepared.sfreq
    before, after = int(0.15 * sfreq), int(0.45 * sfreq)
    inside = beats[(beats >= before) & (beats < prepared.good.size - after)]
    if len(inside) < _FEWEST:
        return np.full(len(prepared.wide), np.nan)
    lags, heights = np.arange(-before, after), []
    for row in prepared.wide:
        x = filtered(row, sfreq, 1.0, min(BAND[1], 0.45 * sfreq))
        average = x[inside[:, np.newaxis] + lags].mean(axis=0)
        deviation = max(x[prepared.good].std(), np.finfo(float).tiny)
        heights.append(np.abs(average).max() / deviation)
    return np.array(heights)


def follow(times: Array, heights: Array) -> tuple[Samples, float]:
    """Return the peaks on the path that gains most, in deviations, over permuted heights."""
    ranks = _local_ranks(heights)
    rng = np.random.default_rng(0)
    ranks = np.stack([ranks, *(rng.permutation(ranks) for _ in range(8))])
    gains, before = _paths(times, ranks)
    # A path reaches to the end of the recording.
    end = int(np.searchsorted(times, times[-1] - _REACH * _PERIODS.max()))
    total = gains[end:].max(axis=0)
    beyond = total[:, 0] - total[:, 1:].mean(axis=1)
    rate = int(np.argmax(beyond))
    path = [end + int(np.argmax(gains[end:, rate, 0]))]
    while before[path[-1], rate] >= 0:
        path.append(before[path[-1], rate])
    # Neighbouring rates are similar, so that their standard deviations can be pooled.
    deviation = total[:, 1:].std(axis=1, ddof=1).mean()
    return np.array(path[::-1]), float(beyond[rate] / max(deviation, np.finfo(float).tiny))


def _local_ranks(heights: Array) -> Array:
    """Return the rank of each peak among eight neighbours either side, from -0.5 to 0.5."""
    n = min(8, len(heights) - 1)
    around = np.lib.stride_tricks.sliding_window_view(np.pad(heights, n, "reflect"), 2 * n + 1)
    return (around < heights[:, np.newaxis]).mean(axis=1) + 0.5 / (2 * n + 1) - 0.5


def _paths(times: Array, ranks: Array) -> tuple[Array, Samples]:
    """Return the gain of the best path to each peak, and the previous peak by the first ranks."""
    shape = (len(times), len(_PERIODS), len(ranks))
    gains, before = np.zeros(shape, np.float32), np.full(shape[:2], -1)
    gains[0] = ranks[:, 0]
    first = np.searchsorted(times, times - _REACH * _PERIODS.max())
    first = np.minimum(first, np.maximum(np.arange(len(times)) - 1, 0))  # gaps are crossed
    n_earlier = np.arange(len(times)) - first
    # What does not depend on the paths so far is reckoned for many peaks at once.
    for some in np.array_split(np.arange(1, len(times)), len(times) // 1000 + 1):
        last = np.cumsum(n_earlier[some])
        own = np.repeat(some, n_earlier[some])
        earlier = np.arange(len(own)) - np.repeat(last, n_earlier[some]) + own
        costs = _costs(times[own] - times[earlier])[:, :, np.newaxis]
        for i, end in zip(some, last, strict=True):
            near = gains[first[i] : i] - costs[end - n_earlier[i] : end]
            gains[i] = ranks[:, i] + near.max(axis=0)
            before[i] = near[:, :, 0].argmax(axis=0) + first[i]
    return gains, before


def _costs(intervals: Array) -> Array:
    """Return the cost of intervals at each rate: one beat, two of them, or a restart."""
    share = intervals[:, np.newaxis] / _PERIODS
    off, skipped = (0.5 * (np.log(x) / _SPREAD) ** 2 for x in (share, share / 2))
    return np.minimum(np.minimum(off, skipped + _SKIPPED), _RESTART)
