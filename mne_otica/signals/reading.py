"""A recording at one low rate, read once and piece by piece, and the copy that ICA is fitted on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mne
import numpy as np
from mne import BaseEpochs
from mne.filter import create_filter
from mne.io import BaseRaw
from mne.utils import logger
from scipy.fft import irfft, next_fast_len, rfft

from mne_otica.signals.recording import annotated_bad, mark_bad, quiet, stretches
from mne_otica.utils.arrays import Array, Mask, Samples
from mne_otica.utils.checks import _validate_number

Read = Callable[[int, int], Array]

HIGHEST = 40.0  # Hz; the search for artifacts needs nothing above
_BLOCK = 2**14  # samples of a Fourier transform: longer ones leave the cache
EPOCH_EDGE = 0.05  # s at either end of an epoch that are not looked at


class LowRateRaw(mne.io.RawArray):
    """The filtered copy of a recording: its EEG at a low rate, in the band of the fit."""

    step = 1  # samples of the recording that make one here, the first of them at the same time
    origin = 0  # first_samp of the recording
    parts = np.zeros((0, 2), np.int64)  # its stretches
    h_freq: float | None = None  # upper limit of the copy
    band: tuple[float | None, float | None] = (None, None)  # what was filtered at the low rate

    @property
    def sfreq(self) -> float:
        """The sampling rate of the recording."""
        return self.info["sfreq"] * self.step

    def samples(self, events: Samples) -> Samples:
        """Return the samples here, from 0, of MNE events of the recording."""
        return np.clip((events[:, 0] - self.origin) // self.step, 0, self.n_times - 1)

    def like(self, courses: Array) -> Array:
        """Bring time courses of the recording to this rate and band."""
        if not len(courses) or not courses.any():
            return np.zeros((len(courses), self.n_times))
        read, n_rows = lambda a, b: courses[:, a:b].copy(), len(courses)
        low, _ = at_low_rate(read, self.parts, n_rows, self.sfreq, self.h_freq)
        info = mne.pick_info(self.info, range(len(courses)))
        return self.in_band(mne.io.RawArray(low, info, verbose="error"))._data

    def in_band(self, raw: BaseRaw) -> BaseRaw:
        """Filter each stretch of a recording at this rate, in place."""
        # Annotations of the recording need not fall on samples of this rate.
        starts = np.unique(-(-self.parts[1:, 0] // self.step))
        starts = starts[starts < raw.n_times] / raw.info["sfreq"]
        raw.set_annotations(mne.Annotations(starts, 0.0, "EDGE boundary"), verbose="error")
        l_freq, h_freq = self.band
        if h_freq is not None and h_freq >= raw.info["sfreq"] / 2:
            h_freq = None
        with quiet():
            return raw.filter(l_freq, h_freq)


@dataclass(frozen=True)
class LowRate:
    """Channels of a recording at a low rate, low-pass filtered, with offsets and drifts."""

    inst: BaseRaw | BaseEpochs
    names: list[str]
    data: Array
    broken: Mask  # samples of each channel that are not finite, which were interpolated
    bad: Mask  # samples of the recording annotated as bad
    parts: Samples
    step: int  # samples of the recording that make one here
    read: Read

    @classmethod
    def of(
        cls,
        inst: BaseRaw | BaseEpochs,
        names: Sequence[str],
        reject: bool = True,
        h_freq: float | None = HIGHEST,
    ) -> LowRate:
        """Read some channels, at about three times the upper limit of the band of the fit."""
        names, sfreq = list(names), inst.info["sfreq"]
        read, bad, parts = _source(inst, names, reject)
        low, broken = at_low_rate(read, parts, len(names), sfreq, h_freq)
        lost = [name for name, row in zip(names, broken, strict=True) if row.size and row.all()]
        if lost:
            raise ValueError(
                f"{', '.join(lost)} has no finite value, only NaN or infinity; mark it as bad, "
                f"for instance raw.info['bads'] += {lost}."
            )
        return cls(inst, names, low, broken, bad, parts, step_of(sfreq, h_freq), read)

    @property
    def sfreq(self) -> float:
        """The low rate, in hertz."""
        return self.inst.info["sfreq"] / self.step

    def filtered(self, l_freq: float | None, h_freq: float | None) -> LowRateRaw:
        """Return the good EEG channels in the band to fit on, with NaN spans marked as bad."""
        raw = self.inst
        names = fitted_names(raw)
        rows = [self.names.index(name) for name in names]
        info = mne.pick_info(raw.info, [raw.ch_names.index(name) for name in names])
        if self.step > 1:
            with info._unlock():
                info["sfreq"] = self.sfreq
                info["lowpass"] = min(info["lowpass"], self.sfreq / 2)
        first = round(raw.first_samp / self.step)
        copy = LowRateRaw(self.data[rows], info, first_samp=first, verbose="error")
        copy.step, copy.origin, copy.parts = self.step, raw.first_samp, self.parts
        copy.h_freq = h_freq
        # The low pass of the low rate is that of the fit, unless this is lower still.
        done = self.step > 1 and h_freq is not None and h_freq >= HIGHEST
        copy.band = l_freq, None if done else h_freq
        copy.in_band(copy).set_annotations(raw.annotations, verbose="error")
        mark_bad(copy, self.broken[rows].any(axis=0), "BAD_nan")
        logger.info(
            f"Filter: a copy of {len(names)} EEG channels, {raw.times[-1]:.0f} s, {l_freq} to "
            f"{h_freq} Hz, {self.sfreq:g} samples per second."
        )
        return copy


def of_steps(chosen: Mask, step: int) -> Mask:
    """Return the samples at the low rate of which any sample of the recording was chosen."""
    if not chosen.size:
        return chosen
    return np.logical_or.reduceat(chosen, np.arange(0, chosen.shape[-1], step), axis=-1)


def step_of(sfreq: float, h_freq: float | None) -> int:
    """Return how many samples of a recording make one at the low rate."""
    # Two for each period of the highest frequency, and one for the transition of MNE's filters.
    return 1 if h_freq is None else max(1, int(sfreq / (3 * max(h_freq, HIGHEST))))


def filtered_copy(raw: BaseRaw, l_freq: float | None, h_freq: float | None) -> LowRateRaw:
    """Return the good EEG channels in the band to fit on, at a low rate."""
    check_band(l_freq, h_freq)
    return LowRate.of(raw, fitted_names(raw), h_freq=h_freq).filtered(l_freq, h_freq)


def fitted_names(raw: BaseRaw) -> list[str]:
    """Return the good EEG channels; raise if there are not two."""
    picks = mne.pick_types(raw.info, eeg=True, exclude="bads")
    if len(picks) < 2:
        kinds = sorted(set(raw.get_channel_types()))
        raise ValueError(
            f"{len(picks)} EEG channels are left to clean: the channels are of type {kinds}, and "
            f"{len(raw.info['bads'])} are marked bad. At least 2 are needed; set the channel "
            "types, or unmark some."
        )
    return [raw.ch_names[k] for k in picks]


def check_band(l_freq: float | None, h_freq: float | None) -> None:
    """Raise unless these are the limits of a band, each of which may be None."""
    for name, limit in (("l_freq", l_freq), ("h_freq", h_freq)):
        if limit is not None:
            _validate_number(limit, name, at_least=0)
    if l_freq is not None and h_freq is not None and l_freq >= h_freq:
        # With l_freq > h_freq, MNE would apply a band-stop filter.
        raise ValueError(
            f"l_freq ({l_freq} Hz) must be below h_freq ({h_freq} Hz): they are the lower and the "
            "upper limit of the band to fit on."
        )


def _source(
    inst: BaseRaw | BaseEpochs, names: list[str], reject: bool
) -> tuple[Read, Mask, Samples]:
    """Return how to read samples, which of them not to use, and the stretches."""
    if isinstance(inst, mne.io.BaseRaw):
        picks = [inst.ch_names.index(name) for name in names]
        bad = annotated_bad(inst, reject)
        return lambda start, stop: inst[picks, start:stop][0], bad, stretches(inst)
    data = inst.get_data(picks=names)
    data = data - np.nanmedian(data, axis=2, keepdims=True)
    margin = max(1, int(EPOCH_EDGE * inst.info["sfreq"]))
    edge = np.ones(data.shape[2], bool)
    # Epochs do not join smoothly; the line across the joint must not look like an event.
    edge[margin:-margin] = False
    joined = np.concatenate(list(data), axis=1) if len(data) else np.zeros((len(names), 0))
    bad = np.tile(edge, len(data))
    return lambda start, stop: joined[:, start:stop].copy(), bad, np.array([[0, bad.size]])


def at_low_rate(
    read: Read, parts: Samples, n_rows: int, sfreq: float, h_freq: float | None = HIGHEST
) -> tuple[Array, Mask]:
    """Filter each stretch as ``raw.filter``, at the samples that remain, and bridge broken ones."""
    step, kernel = step_of(sfreq, h_freq), np.ones(1)
    if step > 1:
        kernel = create_filter(None, sfreq, None, max(h_freq, HIGHEST), verbose="error")
    n_low = -(-int(parts[-1, 1]) // step)
    low, broken = np.empty((n_rows, n_low)), np.zeros((n_rows, n_low), bool)
    reach = -(-(len(kernel) // 2) // step) * step
    size = max(1, (max(_BLOCK, 8 * reach) - 2 * reach) // step)
    for start, stop in parts:
        last = -(-stop // step)
        for a in range(-(-start // step), last, size):
            b = min(a + size, last)
            begin, end = a * step - reach, (b - 1) * step + reach + 1
            piece = read(max(begin, start), min(end, stop))
            finite = np.isfinite(piece.sum(axis=1))
            if not finite.all():
                own = ~np.isfinite(piece)
                late, n = a * step - max(begin, start), min(b * step, stop) - a * step
                broken[:, a:b] = of_steps(own[:, late : late + n], step)
                bridge(piece, own)
            if step == 1:
                low[:, a:b] = piece
                continue
            pad = max(start - begin, 0), max(end - stop, 0)
            if any(pad):
                piece = np.pad(piece, ((0, 0), pad), "reflect", reflect_type="odd")
            offset = piece[:, :1].copy()  # a constant stays one, to the last digit
            piece -= offset
            low[:, a:b] = _decimated(piece, kernel, step)[:, reach // step :][:, : b - a] + offset
    bridge(low, broken)
    return low, broken


def _decimated(piece: Array, kernel: Array, step: int) -> Array:
    """Return every so manieth sample of a convolution: the low end of its Fourier transform."""
    n_out = next_fast_len(-(-piece.shape[1] // step), real=True)
    n = n_out * step
    centred = np.zeros(n)
    centred[: len(kernel)] = kernel
    gain = rfft(np.roll(centred, -(len(kernel) // 2)))[: n_out // 2 + 1].real / step
    return irfft(rfft(piece, n, axis=1)[:, : n_out // 2 + 1] * gain, n_out, axis=1)


def bridge(data: Array, away: Mask) -> None:
    """Draw straight lines across samples, of all rows or of each, in place."""
    at = np.arange(data.shape[1])
    for row, own in zip(data, np.broadcast_to(away, data.shape), strict=True):
        if own.all():
            row[:] = 0
        elif own.any():
            row[own] = np.interp(at[own], at[~own], row[~own])
