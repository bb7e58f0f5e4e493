"""Steps of a signal: the eyes move to another place and stay. Arrays only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, uniform_filter1d

from mne_otica.signals.low_rate import LARGE, Prepared, background_scale, robust_scale

_GAP = 0.03  # s on either side of a step that belong to it
_LEVEL = 0.13  # s that the level before and after it is taken from
_LATER = 0.3  # s after which a step that was held is still there
_APART = 0.15  # s; eyes rest at least that long between saccades
_SOME = 4  # every so many samples
_SPIKE = (-0.05, 0.02)  # s around the middle of a step in which the muscles of the eye fire


@dataclass(frozen=True)
class Steps:
    """The steps of one signal.

    ``peaks`` are samples of the prepared signal; ``height`` is the median step in robust
    standard deviations of the steps that noise makes, ``size`` in units of the signal;
    ``rate`` per minute; ``held`` the median share that is left a little later; ``balance``
    the number of steps in the rarer direction over that in the other; ``lopsided`` the
    absolute skewness between 1 and 10 Hz; ``spike`` the largest bend at the steps
    over that elsewhere, bends being what fast deflections have.
    """

    peaks: NDArray[np.intp]
    height: float = 0.0
    size: float = 0.0
    rate: float = 0.0
    held: float = np.nan
    balance: float = np.nan
    lopsided: float = np.nan
    spike: float = np.nan


def steps(prepared: Prepared) -> list[Steps]:
    """Return the steps of each signal."""
    sfreq = prepared.sfreq
    levels = uniform_filter1d(prepared.slow, max(1, int(_LEVEL * sfreq)), axis=1, mode="nearest")
    return [_describe(prepared, k, level) for k, level in enumerate(levels)]


def _change(
    level: NDArray[np.float64], at: NDArray[np.intp], gap: float, sfreq: float
) -> NDArray[np.float64]:
    """Return the level some time after each of these samples minus that before it."""
    away = max(1, int((gap + _LEVEL / 2) * sfreq))
    return level[np.minimum(at + away, level.size - 1)] - level[np.maximum(at - away, 0)]


def _describe(prepared: Prepared, index: int, level: NDArray[np.float64]) -> Steps:
    good, sfreq = prepared.good, prepared.sfreq
    lopsided = abs(float(prepared.moments.skewness[index]))
    change = _change(level, np.arange(level.size), _GAP, sfreq)
    # A change of levels is smooth: some of its samples tell its scale.
    some, usable = change[::_SOME], good[::_SOME]
    scale = background_scale(some, usable, sfreq / _SOME, robust_scale(some[usable]))
    if not scale > 0:
        return Steps(np.array([], dtype=int))
    size = np.abs(change)
    reach = 2 * int(_APART * sfreq) + 1
    is_peak = (size == maximum_filter1d(size, reach)) & (size > LARGE * scale) & good
    peaks = np.flatnonzero(is_peak)
    if not len(peaks):
        return Steps(peaks, lopsided=lopsided)
    n_up = int((change[peaks] > 0).sum())
    return Steps(
        peaks=peaks,
        height=float(np.median(size[peaks]) / scale),
        size=float(np.median(size[peaks])),
        rate=60 * len(peaks) / max(prepared.duration, 1e-9),
        held=float(np.median(_change(level, peaks, _LATER, sfreq) / change[peaks])),
        balance=min(n_up, len(peaks) - n_up) / max(n_up, len(peaks) - n_up),
        lopsided=lopsided,
        spike=_spike(prepared.wide[index], peaks, sfreq),
    )


def _spike(x: NDArray[np.float64], peaks: NDArray[np.intp], sfreq: float) -> float:
    bends = np.abs(np.diff(x, 2, prepend=x[:1], append=x[-1:]))
    lags = np.arange(int(_SPIKE[0] * sfreq), int(_SPIKE[1] * sfreq) + 1)

    def highest(at: NDArray[np.intp]) -> float:
        near = np.clip(at[:, np.newaxis] + lags, 0, x.size - 1)
        return float(np.median(bends[near].max(axis=1)))

    elsewhere = highest(np.arange(0, x.size, 4 * lags.size))
    return highest(peaks) / elsewhere if elsewhere > 0 else np.nan
