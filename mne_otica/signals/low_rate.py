"""A recording, or the components of an ICA, as signals at a low rate.

What follows is linear, so the components at the low rate are the unmixed channels at the low rate,
and nothing is read or filtered a second time for them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

import mne
import numpy as np
from mne import BaseEpochs, Info
from mne.io import BaseRaw
from numpy.typing import NDArray
from scipy.signal import butter, sosfiltfilt

from mne_otica.signals.reading import LowRate, bridge, of_steps
from mne_otica.signals.spectra import Spectra
from mne_otica.signals.unmixing import unmixing_in_volts
from mne_otica.utils.arrays import Array, Mask, Samples, Single
from mne_otica.utils.checks import _validate_flag, _validate_type, warn

BAND = (1.0, 10.0)  # Hz; where a blink stands out from drift and muscle
LARGE = 4.0  # robust standard deviations; below, everything has peaks
PLAUSIBLE_VOLTS = (1e-8, 1e-2)  # standard deviation of EEG in the band of blinks


class Moments(NamedTuple):
    """Standard deviation, skewness and excess kurtosis of signals; NaN of what is constant."""

    deviation: Array
    skewness: Array
    kurtosis: Array

    @classmethod
    def of(cls, signals: Array) -> Moments:
        """Return those of each row, one by one: SciPy takes many times as long."""
        sums = np.zeros((3, len(signals)))
        for k, row in enumerate(signals):
            x = row - row.mean(dtype=float)
            squares = x * x
            sums[:, k] = squares.sum(), squares @ x, squares @ squares
        second, third, fourth = sums / max(signals.shape[1], 1)
        with np.errstate(invalid="ignore"):
            return cls(np.sqrt(second), third / second**1.5, fourth / second**2 - 3)


@dataclass(frozen=True)
class Prepared:
    """Signals at a low rate, ready for a search."""

    courses: Single  # `band`, `slow` and `wide`, shape (3, n_signals, n_times)
    good: Mask  # samples outside bad spans
    sfreq: float
    step: int  # samples of the input that make one here

    @property
    def band(self) -> Single:
        """The signals in the band of blinks."""
        return self.courses[0]

    @property
    def slow(self) -> Single:
        """The signals, only smoothed."""
        return self.courses[1]

    @property
    def wide(self) -> Single:
        """The signals, neither smoothed nor limited to a band."""
        return self.courses[2]

    @cached_property
    def duration(self) -> float:
        """The seconds outside bad spans."""
        return self.good.sum() / self.sfreq

    @cached_property
    def n_bad(self) -> Samples:
        """How many samples in bad spans there are up to each sample."""
        return np.cumsum(~self.good)

    @cached_property
    def noise(self) -> Array:
        """The robust standard deviation of each signal in the band."""
        return np.array([robust_scale(row) for row in self.outside_bad(self.band)])

    @cached_property
    def background(self) -> Array:
        """The same between the large deflections of each signal."""
        pairs = zip(self.band, self.noise, strict=True)
        return np.array([background_scale(x, self.good, self.sfreq, noise) for x, noise in pairs])

    @cached_property
    def moments(self) -> Moments:
        """Those of each signal in the band."""
        return Moments.of(self.outside_bad(self.band))

    def outside_bad(self, signals: Array) -> Array:
        """Return the samples outside bad spans, without a copy where there is no such span."""
        return signals if self.good.all() else signals[..., self.good]

    def middle(self, members: Sequence[int]) -> Prepared:
        """Return the median of some signals, as one signal."""
        some = self.courses[:, members]
        if len(members) > 1:
            some = np.median(some, axis=1, keepdims=True)
        return replace(self, courses=some)

    def pick(self, rows: Sequence[int]) -> Prepared:
        """Return some of the signals."""
        return replace(self, courses=self.courses[:, rows])

    def excerpt(self, seconds: float) -> Prepared:
        """Return the stretch with the fewest bad samples, or all if that is shorter."""
        length = int(seconds * self.sfreq)
        if length >= self.good.size:
            return self
        n_bad = np.r_[0, self.n_bad]
        start = int(np.argmin(n_bad[length:] - n_bad[:-length]))
        span = slice(start, start + length)
        return replace(self, courses=self.courses[..., span], good=self.good[span])

    def mixed(self, weights: Array) -> Prepared:
        """Return weighted sums of the signals, a row of weights for each."""
        courses = weights.astype(np.float32) @ self.courses
        for row in courses[1]:
            row -= np.median(row)
        return replace(self, courses=courses)

    def to_input(self, samples: NDArray) -> Samples:
        """Return the samples of the input that correspond to (fractional) samples here."""
        return np.round(samples * self.step).astype(int)


def prepared(low: Sequence[Array], bad: Mask, parts: Samples, rate: float, step: int) -> Prepared:
    """Filter signals at the low rate, each stretch for itself, with bad samples bridged."""
    courses = np.empty((3, len(low), bad.size), np.float32)
    for k, row in enumerate(low):
        for start, stop in parts[parts[:, 1] > parts[:, 0]]:
            x = row[start:stop].copy()
            bridge(x[np.newaxis], bad[start:stop])
            # A drift by 250 µV a second hides the end of a blink.
            t = np.arange(x.size) - (x.size - 1) / 2
            x -= t * (t @ x / max(t @ t, 1.0))
            x -= np.median(x)
            band = filtered(x, rate, BAND[0], min(BAND[1], 0.45 * rate))
            courses[:, k, start:stop] = band, filtered(x, rate, None, min(15.0, 0.45 * rate)), x
    return Prepared(courses, ~bad, rate, step)


def filtered(data: Array, sfreq: float, low: float | None, high: float) -> Array:
    """Return the signals between two frequencies, or below one, without delay."""
    band = (high, "lowpass") if low is None else ((low, high), "bandpass")
    # The start and the end are mirrored for two seconds: the longest ringing at 1 Hz.
    padlen = max(0, min(int(2 * sfreq), data.shape[-1] - 1))
    sections, out = _sections(*band, sfreq), np.empty_like(data)
    # One after the other, as SciPy needs three copies of what it filters at once.
    for x, y in zip(np.atleast_2d(data), np.atleast_2d(out), strict=True):
        y[:] = sosfiltfilt(sections, x, padlen=padlen)
    return out


@cache
def _sections(frequencies: float | tuple[float, float], kind: str, sfreq: float) -> Array:
    """Return the sections of a filter: for a row, their design takes as long as the filtering."""
    return butter(2, frequencies, kind, fs=sfreq, output="sos")


def enough(x: Array) -> Array:
    """Return enough samples for the distribution of a signal."""
    return x[:: max(1, x.size // 16000)]


def robust_scale(x: Array) -> float:
    """Return the standard deviation that the quiet part of a signal suggests."""
    if not x.size:
        return 0.0
    away = enough(x) - np.median(enough(x))
    return 1.4826 * np.median(np.abs(away, out=away), overwrite_input=True)


def background_scale(x: Array, good: Mask, sfreq: float, scale: float) -> float:
    """Return the robust standard deviation of a signal between its large deflections."""
    # Where someone blinks once a second, that of all good samples, ``scale``, is that of blinks.
    # It is measured again near them: at rest between blinks, but among the slow waves of sleep.
    reach = int(0.2 * sfreq)  # on either side of a large deflection that belongs to it
    size = np.abs(x)
    while scale > 0:
        large = good & (size > LARGE * scale)
        between = good & near(large, 5 * reach) & ~near(large, reach)
        if between.sum() < 0.2 * good.sum():
            break
        rest = robust_scale(x[between])
        if not 0 < rest < 0.95 * scale:
            break
        scale = rest
    return scale


def near(chosen: Mask, reach: int) -> Mask:
    """Tell which samples have a chosen one within reach; a dilation, but at one cost for all."""
    n_chosen = np.cumsum(np.pad(chosen, (reach + 1, reach)))
    return n_chosen[2 * reach + 1 :] > n_chosen[: -2 * reach - 1]


def windows_around(x: Array, peaks: NDArray[np.intp], half: float, sfreq: float) -> Array:
    """Return the windows of some seconds on either side of the peaks that lie inside the signal."""
    n = int(round(half * sfreq))
    inside = peaks[(peaks >= n) & (peaks < x.size - n)]
    if not len(inside):
        return np.zeros((0, 2 * n + 1))
    return np.lib.stride_tricks.sliding_window_view(x, 2 * n + 1)[inside - n]


@dataclass(frozen=True)
class Signals:
    """Channels or components, at a low rate, with their names."""

    prepared: Prepared
    names: list[str]
    spectra: Spectra
    plausible_volts: bool = True

    @classmethod
    def of_channels(cls, inst: BaseRaw | BaseEpochs, names: Sequence[str], reject: bool) -> Signals:
        """Read some channels, in pieces if they are not in memory."""
        _validate_flag(reject, "reject_by_annotation")
        return cls.of(LowRate.of(inst, names, reject)).checked()

    @classmethod
    def of(cls, low: LowRate) -> Signals:
        """Prepare channels that were read, and read their spectra."""
        bad = of_steps(low.bad, low.step) | low.broken.any(axis=0)
        is_eeg = np.array(low.inst.get_channel_types(low.names)) == "eeg"
        spectra = Spectra.read(low.read, low.bad, low.inst.info["sfreq"], low.step)
        found = prepared(low.data, bad, -(-low.parts // low.step), low.sfreq, low.step)
        return cls(found, low.names, spectra, _check_volts(found.noise[is_eeg]))

    def checked(self) -> Signals:
        """Raise if too little is left outside bad spans, and warn if it is hardly enough."""
        left = self.prepared.duration
        if left < 2:
            raise ValueError(
                f"Only {left:.1f} s of data are left outside bad spans; at least 2 s are needed "
                "to tell an artifact from its surroundings."
            )
        if left < 10:
            warn(
                f"Only {left:.1f} s of data to judge artifacts by; with so few events the answer "
                "rests on the shape of the map alone. Use 30 s or more if you can."
            )
        return self

    def pick(self, names: Sequence[str]) -> Signals:
        """Return some of the signals."""
        if list(names) == self.names:
            return self
        rows = [self.names.index(name) for name in names]
        spectra = self.spectra.pick(rows)
        return Signals(self.prepared.pick(rows), list(names), spectra, self.plausible_volts)

    def components(self, ica: mne.preprocessing.ICA) -> Signals:
        """Return the components of channels that were read."""
        channels, weights = self.pick(ica.ch_names), unmixing_in_volts(ica)
        names = [f"ICA{k:03d}" for k in range(ica.n_components_)]
        mixed = channels.prepared.mixed(weights), names, channels.spectra.mixed(weights)
        return Signals(*mixed, self.plausible_volts)


def _check_volts(noise: Array) -> bool:
    """Warn where the data do not look like EEG in volts, and return whether they do."""
    size = float(np.median(noise)) if len(noise) else 0.0
    if size == 0 or PLAUSIBLE_VOLTS[0] < size < PLAUSIBLE_VOLTS[1]:
        return True
    warn(
        f"The median amplitude of the EEG is {size:.2g} V, far from the usual 1e-6 to 1e-3 V; "
        "are the data in microvolts? Scale them to volts, for instance by "
        "raw.apply_function(lambda x: x * 1e-6)."
    )
    return False


def check_names(ch_name: str | Sequence[str], known: Sequence[str]) -> list[str]:
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


def check_ica(ica: mne.preprocessing.ICA, inst: BaseRaw | BaseEpochs) -> None:
    """Raise unless the ICA is fitted, has EEG channels, and belongs to the recording."""
    _validate_type(ica, mne.preprocessing.ICA, "ica", "an ICA instance")
    _validate_type(inst, (BaseRaw, BaseEpochs), "inst", "Raw or Epochs")
    if ica.current_fit == "unfitted":
        raise RuntimeError("The ICA is not fitted; call ica.fit(raw) first.")
    if missing := [ch for ch in ica.ch_names if ch not in inst.ch_names]:
        raise RuntimeError(
            f"The recording lacks {len(missing)} channel(s) that the ICA was fitted on "
            f"({', '.join(missing[:5])}); pass the recording that the ICA belongs to."
        )
    kinds = sorted(set(ica.get_channel_types()))
    if "eeg" not in kinds:
        raise ValueError(
            f"The ICA was fitted on channels of type {kinds} and on no EEG channel; artifacts are "
            'found in EEG only, MEG is not supported. Fit it with picks="eeg".'
        )


def eog_names(info: Info) -> list[str]:
    """Return the EOG channels that are not bad, by type or else by name."""
    names = np.array(info["ch_names"])
    if len(eog := mne.pick_types(info, meg=False, eog=True)):
        return list(names[eog])
    eeg = names[mne.pick_types(info, meg=False, eeg=True)]
    return [name for name in eeg if re.search("EOG", name, re.IGNORECASE)]
