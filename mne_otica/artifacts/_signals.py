"""Channels and components as the blink finder reads them, with what can be wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass

import mne
import numpy as np
from numpy.typing import NDArray

from mne_otica._checks import _validate_flag, _validate_type, warn
from mne_otica.artifacts import _events as ev


@dataclass
class Signals:
    """Channels or components, at a low rate, with their names and the bad spans."""

    prepared: ev.Prepared
    names: list[str]
    plausible_volts: bool = True
    kurtosis: NDArray[np.float64] | None = None

    @classmethod
    def of_channels(cls, raw, reject, ch_name):
        """Read the EEG and EOG channels that are not marked bad."""
        picks = _usable_channels(raw.info, ch_name)
        data, bad = read(raw, picks, reject)
        _check_length(raw.info["sfreq"], bad)
        return cls(ev.prepare(data, raw.info["sfreq"], bad), picks, _check_volts(data))

    @classmethod
    def of_components(cls, ica, inst, reject):
        """Unmix the recording."""
        _check_ica(ica, inst)
        data, bad = read(inst, ica.ch_names, reject)
        _check_length(inst.info["sfreq"], bad)
        eeg = [k for k, kind in enumerate(ica.get_channel_types()) if kind == "eeg"]
        if not eeg:
            raise ValueError(
                "The ICA was fitted on channels of type "
                f"{sorted(set(ica.get_channel_types()))} and on no EEG channel; fit it with "
                'picks="eeg" to find blinks.'
            )
        volts = _check_volts(data[eeg])
        info = mne.pick_info(inst.info, [inst.ch_names.index(ch) for ch in ica.ch_names])
        raw = mne.io.RawArray(data, info, verbose="error")
        sources = ica.get_sources(raw).get_data()
        kurtosis = _kurtosis(sources[:, ~bad])
        prepared = ev.prepare(sources, inst.info["sfreq"], bad)
        names = [f"component {k}" for k in range(ica.n_components_)]
        return cls(prepared, names, volts, kurtosis)


def _kurtosis(x):
    """Return the excess kurtosis of each row, row by row to spare memory."""
    values = []
    for row in x:
        row = row - row.mean()
        square = row**2
        power = square.mean()
        values.append((square**2).mean() / power**2 - 3 if power > 0 else 0.0)
    return np.array(values)


def _usable_channels(info, ch_name):
    """Return the names of the channels to search."""
    if ch_name is not None:
        return check_names(ch_name, info["ch_names"])
    picks = mne.pick_types(info, meg=False, eeg=True, eog=True, exclude="bads")
    if not len(picks):
        kinds = sorted(set(info.get_channel_types()))
        raise ValueError(
            f"No EEG or EOG channel is left to find blinks in: the channels are of type "
            f"{kinds} and {len(info['bads'])} are marked bad. Blinks cannot be found in "
            "these; set the channel types, or unmark some bad channels."
        )
    return [info["ch_names"][k] for k in picks]


def check_names(ch_name, known):
    """Return the channel names as a list, or refuse those that are not in the recording."""
    _validate_type(ch_name, (str, list, tuple), "ch_name")
    names = [ch_name] if isinstance(ch_name, str) else list(ch_name)
    missing = [name for name in names if name not in known]
    if missing or not names:
        raise ValueError(
            f"ch_name {names} must name channels of the recording; {missing or 'nothing'} "
            "is not among them."
        )
    return names


def _check_ica(ica, inst):
    if ica.current_fit == "unfitted":
        raise RuntimeError("The ICA is not fitted; call ica.fit(raw) first.")
    missing = [ch for ch in ica.ch_names if ch not in inst.ch_names]
    if missing:
        raise RuntimeError(
            f"The recording lacks {len(missing)} channel(s) that the ICA was fitted on "
            f"({', '.join(missing[:5])}); pass the recording that the ICA belongs to."
        )


def read(inst, names, reject):
    """Return a copy of the data, one long array, and the mask of samples not to use."""
    _validate_flag(reject, "reject_by_annotation")
    if isinstance(inst, mne.io.BaseRaw):
        data = inst.get_data(picks=names, reject_by_annotation="NaN" if reject else None)
        bad = np.zeros(data.shape[1], bool)
    else:
        data = inst.get_data(picks=names)
        data = data - np.nanmedian(data, axis=2, keepdims=True)
        margin = max(1, int(0.05 * inst.info["sfreq"]))
        edge = np.ones(data.shape[2], bool)
        # Epochs do not join smoothly; the line across the joint must not look like an event.
        edge[margin:-margin] = False
        bad = np.tile(edge, len(data))
        data = np.concatenate(list(data), axis=1) if len(data) else np.zeros((len(names), 0))
    broken = ~np.isfinite(data.sum(axis=0))
    if broken.any():
        data = np.where(np.isfinite(data), data, 0.0)
    return data, bad | broken


def _check_length(sfreq, bad):
    left = (~bad).sum() / sfreq
    if left < 2:
        raise ValueError(
            f"Only {left:.1f} s of data are left outside bad spans; at least 2 s are needed "
            "to tell a blink from its surroundings."
        )
    if left < 10:
        warn(
            f"Only {left:.1f} s of data to judge blinks by; with so few events the answer "
            "rests on the shape of the map alone. Use 30 s or more if you can."
        )


def _check_volts(data):
    """Warn where the data do not look like EEG in volts, and tell whether they do."""
    n = max(1, data.shape[1] // 64)
    blocks = data[:, : data.shape[1] // n * n].reshape(len(data), -1, n)
    blocks = np.abs(blocks - np.median(blocks, axis=2, keepdims=True))
    size = float(np.median(np.median(blocks, axis=(1, 2))))
    if size == 0 or 1e-7 < size < 1e-2:
        return True
    warn(
        f"The median amplitude of the EEG is {size:.2g} V, far from the usual 1e-6 to 1e-3 V; "
        "are the data in microvolts? Scale them to volts, for instance by "
        "raw.apply_function(lambda x: x * 1e-6)."
    )
    return False


def eog_names(info, by_name=False):
    """Return the EOG channels that are not bad: by type, else by name if asked."""
    names = info["ch_names"]
    eog = [names[k] for k in mne.pick_types(info, meg=False, eog=True)]
    if not eog and by_name:
        eeg = [names[k] for k in mne.pick_types(info, meg=False, eeg=True)]
        eog = [name for name in eeg if re.search("EOG", name, re.IGNORECASE)]
    return eog
