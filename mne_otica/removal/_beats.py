"""Heartbeats in the course of a component. Arrays only: no MNE, no user input.

Every beat of a heart is nearly the same, and there are many of them: their average is known far
better than any one of them. So a component is the average beat at each beat, scaled a little, and
the rest; where beats follow each other quickly, each is averaged without its neighbours.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.signal import butter, find_peaks, sosfiltfilt
from scipy.signal.windows import tukey
from scipy.special import expit

from mne_otica.removal._model import Array, Mask, Samples

_BEFORE, _AFTER = 0.15, 0.45  # s round the peak of a beat, from the P wave to the T wave
_SHARE = (0.3, 0.65)  # of the interval between beats that these may take at most
_SLOWEST = 0.7  # Hz; what is slower is no beat
_TAPER = 0.04  # s at either end in which the beat goes to zero
_ROUNDS = 4  # of averaging, and of looking for each beat with the average
_SHIFT = 0.04  # s by which a beat may be off
_SMOOTH = 0.04  # s over which it is asked whether the average is more than noise
_ODDS = {"given": 3.0, "found": -4.0}  # log odds of a beat beforehand
_LEAST = 0.5  # of the typical beat: what is smaller is not looked for
_FEWEST = 5  # beats, below which there is no average
_APART = 0.6  # of the typical interval: no beat is nearer to another
_LEAST_SD = 0.05  # by which heights vary at least


def beat_part(
    course: Array, sfreq: float, samples: Samples, bad: Mask
) -> tuple[Array, Samples, Array]:
    """Return the beats' part of a course, where the beats are, and how probable each of them is."""
    none = np.zeros_like(course), np.zeros(0, np.int64), np.zeros(0)
    events = np.unique(samples[(samples >= 0) & (samples < len(course))])
    events = events[~bad[events]]
    if len(events) < _FEWEST or not course[~bad].std() > 0:
        return none
    sos = butter(2, _SLOWEST, "highpass", fs=sfreq, output="sos")
    x = sosfiltfilt(sos, _bridged(course, bad))
    interval = float(np.median(np.diff(events))) / sfreq
    limits = [round(min(own, share * interval) * sfreq) for own, share in _limits()]
    lags = np.arange(-limits[0], limits[1] + 1)
    taper = tukey(len(lags), min(1.0, 2 * _TAPER * sfreq / len(lags)))
    heights, weights = np.ones(len(events)), np.ones(len(events))
    for k in range(_ROUNDS):
        beat = _average(x, events, heights * weights, weights, lags) * taper
        if not beat.any():
            return none
        events, heights, weights = _look(x, beat, lags, events, interval * sfreq, sfreq, bad, k)
        if len(events) < _FEWEST:
            return none
    beat = _significant(x, beat, lags, events, heights, weights, sfreq)
    part = np.zeros_like(course)
    _put(part, beat, lags, events, heights * weights)
    part[bad] = 0
    return part, events, weights


def _limits() -> list[tuple[float, float]]:
    return list(zip((_BEFORE, _AFTER), _SHARE, strict=True))


def _bridged(course: Array, bad: Mask) -> Array:
    at = np.arange(len(course))
    return np.interp(at, at[~bad], course[~bad]) if bad.any() else course


def _put(part: Array, beat: Array, lags: Samples, events: Samples, heights: Array) -> None:
    for event, height in zip(events, heights, strict=True):
        at = event + lags
        inside = (at >= 0) & (at < len(part))
        part[at[inside]] += height * beat[inside]


def _windows(x: Array, events: Samples, lags: Samples) -> Array:
    return x[(events[:, np.newaxis] + lags).clip(0, len(x) - 1)]


def _average(x: Array, events: Samples, heights: Array, weights: Array, lags: Samples) -> Array:
    """Return the average beat; in two steps, the second without the neighbours of each beat."""
    sure = weights > 0.5
    if not sure.any():
        return np.zeros(len(lags))
    beat = np.zeros(len(lags))
    for _ in range(2):
        part = np.zeros_like(x)
        _put(part, beat, lags, events, heights)
        own = _windows(x - part, events[sure], lags) / heights[sure, np.newaxis] + beat
        beat = own.mean(axis=0)
        beat = beat - np.linspace(beat[0], beat[-1], len(beat))
    return beat


def _look(
    x: Array,
    beat: Array,
    lags: Samples,
    events: Samples,
    interval: float,
    sfreq: float,
    bad: Mask,
    k: int,
) -> tuple[Samples, Array, Array]:
    """Return where beats are, how high and how probable, by the filter for the average beat."""
    # The rest of a component has a spectrum that falls, and its differences have a flat one.
    slopes = np.diff(beat)
    found = np.r_[np.zeros(-lags[0]), np.correlate(np.diff(x), slopes, "valid")]
    found = np.r_[found, np.zeros(len(x) - len(found))] / (slopes @ slopes)
    reach = max(1, round(_SHIFT * sfreq))
    near = (events[:, np.newaxis] + np.arange(-reach, reach + 1)).clip(0, len(x) - 1)
    events = np.unique(near[np.arange(len(events)), np.argmax(found[near], axis=1)])
    events = events[np.r_[True, np.diff(events) > 2 * reach]]
    given = np.ones(len(events), bool)
    if k:
        more, _ = find_peaks(found, height=_LEAST, distance=max(1, round(_APART * interval)))
        apart = np.abs(more[:, np.newaxis] - events).min(axis=1) > _APART * interval
        events = np.r_[events, more[apart]]
        given = np.r_[given, np.zeros(apart.sum(), bool)]
        order = np.argsort(events)
        events, given = events[order], given[order]
    events, given = events[~bad[events]], given[~bad[events]]
    away = np.ones(len(x), bool)
    for event in events:
        away[max(0, event - 2 * reach) : event + 2 * reach] = False
    noise = found[away & ~bad]
    variance = np.median(np.abs(noise)) ** 2 / 0.455 if len(noise) else 0.0
    heights = found[events]
    spread = max(np.median(np.abs(heights - np.median(heights))) ** 2 / 0.455 - variance, 0)
    spread = max(spread, _LEAST_SD**2)
    share = spread / (spread + variance)
    both, alone = spread + variance, max(variance, 1e-12)
    odds = heights**2 / alone / 2 - (heights - 1) ** 2 / both / 2 + np.log(alone / both) / 2
    odds += np.where(given, _ODDS["given"], _ODDS["found"])
    return events, 1 + share * (heights - 1), expit(odds.clip(-50, 50))


def _significant(
    x: Array,
    beat: Array,
    lags: Samples,
    events: Samples,
    heights: Array,
    weights: Array,
    sfreq: float,
) -> Array:
    """Return the average beat without what is no more than the noise of an average."""
    part = np.zeros_like(x)
    _put(part, beat, lags, events, heights * weights)
    rest = _windows(x - part, events, lags)
    error = rest.var(axis=0) / max(weights.sum(), 1.0)
    length = max(1, round(_SMOOTH * sfreq))
    power = uniform_filter1d(beat**2, length, mode="nearest")
    return beat * np.clip(1 - error / np.maximum(power, np.finfo(float).tiny), 0, 1)
