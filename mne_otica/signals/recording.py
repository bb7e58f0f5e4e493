"""The samples of a recording that can be used, and the filtered copy that ICA is fitted on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import mne
import numpy as np
from mne.utils import logger
from numpy.typing import NDArray

from mne_otica.utils.checks import _annotations_starts_stops, _validate_number

if TYPE_CHECKING:
    from mne.io import BaseRaw


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the messages of a stage, but neither its warnings nor its progress bar.

    The log level stays as it is, since the progress bar depends on it.
    """
    logger.addFilter(_is_warning)
    try:
        yield
    finally:
        logger.removeFilter(_is_warning)


def _is_warning(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING


def filtered_copy(raw: BaseRaw, l_freq: float | None, h_freq: float | None) -> BaseRaw:
    """Return the good EEG channels in the band to fit on, with NaN spans marked as bad."""
    check_band(l_freq, h_freq)
    picks = mne.pick_types(raw.info, eeg=True, exclude="bads")
    if len(picks) < 2:
        kinds = sorted(set(raw.get_channel_types()))
        raise ValueError(
            f"{len(picks)} EEG channels are left to clean: the channels are of type {kinds}, and "
            f"{len(raw.info['bads'])} are marked bad. At least 2 are needed; set the channel "
            "types, or unmark some."
        )
    info = mne.pick_info(raw.info, picks)
    data = raw.get_data(picks)
    broken = broken_samples(data, info.ch_names)
    data[:, broken] = 0.0  # a filter would spread them over the recording
    copy = mne.io.RawArray(data, info, first_samp=raw.first_samp, verbose="error")
    copy.set_annotations(raw.annotations, verbose="error")
    mark_bad(copy, broken, "BAD_nan")
    band_pass(copy, l_freq, h_freq)
    logger.info(
        f"Filter: a copy of {len(picks)} EEG channels, {raw.times[-1]:.0f} s, {l_freq} to "
        f"{h_freq} Hz."
    )
    return copy


def band_pass(raw: BaseRaw, l_freq: float | None, h_freq: float | None) -> BaseRaw:
    """Filter a loaded recording in place; an upper limit above Nyquist is ignored."""
    if h_freq is not None and h_freq >= raw.info["sfreq"] / 2:
        h_freq = None
    with quiet():
        return raw.filter(l_freq, h_freq)


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


def stretches(raw: BaseRaw) -> NDArray[np.int64]:
    """Return starts and ends of the stretches recorded without a gap, shape (n_stretches, 2).

    They end where runs were concatenated (``EDGE boundary``, ``BAD boundary``) and where the
    acquisition was paused (``BAD_ACQ_SKIP``). Together they are the whole recording. Offsets may
    differ between them, so filters and templates must not reach from one into the next.
    """
    bounds = _annotations_starts_stops(raw, ["EDGE", "BAD boundary", "BAD_ACQ_SKIP"])
    edges = np.unique(np.clip(np.r_[0, raw.n_times, *bounds], 0, raw.n_times))
    return np.column_stack([edges[:-1], edges[1:]]).astype(np.int64)


def level(data: NDArray[np.float64], parts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Subtract the median of each row from each of some stretches, in place."""
    for start, stop in parts:
        with np.errstate(invalid="ignore"):
            data[..., start:stop] -= np.nanmedian(data[..., start:stop], axis=-1, keepdims=True)
    return data


def annotated_bad(raw: BaseRaw) -> NDArray[np.bool_]:
    """Return which samples lie in spans annotated as bad."""
    bad = np.zeros(raw.n_times, bool)
    for onset, end in zip(*_annotations_starts_stops(raw, ["BAD"]), strict=True):
        bad[onset:end] = True
    return bad


def broken_samples(data: NDArray[np.float64], ch_names: list[str]) -> NDArray[np.bool_]:
    """Return the samples with a NaN or infinity in any channel; raise if a channel has no other."""
    with np.errstate(invalid="ignore"):
        broken = ~np.isfinite(data.sum(axis=0))
    if broken.all() and broken.size:
        lost = [
            name for name, row in zip(ch_names, data, strict=True) if not np.isfinite(row).any()
        ]
        if lost:
            raise ValueError(
                f"{', '.join(lost)} has no finite value, only NaN or infinity; mark it as bad, "
                f"for instance raw.info['bads'] += {lost}."
            )
    return broken


def mark_bad(raw: BaseRaw, chosen: NDArray[np.bool_], description: str) -> None:
    """Annotate the runs of these samples, in place."""
    edges = np.flatnonzero(np.diff(np.r_[False, chosen, False].astype(int)))
    sfreq = raw.info["sfreq"]
    onset, stop = edges[::2] / sfreq, edges[1::2] / sfreq
    if raw.annotations.orig_time is not None:
        onset = onset + raw.first_samp / sfreq
    raw.annotations.append(onset, stop - (edges[::2] / sfreq), [description] * len(onset))
