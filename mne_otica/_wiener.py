"""Which part of a component is the artifact. Arrays only: no MNE, no user input.

A component is c = b + n. The artifact's part b is zero but for a window round each event; the
rest n is stationary but for drifts. The autocovariance of n comes from the quiet stretches, mean
and covariance of b from the events, and from these the best linear estimate of b.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import idct
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, toeplitz
from scipy.signal import fftconvolve, find_peaks, get_window
from scipy.signal.windows import tukey
from scipy.special import expit

Array = NDArray[np.float64]

WINDOW = (-0.5, 0.7)  # s round the peak of an event in which the recording may change
REFRACTORY = 0.25  # s between two events at least
_CONTEXT = 0.8  # s on either side of a window, which tell what the rest does in it
_TAPER = 0.35  # share of the window in which b goes to zero, both ends together
_TILE = 4.0  # s of the stretches that the spectrum of the rest is measured in
_QUIET = 0.4  # quantile over stretches that is taken for the spectrum of the rest
_WHITE = 1e-4  # variance of white noise in the rest, so that what a filter left out is no proof
_DRIFT = 100.0  # standard deviation of offset and slope in that of the rest: unknown
_GENERIC = 0.09  # s; standard deviation of a blink's shape as long as no event is known
_LOCAL = 0.05  # s; how far deviations from the typical event are alike
_PRIOR_EVENTS = 6.0  # events that the prior covariance counts for
_SHAPE_SD = 0.2  # prior standard deviation of the local deviations, of the event's height
_HEIGHT_SD = 0.4  # prior standard deviation of the heights, of their mean
_DELAY_SD = 0.02  # s; prior standard deviation of the latency
_HIGHEST = 25.0  # Hz; events are smooth
_ROUNDS = 4  # of learning from the events and looking for more
_SWEEPS = 10  # of estimating each event's part given those of its neighbours
_LEAST_Z = 3.0  # of the matched filter: below, noise has peaks everywhere
# Log odds beforehand of an event that is given or found, and of one far below the typical height,
# which has to be beyond doubt: brains are not Gaussian.
_ODDS = {"given": 3.0, "found": -3.0, "small": -150.0}
_SMALL = 0.3  # of the height of the typical event
_ALIKE = 0.4  # least correlation of an event that is found with the typical event
_KEEP = 0.05  # least probability of an event that is kept


@dataclass(frozen=True)
class Geometry:
    """Windows and their surroundings in samples of the low rate."""

    rate: float

    @property
    def start(self) -> int:
        return int(round(WINDOW[0] * self.rate))

    @property
    def length(self) -> int:
        return int(round(WINDOW[1] * self.rate)) - self.start + 1

    @property
    def context(self) -> int:
        return int(round(_CONTEXT * self.rate))

    @property
    def around(self) -> int:
        return self.length + 2 * self.context

    @property
    def inside(self) -> slice:
        return slice(self.context, self.context + self.length)

    @property
    def taper(self) -> Array:
        return tukey(self.length, _TAPER)

    def smooth(self) -> Array:
        n_waves = int(2 * _HIGHEST * self.length / self.rate)
        return idct(np.eye(self.length)[:, :n_waves], axis=0, norm="ortho")

    def generic(self) -> Array:
        t = (self.start + np.arange(self.length)) / self.rate
        return np.exp(-0.5 * (t / _GENERIC) ** 2)


class Component:
    """What is known of one component, and the artifact's part of it so far."""

    def __init__(self, course: Array, good: NDArray[np.bool_], geometry: Geometry) -> None:
        self.course, self.good, self.geometry = course, good, geometry
        self.part = np.zeros_like(course)

    # -- windows

    def stretch(self, event: int, own: Array | None = None) -> tuple[Array, NDArray[np.bool_]]:
        """Return what is not of the other events, and which samples are known."""
        g = self.geometry
        first = event + g.start - g.context
        at = first + np.arange(g.around)
        known = (at >= 0) & (at < len(self.course))
        at = at.clip(0, len(self.course) - 1)
        known &= self.good[at]
        values = self.course[at] - self.part[at]
        if own is not None:
            values[g.inside] += own
        return values, known

    def add(self, event: int, own: Array) -> None:
        """Add one event's part."""
        first = event + self.geometry.start
        a, b = max(0, first), min(len(self.part), first + len(own))
        self.part[a:b] += own[a - first : b - first]

    # -- learning

    def learn_rest(self) -> None:
        g = self.geometry
        self.lags = autocovariance(self.course - self.part, self.good, g.rate, g.around)
        self.share = autocovariance.share
        noise = toeplitz(self.lags)
        t = np.linspace(-1, 1, g.around)
        noise += _DRIFT**2 * self.lags[0] * (1 + np.outer(t, t))
        self.noise = noise
        inside = np.zeros(g.around, bool)
        inside[g.inside] = True
        factor = cho_factor(noise[np.ix_(~inside, ~inside)])
        # What the surroundings say about the rest inside, and what they leave open.
        self.predict = np.zeros((g.length, g.around))
        self.predict[:, ~inside] = cho_solve(factor, noise[np.ix_(~inside, inside)]).T
        left = noise[np.ix_(inside, inside)] - self.predict[:, ~inside] @ noise[np.ix_(~inside, inside)]
        self.open = (left + left.T) / 2 + 1e-9 * left[0, 0] * np.eye(g.length)

    def deviations(self, events: NDArray[np.int64], own: Array) -> Array:
        """Return each event's window without what its surroundings predict."""
        g = self.geometry
        windows = []
        for event, part in zip(events, own, strict=True):
            values, known = self.stretch(event, part)
            values = _fill(values, known)
            windows.append(values[g.inside] - self.predict @ values)
        return np.array(windows).reshape(-1, g.length)

    def learn_events(self, windows: Array, weights: Array) -> None:
        """Learn mean and covariance of the artifact."""
        g, taper = self.geometry, self.geometry.taper
        n = max(weights.sum(), 1e-9)
        use = weights > 0.5
        if not use.any():
            use = weights >= weights.max()
        typical = np.median(windows[use], axis=0)
        generic = g.generic()
        height = float(typical @ generic / (generic @ generic))
        delay = np.gradient(generic) * g.rate
        # The mean leans on the generic shape where the events are too few to tell.
        prior = self._local(np.maximum(np.abs(generic), 0.3)) * height**2
        error = (self.open + prior * _SHAPE_SD**2) / n
        prior = np.outer(taper, taper) * prior
        gain = np.linalg.solve(prior + error, prior).T
        self.mean = taper * (height * generic + gain @ (typical - height * generic))
        envelope = np.abs(self.mean) + 0.05 * np.abs(self.mean).max()
        delay = np.gradient(self.mean) * g.rate
        expected = (
            _HEIGHT_SD**2 * np.outer(self.mean, self.mean)
            + _DELAY_SD**2 * np.outer(delay, delay)
            + _SHAPE_SD**2 * self._local(envelope)
        )
        if n > 2:
            smooth = g.smooth()
            rest = (windows - self.mean) @ smooth
            sample = (weights[:, None] * rest).T @ rest / n
            noise = smooth.T @ self.open @ smooth
            values, vectors = eigh(sample, noise)
            edge = (1 + np.sqrt(smooth.shape[1] / n)) ** 2
            values = np.where(values > edge, values - 1, 0)
            half = smooth @ (noise @ vectors) * np.sqrt(values)
            expected = (n * half @ half.T + _PRIOR_EVENTS * expected) / (n + _PRIOR_EVENTS)
        self.covariance = np.outer(taper, taper) * expected
        both = self.covariance + self.open
        self.factors = cho_factor(self.open), cho_factor(both)
        self.log_ratio = sum(
            sign * np.log(np.diag(f[0])).sum() for sign, f in zip((1, -1), self.factors, strict=True)
        )
        padded = np.zeros((g.length, g.around))
        padded[:, g.inside] = self.covariance
        self.padded = padded
        total = self.noise.copy()
        total[g.inside, g.inside] += self.covariance
        self.total = total
        self.gain = cho_solve(cho_factor(total), padded.T).T

    def _local(self, envelope: Array) -> Array:
        t = np.arange(self.geometry.length) / self.geometry.rate
        alike = np.exp(-0.5 * ((t[:, None] - t) / _LOCAL) ** 2)
        return alike * np.outer(envelope, envelope)

    # -- estimating

    def evidence(self, windows: Array) -> Array:
        """Return the log likelihood ratio of artifact and rest against rest."""
        rest = windows - self.mean
        without, both = (
            np.sum(x.T * cho_solve(f, x.T), axis=0)
            for x, f in zip((windows, rest), self.factors, strict=True)
        )
        return (without - both) / 2 + self.log_ratio

    def matched(self) -> tuple[Array, float]:
        """Return the matched filter's output on what is left, and its variance."""
        g = self.geometry
        solved = cho_solve(self.factors[0], self.mean)
        filt = -self.predict.T @ solved
        filt[g.inside] += solved
        t = np.linspace(-1, 1, g.around)
        filt -= filt.mean() + t * (t @ filt) / (t @ t)
        left = self.course - self.part
        out = fftconvolve(left, filt[::-1], mode="full")
        # out[k] is the filter whose last sample is at k
        peak = g.context - g.start
        out = np.r_[out[g.around - 1 - peak :], np.zeros(g.around)][: len(left)]
        return out, float(self.mean @ solved)

    def estimate(self, event: int, own: Array) -> Array:
        """Return the best linear estimate of one event's part, given the others."""
        values, known = self.stretch(event, own)
        if known.all():
            values = values - values.mean()
            values[self.geometry.inside] -= self.mean
            return self.mean + self.gain @ values
        if not known.any():
            return np.zeros_like(own)
        values[known] -= values[known].mean()
        values[self.geometry.inside] -= self.mean
        solved = cho_solve(cho_factor(self.total[np.ix_(known, known)]), values[known])
        return self.mean + self.padded[:, known] @ solved


