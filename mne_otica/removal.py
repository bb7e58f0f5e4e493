"""Take out the artifact, not the component that holds it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from mne.filter import create_filter
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.signal import find_peaks, resample_poly
from scipy.special import expit

from mne_otica._wiener import Array, Component, Frame, Mask, Samples

RATE = 120.0  # Hz; the artifact is smooth, and estimated at this rate or a little more
REFRACTORY = 0.25  # s between two events at least
_DRAWS_OUT = 0.4  # Hz; what a lower high-pass filter does to an event is drift
_ROUNDS = 4  # of learning from the events and looking for more of them
_SWEEPS = 10  # of estimating each event's part given those of its neighbours, at most
_CONVERGED = 1e-3  # change of a part, in standard deviations of the rest, that ends them
_LEAST_Z = 3.0  # of the matched filter: below, noise has peaks everywhere
# Log odds beforehand of an event that is given or found, and of one far below the typical height,
# which has to be beyond doubt: the rest of a component is not Gaussian.
_ODDS = {"given": 3.0, "found": -3.0, "small": -150.0}
_SMALL = 0.3  # of the typical event's height
_ALIKE = 0.4  # least correlation of an event that is found with the typical event
_KEEP = 0.05  # least probability of an event that is kept


@dataclass(frozen=True, eq=False)
class Estimate:
    """The artifact's part of some components.

    Attributes
    ----------
    part : ndarray, shape (n_components, n_times)
        What the artifact adds to each component; zero outside the windows.
    events : ndarray, shape (n_events,)
        The samples of the events that were taken out: those given and those found.
    weights : ndarray, shape (n_events,)
        How probable it is that each of them is one; its part is scaled by it.
    windows : ndarray, shape (n_windows, 2)
        First sample, and the sample after the last, of each stretch that may change.
    whole : bool
        Whether nearly all of the components is the artifact's, so that all of it goes.
    """

    part: NDArray[np.float64]
    events: NDArray[np.int64]
    weights: NDArray[np.float64]
    windows: NDArray[np.int64]
    whole: bool


@dataclass
class _State:
    """The events so far: where, whether they were given, how probable, and each one's part."""

    events: Samples
    given: Mask
    weights: Array
    parts: Array  # (n_components, n_events, n_window)

    def sorted(self) -> _State:
        return self.where(np.argsort(self.events))

    def where(self, which: Mask | Samples) -> _State:
        return _State(
            self.events[which], self.given[which], self.weights[which], self.parts[:, which]
        )


def artifact_part(
    courses: Array, sfreq: float, samples: Samples, bad: Mask | None = None, *, highpass: float = 0.0, look: bool = True
) -> Estimate:
    courses = np.atleast_2d(courses)
    n_times = courses.shape[1]
    bad = np.zeros(n_times, bool) if bad is None else bad
    step = max(1, int(sfreq / RATE))
    at = np.arange(n_times)
    filled = courses
    if bad.any():
        filled = np.array([np.where(bad, np.interp(at, at[~bad], row[~bad]), row) for row in courses])
    low = resample_poly(filled, 1, step, axis=1, padtype="line") if step > 1 else filled
    good = ~bad[::step][: low.shape[1]]
    kernel = None
    if highpass >= _DRAWS_OUT:
        kernel = create_filter(None, sfreq / step, highpass, None, verbose="error")
    events = np.unique(np.round(np.asarray(samples) / step).astype(int).clip(0, low.shape[1] - 1))
    frame = Frame(sfreq / step, kernel)
    components = [Component(course, good, frame) for course in low]
    state = _separate(components, events, look)
    part, windows = _at_full_rate(state, frame, step, courses.shape)
    return Estimate(part, state.events * step, state.weights, windows, False), components


def _separate(components: list[Component], events: Samples, look: bool) -> _State:
    """Find artifact and rest together: each is known by the other."""
    parts = np.array([component.start(events) for component in components])
    state = _State(events, np.ones(len(events), bool), np.ones(len(events)), parts)
    for k in range(_ROUNDS):
        for component, own in zip(components, state.parts, strict=True):
            component.learn_rest()
            component.learn_events(component.windows(state.events, own), state.weights)
        state.weights = _probabilities(components, state)
        state = _drop(components, state)
        _estimate(components, state)
        if look and k < _ROUNDS - 1:
            state = _add(components, state)
    return state


