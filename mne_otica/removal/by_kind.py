"""The artifact in components, by the kind of artifact. Arrays only."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline

from mne_otica.artifacts import Removal
from mne_otica.removal.band import band_part
from mne_otica.removal.beats import beat_part
from mne_otica.removal.estimate import (
    RATE,
    Estimate,
    artifact_part,
    at_low_rate,
    high_pass_kernel,
)
from mne_otica.removal.linear_estimate import Array, Mask, Samples
from mne_otica.removal.saccades import pop_part, step_part

# Share of the variance of an eye movement component that steps do not explain. If it is larger, the
# eyes move in other ways, such as smooth pursuit, and the whole component is removed.
_OTHERWISE = 0.5
_CRACKLE = 0.05  # the same for an electrode that pops: if larger, it crackles, drifts or hums
_SHARP_RATE = 250.0  # Hz; beats and pops are sharp, and estimated at about this rate


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
    estimate = _part_of(removal, courses, sfreq, samples, bad, highpass)
    if removal.how == "events" and not estimate.whole:
        rest = courses - estimate.part
        estimate = replace(estimate, model=_Again(removal, rest, sfreq, bad, highpass))
    return estimate


@dataclass(frozen=True, eq=False)
class _Again:
    """The time courses without the artifact, to repeat the procedure with sham events."""

    removal: Removal
    rest: Array
    sfreq: float
    bad: Mask
    highpass: float

    def sham(self, samples: Samples) -> Array:
        """Return the part removed if everything is estimated from these events."""
        again = _part_of(self.removal, self.rest, self.sfreq, samples, self.bad, self.highpass)
        return again.part


def _part_of(
    removal: Removal, courses: Array, sfreq: float, samples: Samples, bad: Mask, highpass: float
) -> Estimate:
    """Return the estimate from the components alone."""
    if removal.how == "band":
        part = np.array([band_part(course, sfreq, removal.l_freq, bad) for course in courses])
        return _changed(part, np.zeros(0, np.int64))
    if removal.shape == "beat":
        return _changed(*_beats(courses, sfreq, samples, bad))
    if removal.shape == "pop":
        return _pops(courses, sfreq, samples, bad)
    part, events = _steps(courses, sfreq, samples, bad, highpass)
    if _unexplained(courses, part, bad) > _OTHERWISE:
        return _changed(np.where(bad, 0.0, courses), samples, whole=True)
    return _changed(part, events)


def _unexplained(courses: Array, part: Array, bad: Mask) -> float:
    """Return the share of the variance of time courses that a part does not explain."""
    total = courses[:, ~bad].var(axis=1).sum()
    return float((courses - part)[:, ~bad].var(axis=1).sum() / max(total, np.finfo(float).tiny))


def _steps(
    courses: Array, sfreq: float, samples: Samples, bad: Mask, highpass: float
) -> tuple[Array, Samples]:
    """Return the steps, estimated at a low rate, and their samples."""
    step = max(1, round(sfreq / RATE))
    low, scales = at_low_rate(courses, bad, step)
    good = ~bad[::step]
    events = np.unique(samples // step).clip(0, len(good) - 1)
    parts, found = np.zeros_like(courses), []
    kernel = high_pass_kernel(highpass, sfreq / step)
    for part, course, scale in zip(parts, low, scales, strict=True):
        if scale > 0 and len(events):
            walk, where = step_part(course, good, sfreq / step, events, highpass, kernel)
            part[:] = scale * _at_full_rate(walk, step, len(part))
            found.append(step * where)
    return np.where(bad, 0.0, parts), np.unique(np.concatenate([samples, *found]))


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


def _pops(courses: Array, sfreq: float, samples: Samples, bad: Mask) -> Estimate:
    """Return the pops, or the whole component if the electrode does more than pop."""
    step = max(1, round(sfreq / _SHARP_RATE))
    low, scales = at_low_rate(courses, bad, step)
    good = ~bad[::step]
    events = np.unique(samples // step).clip(0, len(good) - 1)
    parts, whole = np.where(bad, 0.0, courses), True
    for part, course, scale in zip(parts, low, scales, strict=True):
        own, left = pop_part(course, good, sfreq / step, events)
        if left <= _CRACKLE:
            part[:] = np.where(bad, 0.0, scale * _at_full_rate(own, step, len(part)))
            whole = False
    return _changed(parts, samples, whole=whole)


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
