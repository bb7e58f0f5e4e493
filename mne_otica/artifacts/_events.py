"""The evidence that a signal holds blinks. Arrays only: no MNE, no user input.

A blink is a lid sliding over the cornea: one smooth deflection of one sign, about 0.1 to
0.4 s long, much the same every time, a few to a few tens of times a minute.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_dilation
from scipy.signal import butter, find_peaks, peak_widths, sosfiltfilt
from scipy.stats import kurtosis as _kurtosis

RATE = 120.0  # Hz; ample for a deflection of 0.1 s, and cheap
BAND = (1.0, 10.0)  # Hz; where a blink stands out from drift and muscle
REFRACTORY = 0.25  # s; eyes that flutter faster count once, at the higher peak
_MIN_HEIGHT = 4.0  # robust standard deviations; below, everything has peaks
_NOISE = 8.0  # robust standard deviations; the highest peaks of a restless signal
_SHARE = 0.3  # of the typical height: smaller peaks are another kind of event
_TOGETHER = 0.4  # s on either side of a blink in which the eyes turn and come back
_REACH = 0.2  # s on either side of a large deflection that belong to it
_ROUNDS = 4  # of setting deflections aside
_LEAST_BETWEEN = 0.2  # share of the samples that have to be left between them


@dataclass(frozen=True)
class Prepared:
    """Signals at a low rate, ready for a search.

    ``band`` is limited to the blink's band, ``slow`` only smoothed; ``good`` marks the
    samples outside bad spans; ``step`` samples of the input make one here.
    """

    band: np.ndarray
    slow: np.ndarray
    good: np.ndarray
    sfreq: float
    step: int

    @property
    def duration(self):
        """Return the seconds outside bad spans."""
        return self.good.sum() / self.sfreq

    def middle(self, members):
        """Return the median of some signals, as one signal."""
        one = (np.median(x[members], axis=0, keepdims=True) for x in (self.band, self.slow))
        return Prepared(*one, self.good, self.sfreq, self.step)

    def to_input(self, samples):
        """Return the samples of the input that correspond to (fractional) samples here."""
        return np.round(samples * self.step + (self.step - 1) / 2).astype(int)


def prepare(signals, sfreq, bad=None):
    """Bring signals to a low rate and into the band of blinks.

    Parameters
    ----------
    signals : ndarray, shape (n_signals, n_times)
        Not changed.
    sfreq : float
        Sampling rate in hertz.
    bad : ndarray of bool, shape (n_times,) | None
        Samples not to look at. They are bridged by straight lines, so that a filter does
        not ring at their edges.
    """
    step = max(1, int(sfreq / RATE))
    signals = np.atleast_2d(signals)
    bad = np.zeros(signals.shape[1], bool) if bad is None else bad
    n_out = signals.shape[1] // step
    # Averaging neighbours is a filter whose zeros fall on what would alias to 0 Hz.
    shape = (n_out, step)
    bad = bad[: n_out * step].reshape(shape).any(axis=1)
    low = np.array([row[: n_out * step].reshape(shape).mean(axis=1) for row in signals])
    low = low.reshape(len(signals), n_out)
    _bridge(low, bad)
    low -= np.median(low, axis=1, keepdims=True)
    rate = sfreq / step
    slow = _filter(low, rate, None, min(15.0, 0.45 * rate))
    band = _filter(low, rate, BAND[0], min(BAND[1], 0.45 * rate))
    return Prepared(band, slow, ~bad, rate, step)


def _bridge(low, bad):
    """Draw straight lines across bad spans, in place."""
    if bad.any() and not bad.all():
        at = np.arange(bad.size)
        for row in low:
            row[bad] = np.interp(at[bad], at[~bad], row[~bad])
    elif bad.all():
        low[:] = 0


def _filter(data, sfreq, low, high):
    cut = high if low is None else (low, high)
    sos = butter(2, cut, "lowpass" if low is None else "bandpass", fs=sfreq, output="sos")
    # The start and the end are mirrored for two seconds: the longest ringing at 1 Hz.
    padlen = min(int(2 * sfreq), data.shape[1] - 1)
    return sosfiltfilt(sos, data, axis=1, padlen=max(padlen, 0))


def robust_scale(x):
    """Return the standard deviation that the quiet part of a signal suggests."""
    return 1.4826 * np.median(np.abs(x - np.median(x)))


def background_scale(x, good, sfreq):
    """Return the robust standard deviation of a signal between its large deflections.

    Where someone blinks once a second there is hardly a sample that is not part of a blink
    or of its undershoot, and the median deviation of all samples is that of the blinks. So
    the deflections are set aside, and what is left near them is asked again: rest between
    blinks, but waves between the waves of sleep, which come in trains.
    """
    scale = robust_scale(x[good]) if good.any() else 0.0
    reach = int(_REACH * sfreq)
    for _ in range(_ROUNDS if scale > 0 else 0):
        large = good & (np.abs(x) > _MIN_HEIGHT * scale)
        between = good & binary_dilation(large, iterations=5 * reach)
        between &= ~binary_dilation(large, iterations=reach)
        if between.sum() < _LEAST_BETWEEN * good.sum():
            break
        rest = robust_scale(x[between])
        if not 0 < rest < 0.95 * scale:
            break
        scale = rest
    return scale


@dataclass(frozen=True)
class Evidence:
    """What the time course of one signal says about blinks.

    ``peaks`` are fractional samples of the prepared signal, ``typical_peaks`` those whose
    shape is that of the median event; times are in seconds.
    ``scale`` is the robust standard deviation of the signal between 1 and 10 Hz, away from
    its large deflections.
    ``unevenness`` is the robust standard deviation of the widths over their median.
    ``height`` is the median over events in robust standard deviations, ``consistency``
    the median correlation of each event with the median event, ``rebound`` the largest
    deflection of the other sign around the median event and ``onset`` the share of its
    width before the peak. ``bursts`` is the effective number of bursts of events, about
    five seconds long. Figures that the events are too few for are NaN.
    """

    peaks: np.ndarray
    typical_peaks: np.ndarray
    polarity: int
    scale: float
    kurtosis: float
    rate: float
    height: float
    width: float
    unevenness: float
    consistency: float
    rebound: float
    onset: float
    bursts: float

    @property
    def n_events(self):
        """Return the number of events."""
        return len(self.peaks)


def evidence(prepared, index):
    """Gather the evidence for one signal, in whichever polarity has the larger events."""
    band = prepared.band[index]
    scale = background_scale(band, prepared.good, prepared.sfreq)
    if not scale > 0:
        return describe(prepared, index, np.array([], dtype=int), 1)
    found = [_find_events(sign * band / scale, prepared) for sign in (1, -1)]
    # The rebound of every blink mirrors it after a high-pass, but lower.
    few = min(len(peaks) for peaks in found) or max(len(peaks) for peaks in found)
    strength = [np.median(np.sort([0.0, *np.abs(band[peaks])])[-few:]) for peaks in found]
    polarity = 1 if strength[0] >= strength[1] else -1
    return describe(prepared, index, found[0 if polarity == 1 else 1], polarity)


def describe(prepared, index, peaks, polarity):
    """Describe the given events of one signal; peaks are whole samples."""
    band, slow = polarity * prepared.band[index], polarity * prepared.slow[index]
    good, sfreq = prepared.good, prepared.sfreq
    scale = background_scale(band, good, sfreq)
    excess = float(_kurtosis(band[good])) if scale > 0 else 0.0
    if not len(peaks):
        none = np.array([])
        return Evidence(none, none, polarity, scale, excess, 0.0, 0.0, *[np.nan] * 5, 0.0)
    # A window of 1.5 s: the foot of a blink is looked for near it, not across the file.
    widths = peak_widths(band, peaks, rel_height=0.5, wlen=int(1.5 * sfreq))[0] / sfreq
    width = float(np.median(widths))
    rebound, onset = _shape(_cut(slow, peaks, 1.2, sfreq), sfreq)
    refined = _refine(band, peaks)
    return Evidence(
        peaks=refined,
        typical_peaks=refined[_alike(band, peaks, widths, sfreq)],
        polarity=polarity,
        scale=scale,
        kurtosis=excess,
        rate=60 * len(peaks) / max(prepared.duration, 1e-9),
        height=float(np.median(band[peaks]) / scale),
        width=width,
        unevenness=_unevenness(widths),
        # As far as the event itself reaches: eyes that flutter blink again after 0.2 s.
        consistency=_consistency(_cut(band, peaks, np.clip(1.6 * width, 0.12, 0.25), sfreq)),
        rebound=rebound,
        onset=onset,
        bursts=_bursts(peaks / sfreq),
    )


def _typical(heights, prepared):
    """Return the typical height of the largest kind of events that is not a rarity.

    The median of the highest few: at least as many as a lazy eye would blink, and at least
    a third of those above the noise, so that one artefact of many peaks does not set it.
    """
    if not len(heights):
        return 0.0
    few = max(5, int(prepared.duration / 60 * 2), int((heights >= _NOISE).sum() / 3))
    return float(np.median(np.sort(heights)[-few:]))


def _find_events(z, prepared):
    """Return the samples of the large deflections of a scaled signal."""
    distance = max(1, int(REFRACTORY * prepared.sfreq))
    peaks, _ = find_peaks(z, height=_MIN_HEIGHT, distance=distance)
    peaks = peaks[prepared.good[peaks]]
    least = max(
        _SHARE * _typical(z[peaks], prepared), _above_noise(z[peaks], peaks / prepared.sfreq)
    )
    return peaks[z[peaks] >= least]


def _above_noise(heights, times):
    """Return the height above the widest gap, if one parts few events from the rest.

    The rest has to be as low as noise, or else the gap wide and the events spread in time:
    the peaks of a single large artefact stand out too.
    """
    order = np.argsort(heights)
    heights, times = heights[order], times[order]
    jumps = heights[1:] / heights[:-1]
    for k in np.argsort(-jumps):
        low = heights[k] < _NOISE and jumps[k] >= 1.5
        if low or (jumps[k] >= 2.5 and _bursts(np.sort(times[k + 1 :])) >= 2.5):
            return heights[k + 1]
        if jumps[k] < 1.5:
            break
    return 0.0


def _unevenness(widths):
    return float(robust_scale(widths) / np.median(widths)) if len(widths) > 4 else np.nan


def _bursts(times, gap=5.0):
    """Return the inverse of the chance that two events are close in time.

    One for a single burst; for events all over a recording, how often the gap fits into it.
    """
    near = np.searchsorted(times, times + gap) - np.searchsorted(times, times - gap)
    return float(len(times) / near.mean())


def _cut(x, peaks, half, sfreq):
    """Return the windows around the peaks that lie inside the signal."""
    n = int(round(half * sfreq))
    inside = peaks[(peaks >= n) & (peaks < x.size - n)]
    return x[inside[:, np.newaxis] + np.arange(-n, n + 1)]


def _consistency(windows):
    """Return the median correlation of each event with the median of the others."""
    if len(windows) < 2:
        return np.nan
    windows = windows - windows.mean(axis=1, keepdims=True)
    correlations = []
    for k, window in enumerate(windows):
        # With many events each weighs little, and the median of all will do.
        rest = windows if len(windows) > 20 else np.delete(windows, k, axis=0)
        correlations.append(correlation(window, np.median(rest, axis=0)))
    return float(np.median(correlations))


def correlation(a, b):
    """Return the correlation of two signals, 0 where one of them is constant."""
    a, b = a - a.mean(), b - b.mean()
    norm = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / norm) if norm > 0 else 0.0


def _shape(windows, sfreq):
    """Return rebound and onset of the median event of a signal that keeps its slow part."""
    if not len(windows):
        return np.nan, np.nan
    n = windows.shape[1] // 2
    edge = max(1, n // 3)
    # Each event stands on a baseline of its own, a line from before it to after it.
    before, after = (np.median(w, axis=1) for w in (windows[:, :edge], windows[:, -edge:]))
    line = np.linspace(0, 1, windows.shape[1])
    windows = windows - before[:, np.newaxis] - np.outer(after - before, line)
    event = np.median(windows, axis=0)
    near = int(0.05 * sfreq) + 1
    top = n - near + int(np.argmax(event[n - near : n + near + 1]))
    peak = event[top]
    if not peak > 0:
        return 1.0, np.nan
    below = event < peak / 2
    left = top - np.flatnonzero(below[:top])[-1] if below[:top].any() else top
    right = np.flatnonzero(below[top:])[0] if below[top:].any() else event.size - top
    around = event[edge:-edge]
    return float(max(0.0, -around.min() / peak)), float(left / (left + right))


def _refine(x, peaks):
    """Move peaks to the top of a parabola through them and their neighbours."""
    inner = np.clip(peaks, 1, x.size - 2)
    a, b, c = x[inner - 1], x[inner], x[inner + 1]
    curve = a - 2 * b + c
    shift = np.divide(a - c, 2 * curve, out=np.zeros_like(curve), where=curve < 0)
    return inner + np.clip(shift, -0.5, 0.5)


def _alike(x, peaks, widths, sfreq, least=0.35):
    """Tell which events have shape and width of the median event; all, if there are few.

    The bound is low: a blink on top of another artefact is a blink all the same.
    """
    n = int(round(0.2 * sfreq))
    # At the edges of the recording a window repeats its last sample.
    windows = x[np.clip(peaks[:, np.newaxis] + np.arange(-n, n + 1), 0, x.size - 1)]
    if len(windows) < 3:
        return np.ones(len(windows), bool)
    median = np.median(windows, axis=0)
    shape = np.array([correlation(window, median) >= least for window in windows])
    ratio = widths / np.median(widths)
    return shape & (ratio > 0.5) & (ratio < 2)


def along(prepared, index, events, blinks):
    """Return what a signal does at the blinks of another one.

    Height and consistency as in `Evidence`, of whatever is there at the blinks, and the
    coincidence: the share that is there, beyond chance, of its events and of all the time
    that it is large, whichever is less.
    """
    band, good, sfreq = prepared.band[index], prepared.good, prepared.sfreq
    scale = background_scale(band, good, sfreq)
    windows = _cut(band, blinks, _TOGETHER, sfreq)
    if not scale > 0 or len(windows) < 3:
        return dict(height=0.0, consistency=np.nan, coincidence=0.0)
    near = np.zeros(band.size, bool)
    near[blinks] = True
    near = binary_dilation(near, iterations=int(_TOGETHER * sfreq))
    large = good & (np.abs(band) > _MIN_HEIGHT * scale)
    chance = near[good].mean()
    share = min(near[samples].mean() if samples.any() else 0.0 for samples in (events, large))
    return dict(
        height=float(np.abs(np.median(windows, axis=0)).max() / scale),
        consistency=_consistency(windows),
        coincidence=float((share - chance) / max(1 - chance, 0.1)),
    )
