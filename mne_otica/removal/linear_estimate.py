"""The artifact in a component, by a linear estimate. Arrays only: no MNE, no user input.

A component is c = b + n: the artifact b is zero outside a window around each event, and the rest n
is stationary except for drifts. See Equation (19) of docs/method.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.fft import idct, irfft, rfft
from scipy.linalg import cho_factor, cho_solve, eigh, toeplitz
from scipy.signal import fftconvolve, get_window
from scipy.signal.windows import tukey

from mne_otica.utils.arrays import Array, Mask, Samples

WINDOW = (-0.5, 0.7)  # s around the peak of an event in which the recording may change
APART = -WINDOW[0] / 2  # s, the smallest distance of two events: eyes that flutter count once
_MARGIN = 0.2  # s at either end of a window in which b goes to zero
QUIET = 0.4  # quantile over stretches used as the spectrum of the rest
_BUMP = 0.09  # s, standard deviation of the prior shape of a blink
_HIGHEST = 25.0  # Hz; above, the covariance of the events is noise
# Prior variability of events: height and local shape as shares of the height, latency and the
# correlation length of local deviations in seconds; and the number of events this counts for.
_HEIGHT_SD, _SHAPE_SD, _LATENCY_SD, _LOCAL, _PRIOR_EVENTS = 0.4, 0.2, 0.02, 0.05, 6.0


class Frame:
    """The window around an event and its surroundings, in samples."""

    def __init__(self, rate: float, kernel: Array | None = None) -> None:
        # If a filter prolongs events, each is a short deflection convolved with its kernel.
        self.rate = rate
        start, stop = (int(round(limit * rate)) for limit in WINDOW)
        n_short = stop - start + 1
        kernel = np.ones(1) if kernel is None else kernel
        self.start = start - len(kernel) // 2  # of the window, from the peak of the event
        self.length = n_short + len(kernel) - 1
        # Either side of a window, from which the rest inside is predicted
        self.context = int(round(0.8 * rate))
        self.around = self.length + 2 * self.context
        self.inside = slice(self.context, self.context + self.length)
        self.short = slice(len(kernel) // 2, len(kernel) // 2 + n_short)
        # Convolution of a short deflection, tapered to zero at both ends, with the kernel
        taper = tukey(n_short, min(1.0, 2 * _MARGIN / (WINDOW[1] - WINDOW[0])))
        first_row = np.r_[kernel[0], np.zeros(n_short - 1)]
        self._spread = toeplitz(np.r_[kernel, np.zeros(n_short - 1)], first_row) * taper
        times = (start + np.arange(n_short)) / rate
        self._alike = np.exp(-0.5 * ((times[:, np.newaxis] - times) / _LOCAL) ** 2)
        bump = np.exp(-0.5 * (times / _BUMP) ** 2)
        self.bump = self._spread @ bump  # the prior shape of a blink, of height one
        self.bump_size = np.maximum(bump, 0.3)
        n_waves = min(n_short, int(2 * _HIGHEST * n_short / rate))
        waves = idct(np.eye(n_short, n_waves), axis=0, norm="ortho")
        self.basis = np.linalg.qr(self._spread @ waves)[0]  # of all possible events

    def local(self, size: Array) -> Array:
        """Return the covariance of deviations of this size with a short correlation length."""
        return self._spread @ (self._alike * np.outer(size, size)) @ self._spread.T

    def cut(self, course: Array, events: Samples) -> Array:
        """Return the windows, linearly detrended by their ends; edges are repeated."""
        at = events[:, np.newaxis] + self.start + np.arange(self.length)
        windows = course[at.clip(0, len(course) - 1)]
        edge = max(1, int(_MARGIN * self.rate))
        before, after = windows[:, :edge].mean(axis=1), windows[:, -edge:].mean(axis=1)
        line = np.linspace(0, 1, self.length)
        return windows - before[:, np.newaxis] - np.outer(after - before, line)


class Component:
    """One component: its time course, the models of artifact and rest, and the current b."""

    def __init__(self, course: Array, good: Mask, frame: Frame) -> None:
        self.course, self.good, self.frame = course, good, frame
        self.part = np.zeros_like(course)

    def start(self, events: Samples) -> Array:
        """Initialise b with the scaled median event; return the parts."""
        windows = self.frame.cut(self.course, events)
        typical = self.frame.basis @ (self.frame.basis.T @ np.median(windows, axis=0))
        size = max(typical @ typical, np.finfo(float).tiny)
        parts = np.outer(windows @ typical / size, typical)
        for event, part in zip(events, parts, strict=True):
            self.add(event, part)
        return parts

    def add(self, event: int, part: Array) -> None:
        """Add to b in the window of one event."""
        first = event + self.frame.start
        begin, end = max(0, first), min(len(self.part), first + len(part))
        self.part[begin:end] += part[begin - first : end - first]

    def _around(self, event: int, own: Array) -> tuple[Array, Mask]:
        """Return an event's surroundings without the other events, and which samples are known."""
        frame = self.frame
        at = event + frame.start - frame.context + np.arange(frame.around)
        known = (at >= 0) & (at < len(self.course))
        at = at.clip(0, len(self.course) - 1)
        known &= self.good[at]
        values = self.course[at] - self.part[at]
        values[frame.inside] += own
        if known.any():  # offsets are large; what is left of them is drift
            values -= values[known].mean()
        return values, known

    def learn_rest(self) -> None:
        """Estimate the autocovariance of the rest, and its prediction from the surroundings."""
        frame = self.frame
        self.lags = autocovariance(self.course - self.part, self.good, frame.rate, frame.around)
        slope = np.linspace(-1, 1, frame.around)
        # Offset and slope are unknown: their prior deviation is a hundred times that of the rest.
        self.rest = toeplitz(self.lags) + 1e4 * self.lags[0] * (1 + np.outer(slope, slope))
        inside = np.zeros(frame.around, bool)
        inside[frame.inside] = True
        factor = cho_factor(self.rest[np.ix_(~inside, ~inside)])
        cross = self.rest[np.ix_(~inside, inside)]
        self.prediction = cho_solve(factor, cross).T
        unpredicted = self.rest[np.ix_(inside, inside)] - self.prediction @ cross
        self.unpredicted = (unpredicted + unpredicted.T) / 2
        self.unpredicted[np.diag_indices(frame.length)] += 1e-9 * self.lags[0]

    def windows(self, events: Samples, parts: Array) -> Array:
        """Return each event's window without the other events and what can be predicted."""
        frame, rest, found = self.frame, self.course - self.part, np.empty(parts.shape)
        lags = frame.start - frame.context + np.arange(frame.around)
        for some in np.array_split(np.arange(len(events)), len(events) // 1000 + 1):  # for memory
            at = events[some, np.newaxis] + lags
            inside, at = (at >= 0) & (at < len(rest)), at.clip(0, len(rest) - 1)
            around, known = rest[at], inside & self.good[at]
            around[:, frame.inside] += parts[some]
            n_known = known.sum(axis=1, keepdims=True)
            around -= np.sum(around * known, axis=1, keepdims=True) / np.maximum(n_known, 1)
            for k in np.flatnonzero((n_known > 0) & (n_known < frame.around)):
                around[k] = bridged(around[k], ~known[k])
            outside = np.delete(around, frame.inside, axis=1)
            found[some] = around[:, frame.inside] - outside @ self.prediction.T
        return found

    def learn_events(self, windows: Array, weights: Array) -> None:
        """Estimate mean and covariance of the artifact from its windows."""
        frame, bump = self.frame, self.frame.bump
        n_events = max(weights.sum(), 1.0)
        # The mean, as heights may be skewed: events would be left in the average otherwise.
        typical = windows[weights >= min(0.5, weights.max())].mean(axis=0)
        height = typical @ bump / (bump @ bump)
        # With few events the mean is shrunk towards the prior shape.
        spread = height**2 * frame.local(frame.bump_size)
        error = (self.unpredicted + _SHAPE_SD**2 * spread) / n_events
        lean = np.linalg.solve(spread + error, spread).T
        self.mean = height * bump + lean @ (typical - height * bump)
        self.covariance = self._covariance(windows - self.mean, weights)
        # What is the same for all events
        self.factors = cho_factor(self.unpredicted), cho_factor(self.unpredicted + self.covariance)
        self.cross = np.zeros((frame.length, frame.around))
        self.cross[:, frame.inside] = self.covariance
        self.total = self.rest.copy()
        self.total[frame.inside] += self.cross
        self.gain = cho_solve(cho_factor(self.total), self.cross.T).T

    def _covariance(self, deviations: Array, weights: Array) -> Array:
        """Return the covariance of the events, prior and sample covariance combined."""
        mean, size = self.mean, np.abs(self.mean[self.frame.short])
        slope = np.gradient(mean) * self.frame.rate
        slope[[0, -1]] = 0  # the ends of a window are fixed
        expected = (
            _HEIGHT_SD**2 * np.outer(mean, mean)
            + _LATENCY_SD**2 * np.outer(slope, slope)
            + _SHAPE_SD**2 * self.frame.local(size + 0.05 * size.max())
        )
        n_events, basis = weights.sum(), self.frame.basis
        seen = deviations @ basis
        seen = (weights[:, np.newaxis] * seen).T @ seen / n_events
        noise = basis.T @ self.unpredicted @ basis
        ratios, directions = eigh(seen, noise)
        # The ratio expected by chance alone for this many directions and events
        chance = (1 + np.sqrt(len(ratios) / n_events)) ** 2
        ratios = np.where(ratios > chance, ratios - 1, 0)
        half = basis @ (noise @ directions) * np.sqrt(ratios)
        share = n_events / (n_events + _PRIOR_EVENTS)
        return share * half @ half.T + (1 - share) * expected

    def estimate(self, event: int, own: Array) -> Array:
        """Return the estimate of one event given the others, Equation (19) of docs/method."""
        values, known = self._around(event, own)
        values[self.frame.inside] -= self.mean
        if known.all():
            return self.mean + self.gain @ values
        if not known[self.frame.inside].any():
            return np.zeros_like(own)
        solved = cho_solve(cho_factor(self.total[np.ix_(known, known)]), values[known])
        return self.mean + self.cross[:, known] @ solved

    def evidence(self, windows: Array) -> Array:
        """Return the log likelihood ratio of artifact and rest against rest alone."""
        alone, both = self.factors
        misfit = np.sum(windows.T * cho_solve(alone, windows.T), axis=0)
        deviations = (windows - self.mean).T
        misfit -= np.sum(deviations * cho_solve(both, deviations), axis=0)
        return misfit / 2 + np.log(np.diag(alone[0]) / np.diag(both[0])).sum()

    def matched_filter(self) -> Array:
        """Return the output of the matched filter of the mean event."""
        frame = self.frame
        inner = cho_solve(self.factors[0], self.mean)
        before, after = np.split(-inner @ self.prediction, [frame.context])
        weights = np.r_[before, inner, after]
        slope = np.linspace(-1, 1, frame.around)
        weights -= weights.mean() + slope * (slope @ weights) / (slope @ slope)
        output = fftconvolve(self.course - self.part, weights[::-1])
        peak = frame.context - frame.start
        return output[frame.around - 1 - peak :][: len(self.course)]


def autocovariance(rest: Array, good: Mask, rate: float, n_lags: int) -> Array:
    """Return the autocovariance of the quiet stretches of four seconds."""
    length = min(int(4 * rate), len(rest))
    taper = get_window("hann", length)
    taper /= np.linalg.norm(taper)
    slope = np.linspace(-1, 1, length)
    slope /= np.linalg.norm(slope)
    n_fft = 2 * max(length, n_lags)
    tiles, usable = (sliding_window_view(x, length)[:: max(1, length // 2)] for x in (rest, good))
    tiles = tiles - tiles.mean(axis=1, keepdims=True)
    tiles -= np.outer(tiles @ slope, slope)
    powers = np.abs(rfft(tiles * taper, n_fft)) ** 2
    shares = usable.mean(axis=1)
    # Bad spans are bridged by lines, which hold next to no power.
    usable = shares >= shares.max() / 2
    powers = powers[usable] / np.maximum(shares[usable], 1 / length)[:, np.newaxis]
    mean = powers.mean(axis=0)
    # For a stationary signal powers are exponentially distributed over stretches, so the mean
    # follows from a quantile, which stretches with artifacts hardly raise.
    quiet = np.minimum(np.quantile(powers, QUIET, axis=0) / -np.log1p(-QUIET), mean)
    lags = irfft(quiet)[:n_lags]
    lags[0] = lags[0] * (1 + 1e-4) + np.finfo(float).tiny  # for the inverse
    return lags


def bridged(course: Array, bad: Mask) -> Array:
    """Return a time course with bad samples interpolated linearly."""
    at = np.arange(len(course))
    return np.interp(at, at[~bad], course[~bad]) if bad.any() else course
