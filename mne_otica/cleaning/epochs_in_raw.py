"""Epochs cut from a recording, as MNE cut them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import mne
import numpy as np
from mne.baseline import rescale
from mne.io import BaseRaw
from numpy.typing import NDArray
from scipy.signal import detrend

from mne_otica.utils.checks import _make_projector

_REMEDY = "Pass the recording that they were cut from, as it was then, or leave raw out."


@dataclass(frozen=True)
class EpochsInRaw:
    """The windows of epochs in a recording, and what MNE did to them."""

    epochs: mne.BaseEpochs
    first: NDArray[np.int64]  # sample of each epoch
    decim: int
    n_times: int  # of the recording
    window: tuple[int, int]  # samples read, relative to the first
    order: int | None = None
    late_baseline: bool = False

    @classmethod
    def of(cls, epochs: mne.BaseEpochs, raw: BaseRaw) -> "EpochsInRaw":
        """Return how loaded epochs were cut from a recording; raise if they were not."""
        ratio = raw.info["sfreq"] / epochs.info["sfreq"]
        decim = round(ratio)
        if decim < 1 or abs(ratio - decim) > 1e-6 * ratio:
            raise ValueError(
                f"The epochs have {epochs.info['sfreq']:g} Hz and raw has {raw.info['sfreq']:g}, "
                f"which is not a multiple. {_REMEDY}"
            )
        # Bad channels are read, as projectors may use them, but need not be the same.
        picks = mne.pick_types(raw.info, eeg=True, exclude=())
        names = [raw.ch_names[pick] for pick in picks if raw.ch_names[pick] in epochs.ch_names]
        good = [name for name in names if name not in raw.info["bads"]]
        if not good:
            raise ValueError(f"raw and epochs have no good EEG channel in common. {_REMEDY}")
        start = round(epochs.times[0] * raw.info["sfreq"])
        first = epochs.events[:, 0] - raw.first_samp + start
        data, expected = raw.get_data(names), epochs.get_data(picks=names)
        if ((first < 0) | (first + decim * (len(epochs.times) - 1) >= raw.n_times)).any():
            raise ValueError(f"Some of the epochs lie outside raw. {_REMEDY}")
        worst = np.inf, good[0]
        for cut in cls._candidates(epochs, first, decim, raw.n_times):
            worst = min(worst, cut._misfit(data, names, expected, good))
            if worst[0] < 1e-3:  # recordings with offsets of mV are saved in single precision
                return cut
        raise ValueError(
            f"The epochs are not those of raw at their events: in {worst[1]} they differ by "
            f"{worst[0]:.2g} of its RMS. {_REMEDY}"
        )

    @classmethod
    def _candidates(
        cls, epochs: mne.BaseEpochs, first: NDArray[np.int64], decim: int, n_times: int
    ) -> Iterator["EpochsInRaw"]:
        """Return what MNE may have done: saved epochs do not record all of it."""
        stop, sfreq = decim * (len(epochs.times) - 1) + 1, decim * epochs.info["sfreq"]
        inside = np.array(epochs.baseline or epochs.times[[0, -1]])
        inside = np.round((inside - epochs.times[0]) * sfreq).astype(int)
        wide = min(0, inside[0]), max(stop, inside[1] + 1)
        options = [(wide, None, False), ((0, stop), None, True)]
        orders = (1, 0) if epochs.detrend is None else (epochs.detrend,)
        # Epochs are detrended before they are decimated.
        for order, before, after in product(orders, range(decim), range(decim)):
            options.append(((-before, stop + after), order, False))
        for window, order, late in options:
            if (first + window[0] >= 0).all() and (first + window[1] <= n_times).all():
                yield cls(epochs, first, decim, n_times, window, order, late)

    def __call__(self, data: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cut time courses of the recording, shape (n_epochs, n_courses, n_times)."""
        epochs, sfreq = self.epochs, self.decim * self.epochs.info["sfreq"]
        late = np.arange(*self.window)
        cut = data[:, self.first[:, np.newaxis] + late].swapaxes(0, 1)
        if self.order is not None:
            cut = detrend(cut, axis=-1, type=("constant", "linear")[self.order])
        kept = slice(-self.window[0], -self.window[0] + self.decim * len(epochs.times), self.decim)
        times = (round(epochs.times[0] * sfreq) + late) / sfreq
        if self.late_baseline:
            cut, times, kept = cut[..., kept], epochs.times, slice(None)
        # Rounding must not exclude the samples at the limits.
        limits = epochs.baseline and (epochs.baseline[0] - 1e-9, epochs.baseline[1] + 1e-9)
        return rescale(cut, times, limits, copy=False, verbose="error")[..., kept]

    def removed(self, maps: NDArray, ch_names: list[str], courses: NDArray) -> NDArray[np.float64]:
        """Return what these topographies and time courses add to all channels of the epochs."""
        every = np.zeros((len(self.epochs.ch_names), maps.shape[1]))
        for name, row in zip(ch_names, maps, strict=True):
            if name in self.epochs.ch_names:
                every[self.epochs.ch_names.index(name)] = row
        return self._projector() @ every @ self(courses)

    def _projector(self) -> NDArray[np.float64]:
        info = self.epochs.info
        active = [one for one in info["projs"] if one["active"]]
        return _make_projector(active, info["ch_names"], info["bads"])[0]

    def _misfit(
        self, data: NDArray, names: list[str], expected: NDArray, good: list[str]
    ) -> tuple[float, str]:
        """Return the largest difference in any good channel, relative to its RMS, and its name."""
        picks = [self.epochs.ch_names.index(name) for name in names]
        cut = self._projector()[np.ix_(picks, picks)] @ self(data)
        known = np.isfinite(cut) & np.isfinite(expected)
        power = np.where(known, expected, 0.0) ** 2
        error = np.where(known, cut - expected, 0.0) ** 2
        # A constant less its baseline is nothing but rounding errors.
        level = 1e-9 * np.nan_to_num(np.abs(data), posinf=0.0).max(axis=1)
        size = power.sum(axis=(0, 2)) + level**2 * known.sum(axis=(0, 2))
        share = np.sqrt(error.sum(axis=(0, 2)) / np.where(size > 0, size, 1.0))
        return max(one for one in zip(share.tolist(), names, strict=True) if one[1] in good)

    @property
    def inside(self) -> NDArray[np.bool_]:
        """The samples of the recording that are in an epoch."""
        inside = np.zeros(self.n_times, bool)
        for first in self.first:
            inside[first : first + self.decim * (len(self.epochs.times) - 1) + 1] = True
        return inside
