"""The artifact in components with transient events such as blinks. Arrays only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from mne.filter import create_filter
from scipy.interpolate import CubicSpline
from scipy.signal import resample_poly

from mne_otica.removal.linear_estimate import APART, WINDOW, Component, Frame, bridged
from mne_otica.removal.separation import State, estimate_given, quietness, separate
from mne_otica.signals.recording import runs
from mne_otica.utils.arrays import Array, Mask, Samples, nearest

RATE = 80.0  # Hz; the artifact is smooth, and estimated at about this rate


@dataclass(frozen=True, eq=False)
class Estimate:
    """The artifact in some components."""

    part: Array  # its time course in each component, zero outside the windows around the events
    events: Samples  # those given and those found
    whole: bool = False  # whether nearly all between the events is artifact, too, and removed
    # What other events would remove, if the model of the artifact can tell
    model: Callable[[Samples], Array] | None = field(default=None, repr=False)

    def joined(self, other: Estimate, chosen: Mask) -> Estimate:
        """Add the events of another estimate among chosen samples where this changes nothing."""
        own, part = self.part.any(axis=0), self.part.copy()
        new = chosen[other.events] & ~own[other.events]
        for start, stop in runs(other.part.any(axis=0)):
            if new[(other.events >= start) & (other.events < stop)].any():
                span = slice(start, stop)
                # Windows that overlap are cut at the edges of the chosen samples.
                alone = chosen[span] & ~own[span] if own[span].any() else np.ones_like(own[span])
                part[:, span][:, alone] = other.part[:, span][:, alone]
        return replace(self, part=part, events=np.sort(np.r_[self.events, other.events[new]]))


def _aligned(courses: Array, events: Samples) -> Samples:
    """Move events to the peak of the component that shows them best."""
    heights = np.median(courses[:, events], axis=1)
    best = int(np.argmax(np.abs(heights)))
    around = (events[:, np.newaxis] + np.arange(-1, 2)).clip(0, courses.shape[1] - 1)
    peaks = np.argmax(np.sign(heights[best]) * courses[best, around], axis=1)
    return np.unique(np.take_along_axis(around, peaks[:, np.newaxis], axis=1)[:, 0])


def _as_given(events: Samples, given: Samples) -> Samples:
    """Return events, those near a given one as they were given."""
    if not len(events):
        return events
    close = given[nearest(events, given)]
    return np.where(np.abs(events - close) <= 1, close, events)


def artifact_part(
    courses: Array,
    sfreq: float,
    samples: Samples,  # of known events, from 0, of which there may be more
    bad: Mask | None = None,
    highpass: float = 0,  # Hz, the corner of the filter that was applied to the recording
) -> Estimate:
    """Estimate the artifact in the time courses of components that share their events."""
    courses = np.atleast_2d(courses).astype(float, copy=False)
    unknown = ~np.isfinite(courses.sum(axis=0))
    bad = unknown if bad is None else bad | unknown
    step = max(1, round(sfreq / RATE))
    low, scales = at_low_rate(courses, bad, step)
    good = ~bad[::step]
    events = _merge(np.asarray(samples, dtype=np.int64), int(APART * sfreq)) // step
    events = events[good[events.clip(0, len(good) - 1)]] if len(events) else events
    if not len(events) or not scales.all():
        return Estimate(np.zeros_like(courses), np.zeros(0, np.int64))
    # A given event may miss the peak by a sample: with those of the EOG, the reduction in
    # `sample28` of benchmarks.real is .90 without this and .95 with it.
    given, events = events, _aligned(low, events)
    # A lower high-pass filter does not prolong events, it only adds drift to them.
    rate, kernel = sfreq / step, None
    if highpass >= 0.4:
        kernel = create_filter(None, rate, highpass, None, verbose="error")
    frame = Frame(rate, kernel)
    components = [Component(course, good, frame) for course in low]
    state = separate(components, events)
    found = step * _as_given(state.events, given)
    # A part leaves the power beyond that of the quiet seconds, and spares the time outside the
    # windows; if it leaves more than it spares, the whole component is removed.
    lags = np.arange(*(int(limit * rate) for limit in WINDOW))
    at = np.unique(state.events[:, np.newaxis] + lags)
    covered = np.count_nonzero((at >= 0) & (at < len(good))) / len(good)
    whole = all(quietness(component) < covered for component in components)
    sizes = frame, scales, step, courses.shape[1]
    part = np.where(bad, 0.0, courses) if whole else _at_full_rate(state, *sizes)

    def model(sham: Samples) -> Array:
        return _at_full_rate(estimate_given(components, np.unique(sham // step)), *sizes)

    return Estimate(part, found, whole, model)


def sham_part(estimated: Estimate, samples: Samples) -> Array:
    """Return what the same procedure removes for sham events, samples from 0."""
    if estimated.whole or estimated.model is None or not len(samples):
        return np.where(estimated.whole, estimated.part, 0.0)
    return estimated.model(np.asarray(samples))


def sham_events(estimated: Estimate, sfreq: float, n_times: int) -> Samples:
    """Draw as many sham events as there are true ones, away from these, always the same."""
    # They are at least a window apart, or the midpoints between true events without room for that.
    free = ~estimated.part.any(axis=0)
    reach = int((WINDOW[1] - WINDOW[0]) * sfreq)
    if not free.any() or free.sum() < reach * len(estimated.events) / 2:
        return (estimated.events[1:] + estimated.events[:-1]) // 2
    samples: list[int] = []
    for sample in np.random.default_rng(0).permutation(np.flatnonzero(free)):
        if len(samples) == len(estimated.events):
            break
        if free[sample]:
            samples.append(int(sample))
            free[max(0, sample - reach) : sample + reach] = False
    return np.sort(np.array(samples, dtype=np.int64))


def _merge(samples: Samples, apart: int) -> Samples:
    """Return the samples in order, without duplicates."""
    kept: list[int] = []
    for sample in np.sort(samples):
        if not kept or sample - kept[-1] > apart:
            kept.append(int(sample))
    return np.array(kept, dtype=np.int64)


def at_low_rate(courses: Array, bad: Mask, step: int) -> tuple[Array, Array]:
    """Return the time courses at a low rate and of about unit scale, and their scales."""
    low, scales = [], np.zeros(len(courses))
    if bad.all():
        return courses[:, ::step], scales
    for k, course in enumerate(courses):
        course = bridged(course, bad)
        course = course - np.median(course)
        scales[k] = np.sqrt(np.mean(course**2))
        course = course / max(scales[k], np.finfo(float).tiny)
        low.append(resample_poly(course, 1, step, padtype="line") if step > 1 else course)
    return np.array(low), scales


def _at_full_rate(state: State, frame: Frame, scales: Array, step: int, n_times: int) -> Array:
    """Return the sum of all events at the rate of the recording."""
    part = np.zeros((len(scales), n_times))
    if not len(state.events):
        return part
    fine = np.arange((frame.length - 1) * step + 1) / step
    parts = scales[:, np.newaxis, np.newaxis] * state.parts
    curves = CubicSpline(np.arange(frame.length), parts, axis=2, bc_type="clamped")(fine)
    for k, event in enumerate(state.events):
        first = (event + frame.start) * step
        begin, end = max(0, first), min(n_times, first + len(fine))
        part[:, begin:end] += curves[:, k, begin - first : end - first]
    return part
