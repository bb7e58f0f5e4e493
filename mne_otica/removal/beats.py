"""Heartbeats in the time courses of components: their average at each beat. Arrays only."""

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.signal.windows import tukey

from mne_otica.removal.linear_estimate import bridged
from mne_otica.utils.arrays import Array, Mask, Samples

_LIMITS = (0.25, 0.55)  # s before and after the peak of a beat, from the P wave to the T wave
_END = 0.08  # s at either end in which a beat goes to zero
_SMOOTH = 0.04  # s over which the average is compared with its error
_FEWEST = 5  # beats needed for an average


def beat_parts(courses: Array, rate: float, samples: Samples, bad: Mask) -> tuple[Array, Samples]:
    """Return the beats in time courses, zero outside them, and their samples."""
    parts, events = np.zeros_like(courses), np.unique(samples)
    events = events[(events >= 0) & (events < len(bad))]
    events = events[~bad[events]]
    if len(events) < _FEWEST:
        return parts, np.zeros(0, np.int64)
    # A fast heart beats again before this window ends, and its waves are closer together.
    share = min(1.0, np.median(np.diff(events)) / rate / sum(_LIMITS))
    before, after = (round(share * limit * rate) for limit in _LIMITS)
    lags = np.arange(-before, after + 1)
    taper = tukey(len(lags), min(1.0, 2 * _END * rate / len(lags)))
    for part, course in zip(parts, courses, strict=True):
        beat = taper * _significant(bridged(course, bad), events, lags, rate)
        for event in events:
            first, last = max(0, event - before), min(len(part), event + after + 1)
            part[first:last] += beat[first - event + before : last - event + before]
    return np.where(bad, 0.0, parts), events


def _significant(course: Array, events: Samples, lags: Samples, rate: float) -> Array:
    """Return the average over events, shrunk to zero where it is not beyond its error."""
    windows = course[(events[:, np.newaxis] + lags).clip(0, len(course) - 1)]
    windows = windows - windows.mean(axis=1, keepdims=True)  # drift
    average = windows.mean(axis=0)
    average -= np.median(average)
    both = np.array([average**2, windows.var(axis=0) / len(windows)])
    power, error = uniform_filter1d(both, max(1, round(_SMOOTH * rate)), mode="nearest")
    return average * np.clip(1 - error / np.maximum(power, np.finfo(float).tiny), 0, 1)
