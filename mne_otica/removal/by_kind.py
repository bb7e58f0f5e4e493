"""The artifact in components, by the kind of artifact. Arrays only."""

from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline

from mne_otica.artifacts.kinds import Removal
from mne_otica.removal.beats import beat_part
from mne_otica.removal.estimate import Estimate, artifact_part, at_low_rate
from mne_otica.removal.spectral import band_part, gaze_part
from mne_otica.utils.arrays import Array, Mask, Samples


def kind_part(
    removal: Removal, courses: Array, sfreq: float, samples: Samples, bad: Mask, highpass: float = 0
) -> Estimate:
    """Estimate the artifacts of one kind in the time courses of components, as `artifact_part`."""
    if removal.shape == "bump" and removal.how == "events":
        return artifact_part(courses, sfreq, samples, bad, highpass)
    bad = bad | ~np.isfinite(courses.sum(axis=0))
    if bad.all():
        return Estimate(np.zeros_like(courses), np.zeros(0, np.int64))
    if removal.shape == "pop":
        # One electrode's noise: hardly anything else is in such a component.
        return Estimate(np.where(bad, 0.0, courses), samples, whole=True)
    if removal.shape == "step":
        part = np.array([gaze_part(course, sfreq, bad) for course in courses])
        return Estimate(part, samples)
    if removal.how == "band":
        part = np.array([band_part(course, sfreq, removal.l_freq, bad) for course in courses])
        return Estimate(part, np.zeros(0, np.int64))
    estimate = _beats(courses, sfreq, bad, samples)
    rest = courses - estimate.part
    return replace(estimate, model=lambda sham: _beats(rest, sfreq, bad, sham).part)


def _beats(courses: Array, sfreq: float, bad: Mask, samples: Samples) -> Estimate:
    """Estimate heartbeats at a low rate; the events are those of the component with most."""
    step = max(1, round(sfreq / 250))  # beats are sharp, and estimated at about 250 Hz
    low, scales = at_low_rate(courses, bad, step)
    parts, events = np.zeros_like(courses), np.zeros(0, np.int64)
    for part, course, scale in zip(parts, low, scales, strict=True):
        own, found = beat_part(course, sfreq / step, samples // step, bad[::step])
        part[:] = scale * _at_full_rate(own, step, len(part))
        events = max(events, step * found, key=len)
    return Estimate(np.where(bad, 0.0, parts), events)


def _at_full_rate(part: Array, step: int, n_times: int) -> Array:
    """Interpolate a part at a low rate to all samples, zero where it was zero."""
    at, fine = step * np.arange(len(part)), np.arange(n_times)
    curve = CubicSpline(at, part)(fine.clip(0, at[-1])) if step > 1 else part
    near = np.minimum(fine // step, len(part) - 1)
    there = (part[near] != 0) | (part[np.minimum(near + 1, len(part) - 1)] != 0)
    return np.where(there, curve, 0.0)
