"""EOG, ECG and EMG channels: which of them can be a witness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mne_otica.artifacts.maps import correlations
from mne_otica.artifacts.rhythm import HEARTS, rhythms
from mne_otica.signals.low_rate import Signals

SENSORS = ("eog", "ecg", "emg")  # types of channels that see an artifact directly
_STUCK = 0.99  # share of samples that equal the one before: the channel was not plugged in
_CLIPPED = 0.05  # share of samples at the highest or lowest value; waves are there in passing
_SHARED = 0.1  # least correlation of an EOG with any EEG channel, both between 1 and 10 Hz


def usable_sensors(
    signals: Signals, eeg: Signals, names: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Signals], dict[str, str]]:
    """Return the sensors that can be used by their type, and why the others cannot by name."""
    used, why_not = {}, {}
    for sensor, some in names.items():
        reasons = {name: _fault(sensor, signals.pick([name]), eeg) for name in some}
        why_not |= {name: reason for name, reason in reasons.items() if reason}
        good = [name for name, reason in reasons.items() if not reason]
        if good:
            used[sensor] = signals.pick(good)
    return used, why_not


def _fault(sensor: str, one: Signals, eeg: Signals) -> str:
    """Return what is wrong with a channel, or an empty string."""
    x = one.prepared.outside_bad(one.prepared.wide)[0]
    if not x.size or np.mean(np.diff(x, prepend=0) == 0) > _STUCK:
        return "it is flat"
    x = x - np.median(x)
    # A channel that is silent between events is at its lowest value then, but not at a limit.
    limits = [limit for limit in (x.min(), x.max()) if abs(limit) > x.std()]
    near = [np.mean(np.abs(x - limit) < 1e-3 * np.ptp(x)) for limit in limits]
    if max(near, default=0.0) > _CLIPPED:
        return "it is clipped"
    if sensor == "ecg" and rhythms(one.prepared)[0].z < HEARTS:
        return "it shows no heartbeat"
    if sensor == "eog" and _band_correlations(eeg, one).max() < _SHARED:
        return "it has nothing in common with the EEG"
    return ""


def _band_correlations(ours: Signals, theirs: Signals) -> NDArray[np.float64]:
    """Return the absolute correlations between 1 and 10 Hz."""
    bands = (one.prepared.outside_bad(one.prepared.band) for one in (ours, theirs))
    return np.abs(correlations(*bands))


def shared_with(ours: Signals, theirs: Signals) -> NDArray[np.float64]:
    """Return the multiple correlation of each signal with all of the others, 1 to 10 Hz."""
    x, y = (one.prepared.outside_bad(one.prepared.band) for one in (ours, theirs))
    fit = np.linalg.lstsq(y.T, x.T, rcond=None)[0].T @ y
    power = (x**2).sum(axis=1)
    return np.sqrt(np.divide((fit**2).sum(axis=1), power, out=np.zeros(len(x)), where=power > 0))


def closest(ours: Signals, theirs: Signals) -> NDArray[np.intp]:
    """Return which of the others each signal follows most."""
    return _band_correlations(ours, theirs).argmax(axis=1)
