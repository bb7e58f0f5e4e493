"""Caps: electrodes, their positions, and the reference."""

from collections.abc import Sequence
from functools import cache

import mne
import numpy as np

from mne_otica.signals.positions import standard_montage
from mne_otica.utils.arrays import Array
from mne_otica.utils.checks import _check_option, _validate_type

# Ordered so that the first n form a sensible cap for any n: the 8 of hobby amplifiers, the 19 of
# clinical EEG, the usual 32, then the rest of a 64-channel cap.
CHANNELS = (
    "Fp1 Fp2 C3 C4 P7 P8 O1 O2 F7 F8 F3 F4 T7 T8 P3 P4 Fz Cz Pz FC5 FC1 FC2 FC6 CP5 CP1 "
    "CP2 CP6 Oz PO3 PO4 AF3 AF4 Fpz AF7 AF8 F1 F2 F5 F6 FT7 FT8 FC3 FC4 FCz C1 C2 C5 C6 "
    "TP7 TP8 CP3 CP4 CPz P1 P2 P5 P6 PO7 PO8 POz AFz P9 P10 Iz"
).split()
MOST_CHANNELS = 256


def check_channels(channels: int | Sequence[str]) -> list[str]:
    """Return the names of the channels; raise if their number is not possible."""
    _validate_type(channels, ("int-like", list, tuple), "channels")
    if isinstance(channels, list | tuple):
        if not channels:
            raise ValueError("channels names no channel; pass at least one, or a number.")
        return list(channels)
    if not 4 <= channels <= MOST_CHANNELS:
        raise ValueError(
            f"channels ({channels}) must be between 4 and {MOST_CHANNELS}; pass a list of "
            "10-20 names for another cap."
        )
    names = CHANNELS if channels <= len(CHANNELS) else _dense_cap()
    return names[: int(channels)]


@cache
def _dense_cap() -> list[str]:
    """Return the channels of a 64-channel cap, then each position farthest from those before."""
    where = standard_montage().get_positions()["ch_pos"]
    names = list(CHANNELS)
    # The mastoids are the reference; the others are old names of positions with new names.
    unused = {*names, *"M1 M2 A1 A2 T3 T4 T5 T6".split()}
    left = [name for name in where if name not in unused]
    places = np.array([where[name] for name in left])
    chosen = np.array([where[name] for name in names])
    gap = np.linalg.norm(places[:, np.newaxis] - chosen, axis=2).min(axis=1)
    while len(names) < MOST_CHANNELS:
        k = int(np.argmax(gap))
        names.append(left[k])
        gap = np.minimum(gap, np.linalg.norm(places - places[k], axis=1))
    return names


def make_info(names: Sequence[str], sfreq: float) -> tuple[mne.Info, mne.Info]:
    """Return the info with positions, and one with the mastoids as well."""
    montage = standard_montage()
    if unknown := [ch for ch in names if ch not in montage.ch_names]:
        told = f"use names such as {', '.join(CHANNELS[:4])}."
        raise ValueError(f"channels {unknown} are not in the 10-05 system; {told}")
    info = mne.create_info(names, sfreq, "eeg")
    info.set_montage(montage)
    # The reference sensors are simulated, too, so that the reference can be subtracted.
    full = mne.create_info([*names, "M1", "M2"], sfreq, "eeg")
    full.set_montage(montage)
    return info, full


def reference_operator(names: Sequence[str], reference: str | Sequence[str]) -> Array:
    """Return the matrix from sensors and mastoids to referenced channels."""
    n = len(names)
    weights = np.zeros(n + 2)
    if isinstance(reference, str):
        _check_option("reference", reference, ("mastoids", "average"))
        weights[slice(n, None) if reference == "mastoids" else slice(n)] = 1
    else:
        _validate_type(reference, (list, tuple), "reference", "a name or a list of channels")
        missing = [ch for ch in reference if ch not in names]
        if missing or not len(reference):
            raise ValueError(
                f"reference {list(reference)} must name simulated channels; "
                f"{missing or 'nothing'} is not among them."
            )
        weights[[names.index(ch) for ch in reference]] = 1
    return np.eye(n, n + 2) - weights / weights.sum()
