"""How much of an estimated artifact the channels show. Arrays only: no MNE, no user input.

The estimate times the topography of the component is subtracted from the channels. But the
topography of a component need not be that of the artifact: other components may hold the artifact,
too, and cancel part of it along this topography. The channels then show less of the artifact
than the component, and subtracting all of it would add a signal that was never there.
"""

from __future__ import annotations

import numpy as np
from scipy.signal import butter, sosfiltfilt

from mne_otica.removal.linear_estimate import Array, Mask, bridged

_SLOWEST = 1.0  # Hz; slower signals are drift
_BLOCKS = 20  # of the recording, for the standard error
_SHORTEST = 2.0  # s needed for an estimate
_LEAST = 0.5  # share below which nothing is removed: removing all would be worse than nothing
_CLEARLY = 2.0  # standard errors by which a share has to be below one
_BEYOND_DOUBT = 4.0  # standard errors by which it has to be above zero


def shown(part: Array, others: Array, sfreq: float, bad: Mask) -> Array:
    """Return the share of each part to remove, between 0 and 1.

    Parameters
    ----------
    part : array, shape (n_components, n_times)
        The artifact in each component.
    others : array, shape (n_components, n_times)
        What the other components add to the channels along the topography of each component, in
        the units of its time course.
    sfreq : float
        The sampling rate in hertz.
    bad : array of bool, shape (n_times,)
        Samples that must not be used.

    Returns
    -------
    shares : array, shape (n_components,)
        1, unless the channels show significantly less; then the share they show. 0 if that is less
        than half, or not significantly above zero.
    """
    shares = np.ones(len(part))
    if part.shape[1] < _SHORTEST * sfreq or bad.all():
        return shares
    sos = butter(2, _SLOWEST, "highpass", fs=sfreq, output="sos")
    for k, (own, other) in enumerate(zip(part, others, strict=True)):
        own, other = (np.where(bad, 0.0, sosfiltfilt(sos, bridged(x, bad))) for x in (own, other))
        taken_back, size = (
            np.array([block.sum() for block in np.array_split(x, _BLOCKS)])
            for x in (-own * other, own**2)
        )
        if not size.sum() > 0:
            shares[k] = 0.0
            continue
        share = 1 - taken_back.sum() / size.sum()
        scatter = taken_back - (1 - share) * size
        error = np.std(scatter) * np.sqrt(_BLOCKS) / size.sum()
        if share < max(_LEAST, _BEYOND_DOUBT * error):
            shares[k] = 0.0
        elif share + _CLEARLY * error < 1:
            shares[k] = share
    return shares
