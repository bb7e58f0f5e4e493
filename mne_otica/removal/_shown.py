"""How much of an estimated part the channels show. Arrays only: no MNE, no user input.

What is taken out of the channels is the part of a component times its map. The map is that of all
that the component holds. Where it is not the artifact's own, other components hold the artifact as
well, and take back some of what this one adds along its map. The channels then show less of the
artifact than the component does, and taking all of it out would put in what was never there.
"""

from __future__ import annotations

import numpy as np
from scipy.signal import butter, sosfiltfilt

from mne_otica.removal._model import Array, Mask, bridged

_SLOWEST = 1.0  # Hz; what is slower is drift
_BLOCKS = 20  # of the recording, which tell the standard error
_SHORTEST = 2.0  # s, below which nothing can be told
_LEAST = 0.5  # share below which nothing goes: taking all out would be worse than leaving all in
_CLEARLY = 2.0  # standard errors, by which a share is less than all
_BEYOND_DOUBT = 4.0  # standard errors, by which it is more than nothing


def shown(part: Array, others: Array, sfreq: float, bad: Mask) -> Array:
    """Return the share of each part that is to go: between nothing and one.

    Parameters
    ----------
    part : array, shape (n_components, n_times)
        The artifact's part of each component.
    others : array, shape (n_components, n_times)
        What the other components add to the channels along the map of each component, in the
        units of its course.
    sfreq : float
        The sampling rate in hertz.
    bad : array of bool, shape (n_times,)
        Samples that say nothing.

    Returns
    -------
    shares : array, shape (n_components,)
        All, unless the channels show clearly less; then that. Nothing where that is less than
        half, or where it is not beyond doubt that the channels show any.
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
