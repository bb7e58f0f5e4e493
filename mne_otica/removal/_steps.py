"""Steps in the course of a component. Arrays only: no MNE, no user input.

Eyes jump and stay. Their part of a component is a walk that moves near its events and hardly at
any other time; the rest is stationary, and what it is like comes from the quiet stretches. The
estimate of the walk is the best linear one, of the whole recording at once: both the walk and the
rest, as an autoregression, know their neighbours only, so that the equations are banded.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_toeplitz, solveh_banded
from scipy.ndimage import gaussian_filter1d

from mne_otica.removal._model import Array, Mask, Samples, autocovariance

_ORDER = 12  # of the autoregression
_SPREAD = 0.03  # s on either side of an event in which the eyes are on their way
_ROUNDS = 3  # of estimating the walk and what the rest is like
_STILL = 1e-3  # of its movement at events, that the walk makes at other times


def step_part(course: Array, good: Mask, rate: float, events: Samples, leak: float) -> Array:
    """Return the part of steps in a course at a low rate.

    Parameters
    ----------
    course : array, shape (n_times,)
        Of about unit size.
    good : array of bool, shape (n_times,)
        Samples that can be used.
    rate : float
        Samples a second.
    events : array, shape (n_events,)
        The middle of each step.
    leak : float
        Hz of a high-pass filter, by which what stays is forgotten.
    """
    bumps = np.zeros(len(course))
    np.add.at(bumps, events, 1.0)
    bumps = gaussian_filter1d(bumps, _SPREAD * rate, mode="constant")
    keep = np.exp(-2 * np.pi * leak / rate)
    part = np.zeros_like(course)
    size = _step_power(course, events, rate)
    for _ in range(_ROUNDS):
        filter_ = _autoregression(course - part, good, rate)
        variances = size * (bumps + _STILL / rate)
        part = _walk(course, good, filter_, variances, keep)
        moves = np.diff(part, prepend=part[:1])
        size = max(float(np.sum(moves**2) / max(bumps.sum(), 1.0)), 1e-12)
    return part - np.median(part[good])


def _step_power(course: Array, events: Samples, rate: float) -> float:
    """Return the mean square of the steps, from the levels before and after each."""
    away = max(1, round(0.1 * rate))
    after, before = ((events + k).clip(0, len(course) - 1) for k in (away, -away))
    return float(np.mean((course[after] - course[before]) ** 2)) + 1e-12


def _autoregression(rest: Array, good: Mask, rate: float) -> Array:
    """Return the filter that makes the rest white and of unit variance."""
    lags = autocovariance(rest, good, rate, _ORDER + 1)
    lags[0] *= 1 + 1e-6
    weights = solve_toeplitz(lags[:-1], lags[1:])
    error = max(lags[0] - weights @ lags[1:], np.finfo(float).tiny)
    return np.r_[1.0, -weights] / np.sqrt(error)


def _walk(course: Array, good: Mask, filter_: Array, variances: Array, keep: float) -> Array:
    """Return the walk that explains a course best together with a rest of this filter."""
    n, order = len(course), len(filter_) - 1
    # Rows of the whitening that see a bad sample say nothing.
    seen = np.convolve(~good, np.ones(order + 1))[:n] == 0
    seen[:order] = False
    white = np.convolve(course, filter_)[:n] * seen
    # The matrix is symmetric and banded; diagonal k of the upper half is in row order - k.
    band = np.zeros((order + 1, n))
    for i in range(order + 1):
        for j in range(i, order + 1):
            # The row t of the whitening has filter_[i] at t - i, and filter_[j] at t - j.
            late = np.r_[seen[i:], np.zeros(i)] * filter_[i] * filter_[j]
            band[order - (j - i)] += late
    right = sum(filter_[i] * np.r_[white[i:], np.zeros(i)] for i in range(order + 1))
    precision = 1 / variances
    band[order] += precision
    band[order, :-1] += keep**2 * precision[1:]
    band[order - 1, 1:] -= keep * precision[1:]
    return solveh_banded(band, right)
