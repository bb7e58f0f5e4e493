"""Events that recur as a heart does. Arrays only.

A heart is regular, but not a clock: successive intervals are alike, and between two beats there
is nothing of their kind. Which peaks are beats is not known beforehand, so as many of the highest
are tried as hearts of every rate would have, and the number is kept that is most regular
beyond chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mne_otica.artifacts.follow import follow
from mne_otica.signals.low_rate import Prepared, filtered, robust_scale, windows_around

BAND = (3.0, 35.0)  # Hz; where the QRS complex is
RATES = np.geomspace(35, 210, 20)  # a minute
_REFRACTORY = 0.27  # s; 220 a minute
_ALIKE = 0.15  # successive intervals of a heart differ by less than this share
_HALF = 0.15  # s on either side of a beat that its shape is taken from
CERTAIN = 12.0  # z of a heart that needs no other look
PROMISING = 2.5  # z of a first look that deserves a second
_FEWEST = 5  # beats
_STRETCH = 5.0  # s; in each, a heart beats
_SHORTEST = 5.0  # s; below, no rhythm can be told
_MOST_FOLLOWED = 3  # signals, the most regular ones, whose beats are followed one by one
_FOLLOWED = 9.0  # deviations beyond chance of a heart that is followed rightly
_PLAIN = 0.85  # share of intervals that are alike where there is nothing left to follow
_ENOUGH = 16000  # samples that tell the distribution of a signal


@dataclass(frozen=True)
class Rhythm:
    """The beats of one signal, and how much they are those of a heart.

    ``peaks`` are samples of the prepared signal. ``z`` is the number of successive intervals
    that are alike, in standard deviations beyond chance; ``regular`` their share; ``rate``
    per minute; ``height`` the median over beats of the typical shape in robust standard
    deviations; ``isolation`` that over the highest of what is between beats, as a median;
    ``coverage`` the share of the recording with regular beats; ``width`` that of the median
    beat at half height, in seconds; ``consistency`` the median correlation with it; ``followed``
    what following the beats one by one gains, in deviations beyond chance, NaN where others
    are more regular, or where all is plain without.
    """

    peaks: NDArray[np.intp]
    polarity: int = 1
    z: float = 0.0
    regular: float = 0.0
    rate: float = 0.0
    height: float = 0.0
    isolation: float = 1.0
    coverage: float = 0.0
    width: float = np.nan
    consistency: float = np.nan
    followed: float = np.nan


def rhythms(prepared: Prepared) -> list[Rhythm]:
    """Return the most regular events of each signal, of the heart's field or of the pulse."""
    rate = prepared.sfreq
    fast = filtered(prepared.wide, rate, BAND[0], min(BAND[1], 0.45 * rate))
    found, rows = [], []
    # The pulse is as slow as a blink.
    for row, slower in zip(fast, prepared.band, strict=True):
        one = _rhythm(row, prepared)
        if one.z < CERTAIN:
            one, row = max(
                (one, row), (_rhythm(slower, prepared), slower), key=lambda pair: pair[0].z
            )
        found.append(one)
        rows.append(row)
    for k in _to_follow(found):
        found[k] = _followed(rows[k], found[k], prepared)
    return found


def _to_follow(found: list[Rhythm]) -> list[int]:
    """Return which signals may hold a heart whose beats are not the highest of their peaks."""
    order = sorted(range(len(found)), key=lambda k: -found[k].z)
    return [k for k in order[:_MOST_FOLLOWED] if len(found[k].peaks) and found[k].regular < _PLAIN]


def _followed(x: NDArray[np.float64], rhythm: Rhythm, prepared: Prepared) -> Rhythm:
    """Return the rhythm with what following its beats gains, and those beats if it is much."""
    x = np.where(prepared.good, rhythm.polarity * x / _scale(x, prepared), 0.0)
    best = replace(rhythm, followed=0.0)
    peaks = rhythm.peaks
    for _ in range(2):
        matched = _matched(x, peaks, _HALF, prepared)
        candidates = _candidates(matched, prepared.sfreq)
        if len(candidates) < _FEWEST:
            break
        path, gain = follow(candidates / prepared.sfreq, matched[candidates])
        peaks = candidates[path]
        if gain <= best.followed:
            break
        z = _beyond_chance(_compared(peaks, prepared), 60 / _rate(peaks, prepared))
        if gain >= _FOLLOWED and z > best.z:
            best = _described(x, matched, peaks, rhythm.polarity, z, prepared)
        best = replace(best, followed=gain)
    return best


