"""Steps of a signal: the eyes move to another place and stay. Arrays only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d
from scipy.stats import skew

from mne_otica.artifacts._signals import LARGE, Prepared, background_scale, filtered

_GAP = 0.03  # s on either side of a step that belong to it
_LEVEL = 0.13  # s that the level before and after it is taken from
_LATER = 0.3  # s after which a step that was held is still there
_APART = 0.15  # s; eyes rest at least that long between saccades
_SPIKE = (-0.05, 0.02)  # s around the middle of a step in which the muscles of the eye fire


@dataclass(frozen=True)
class Steps:
    """The steps of one signal.

    ``peaks`` are samples of the prepared signal; ``height`` is the median step in robust
    standard deviations of the steps that noise makes, ``size`` in units of the signal;
    ``rate`` per minute; ``held`` the median share that is left a little later; ``balance``
    the number of steps in the rarer direction over that in the other; ``lopsided`` the
    absolute skewness between 1 and 10 Hz; ``spike`` the amplitude above 20 Hz at the steps
    over that elsewhere.
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
    level, gap = max(1, int(_LEVEL * sfreq)), max(1, int(_GAP * sfreq))
    fast = _fast(prepared)
    changes = _change(prepared.slow, gap, level)
    later = _change(prepared.slow, int(_LATER * sfreq), level)
    return [_describe(prepared, k, changes[k], later[k], fast) for k in range(len(changes))]


def _change(x: NDArray[np.float64], gap: int, level: int) -> NDArray[np.float64]:
    """Return the mean of the samples after each sample minus that of those before it."""
    padded = np.pad(x, ((0, 0), (gap + level, gap + level)), mode="edge")
    total = np.cumsum(np.pad(padded, ((0, 0), (1, 0))), axis=1)
    means = (total[:, level:] - total[:, :-level]) / level
    n = x.shape[1]
    return means[:, 2 * gap + level : 2 * gap + level + n] - means[:, :n]


def _fast(prepared: Prepared) -> NDArray[np.float64] | None:
    """Return the amplitude between 20 Hz and what the rate allows; None where it allows none."""
    top = 0.45 * prepared.sfreq
    if top < 30:
        return None
    return np.abs(filtered(prepared.wide, prepared.sfreq, 20.0, min(top, 45.0)))


def _describe(
    prepared: Prepared,
    index: int,
    change: NDArray[np.float64],
    later: NDArray[np.float64],
    fast: NDArray[np.float64] | None,
) -> Steps:
    good, sfreq = prepared.good, prepared.sfreq
    scale = background_scale(change, good, sfreq)
    if not scale > 0:
        return Steps(np.array([], dtype=int))
    size = np.abs(change)
    reach = 2 * int(_APART * sfreq) + 1
    is_peak = (size == maximum_filter1d(size, reach)) & (size > LARGE * scale) & good
    peaks = np.flatnonzero(is_peak)
    lopsided = float(abs(skew(prepared.band[index][good])))
    if not len(peaks):
        return Steps(peaks, lopsided=lopsided)
    n_up = int((change[peaks] > 0).sum())
    spike = np.nan
    if fast is not None:
        lags = np.arange(int(_SPIKE[0] * sfreq), int(_SPIKE[1] * sfreq) + 1)
        near = np.clip(peaks[:, np.newaxis] + lags, 0, len(good) - 1)
        elsewhere = np.median(fast[index][good])
        spike = float(np.median(fast[index][near].max(axis=1)) / max(elsewhere, 1e-300))
    return Steps(
        peaks=peaks,
        height=float(np.median(size[peaks]) / scale),
        size=float(np.median(size[peaks])),
        rate=60 * len(peaks) / max(prepared.duration, 1e-9),
        held=float(np.median(later[peaks] / change[peaks])),
        balance=min(n_up, len(peaks) - n_up) / max(n_up, len(peaks) - n_up),
        lopsided=lopsided,
        spike=spike,
    )