def _probabilities(components: list[Component], state: _State) -> Array:
    """Return how probable it is that each event is one."""
    evidence, along, size, typical = (np.zeros(len(state.events)) for _ in range(4))
    for component, own in zip(components, state.parts, strict=True):
        windows = component.windows(state.events, own)
        evidence += component.evidence(windows)
        basis = component.frame.basis / np.sqrt(component.lags[0])
        windows, mean = windows @ basis, component.mean @ basis
        along += windows @ mean
        size += np.sum(windows**2, axis=1)
        typical += mean @ mean
    alike = along >= _ALIKE * np.sqrt(size * typical)
    small = along < _SMALL * typical
    odds = np.select([state.given, small], [_ODDS["given"], _ODDS["small"]], _ODDS["found"])
    return np.where(state.given | alike, expit(evidence + odds), 0.0)


def _drop(components: list[Component], state: _State) -> _State:
    """Leave out the events that are none."""
    keep = state.weights >= _KEEP
    for component, own in zip(components, state.parts, strict=True):
        for event, part in zip(state.events[~keep], own[~keep], strict=True):
            component.add(event, -part)
    return state.where(keep)


def _estimate(components: list[Component], state: _State) -> None:
    """Estimate each event's part, given the others, until none changes."""
    for component, own in zip(components, state.parts, strict=True):
        enough = _CONVERGED * np.sqrt(component.lags[0])
        for _ in range(_SWEEPS):
            largest = 0.0
            for k, event in enumerate(state.events):
                change = state.weights[k] * component.estimate(event, own[k]) - own[k]
                component.add(event, change)
                own[k] += change
                largest = max(largest, np.abs(change).max())
            if largest < enough:
                break


def _add(components: list[Component], state: _State) -> _State:
    """Look for more events in what is left."""
    filtered = [component.matched_filter() for component in components]
    scale = np.sqrt(sum(variance for _, variance in filtered))
    frame, good = components[0].frame, components[0].good
    apart = max(1, int(REFRACTORY * frame.rate))
    peaks, _ = find_peaks(
        sum(output for output, _ in filtered), height=_LEAST_Z * scale, distance=apart
    )
    peaks = peaks[good[peaks]]
    if len(state.events):
        peaks = peaks[np.abs(peaks[:, np.newaxis] - state.events).min(axis=1) >= apart]
    n_found = len(peaks)
    none = np.zeros((len(components), n_found, frame.length))
    found = _State(peaks, np.zeros(n_found, bool), np.zeros(n_found), none)
    found.weights = _probabilities(components, found)
    found = found.where(found.weights > 0.5)
    return _State(
        np.r_[state.events, found.events],
        np.r_[state.given, found.given],
        np.r_[state.weights, found.weights],
        np.concatenate([state.parts, found.parts], axis=1),
    ).sorted()


def _at_full_rate(
    state: _State, frame: Frame, step: int, shape: tuple[int, int]
) -> tuple[Array, Samples]:
    """Return the sum of all parts at the rate of the recording, and the windows."""
    part = np.zeros(shape)
    n_times = shape[1]
    coarse = np.arange(frame.length)
    fine = np.arange((frame.length - 1) * step + 1) / step
    changed = np.zeros(n_times, bool)
    for k, event in enumerate(state.events):
        first = (event + frame.start) * step
        begin, end = max(0, first), min(n_times, first + len(fine))
        changed[begin:end] = True
        for row, own in zip(part, state.parts[:, k], strict=True):
            curve = CubicSpline(coarse, own, bc_type="clamped")(fine)
            row[begin:end] += curve[begin - first : end - first]
    edges = np.flatnonzero(np.diff(np.r_[False, changed, False].astype(int)))
    return part, edges.reshape(-1, 2)
