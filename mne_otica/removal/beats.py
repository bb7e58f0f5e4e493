"""Heartbeats in the time course of a component: a template at each beat. Arrays only."""

import numpy as np
from scipy.linalg import inv, toeplitz
from scipy.ndimage import uniform_filter1d
from scipy.signal import fftconvolve
from scipy.signal.windows import tukey
from scipy.special import expit

from mne_otica.removal.linear_estimate import bridged, whitening
from mne_otica.utils.arrays import Array, Mask, Samples

_LIMITS = (0.25, 0.55)  # s before and after the peak of a beat, from the P wave to the T wave
_SHIFT = 0.04  # s, largest error of the time of a beat; the template is tested over as much
_FEWEST = 5  # beats needed for a template
_ORDER = 6  # of the autoregressive model of the rest


class _Beats:
    """The current beats: times, heights, probabilities and template."""

    def __init__(self, x: Array, bad: Mask, rate: float, events: Samples) -> None:
        self.x, self.bad, self.rate, self.events = x, bad, rate, events
        before, after = (round(limit * rate) for limit in _LIMITS)
        self.lags = np.arange(-before, after + 1)
        # In 0.08 s at either end, the template goes to zero.
        self.taper = tukey(len(self.lags), min(1.0, 2 * 0.08 * rate / len(self.lags)))
        self.heights, self.weights = np.ones(len(events)), np.ones(len(events))
        self.beat = np.zeros(len(self.lags))

    def part(self) -> Array:
        """Return the sum of all beats, exactly zero outside them."""
        part = np.zeros(len(self.x) + 2 * len(self.lags))
        for event, height in zip(self.events, self.heights * self.weights, strict=True):
            first = len(self.lags) + event + self.lags[0]
            part[first : first + len(self.lags)] += height * self.beat
        return part[len(self.lags) : -len(self.lags)]

    def learn(self) -> None:
        """Fit the template to all beats together by least squares, also where they overlap."""
        n, length = len(self.x), len(self.lags)
        rest = self.x - self.part()
        self.white = whitening(rest, ~self.bad, self.rate, _ORDER)
        train = np.zeros(n)
        np.add.at(train, self.events, self.heights * self.weights)
        ends = self.lags[0] + np.arange(length + _ORDER)
        padded = np.pad(self._whitened(self.x - np.median(self.x)), length + _ORDER)
        told = fftconvolve(padded, train[::-1])[n - 1 + length + _ORDER + ends]
        overlap = toeplitz(fftconvolve(train, train[::-1])[n - 1 :][: len(ends)])
        spread = self.taper * np.array([np.convolve(one, self.white) for one in np.eye(length)]).T
        at = (self.events[:, np.newaxis] + self.lags).clip(0, n - 1)
        average = self.x[at].mean(axis=0)
        prior = np.eye(length) / max(np.ptp(average) ** 2, np.finfo(float).tiny)
        error = inv(spread.T @ overlap @ spread + prior)
        self.beat = self.taper * (error @ (spread.T @ told))
        self.error = self.taper**2 * np.diag(error)

    def _whitened(self, x: Array) -> Array:
        return np.convolve(x, self.white)[: len(x)]

    def look(self) -> None:
        """Locate each beat with the matched filter."""
        echo, reach = np.convolve(self.beat, self.white), max(1, round(_SHIFT * self.rate))
        size = echo @ echo
        alone = np.correlate(echo, echo, "full") / size
        around = np.arange(-reach, reach + 1)
        rest = np.pad(self._whitened(self.x - self.part()), len(echo))
        found = fftconvolve(rest, echo[::-1])[len(echo) - 1 :] / size
        found = found[len(echo) + self.lags[0] :][: len(self.x)]
        # The residual near each beat, plus the beat itself
        near = found[(self.events[:, np.newaxis] + around).clip(0, len(found) - 1)]
        near += np.outer(self.heights * self.weights, alone[len(echo) - 1 + around])
        best = np.argmax(near, axis=1)
        heights = near[np.arange(len(near)), best]
        events = (self.events + around[best]).clip(0, len(self.x) - 1)
        events, first = np.unique(events, return_index=True)
        keep = np.r_[True, np.diff(events) > 2 * reach] & ~self.bad[events]
        self.events = events[keep]
        self._weigh(found, heights[first[keep]], 2 * reach)

    def _weigh(self, found: Array, heights: Array, reach: int) -> None:
        """Set the heights, shrunk towards the typical one by the noise, and the probabilities."""
        away = ~self.bad
        for event in self.events:
            away[max(0, event - reach) : event + reach] = False
        noise = found[away[: len(found)]]
        alone = max(np.median(np.abs(noise)) ** 2 / 0.455 if len(noise) else 0.0, 1e-12)
        middle = np.median(heights) if len(heights) else 1.0
        spread = max(np.median(np.abs(heights - middle)) ** 2 / 0.455 - alone, 0.0)
        both = spread + alone
        odds = heights**2 / alone / 2 - (heights - 1) ** 2 / both / 2 + np.log(alone / both) / 2
        self.weights = expit(odds.clip(-50, 50))
        self.heights = 1 + spread / both * (heights - 1)

    def keep_significant(self) -> None:
        """Set the template to zero where it is not significant."""
        length = max(1, round(_SHIFT * self.rate))
        both = np.array([self.beat**2, self.error])
        power, error = uniform_filter1d(both, length, mode="nearest")
        self.beat = self.beat * np.clip(1 - error / np.maximum(power, np.finfo(float).tiny), 0, 1)


def beat_part(course: Array, rate: float, samples: Samples, bad: Mask) -> tuple[Array, Samples]:
    """Return the beats in a time course, and their samples."""
    none = np.zeros_like(course), np.zeros(0, np.int64)
    events = np.unique(samples[(samples >= 0) & (samples < len(course))])
    events = events[~bad[events]]
    if len(events) < _FEWEST or not course[~bad].std() > 0:
        return none
    beats = _Beats(bridged(course, bad), bad, rate, events)
    for _ in range(2):
        beats.learn()
        if not beats.beat.any():
            return none
        beats.look()
        if len(beats.events) < _FEWEST:
            return none
    beats.keep_significant()
    return np.where(bad, 0.0, beats.part()), beats.events
