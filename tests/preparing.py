"""Signals made by hand, as the search for artifacts gets them."""

import numpy as np

from mne_otica.signals.low_rate import prepared
from mne_otica.signals.reading import HIGHEST, at_low_rate, of_steps, step_of


def prepare(signals, sfreq, bad=None):
    """Bring signals to the low rate and into the band of blinks, without ``bad`` samples."""
    bad = np.zeros(signals.shape[1], bool) if bad is None else bad
    parts, step = np.array([[0, signals.shape[1]]]), step_of(sfreq, HIGHEST)
    low, _ = at_low_rate(lambda a, b: signals[:, a:b].copy(), parts, len(signals), sfreq)
    return prepared(low, of_steps(bad, step), -(-parts // step), sfreq / step, step)