def _rhythm(x: NDArray[np.float64], prepared: Prepared) -> Rhythm:
    good = prepared.good
    scale = _scale(x, prepared)
    if not scale > 0 or prepared.duration < _SHORTEST:
        return Rhythm(np.array([], dtype=int))
    x = np.where(good, x / scale, 0.0)
    # The QRS complex goes one way further than the other.
    low, high = np.quantile(_some(x), (0.005, 0.995))
    polarity = 1 if high >= -low else -1
    x = polarity * x
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
    return _described(x, matched, peaks, polarity, z, prepared)


def _some(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return samples enough to tell the distribution of a signal."""
    return x[:: max(1, x.size // _ENOUGH)]


def _scale(x: NDArray[np.float64], prepared: Prepared) -> float:
    return robust_scale(_some(prepared.outside_bad(x)))


def _candidates(x: NDArray[np.float64], sfreq: float) -> NDArray[np.intp]:
    """Return the local maxima that are the highest within the refractory time."""
    reach = max(1, int(_REFRACTORY * sfreq))
    padded = np.pad(x, 1, constant_values=-np.inf)
    peaks = np.flatnonzero((x > 0.5) & (x >= padded[:-2]) & (x >= padded[2:]))
    spans = np.c_[np.maximum(peaks - reach, 0), np.minimum(peaks + reach, x.size - 1)]
    # Such a span ends before its last sample, which is looked at by itself.
    highest = np.maximum.reduceat(x, spans.ravel())[::2] if len(peaks) else x[:0]
    return peaks[x[peaks] >= np.maximum(highest, x[spans[:, 1]])]


def _most_regular(x: NDArray[np.float64], prepared: Prepared) -> tuple[NDArray[np.intp], float]:
    """Return the highest peaks, as many as are most regular beyond chance, and how much so."""
    sfreq, minutes = prepared.sfreq, prepared.duration / 60
    peaks = _candidates(x, sfreq)
    ranks = np.empty(len(peaks), int)
    ranks[np.argsort(-x[peaks])] = np.arange(len(peaks))
    best, best_z = peaks[:0], 0.0
    for rate in RATES:
        n = int(rate * minutes)
        if n > len(peaks) or n < _FEWEST:
            continue
        some = peaks[ranks < n]
        same = _compared(some, prepared)
        z = _beyond_chance(same, 60 / rate)
        if z > best_z:
            best, best_z = some, z
    return best, best_z


def _beyond_chance(same: NDArray[np.bool_], interval: float) -> float:
    """Return how many intervals are alike, in deviations beyond what random events have."""
    if not len(same):
        return 0.0
    chance = _chance(round(interval, 3))
    share = np.count_nonzero(same) / len(same)
    return float((share - chance) / np.sqrt(chance * (1 - chance) / len(same)))


def _rate(peaks: NDArray[np.intp], prepared: Prepared) -> float:
    return 60 * len(peaks) / prepared.duration


def _compared(peaks: NDArray[np.intp], prepared: Prepared) -> NDArray[np.bool_]:
    """Tell which successive intervals are alike, of those that no bad span interrupts."""
    same = alike(np.diff(peaks))
    if prepared.all_good:
        return same
    whole = np.diff(prepared.n_bad[peaks]) == 0
    return same[whole[1:] & whole[:-1]]


def alike(intervals: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which successive intervals are alike."""
    a, b = intervals[1:], intervals[:-1]
    return np.abs(a - b) < _ALIKE * np.minimum(a, b)


@lru_cache(maxsize=256)
def _chance(mean_interval: float) -> float:
    """Return how often successive intervals of random events are alike."""
    loose = max(mean_interval - _REFRACTORY, 0.02)
    quantiles = (np.arange(200) + 0.5) / 200
    intervals = _REFRACTORY - loose * np.log1p(-quantiles)
    a, b = intervals[:, np.newaxis], intervals
    return float((np.abs(a - b) < _ALIKE * np.minimum(a, b)).mean())


def _shape(
    x: NDArray[np.float64], peaks: NDArray[np.intp], half: float, sfreq: float
) -> NDArray[np.float64]:
    windows = windows_around(x, peaks, half, sfreq)
    if not len(windows):
        return np.ones(1)
    shape = np.median(windows, axis=0) * np.hanning(windows.shape[1])
    return shape / max(np.linalg.norm(shape), np.finfo(float).tiny)


def _matched(
    x: NDArray[np.float64], peaks: NDArray[np.intp], half: float, prepared: Prepared
) -> NDArray[np.float64]:
    """Return the signal, filtered for what it does at these peaks."""
    shape = _shape(x, peaks, half, prepared.sfreq)
    matched = np.convolve(x, shape[::-1], "same")
    return matched / max(_scale(matched, prepared), np.finfo(float).tiny)


def _described(
    x: NDArray[np.float64],
    matched: NDArray[np.float64],
    peaks: NDArray[np.intp],
    polarity: int,
    z: float,
    prepared: Prepared,
) -> Rhythm:
    sfreq = prepared.sfreq
    windows = windows_around(x, peaks, _HALF, sfreq)
    if len(peaks) < _FEWEST or len(windows) < 3:
        return Rhythm(np.array([], dtype=int))
    median = np.median(windows, axis=0)
    intervals = np.diff(peaks) / sfreq
    same = alike(intervals)
    regular = np.r_[False, same] | np.r_[same, False]
    centred = windows - windows.mean(axis=1, keepdims=True)
    shape = median - median.mean()
    norms = np.linalg.norm(centred, axis=1) * np.linalg.norm(shape)
    return Rhythm(
        peaks=peaks,
        polarity=polarity,
        z=z,
        regular=float(_compared(peaks, prepared).mean()),
        rate=float(60 / np.median(intervals)),
        height=float(median.max()),
        isolation=_isolation(matched, peaks, sfreq),
        coverage=_coverage(peaks[:-1][regular], prepared),
        width=_width(median, sfreq),
        consistency=float(np.median(centred @ shape / np.maximum(norms, 1e-12))),
    )


def _coverage(peaks: NDArray[np.intp], prepared: Prepared) -> float:
    """Return the share of the stretches of a recording that have one of these peaks."""
    length = int(_STRETCH * prepared.sfreq)
    counted = np.bincount(np.flatnonzero(prepared.good) // length) > length / 2
    reached = np.zeros(len(counted), bool)
    reached[np.minimum(peaks // length, len(counted) - 1)] = True
    return float(reached[counted].mean()) if counted.any() else 0.0


def _isolation(x: NDArray[np.float64], peaks: NDArray[np.intp], sfreq: float) -> float:
    """Return how far beats rise above the highest of the rest between them."""
    near = int(_HALF * sfreq)
    starts, stops = peaks[:-1] + near, peaks[1:] - near
    wide = starts < stops
    if not wide.any():
        return 1.0
    edges = np.c_[starts[wide], stops[wide]].ravel()
    rest = np.maximum.reduceat(x, edges)[::2]
    beats = np.minimum(x[peaks[:-1][wide]], x[peaks[1:][wide]])
    return float(np.median(beats / np.maximum(rest, 0.1)))


def _width(shape: NDArray[np.float64], sfreq: float) -> float:
    middle = len(shape) // 2
    below = shape < shape[middle] / 2
    left = np.flatnonzero(below[:middle])
    right = np.flatnonzero(below[middle:])
    left = middle - left[-1] if len(left) else middle
    right = right[0] if len(right) else middle
    return float((left + right) / sfreq)


def locking(prepared: Prepared, beats: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the deflection of each signal that is locked to beats, over that of chance."""
    sfreq = prepared.sfreq
    before, after = int(0.15 * sfreq), int(0.45 * sfreq)
    inside = beats[(beats >= before) & (beats < prepared.good.size - after)]
    if len(inside) < 5:
        return np.full(len(prepared.wide), np.nan)
    x = filtered(prepared.wide, sfreq, 1.0, min(BAND[1], 0.45 * sfreq))
    x /= np.maximum(x[:, prepared.good].std(axis=1, keepdims=True), np.finfo(float).tiny)
    windows = x[:, inside[:, np.newaxis] + np.arange(-before, after)]
    return np.abs(windows.mean(axis=1)).max(axis=1) * np.sqrt(len(inside))
