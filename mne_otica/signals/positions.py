"""Positions of channels: those of the recording, those of the 10-05 system, or none."""

import re
from functools import cache
from typing import NamedTuple

import mne
import numpy as np

from mne_otica.utils.arrays import Array, Samples


class Places(NamedTuple):
    """The channels of an info whose positions are known."""

    picks: Samples  # their indices in that info
    info: mne.Info | None  # has only these channels
    source: str  # "positions" of the recording, "standard" by the names, or "none"

    @property
    def points(self) -> Array:
        """The positions, shape (n_known, 3)."""
        return np.zeros((0, 3)) if self.info is None else points_of(self.info)


def places_of(info: mne.Info) -> Places:
    """Return the channels with known positions; none if they are too few for a topography."""
    for placed, source in ((info, "positions"), (_at_standard_places(info), "standard")):
        points = points_of(placed)
        known = np.flatnonzero(np.isfinite(points).all(axis=1) & points.any(axis=1))
        distinct = len(np.unique(np.round(points[known], 4), axis=0)) == len(known)
        if distinct and len(known) >= max(4, len(points) / 2):
            return Places(known, mne.pick_info(placed, known), source)
    return Places(np.zeros(0, int), None, "none")


def points_of(info: mne.Info) -> Array:
    """Return the channel positions of an info, NaN or zero if unknown."""
    return np.array([channel["loc"][:3] for channel in info["chs"]], dtype=float)


def _at_standard_places(info: mne.Info) -> mne.Info:
    """Return the channels that have a name of the 10-05 system, at its positions."""
    placed = mne.create_info(info["ch_names"], info["sfreq"], "eeg")
    for channel in placed["chs"]:
        sites = site_names(channel["ch_name"])
        # A bipolar channel has two positions.
        channel["loc"][:3] = standard_places().get(sites[0], np.nan) if len(sites) == 1 else np.nan
    return placed


@cache
def standard_places() -> dict[str, Array]:
    """Return the positions of the 10-05 system, by name in capitals."""
    montage = standard_montage()
    info = mne.create_info(montage.ch_names, 100.0, "eeg").set_montage(montage)
    return dict(zip(map(str.upper, montage.ch_names), points_of(info), strict=True))


def standard_montage() -> mne.channels.DigMontage:
    """Return MNE's montage of the 10-05 system."""
    builtin = mne.channels.get_builtin_montages()
    # MNE 1.13 renamed the montage; older versions know only the old name.
    name = "colin27_1005" if "colin27_1005" in builtin else "standard_1005"
    return mne.channels.make_standard_montage(name)


def site_names(name: str) -> list[str]:
    """Return the one or two 10-05 names in a clinical channel name such as EEG Fp1-A2."""
    text = re.sub(r"^(EEG|POL)[\s_-]*", "", name.strip().upper()).replace(" ", "")
    text = re.sub(r"[-_.]*(REF|LE|AVG?|AVR|CAR|A1A2|M1M2)?\.*$", "", text)
    return re.split("[-_]", text)
