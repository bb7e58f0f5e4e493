"""Joint estimation of artifact, rest and events in some components. Arrays only."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
from scipy.signal import detrend, find_peaks, get_window
from scipy.special import expit

from mne_otica.removal.linear_estimate import APART, QUIET, Component
from mne_otica.utils.arrays import Array, Mask, Samples, nearest

_ROUNDS = 4  # of estimating the models and searching for more events
# Prior log odds of an event that is given or found: by its height relative to the typical event,
# up to _HEIGHTS and above, and by its similarity to it. Low ones need strong evidence: roving eyes
# and head movements cause such deflections, which the Gaussian model of the rest does not cover.
_HEIGHTS = (0.2, 0.45, 0.55)
_LIKENESS = (0.5, 0.6, 0.7, 0.8)
_GIVEN = (-50, -50, -25, -25), (-50, -25, -25, -25), (-120, 3, 3, 3), (3, 3, 3, 3)
_FOUND = (-150, -150, -70, -40), (-150, -150, -70, -40), (-220, -220, -220, -3), (-3, -3, -3, -3)
_ALIKE = 0.4  # least correlation of an event that is found with the typical one, see `oset30`
_EYES = (1.0, 15.0)  # Hz, where eye movements are


@dataclass
class State:
    """The current events: samples, whether given, probabilities, and the part of each."""

    events: Samples
    given: Mask
    weights: Array
    parts: Array  # (n_components, n_events, n_window)

    @classmethod
    def of_given(cls, events: Samples, parts: Array) -> State:
        """Return the state of events that are given."""
        return cls(events, np.ones(len(events), bool), np.ones(len(events)), parts)

    def where(self, which: Mask | Samples) -> State:
        """Return the state with some of its events."""
        some = self.events[which], self.given[which], self.weights[which]
        return State(*some, self.parts[:, which])


def separate(components: list[Component], events: Samples) -> State:
    """Estimate artifact and rest in turn, each given the other."""
    state = State.of_given(events, np.array([one.start(events) for one in components]))
    for k in range(_ROUNDS):
        windows = []
        for component, own in zip(components, state.parts, strict=True):
            component.learn_rest()
            windows.append(component.windows(state.events, own))
            component.learn_events(windows[-1], state.weights)
        state.weights = _probabilities(components, state, windows)
        # The model of the rest improves with each round, so given events are reconsidered.
        last = k == _ROUNDS - 1
        state = _drop(components, state, np.zeros(len(state.events), bool) if last else state.given)
        if not len(state.events):
            break
        _estimate(components, state)
        if not last:
            state = _add(components, state)
    return state


def _probabilities(
    components: list[Component], state: State, windows: list[Array] | None = None
) -> Array:
    """Return the probability of each event."""
    evidence, along, size, typical = (np.zeros(len(state.events)) for _ in range(4))
    if windows is None:
        pairs = zip(components, state.parts, strict=True)
        windows = [component.windows(state.events, own) for component, own in pairs]
    for component, some in zip(components, windows, strict=True):
        evidence += component.evidence(some)
        basis = component.frame.basis / np.sqrt(component.lags[0])
        some, mean = some @ basis, component.mean @ basis
        along += some @ mean
        size += np.sum(some**2, axis=1)
        typical += mean @ mean
    likeness = along / np.sqrt(np.maximum(size * typical, np.finfo(float).tiny))
    height = along / np.maximum(typical, np.finfo(float).tiny)
    # Where windows reach beyond the recording, small deflections are not accepted as events.
    frame, first = components[0].frame, state.events + components[0].frame.start
    is_cut = (first < 0) | (first + frame.length > len(components[0].course))
    given = state.given & ~((height < _HEIGHTS[1]) & is_cut)
    odds = [
        np.where(given, np.interp(likeness, _LIKENESS, one), np.interp(likeness, _LIKENESS, other))
        for one, other in zip(_GIVEN, _FOUND, strict=True)
    ]
    odds = np.select([height < limit for limit in _HEIGHTS], odds[:-1], odds[-1])
    return np.where(given | (likeness >= _ALIKE), expit(evidence + odds), 0.0)


def _drop(components: list[Component], state: State, spare: Mask) -> State:
    """Drop improbable events, except some."""
    keep = (state.weights > 0.5) | spare
    for component, own in zip(components, state.parts, strict=True):
        for event, part in zip(state.events[~keep], own[~keep], strict=True):
            component.add(event, -part)
    return state.where(keep)


def _estimate(components: list[Component], state: State) -> None:
    """Estimate each event given the others."""
    for component, own in zip(components, state.parts, strict=True):
        for k, event in [*enumerate(state.events)] * 2:
            change = state.weights[k] * component.estimate(event, own[k]) - own[k]
            component.add(event, change)
            own[k] += change


def estimate_given(components: list[Component], events: Samples) -> State:
    """Estimate the parts of other events with the fitted models, which are not changed."""
    components = [copy.copy(component) for component in components]
    for component in components:
        component.part = component.part.copy()
    parts = np.zeros((len(components), len(events), components[0].frame.length))
    state = State.of_given(events, parts)
    state.weights = _probabilities(components, state)
    state = _drop(components, state, np.zeros(len(events), bool))
    _estimate(components, state)
    return state


def _add(components: list[Component], state: State) -> State:
    """Search the residual for more events."""
    filtered = sum(component.matched_filter() for component in components)
    frame, good = components[0].frame, components[0].good
    apart = max(1, int(APART * frame.rate))
    peaks, _ = find_peaks(filtered, height=0, distance=apart)
    peaks = peaks[good[peaks]]
    if len(state.events):
        known = np.sort(state.events)
        peaks = peaks[np.abs(peaks - known[nearest(peaks, known)]) >= apart]
    none = np.zeros((len(components), len(peaks), frame.length))
    found = State(peaks, np.zeros(len(peaks), bool), np.zeros(len(peaks)), none)
    found.weights = _probabilities(components, found)
    found = found.where(found.weights > 0.5)
    events, given = np.r_[state.events, found.events], np.r_[state.given, found.given]
    weights, parts = np.r_[state.weights, found.weights], np.hstack([state.parts, found.parts])
    return State(events, given, weights, parts).where(np.argsort(events))


def quietness(component: Component) -> float:
    """Return the power of the quiet seconds relative to that of all, between 0 and 1."""
    # Brain activity is there all the time; eyes that never rest for long move more or less.
    length = max(2, int(component.frame.rate))
    n_seconds = len(component.course) // length
    if not n_seconds:
        return 1.0
    seconds = (component.course - component.part)[: n_seconds * length].reshape(-1, length)
    good = component.good[: n_seconds * length].reshape(-1, length).all(axis=1)
    freqs = np.fft.rfftfreq(length, 1 / component.frame.rate)
    band = (freqs >= _EYES[0]) & (freqs <= _EYES[1])
    spectra = np.fft.rfft(detrend(seconds) * get_window("hann", length))
    powers = np.sum(np.abs(spectra[:, band]) ** 2, axis=1)[good]
    return float(np.quantile(powers, QUIET) / powers.mean()) if powers.any() else 1.0