def _fill(values, known):
    if known.all() or not known.any():
        return values
    at = np.arange(len(values))
    return np.where(known, values, np.interp(at, at[known], values[known]))


def autocovariance(rest: Array, good: NDArray[np.bool_], rate: float, n_lags: int) -> Array:
    """Return the autocovariance of the quiet stretches of a signal."""
    n = min(int(_TILE * rate), len(rest))
    taper = get_window("hann", n)
    taper /= np.sqrt(np.sum(taper**2))
    t = np.linspace(-1, 1, n)
    powers, share = [], []
    for k in range(0, len(rest) - n + 1, max(1, n // 2)):
        one = rest[k : k + n]
        one = one - one.mean() - t * (t @ one) / (t @ t)
        powers.append(np.abs(np.fft.rfft(one * taper, 2 * max(n, n_lags))) ** 2)
        share.append(good[k : k + n].mean())
    share = np.array(share)
    powers = np.array(powers)[share >= min(0.9, share.max())]
    # The power of a stationary signal is exponentially distributed over stretches, which tells
    # the mean from a quantile; the quantile is not raised by stretches that hold more.
    quiet = np.quantile(powers, _QUIET, axis=0) / -np.log(1 - _QUIET)
    mean = powers.mean(axis=0)
    lags = np.fft.irfft(np.minimum(quiet, mean))[:n_lags]
    lags[0] *= 1 + _WHITE
    freqs = np.fft.rfftfreq(2 * max(n, n_lags), 1 / rate)
    band = (freqs >= 1) & (freqs <= 15)
    autocovariance.share = np.minimum(quiet, mean)[band].sum() / mean[band].sum()
    return lags


def separate(courses: Array, good: NDArray[np.bool_], rate: float, events: NDArray[np.int64]):
    """Return the artifact's part of each event, the events and their probabilities."""
    g = Geometry(rate)
    components = [Component(course, good, g) for course in courses]
    given = np.ones(len(events), bool)
    weights = np.ones(len(events))
    parts = np.zeros((len(courses), len(events), g.length))
    _start(components, events, parts)
    for turn in range(_ROUNDS):
        _learn(components, events, parts, weights)
        weights = _weigh(components, events, parts, given)
        events, given, weights, parts = _drop(components, events, given, weights, parts)
        _sweep(components, events, parts, weights)
        if turn < _ROUNDS - 1:
            events, given, weights, parts = _look(components, events, given, weights, parts)
    return events, weights, parts, components


def _start(components, events, parts):
    """Take the median event, on a line from end to end, for each event's part."""
    for component, own in zip(components, parts, strict=True):
        g = component.geometry
        at = (events[:, None] + g.start + np.arange(g.length)).clip(0, len(component.course) - 1)
        windows = component.course[at]
        edge = g.length // 6
        line = np.linspace(0, 1, g.length)
        before, after = windows[:, :edge].mean(1), windows[:, -edge:].mean(1)
        windows = windows - before[:, None] - np.outer(after - before, line)
        typical = g.taper * np.median(windows, axis=0)
        own[:] = np.outer(windows @ typical / (typical @ typical), typical)
        for event, part in zip(events, own, strict=True):
            component.add(event, part)


def _learn(components, events, parts, weights):
    for component, own in zip(components, parts, strict=True):
        component.learn_rest()
        component.learn_events(component.deviations(events, own), weights)


def _weigh(components, events, parts, given):
    log_odds = 0.0
    along, own_size, mean_size = 0.0, 0.0, 0.0
    for component, own in zip(components, parts, strict=True):
        windows = component.deviations(events, own)
        log_odds = log_odds + component.evidence(windows)
        smooth = component.geometry.smooth() / np.sqrt(component.lags[0])
        windows, mean = windows @ smooth, component.mean @ smooth
        along = along + windows @ mean
        own_size = own_size + np.sum(windows**2, axis=1)
        mean_size = mean_size + mean @ mean
    alike = along >= _ALIKE * np.sqrt(own_size * mean_size)
    small = along < _SMALL * mean_size
    before = np.where(given, _ODDS["given"], np.where(small, _ODDS["small"], _ODDS["found"]))
    return np.where(given | alike, expit(log_odds + before), 0.0)


def _drop(components, events, given, weights, parts):
    keep = weights >= _KEEP
    for component, own in zip(components, parts, strict=True):
        for event, part in zip(events[~keep], own[~keep], strict=True):
            component.add(event, -part)
    return events[keep], given[keep], weights[keep], parts[:, keep]


def _sweep(components, events, parts, weights):
    for component, own in zip(components, parts, strict=True):
        for _ in range(_SWEEPS):
            change = 0.0
            for k, event in enumerate(events):
                new = weights[k] * component.estimate(event, own[k])
                change = max(change, np.abs(new - own[k]).max())
                component.add(event, new - own[k])
                own[k] = new
            if change < 1e-3 * np.sqrt(component.lags[0]):
                break


def _look(components, events, given, weights, parts):
    outputs = [component.matched() for component in components]
    score = sum(out for out, _ in outputs) / np.sqrt(sum(var for _, var in outputs))
    g = components[0].geometry
    distance = max(1, int(REFRACTORY * g.rate))
    peaks, _ = find_peaks(score, height=_LEAST_Z, distance=distance)
    peaks = peaks[components[0].good[peaks]]
    if len(events):
        peaks = peaks[np.abs(peaks[:, None] - events).min(axis=1) >= distance]
    fresh = np.zeros((len(components), len(peaks), g.length))
    chance = _weigh(components, peaks, fresh, np.zeros(len(peaks), bool)) if len(peaks) else np.zeros(0)
    peaks, chance, fresh = peaks[chance > 0.5], chance[chance > 0.5], fresh[:, chance > 0.5]
    order = np.argsort(np.r_[events, peaks])
    events = np.r_[events, peaks][order]
    given = np.r_[given, np.zeros(len(peaks), bool)][order]
    weights = np.r_[weights, chance][order]
    parts = np.concatenate([parts, fresh], axis=1)[:, order]
    return events, given, weights, parts
