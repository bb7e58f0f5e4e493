"""The artifact in components, by the kind of artifact. Arrays only."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline

from mne_otica.artifacts.kinds import Removal
from mne_otica.removal.band import band_part
from mne_otica.removal.beats import beat_part
from mne_otica.removal.estimate import Estimate, artifact_part, at_low_rate
from mne_otica.removal.gaze import gaze_part
from mne_otica.removal.linear_estimate import Array, Mask, Samples

_SHARP_RATE = 250.0  # Hz; beats are sharp, and estimated at about this rate


def kind_part(
    removal: Removal,
    courses: Array,
    sfreq: float,
    samples: Samples,
    bad: Mask,
    *,
    highpass: float = 0.0,
) -> Estimate:
    """Estimate the artifacts of one kind in the time courses of components.

    ``samples`` are the events from 0, ``bad`` the samples that must not be used, and ``highpass``
    the corner frequency of the high-pass filter applied to the recording, in hertz.
    """
    if removal.shape == "bump" and removal.how == "events":
        return artifact_part(courses, sfreq, samples, bad, highpass=highpass)
    bad = bad | ~np.isfinite(courses.sum(axis=0))
    if bad.all():
        return _changed(np.zeros_like(courses), np.zeros(0, np.int64))
    if removal.shape == "pop":
        # One electrode's noise: hardly anything else is in such a component.
        return _changed(np.where(bad, 0.0, courses), samples, whole=True)
    if removal.shape == "step":
        return _changed(np.array([gaze_part(course, sfreq, bad) for course in courses]), samples)
    if removal.how == "band":
        part = np.array([band_part(course, sfreq, removal.l_freq, bad) for course in courses])
        return _changed(part, np.zeros(0, np.int64))
    estimate = _changed(*_beats(courses, sfreq, samples, bad))
    return replace(estimate, model=_Again(courses - estimate.part, sfreq, bad))


@dataclass(frozen=True, eq=False)
class _Again:
    """The time courses without the beats, to repeat the procedure with sham events."""

    rest: Array
    sfreq: float
    bad: Mask

    def sham(self, samples: Samples) -> Array:
        """Return the part removed if everything is estimated from these events."""
        return _beats(self.rest, self.sfreq, samples, self.bad)[0]


def _beats(
    courses: Array, sfreq: float, samples: Samples, bad: Mask
) -> tuple[Array, Samples, Array]:
    """Return the beats, their samples, and their probabilities."""
    step = max(1, round(sfreq / _SHARP_RATE))
    low, scales = at_low_rate(courses, bad, step)
    parts, best = np.zeros_like(courses), (np.zeros(0, np.int64), np.zeros(0))
    for part, course, scale in zip(parts, low, scales, strict=True):
        own, *found = beat_part(course, sfreq / step, samples // step, bad[::step])
        part[:] = scale * _at_full_rate(own, step, len(part))
        best = max(best, found, key=lambda one: one[1].sum())
    return np.where(bad, 0.0, parts), step * best[0], best[1]


def _at_full_rate(part: Array, step: int, n_times: int) -> Array:
    """Interpolate a part at a low rate to all samples, zero where it was zero."""
    at, fine = step * np.arange(len(part)), np.arange(n_times)
    curve = CubicSpline(at, part)(fine.clip(0, at[-1])) if step > 1 else part
    near = np.minimum(fine // step, len(part) - 1)
    there = (part[near] != 0) | (part[np.minimum(near + 1, len(part) - 1)] != 0)
    return np.where(there, curve, 0.0)


def _changed(
    part: Array, samples: Samples, weights: Array | None = None, whole: bool = False
) -> Estimate:
    """Return an estimate of a part with the stretches that it changes."""
    edges = np.flatnonzero(np.diff(np.r_[False, part.any(axis=0), False].astype(int)))
    weights = np.ones(len(samples)) if weights is None else weights
    return Estimate(part, samples, weights, edges.reshape(-1, 2), whole)
