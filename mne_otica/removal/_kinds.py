"""The artifact's part of components, by the kind of the artifact. Arrays only."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

from mne_otica.artifacts import Removal
from mne_otica.removal._band import band_part
from mne_otica.removal._beats import beat_part
from mne_otica.removal._estimate import (
    RATE,
    Estimate,
    artifact_part,
    at_low_rate,
    high_pass_kernel,
)
from mne_otica.removal._model import Array, Mask, Samples
from mne_otica.removal._steps import step_part

# Share of the variance of an eye movement's component that its steps leave. If it is more, the
# eyes move otherwise: they follow something, and all of the component is theirs.
_OTHERWISE = 0.5


def kind_part(
    removal: Removal,
    courses: Array,
    sfreq: float,
    samples: Samples,
    bad: Mask,
    *,
    highpass: float = 0.0,
) -> Estimate:
    """Estimate which part of the courses of components is that of artifacts of one kind.

    Parameters
    ----------
    removal : Removal
        What the kind says of its part. All of the courses goes where it says nothing.
    courses : ndarray, shape (n_components, n_times)
        They are not changed.
    sfreq : float
        The sampling rate in hertz.
    samples : ndarray, shape (n_events,)
        The events, as samples from 0.
    bad : ndarray of bool, shape (n_times,)
        Samples that say nothing.
    highpass : float
        The corner of the high-pass filter that the recording has gone through, in hertz.
    """
    if removal.how == "events" and removal.shape == "bump":
        return artifact_part(courses, sfreq, samples, bad, highpass=highpass)
    bad = bad | ~np.isfinite(courses.sum(axis=0))
    if bad.all():
        return _changed(np.zeros_like(courses), np.zeros(0, np.int64))
    if removal.how == "none":
        return _changed(np.where(bad, 0.0, courses), samples, whole=True)
    if removal.how == "band":
        part = np.array([band_part(course, sfreq, removal.l_freq, bad) for course in courses])
        return _changed(part, np.zeros(0, np.int64))
    if removal.shape == "beat":
        found = [beat_part(course, sfreq, samples, bad) for course in courses]
        most = max(found, key=lambda one: one[2].sum())
        return _changed(np.array([one[0] for one in found]), most[1], most[2])
    part, events = _steps(courses, sfreq, samples, bad, highpass)
    if _unexplained(courses, part, bad) > _OTHERWISE:
        return _changed(np.where(bad, 0.0, courses), samples, whole=True)
    return _changed(part, events)


def _unexplained(courses: Array, part: Array, bad: Mask) -> float:
    """Return the share of the variance of courses that a part leaves."""
    total = courses[:, ~bad].var(axis=1).sum()
    return float((courses - part)[:, ~bad].var(axis=1).sum() / max(total, np.finfo(float).tiny))


def _steps(
    courses: Array, sfreq: float, samples: Samples, bad: Mask, highpass: float
) -> tuple[Array, Samples]:
    """Return the part of steps, estimated at a low rate, and where steps are."""
    step = max(1, round(sfreq / RATE))
    low, scales = at_low_rate(courses, bad, step)
    good = ~bad[::step]
    events = np.unique(samples // step).clip(0, len(good) - 1)
    parts, found = np.zeros_like(courses), []
    kernel = high_pass_kernel(highpass, sfreq / step)
    at, fine = step * np.arange(len(good)), np.arange(len(bad))
    for part, course, scale in zip(parts, low, scales, strict=True):
        if scale > 0 and len(events):
            walk, where = step_part(course, good, sfreq / step, events, highpass, kernel)
            part[:] = CubicSpline(at, scale * walk)(fine.clip(0, at[-1]))
            found.append(step * where)
    return np.where(bad, 0.0, parts), np.unique(np.concatenate([samples, *found]))


def _changed(
    part: Array, samples: Samples, weights: Array | None = None, whole: bool = False
) -> Estimate:
    """Return an estimate of a part with the stretches that it changes."""
    edges = np.flatnonzero(np.diff(np.r_[False, part.any(axis=0), False].astype(int)))
    weights = np.ones(len(samples)) if weights is None else weights
    return Estimate(part, samples, weights, edges.reshape(-1, 2), whole)
