"""Two recordings that match, and the windows in them: round blinks, and away from blinks."""

from __future__ import annotations

from dataclasses import dataclass

import mne
import numpy as np
from numpy.typing import NDArray

from mne_otica._checks import _picks_to_idx, _validate_flag, _validate_number, _validate_type
from mne_otica._recording import annotated_bad


@dataclass(frozen=True)
class Pair:
    """Two recordings that match, as arrays of the picked channels."""

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    bad: NDArray[np.bool_]
    info: mne.Info
    first_samp: int

    @classmethod
    def of(cls, before, after, picks, reject):
        _validate_type(before, mne.io.BaseRaw, "before", "Raw")
        _validate_type(after, mne.io.BaseRaw, "after", "Raw")
        _validate_flag(reject, "reject_by_annotation")
        _check_match(before, after)
        chosen = _picks_to_idx(before.info, "eeg" if picks is None else picks)
        bad = annotated_bad(before) if reject else np.zeros(before.n_times, bool)
        data = before.get_data(chosen), after.get_data(chosen)
        info = mne.pick_info(before.info, chosen)
        broken = ~np.isfinite(data[0].sum(axis=0) + data[1].sum(axis=0))
        return cls(*data, bad | broken, info, before.first_samp)

    @property
    def data(self):
        return self.before, self.after

    @property
    def n_times(self):
        return self.before.shape[1]

    @property
    def sfreq(self):
        return self.info["sfreq"]

    @property
    def ch_names(self):
        return list(self.info["ch_names"])


def _check_match(before, after):
    """Refuse recordings that are not of the same samples and channels."""
    if before.ch_names != after.ch_names:
        odd = sorted(set(before.ch_names) ^ set(after.ch_names))
        raise ValueError(
            f"before and after differ in their channels ({odd or 'the same in another order'}); "
            "pass the cleaned copy of the same recording."
        )
    for name, value, other in (
        ("length", before.n_times, after.n_times),
        ("first_samp", before.first_samp, after.first_samp),
        ("sampling rate", before.info["sfreq"], after.info["sfreq"]),
    ):
        if value != other:
            raise ValueError(
                f"before and after differ in {name} ({value} and {other}); pass the cleaned copy "
                "of the same recording."
            )


def windows(pair, events, tmin, tmax):
    """Return the events as samples from 0, and the bounds of the window around them."""
    events = np.asarray(events)
    if events.ndim != 2 or events.shape[1] != 3:
        raise ValueError(
            f"events must have the shape (n_events, 3), got {events.shape}; pass an MNE events "
            "array, for instance of mne_otica.find_blink_events(raw)."
        )
    _validate_number(tmin, "tmin")
    _validate_number(tmax, "tmax")
    start, stop = (int(round(limit * pair.sfreq)) for limit in (tmin, tmax))
    if stop - start < 2:
        raise ValueError(
            f"The window from tmin ({tmin}) to tmax ({tmax}) holds {max(0, stop - start)} "
            "samples; pass a tmax that is larger."
        )
    samples = events[:, 0].astype(np.int64) - pair.first_samp
    outside = (samples < 0) | (samples >= pair.n_times)
    if outside.any():
        last = pair.first_samp + pair.n_times - 1
        raise ValueError(
            f"{outside.sum()} of {len(samples)} events are outside the recording, whose samples "
            f"run from {pair.first_samp} to {last} (first: {events[outside][0, 0]}); MNE's events "
            "count from raw.first_samp on."
        )
    return samples, start, stop


def free_samples(pair, samples, start, stop, margin):
    """Return which samples are good and away from the windows of blinks."""
    start, stop = start - int(margin * pair.sfreq), stop + int(margin * pair.sfreq)
    free = ~pair.bad
    for sample in samples:
        free[max(0, sample + start) : max(0, sample + stop)] = False
    return free


def draw(free, length, n_windows, rng):
    """Return the starts of up to n_windows windows that are free and do not overlap."""
    n_free = np.convolve(free, np.ones(length, int), mode="valid") if len(free) >= length else []
    valid = np.asarray(n_free) == length
    starts = []
    for _ in range(n_windows):
        candidates = np.flatnonzero(valid)
        if not len(candidates):
            break
        starts.append(rng.choice(candidates))
        valid[max(0, starts[-1] - length + 1) : starts[-1] + length] = False
    return np.sort(np.array(starts, dtype=np.int64))


def spectrum_without(raw, events, margin):
    """Return the spectrum of the EEG away from the events, as the band power is measured."""
    pair = Pair.of(raw, raw, None, True)
    samples, start, stop = windows(pair, events, -0.25, 0.25)
    return spectrum(pair.before, pair.sfreq, free_samples(pair, samples, start, stop, margin))


def spectrum(data, sfreq, free):
    """Return frequencies and power of the stretches of two seconds that are free."""
    # A shorter stretch is taken where there is none of two seconds.
    for seconds in (2.0, 1.0, 0.5):
        length = int(seconds * sfreq)
        starts = _tiles(free, length)
        if len(starts):
            break
    else:
        return np.zeros(0), np.zeros((len(data), 0))
    # Welch's windows have the length of the stretches, so none lies across a joint.
    joined = np.hstack([data[:, k : k + length] for k in starts])
    psd, freqs = mne.time_frequency.psd_array_welch(
        joined, sfreq, n_fft=length, n_per_seg=length, n_overlap=0, verbose="error"
    )
    return freqs, psd


def _tiles(free, length):
    """Return the starts of the stretches of this length that lie side by side and are free."""
    edges = np.flatnonzero(np.diff(np.r_[False, free, False].astype(int)))
    runs = zip(edges[::2], edges[1::2], strict=True)
    return [k for start, stop in runs for k in range(start, stop - length + 1, length)]


def rank_of(data, info):
    """Return the rank over all channel types."""
    # What depends on each other does so in every sample; some of them are enough to tell.
    data = data[:, :: max(1, data.shape[1] // max(2000, 20 * len(data)))]
    # MNE's ICA puts the mean of each channel back, which is no variation.
    data = np.nan_to_num(data - np.nanmean(data, axis=1, keepdims=True))
    raw = mne.io.RawArray(data, info, verbose="error")
    rank = mne.compute_rank(raw, tol=1e-6, tol_kind="relative", verbose="error")
    return int(sum(rank.values()))
