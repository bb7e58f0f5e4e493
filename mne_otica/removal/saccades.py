"""Steps in the time course of a component. Arrays only: no MNE, no user input.

A saccade is a step. The artifact is modelled as a random walk that moves near events and hardly at
any other time; the rest is an autoregressive process, estimated from the quiet stretches. The best
linear estimate of the walk is computed for the whole recording at once; both models are local, so
the equations are banded. If the recording was high-pass filtered such that steps decay
quickly, the steps before the filter are estimated.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solveh_banded
from scipy.ndimage import gaussian_filter1d
from scipy.signal import butter, fftconvolve, find_peaks, sosfiltfilt

from mne_otica.removal.linear_estimate import Array, Mask, Samples, whitening

_ORDER = 12  # of the autoregression
_SPREAD = 0.03  # s on either side of an event in which the eyes move
_REACH = 0.06  # s on either side of an event in which the step is searched for
_ROUNDS = 3  # of estimating the walk and the rest
_STILL = 1e-3  # movement of the walk at other times, relative to that at events
_ECHO = 1.0  # s of a whitened step, used to search for more of them
_CLEAR = 5.0  # robust standard deviations of the matched filter, above which there is a step
_APART = 0.1  # s between two events
_DECAYS = (0.1, 0.2, 0.4)  # s, candidate decay times of a pop
_POP_SPREAD = 0.05  # s by which the jump may be off the peak that was found
_CREEPS = 1.0  # Hz; slower signals do not count for how well pops are explained


def step_part(
    course: Array,
    good: Mask,
    rate: float,
    events: Samples,
    leak: float = 0.0,
    kernel: Array | None = None,
    spread: float = _SPREAD,
) -> tuple[Array, Samples]:
    """Return the steps in a time course at a low rate, and their samples.

    Parameters
    ----------
    course : array, shape (n_times,)
        The time course, of about unit scale.
    good : array of bool, shape (n_times,)
        Samples that can be used.
    rate : float
        The sampling rate in hertz.
    events : array, shape (n_events,)
        The middle of each known step; more are searched for.
    leak : float
        Corner frequency of a high-pass filter in hertz, with which steps decay.
    kernel : array | None
        The kernel of that filter, if it is so short that a filtered step is local.
    spread : float
        Seconds on either side of an event in which the step may be.
    """
    part = np.zeros_like(course)
    size = _step_power(course, events, rate)
    for k in range(_ROUNDS):
        white = whitening(course - part, good, rate, _ORDER)
        if k:
            events = _with_more(course - part, good, rate, events, white, kernel)
        if kernel is None:
            variances = _moves(size, events, len(course), spread * rate, rate)
            part = _walk(course, good, white, variances, leak, rate)
            moves = np.diff(part, prepend=part[:1])
        else:
            part, moves = _steps(course, good, white, kernel, events, size, rate)
        size = max(float(np.sum(moves**2) / max(len(events), 1)), 1e-12)
    return part - np.median(part[good]), events


def pop_part(course: Array, good: Mask, rate: float, events: Samples) -> tuple[Array, float]:
    """Return the jumps that decay, and the share of the time course they do not explain.

    The decay time is unknown, so the one that explains most is used.
    """
    sos = butter(2, _CREEPS, "highpass", fs=rate, output="sos")
    best, least = np.zeros_like(course), 1.0
    total = max(float(np.var(sosfiltfilt(sos, course)[good])), np.finfo(float).tiny)
    for decay in _DECAYS if len(events) else ():
        leak = 1 / (2 * np.pi * decay)
        part, _ = step_part(course, good, rate, events, leak, spread=_POP_SPREAD)
        left = float(np.var(sosfiltfilt(sos, course - part)[good])) / total
        if left < least:
            best, least = part, left
    return best, least


def _step_power(course: Array, events: Samples, rate: float) -> float:
    """Return the mean square of the steps, from the levels before and after each."""
    away = max(1, round(0.1 * rate))
    after, before = ((events + k).clip(0, len(course) - 1) for k in (away, -away))
    return float(np.mean((course[after] - course[before]) ** 2)) + 1e-12


def _moves(size: float, events: Samples, n_times: int, spread: float, rate: float) -> Array:
    """Return the variance of each move of the walk."""
    bumps = np.zeros(n_times)
    np.add.at(bumps, events, 1.0)
    bumps = gaussian_filter1d(bumps, spread, mode="constant")
    return size * (bumps + _STILL / rate)


def _echo(white: Array, kernel: Array | None, rate: float) -> Array:
    """Return a whitened step, centred."""
    n = round(_ECHO * rate) if kernel is None else len(kernel)
    step = np.r_[np.zeros(n), np.ones(n)]
    if kernel is not None:
        # The step is longer than the filter, so that its end does not count.
        step = np.convolve(np.pad(step, n, "edge"), kernel, "same")[n:-n]
    echo = np.convolve(step, white)[: 2 * n]
    if kernel is None:
        echo[n:] -= echo[-1]
    echo[: len(white)] = 0
    return echo


def _with_more(
    rest: Array, good: Mask, rate: float, events: Samples, white: Array, kernel: Array | None
) -> Samples:
    """Return the events, and further steps that stand out from the rest."""
    echo = _echo(white, kernel, rate)
    size = np.linalg.norm(echo)
    if not size > 0:
        return events
    found = fftconvolve(np.convolve(rest, white)[: len(rest)], echo[::-1], "same") / size
    found = np.abs(found)
    scale = np.median(found[good]) / 0.6745
    peaks, _ = find_peaks(found, height=_CLEAR * scale, distance=max(1, round(_APART * rate)))
    peaks = peaks[good[peaks]]
    if len(events) and len(peaks):
        apart = np.abs(peaks[:, np.newaxis] - events).min(axis=1) > _APART * rate
        peaks = peaks[apart]
    return np.unique(np.r_[events, peaks])


def _walk(
    course: Array, good: Mask, white: Array, variances: Array, leak: float, rate: float
) -> Array:
    """Return the best linear estimate of the walk, given the whitening filter of the rest."""
    n, order = len(course), len(white) - 1
    # Rows of the whitening matrix with a bad sample are left out.
    seen = np.convolve(~good, np.ones(order + 1))[:n] == 0
    seen[:order] = False
    told = np.convolve(course, white)[:n] * seen
    # The matrix is symmetric and banded; diagonal k of the upper half is in row order - k.
    band = np.zeros((order + 1, n))
    for i in range(order + 1):
        for j in range(i, order + 1):
            # The row t of the whitening has white[i] at t - i, and white[j] at t - j.
            band[order - (j - i)] += np.r_[seen[i:], np.zeros(i)] * white[i] * white[j]
    right = sum(white[i] * np.r_[told[i:], np.zeros(i)] for i in range(order + 1))
    keep, precision = np.exp(-2 * np.pi * leak / rate), 1 / variances
    band[order] += precision
    band[order, :-1] += keep**2 * precision[1:]
    band[order - 1, 1:] -= keep * precision[1:]
    return solveh_banded(band, right)


def _steps(
    course: Array,
    good: Mask,
    white: Array,
    kernel: Array,
    events: Samples,
    size: float,
    rate: float,
) -> tuple[Array, Array]:
    """Return the filtered steps that explain a time course best, and their sizes."""
    n, half = len(course), len(kernel)
    reach = max(1, round(_REACH * rate))
    places = np.unique((events[:, np.newaxis] + np.arange(-reach, reach + 1)).clip(0, n - 1))
    places = places[good[places]]
    if not len(places):
        return np.zeros(n), np.zeros(1)
    echo = _echo(white, kernel, rate)
    overlap = fftconvolve(echo, echo[::-1])[len(echo) - 1 :]
    told = np.convolve(np.where(good, course, 0.0), white)[:n]
    right = fftconvolve(told, echo[::-1])[len(echo) - 1 - half :][:n][places]
    # Sizes of steps within the length of a filtered step are estimated jointly.
    ends = np.searchsorted(places, places + len(echo), "left")
    width = int((ends - np.arange(len(places))).max()) - 1
    band = np.zeros((width + 1, len(places)))
    for k in range(width + 1):
        apart = places[k:] - places[: len(places) - k]
        band[width - k, k:] = np.where(apart < len(echo), overlap[apart.clip(0, len(echo) - 1)], 0)
    nearest = np.abs(places[:, np.newaxis] - events).min(axis=1) / rate
    variances = size * np.exp(-0.5 * (nearest / _SPREAD) ** 2) / (2.5 * _SPREAD * rate)
    band[width] += 1 / np.maximum(variances, 1e-9 * size)
    sizes = solveh_banded(band, right)
    steps = np.zeros(n)
    steps[places] = sizes
    made = np.cumsum(np.r_[np.zeros(half), steps, np.zeros(half)])
    return fftconvolve(made, kernel, "same")[half : half + n], sizes
