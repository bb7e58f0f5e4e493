"""Large deflections of a signal, and what they have in common. Arrays only."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import maximum_filter1d, uniform_filter1d
from scipy.signal import find_peaks, peak_widths

from mne_otica.signals import low_rate
from mne_otica.signals.low_rate import LARGE, Prepared, near, robust_scale, windows_around
from mne_otica.utils.arrays import Array, Mask, Samples

REFRACTORY = 0.25  # s; eyes that flutter faster count once, at the higher peak
_NOISE = 8.0  # robust standard deviations; the highest peaks of a restless signal
_SHARE = 0.3  # of the typical height: smaller peaks are another kind of event
_AFTERWARDS = (0.35, 0.55)  # s; a lid is back by then, and the skin has not drifted far
_TOGETHER = 0.4  # s on either side of a blink in which the eyes turn and come back
_GAP = 0.03  # s on either side of a step that belong to it
_LEVEL = 0.13  # s that the level before and after it is taken from
_APART = 0.15  # s; eyes rest at least that long between saccades


@dataclass(frozen=True)
class Evidence:
    """What the time course of one signal says about blinks; figures of too few events are NaN."""

    peaks: Array  # fractional samples of the prepared signal
    typical_peaks: Array  # those whose shape is that of the median event
    polarity: int
    scale: float  # robust standard deviation from 1 to 10 Hz, away from large deflections
    kurtosis: float
    height: float  # median over events in robust standard deviations
    width: float  # in seconds
    consistency: float  # median correlation of each event with the median event
    rebound: float  # largest deflection of the other sign around the median event
    onset: float  # share of its width before the peak
    shift: float  # median change of the level across an event over its height
    bursts: float  # effective number of bursts, about five seconds long

    @property
    def n_events(self) -> int:
        """The number of events."""
        return len(self.peaks)


def evidence(prepared: Prepared, index: int) -> Evidence:
    """Gather the evidence for one signal, in whichever polarity has the larger events."""
    band, scale = prepared.band[index], prepared.background[index]
    if not scale > 0:
        return describe(prepared, index, np.array([], dtype=int), 1)
    found = [_find_events(sign * band / scale, prepared) for sign in (1, -1)]
    # The rebound of every blink mirrors it after a high-pass, but lower.
    few = min(len(peaks) for peaks in found) or max(len(peaks) for peaks in found)
    strength = [np.median(np.sort([0.0, *np.abs(band[peaks])])[-few:]) for peaks in found]
    polarity = 1 if strength[0] >= strength[1] else -1
    return describe(prepared, index, found[0 if polarity == 1 else 1], polarity)


def describe(prepared: Prepared, index: int, peaks: Samples, polarity: int) -> Evidence:
    """Describe the given events of one signal; peaks are whole samples."""
    band, slow = polarity * prepared.band[index], polarity * prepared.slow[index]
    sfreq, scale = prepared.sfreq, prepared.background[index]
    excess = float(prepared.moments.kurtosis[index]) if scale > 0 else 0.0
    if not len(peaks):
        none = np.array([])
        return Evidence(none, none, polarity, scale, excess, 0.0, *[np.nan] * 5, 0.0)
    # A window of 1.5 s: the foot of a blink is looked for near it, not across the file.
    widths = peak_widths(band, peaks, rel_height=0.5, wlen=int(1.5 * sfreq))[0] / sfreq
    width = float(np.median(widths))
    rebound, onset = _shape(windows_around(slow, peaks, 1.2, sfreq), sfreq)
    refined = _refine(band, peaks)
    # As far as the event itself reaches: eyes that flutter blink again after 0.2 s.
    reach = np.clip(1.6 * width, 0.12, 0.25)
    # Bursts: the inverse of the chance that two events are within 5 s, 1 for a single one
    times = peaks / sfreq
    near_each = np.searchsorted(times, times + 5.0) - np.searchsorted(times, times - 5.0)
    return Evidence(
        peaks=refined,
        typical_peaks=refined[_alike(band, peaks, widths, sfreq)],
        polarity=polarity,
        scale=scale,
        kurtosis=excess,
        height=float(np.median(band[peaks]) / scale),
        width=width,
        consistency=_consistency(windows_around(band, peaks, reach, sfreq)),
        rebound=rebound,
        onset=onset,
        shift=_shift(windows_around(slow, peaks, _AFTERWARDS[1], sfreq), sfreq),
        bursts=float(len(peaks) / near_each.mean()),
    )


def _typical(heights: Array, prepared: Prepared) -> float:
    """Return the typical height of the largest kind of events: the median of the highest."""
    # At least two a minute, of someone who hardly blinks, and a third of those above the noise,
    # so that a single artifact with many peaks does not determine it.
    few = max(5, int(prepared.duration / 60 * 2), int((heights >= _NOISE).sum() / 3))
    return float(np.median(np.sort(heights)[-few:])) if len(heights) else 0.0


def _find_events(z: Array, prepared: Prepared) -> Samples:
    """Return the samples of the large deflections of a scaled signal."""
    distance = max(1, int(REFRACTORY * prepared.sfreq))
    peaks, _ = find_peaks(z, height=LARGE, distance=distance)
    peaks = peaks[prepared.good[peaks]]
    least = max(_SHARE * _typical(z[peaks], prepared), _above_noise(z[peaks]))
    return peaks[z[peaks] >= least]


def _above_noise(heights: Array) -> float:
    """Return the height above the widest gap, if it parts few events from some as low as noise."""
    heights = np.sort(heights)
    jumps = np.where(heights[:-1] < _NOISE, heights[1:] / heights[:-1], 0.0)
    return heights[np.argmax(jumps) + 1] if jumps.max(initial=0.0) >= 1.5 else 0.0


def _consistency(windows: Array) -> float:
    """Return the median correlation of each event with the median of the others."""
    if len(windows) < 2:
        return np.nan
    windows = windows - windows.mean(axis=1, keepdims=True)
    medians = np.median(windows, axis=0)
    if len(windows) <= 20:  # of more, each weighs little, and the median of all will do
        others = (np.delete(windows, k, axis=0) for k in range(len(windows)))
        medians = np.array([np.median(some, axis=0) for some in others])
    return float(np.median(correlation(windows, medians)))


def correlation(a: Array, b: Array) -> Array:
    """Return the correlation of signals along the last axis, 0 where one of them is constant."""
    a, b = (x - x.mean(axis=-1, keepdims=True) for x in (a, b))
    norm = np.sqrt(np.sum(a * a, axis=-1) * np.sum(b * b, axis=-1))
    products = np.sum(a * b, axis=-1)
    return np.divide(products, norm, out=np.zeros_like(products), where=norm > 0)


def _shape(windows: Array, sfreq: float) -> tuple[float, float]:
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


def _shift(windows: Array, sfreq: float) -> float:
    """Return the median change of the level across an event, over the height of the median one."""
    if not len(windows):
        return np.nan
    edge = int((_AFTERWARDS[1] - _AFTERWARDS[0]) * sfreq)
    before, after = (np.median(w, axis=1) for w in (windows[:, :edge], windows[:, -edge:]))
    height = np.median(windows[:, windows.shape[1] // 2] - (before + after) / 2)
    return float(np.median(np.abs(after - before)) / height) if height > 0 else np.nan


def _refine(x: Array, peaks: Samples) -> Array:
    """Move peaks to the top of a parabola through them and their neighbours."""
    inner = np.clip(peaks, 1, x.size - 2)
    a, b, c = x[inner - 1], x[inner], x[inner + 1]
    curve = a - 2 * b + c
    shift = np.divide(a - c, 2 * curve, out=np.zeros_like(curve), where=curve < 0)
    return inner + np.clip(shift, -0.5, 0.5)


def _alike(x: Array, peaks: Samples, widths: Array, sfreq: float) -> Mask:
    """Tell which events have shape and width of the median event; all, if there are few."""
    n = int(round(0.2 * sfreq))
    # At the edges of the recording a window repeats its last sample.
    windows = x[np.clip(peaks[:, np.newaxis] + np.arange(-n, n + 1), 0, x.size - 1)]
    if len(windows) < 3:
        return np.ones(len(windows), bool)
    median = np.median(windows, axis=0)
    ratio = widths / np.median(widths)
    # The bound is low, so that a blink on top of another artifact still counts as one.
    return (correlation(windows, median) >= 0.35) & (ratio > 0.5) & (ratio < 2)


def along(prepared: Prepared, index: int, events: Samples, blinks: Samples) -> dict[str, float]:
    """Return what a signal does at the blinks of another one: height and consistency as above."""
    band, good, sfreq = prepared.band[index], prepared.good, prepared.sfreq
    scale = prepared.background[index]
    windows = windows_around(band, blinks, _TOGETHER, sfreq)
    if not scale > 0 or len(windows) < 3:
        return dict(height=0.0, consistency=np.nan, coincidence=0.0)
    at_blinks = _near(blinks, prepared)
    large = good & (np.abs(band) > LARGE * scale)
    chance = at_blinks[good].mean()
    # Of its events and of all the time that it is large, whichever is less
    share = min(at_blinks[samples].mean() if samples.any() else 0.0 for samples in (events, large))
    return dict(
        height=float(np.abs(np.median(windows, axis=0)).max() / scale),
        consistency=_consistency(windows),
        coincidence=float((share - chance) / max(1 - chance, 0.1)),
    )


def locked(prepared: Prepared, index: int, blinks: Samples) -> float:
    """Return the power of a signal's median course at the blinks of another over that between."""
    band = prepared.band[index]
    windows = windows_around(band, blinks, _TOGETHER, prepared.sfreq)
    if len(windows) < 3:
        return 0.0
    length = windows.shape[1]
    free = ~near(~prepared.good | _near(blinks, prepared), length // 2)
    # Nor where the recording begins or ends.
    free[: length // 2] = free[len(free) - length // 2 :] = False
    between = uniform_filter1d(band**2, length)[free]
    power = np.median(between) if between.size else np.inf
    share = np.mean(np.median(windows, axis=0) ** 2) / max(power, np.finfo(float).tiny)
    # In noise, few blinks make as much by chance.
    return float(share) if share >= 6 / len(windows) else 0.0


def _near(blinks: Samples, prepared: Prepared) -> Mask:
    """Return which samples are near blinks."""
    at = np.zeros(prepared.good.size, bool)
    at[blinks] = True
    return near(at, int(_TOGETHER * prepared.sfreq))


@dataclass(frozen=True)
class Steps:
    """The steps of one signal."""

    peaks: Samples  # of the prepared signal
    rate: float = 0.0  # per minute
    balance: float = np.nan  # steps in the rarer direction over those in the other, both plus one
    lopsided: float = np.nan  # absolute skewness between 1 and 10 Hz


def steps(prepared: Prepared) -> list[Steps]:
    """Return the steps of each signal."""
    length = max(1, int(_LEVEL * prepared.sfreq))
    levels = (uniform_filter1d(row, length, mode="nearest") for row in prepared.slow)
    return [_steps_of(prepared, k, level) for k, level in enumerate(levels)]


def _steps_of(prepared: Prepared, index: int, level: Array) -> Steps:
    good, sfreq = prepared.good, prepared.sfreq
    lopsided = abs(float(prepared.moments.skewness[index]))
    # The level after each sample minus that before it
    away = max(1, int((_GAP + _LEVEL / 2) * sfreq))
    padded = np.pad(level, away, mode="edge")
    change = padded[2 * away :] - padded[: -2 * away]
    # A change of levels is smooth: a subsample gives its scale.
    thin = max(1, int(_GAP * sfreq))
    some, usable = change[::thin], good[::thin]
    scale = low_rate.background_scale(some, usable, sfreq / thin, robust_scale(some[usable]))
    if not scale > 0:
        return Steps(np.array([], dtype=int))
    size = np.abs(change)
    reach = 2 * int(_APART * sfreq) + 1
    is_peak = (size == maximum_filter1d(size, reach)) & (size > LARGE * scale) & good
    peaks = np.flatnonzero(is_peak)
    if not len(peaks):
        return Steps(peaks, lopsided=lopsided)
    n_up = int((change[peaks] > 0).sum())
    rarer, other = sorted([n_up, len(peaks) - n_up])
    balance = (rarer + 1) / (other + 1)  # few steps may go one way by chance
    return Steps(peaks, 60 * len(peaks) / max(prepared.duration, 1e-9), balance, lopsided)
