"""A recording before and after cleaning, its events, and windows around and away from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mne
import numpy as np
from mne.io import BaseRaw
from numpy.typing import ArrayLike
from scipy.fft import rfft
from scipy.signal import get_window

from mne_otica.signals.recording import annotated_bad, runs
from mne_otica.utils.arrays import Array, Mask, Samples
from mne_otica.utils.checks import (
    _picks_to_idx,
    _validate_flag,
    _validate_number,
    _validate_type,
    warn,
)

Events = Samples | str | Sequence[str]
HALF_WINDOW = 0.25  # s on either side of an event in which the benefit is measured
HALF_BEAT = 0.15  # s, the same of a heartbeat: its QRS complex


@dataclass(frozen=True)
class Pair:
    """A recording before and after cleaning, as arrays of the picked channels."""

    before: Array
    after: Array
    bad: Mask
    info: mne.Info
    first_samp: int  # of the recording, of which `step` samples make one here
    step: int = 1

    @classmethod
    def of(
        cls, before: BaseRaw, after: BaseRaw, picks: str | Sequence | None, reject: bool
    ) -> Pair:
        """Read both recordings."""
        _validate_type(before, mne.io.BaseRaw, "before", "Raw")
        _validate_type(after, mne.io.BaseRaw, "after", "Raw")
        _validate_flag(reject, "reject_by_annotation")
        _check_match(before, after)
        chosen = _picks_to_idx(before.info, "eeg" if picks is None else picks)
        data = before.get_data(chosen), after.get_data(chosen)
        return cls.of_arrays(before, *data, chosen, reject)

    @classmethod
    def of_arrays(
        cls, raw: BaseRaw, before: Array, after: Array, picks: ArrayLike, reject: bool
    ) -> Pair:
        """Combine the picked channels of a recording before and after cleaning."""
        bad = annotated_bad(raw, reject)
        with np.errstate(invalid="ignore"):
            broken = ~np.isfinite(before.sum(axis=0) + after.sum(axis=0))
        info = mne.pick_info(raw.info, picks)
        step, origin = getattr(raw, "step", 1), getattr(raw, "origin", raw.first_samp)
        return cls(before, after, bad | broken, info, origin, step)

    def samples(self, events: ArrayLike) -> Samples:
        """Return the samples here, from 0, of MNE events of the recording; raise if outside."""
        n_times = self.before.shape[1] * self.step
        return event_samples(events, self.first_samp, n_times) // self.step

    @property
    def sfreq(self) -> float:
        """The sampling rate in hertz."""
        return self.info["sfreq"]

    @property
    def ch_names(self) -> list[str]:
        """The names of the channels."""
        return list(self.info["ch_names"])


def _check_match(before: BaseRaw, after: BaseRaw) -> None:
    """Raise unless both recordings have the same samples and channels."""
    if before.ch_names != after.ch_names:
        odd = sorted(set(before.ch_names) ^ set(after.ch_names))
        raise ValueError(
            f"before and after differ in their channels ({odd or 'the same in another order'}); "
            "pass the cleaned copy of the same recording."
        )
    facts = ([raw.n_times, raw.first_samp, raw.info["sfreq"]] for raw in (before, after))
    for name, value, other in zip(("length", "first_samp", "sampling rate"), *facts, strict=True):
        if value != other:
            raise ValueError(
                f"before and after differ in {name} ({value} and {other}); pass the cleaned copy "
                "of the same recording."
            )


def event_samples(events: ArrayLike, first_samp: int, n_times: int) -> Samples:
    """Return the samples of MNE events, counted from 0; raise if any is outside the recording."""
    events = check_events(events)
    samples = events[:, 0].astype(np.int64) - first_samp
    outside = (samples < 0) | (samples >= n_times)
    if outside.any():
        raise ValueError(
            f"{outside.sum()} of {len(samples)} events are outside the recording, whose samples "
            f"run from {first_samp} to {first_samp + n_times - 1} (first: "
            f"{events[outside][0, 0]}); MNE's events count from raw.first_samp on."
        )
    return samples


def check_events(events: ArrayLike) -> Samples:
    """Return MNE events as an array; raise if they are none."""
    events = np.asarray(events)
    if events.ndim != 2 or events.shape[1] != 3:
        raise ValueError(
            f"events must have the shape (n_events, 3), got {events.shape}; pass an MNE events "
            "array, for instance of mne_otica.find_artifact_events(raw)."
        )
    if events.dtype.kind not in "iu" and not np.array_equal(events, np.round(events)):
        raise ValueError("events must be whole numbers (sample, 0, code); round them before.")
    return events


def conditions_of(
    raw: BaseRaw, events: Events | None, event_id: Mapping[str, int] | None = None
) -> dict[str, Samples]:
    """Return the samples of the trials of each condition, counted from 0."""
    # The conditions are those in ``event_id``, all that occur, or the names of annotations.
    if events is None:
        if event_id is not None:
            raise ValueError("event_id names conditions in events; pass events, too.")
        return {}
    names = [events] if isinstance(events, str) else list(events)
    if names and all(isinstance(name, str) for name in names):
        event_id = {name: k + 1 for k, name in enumerate(names)}
        known = {name: k for name, k in event_id.items() if name in raw.annotations.description}
        events = mne.events_from_annotations(raw, known, verbose="error")[0] if known else []
    events = check_events(events if len(events) else np.zeros((0, 3), int))
    _validate_type(event_id, (Mapping, None), "event_id", 'a dict such as {"target": 1}, or None')
    if event_id is None:
        event_id = {str(code): int(code) for code in np.unique(events[:, 2])}
    samples = events[:, 0].astype(np.int64) - raw.first_samp
    inside = (samples >= 0) & (samples < raw.n_times)
    if not inside.all():
        warn(
            f"{np.sum(~inside)} of {len(events)} events are outside the recording (samples "
            f"{raw.first_samp} to {raw.last_samp}) and are ignored; MNE's events are samples at "
            f"the rate of raw, {raw.info['sfreq']:g} Hz, and count from raw.first_samp on."
        )
    samples, codes = samples[inside], events[inside, 2]
    found = {name: np.unique(samples[codes == code]) for name, code in event_id.items()}
    if absent := [name for name, some in found.items() if not len(some)]:
        warn(
            f"No trials of {', '.join(absent)} are in the recording; check events and event_id. "
            "The other conditions are used."
        )
    return {name: some for name, some in found.items() if len(some)}


def window_bounds(tmin: float, tmax: float, sfreq: float) -> tuple[int, int]:
    """Return the window around an event in samples, its end excluded."""
    _validate_number(tmin, "tmin")
    _validate_number(tmax, "tmax")
    start, stop = (int(round(limit * sfreq)) for limit in (tmin, tmax))
    if stop - start < 2:
        raise ValueError(
            f"The window from tmin ({tmin}) to tmax ({tmax}) holds {max(0, stop - start)} "
            "samples; pass a tmax that is larger."
        )
    return start, stop


def whole_windows(samples: Samples, bad: Mask, bounds: tuple[int, int]) -> tuple[Samples, int, int]:
    """Return the events whose windows are inside and good, and how many are cut, and are bad."""
    start, stop = bounds
    inside = samples[(samples + start >= 0) & (samples + stop <= bad.size)]
    n_bad_until = np.r_[0, np.cumsum(bad)]
    used = inside[n_bad_until[inside + stop] == n_bad_until[inside + start]]
    return used, len(samples) - len(inside), len(inside) - len(used)


def fullest_window(samples: Samples, length: int, n_times: int, margin: int) -> int:
    """Return the start of the window of this length with the most events."""
    if not len(samples):
        return 0
    samples = np.sort(samples)
    counts = np.searchsorted(samples, samples + length) - np.arange(len(samples))
    start = int(samples[np.argmax(counts)]) - margin
    return max(0, min(start, n_times - length))


def free_samples(pair: Pair, samples: Samples, bounds: tuple[int, int], margin: float) -> Mask:
    """Return which samples are good and away from the windows of events."""
    reach = int(margin * pair.sfreq)
    free = ~pair.bad
    for sample in samples:
        free[max(0, sample + bounds[0] - reach) : max(0, sample + bounds[1] + reach)] = False
    return free


def free_spectra(pair: Pair, free: Mask) -> tuple[Array, Array]:
    """Return frequencies, and Welch's densities of before, after and their difference."""
    for seconds in (2.0, 1.0, 0.5):
        length, stretches = int(seconds * pair.sfreq), runs(free)
        starts = [k for a, b in stretches for k in range(a, b - length + 1, length)]
        if starts:
            break
    else:
        return np.zeros(0), np.zeros((3, 0))
    window = get_window("hamming", length)
    power = np.zeros((3, length // 2 + 1))
    for start in starts:
        cut = (x[:, start : start + length] for x in (pair.before, pair.after))
        one, other = (rfft((x - x.mean(axis=1, keepdims=True)) * window, axis=1) for x in cut)
        for k, found in enumerate((one, other, other - one)):
            power[k] += np.einsum("cf,cf->f", found, found.conj()).real
    power *= 2 / (pair.sfreq * np.sum(window**2) * len(starts) * len(pair.before))
    power[:, 0] /= 2  # which has no negative counterpart,
    if length % 2 == 0:
        power[:, -1] /= 2  # as this one
    return np.fft.rfftfreq(length, 1 / pair.sfreq), power


def rank_of(data: Array, info: mne.Info) -> int:
    """Return the rank over all channel types."""
    # Linear dependence holds at every sample, so a subsample is enough.
    data = data[:, :: max(1, data.shape[1] // max(2000, 20 * len(data)))]
    # MNE's ICA restores the mean of each channel, which must not count towards the rank.
    data = np.nan_to_num(data - np.nanmean(data, axis=1, keepdims=True))
    raw = mne.io.RawArray(data, info, verbose="error")
    rank = mne.compute_rank(raw, tol=1e-6, tol_kind="relative", verbose="error")
    return int(sum(rank.values()))
