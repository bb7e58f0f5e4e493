"""The copy of a recording that ICA is fitted on."""

import logging
from contextlib import contextmanager

import mne
import numpy as np
from mne.utils import logger

from mne_otica._checks import _validate_number


@contextmanager
def quiet():
    """Silence the messages of a stage, but neither its warnings nor its progress bar.

    A bar looks at the level that the user has chosen, so this is left as it is.
    """
    logger.addFilter(_is_warning)
    try:
        yield
    finally:
        logger.removeFilter(_is_warning)


def _is_warning(record):
    return record.levelno >= logging.WARNING


def filtered_copy(raw, l_freq, h_freq):
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
    data = raw.get_data(picks)
    broken = broken_samples(data)
    data[:, broken] = 0.0  # a filter would spread them over the recording
    info = mne.pick_info(raw.info, picks)
    copy = mne.io.RawArray(data, info, first_samp=raw.first_samp, verbose="error")
    copy.set_annotations(raw.annotations, verbose="error")
    _annotate(copy, broken)
    nyquist = raw.info["sfreq"] / 2
    if h_freq is not None and h_freq >= nyquist:
        h_freq = None
    with quiet():
        copy.filter(l_freq, h_freq)
    logger.info(
        f"Filter: a copy of {len(picks)} EEG channels, {raw.times[-1]:.0f} s, {l_freq} to "
        f"{h_freq} Hz."
    )
    return copy


def check_band(l_freq, h_freq):
    """Raise unless these are the limits of a band, either of them open."""
    for name, limit in (("l_freq", l_freq), ("h_freq", h_freq)):
        if limit is not None:
            _validate_number(limit, name, at_least=0)
    if l_freq is not None and h_freq is not None and l_freq >= h_freq:
        # MNE would take this for the band to leave out.
        raise ValueError(
            f"l_freq ({l_freq} Hz) must be below h_freq ({h_freq} Hz): they are the lower and the "
            "upper limit of the band to fit on."
        )


def broken_samples(data):
    """Return which samples are not finite in any channel."""
    return ~np.isfinite(data.sum(axis=0))


def _annotate(raw, broken):
    """Mark these samples as bad."""
    edges = np.flatnonzero(np.diff(np.r_[False, broken, False].astype(int)))
    sfreq = raw.info["sfreq"]
    onset, stop = edges[::2] / sfreq, edges[1::2] / sfreq
    if raw.annotations.orig_time is not None:
        onset = onset + raw.first_samp / sfreq
    raw.annotations.append(onset, stop - (edges[::2] / sfreq), ["BAD_nan"] * len(onset))
