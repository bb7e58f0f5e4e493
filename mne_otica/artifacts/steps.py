"""Steps of a signal: the eyes move to another place and stay. Arrays only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, uniform_filter1d

from mne_otica.signals.low_rate import LARGE, Prepared, background_scale, robust_scale

_GAP = 0.03  # s on either side of a step that belong to it
_LEVEL = 0.13  # s that the level before and after it is taken from
_APART = 0.15  # s; eyes rest at least that long between saccades
_SOME = 4  # every fourth sample


@dataclass(frozen=True)
class Steps:
    """The steps of one signal.

    ``peaks`` are samples of the prepared signal; ``rate`` is per minute; ``balance`` the number of
    steps in the rarer direction over that in the other; ``lopsided`` the absolute skewness between
    1 and 10 Hz.
    """

    peaks: NDArray[np.intp]
    rate: float = 0.0
    balance: float = np.nan
    lopsided: float = np.nan


def steps(prepared: Prepared) -> list[Steps]:
    """Return the steps of each signal."""
    sfreq = prepared.sfreq
    levels = uniform_filter1d(prepared.slow, max(1, int(_LEVEL * sfreq)), axis=1, mode="nearest")
    return [_describe(prepared, k, level) for k, level in enumerate(levels)]


def _change(level: NDArray[np.float64], sfreq: float) -> NDArray[np.float64]:
    """Return the level after each sample minus that before it."""
    away = max(1, int((_GAP + _LEVEL / 2) * sfreq))
    padded = np.pad(level, away, mode="edge")
    return padded[2 * away :] - padded[: -2 * away]


def _describe(prepared: Prepared, index: int, level: NDArray[np.float64]) -> Steps:
    good, sfreq = prepared.good, prepared.sfreq
    lopsided = abs(float(prepared.moments.skewness[index]))
    change = _change(level, sfreq)
    # A change of levels is smooth: a subsample gives its scale.
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
        rate=60 * len(peaks) / max(prepared.duration, 1e-9),
        balance=min(n_up, len(peaks) - n_up) / max(n_up, len(peaks) - n_up),
        lopsided=lopsided,
    )
