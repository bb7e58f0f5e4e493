"""How much of the blinks went, and what it cost elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import mne
import numpy as np
from mne.utils import logger, verbose
from numpy.typing import ArrayLike, NDArray

from mne_otica._checks import (
    RandomState,
    _check_option,
    _picks_to_idx,
    _validate_type,
    as_generator,
    warn,
)

if TYPE_CHECKING:
    from mne.io import BaseRaw

__all__ = ["BANDS", "Preservation", "RMSReduction", "preservation", "rms_reduction", "verdict"]

BANDS = {
    "delta": (1.0, 4.0),
    "theta": (4.0, 8.0),
    "alpha": (8.0, 13.0),
    "beta": (13.0, 30.0),
    "gamma": (30.0, 45.0),
}
MOST_AFFECTED = 5  # channels that a blink is judged by: those far from the eyes hardly see it
OVER_CLEANED = 0.05  # change of the RMS away from blinks that no blink explains
_N_BOOTSTRAP = 2000
# Seconds to keep away from the window of a blink. A high-pass filter at 1 Hz mirrors each blink
# for about a second on either side; less is kept only where blinks are too frequent for that.
_MARGINS = (1.0, 0.5, 0.25)
_MIN_WINDOWS = 20  # with fewer, what changes elsewhere is known too vaguely


@dataclass(frozen=True, eq=False)
class RMSReduction:
    """How much of the signal in the windows round blinks went.

    Attributes
    ----------
    overall : float
        1 - RMS(after) / RMS(before), pooled over channels and events.
    interval : tuple of float
        The 95 percent bootstrap interval of ``overall`` over events; NaN for one event.
    per_event : ndarray, shape (n_events,)
        The same for each event, pooled over channels.
    per_channel : ndarray, shape (n_channels,)
        The same for each channel, pooled over events; NaN for a flat channel.
    rms_before, rms_after : ndarray, shape (n_channels,)
        The RMS in the windows, in volts or in standard deviations.
    blink_size : ndarray, shape (n_channels,)
        RMS of the average window before cleaning: how much of the blink a channel sees.
    ch_names : list of str
        The channels.
    samples : ndarray, shape (n_events,)
        The events used, as in the first column of MNE's events.
    n_edge, n_bad : int
        Events left out because the edges of the recording cut their windows, or because
        these hold spans annotated as bad.
    """

    overall: float
    interval: tuple[float, float]
    per_event: NDArray[np.float64]
    per_channel: NDArray[np.float64]
    rms_before: NDArray[np.float64]
    rms_after: NDArray[np.float64]
    blink_size: NDArray[np.float64]
    ch_names: list[str]
    samples: NDArray[np.int64]
    n_edge: int
    n_bad: int

    @property
    def n_events(self) -> int:
        """The number of events used."""
        return len(self.samples)

    def most_affected(self, n_channels: int = MOST_AFFECTED) -> list[str]:
        """Return the channels that see most of the blink.

        Parameters
        ----------
        n_channels : int
            How many.

        Returns
        -------
        ch_names : list of str
            The channels with the largest average blink before cleaning, largest first.
        """
        return [self.ch_names[k] for k in np.argsort(-self.blink_size)[:n_channels]]

    def over(self, ch_names: Sequence[str]) -> float:
        """Return the reduction pooled over some of the channels.

        Parameters
        ----------
        ch_names : sequence of str
            The channels.

        Returns
        -------
        reduction : float
            1 - RMS(after) / RMS(before).
        """
        picks = [self.ch_names.index(name) for name in ch_names]
        return _reduction(np.sum(self.rms_before[picks] ** 2), np.sum(self.rms_after[picks] ** 2))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as numbers and lists, for JSON.

        Returns
        -------
        figures : dict
            All attributes, and the reduction at the most affected channels.
        """
        names = self.most_affected()
        return plain(asdict(self)) | {"most_affected": {name: self.over([name]) for name in names}}


@dataclass(frozen=True, eq=False)
class Preservation:
    """What changed where there was no blink.

    Attributes
    ----------
    rms_change : float
        RMS(after) / RMS(before) - 1 in windows without blinks, pooled over channels.
    difference : float
        RMS(after - before) / RMS(before) there.
    correlation : float
        Median over channels of the correlation of before and after there.
    per_channel : ndarray, shape (n_channels,)
        ``rms_change`` of each channel.
    variance_removed : float
        1 - variance(after) / variance(before) of all samples without blinks.
    band_power : dict
        The relative change of the power of each band in the stretches without blinks.
    rank_before, rank_after : int
        The rank of the channels.
    ch_names : list of str
        The channels.
    n_windows : int
        How many windows without blinks there were: as many as events, but at least 20, or as
        many as there is room for.
    margin : float
        How far these are from the windows of blinks, in seconds.
    """

    rms_change: float
    difference: float
    correlation: float
    per_channel: NDArray[np.float64]
    variance_removed: float
    band_power: dict[str, float]
    rank_before: int
    rank_after: int
    ch_names: list[str]
    n_windows: int
    margin: float

    @property
    def over_cleaned(self) -> bool:
        """Whether more went than blinks explain."""
        return abs(self.rms_change) > OVER_CLEANED

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as numbers and lists, for JSON.

        Returns
        -------
        figures : dict
            All attributes.
        """
        return plain(asdict(self)) | {"over_cleaned": self.over_cleaned}


@verbose
def rms_reduction(
    before: BaseRaw,
    after: BaseRaw,
    events: ArrayLike,
    *,
    tmin: float = -0.25,
    tmax: float = 0.25,
    picks: str | Sequence[str | int] | None = None,
    normalize: str | None = None,
    reject_by_annotation: bool = True,
    random_state: RandomState = None,
    verbose: bool | str | int | None = None,
) -> RMSReduction:
    """Measure how much of the signal round blinks went.

    Parameters
    ----------
    before, after : instance of Raw
        The recording before and after cleaning. They are not changed.
    events : array-like, shape (n_events, 3)
        MNE events at the blinks, for instance of :func:`mne_otica.find_blink_events`.
    tmin, tmax : float
        The window round each event, in seconds. Windows that the edges of the recording
        cut are left out and counted.
    picks : str | sequence of str | sequence of int | None
        The channels; None takes the EEG channels that are not marked bad.
    normalize : "zscore" | None
        ``"zscore"`` scales each channel by the mean and standard deviation it had before,
        as the paper does, so that all channels count alike.
    reject_by_annotation : bool
        Whether to leave out windows that hold spans annotated as bad.
    random_state : int | instance of RandomState | instance of Generator | None
        The seed of the interval; None is a fixed seed.
    %(verbose)s

    Returns
    -------
    reduction : instance of RMSReduction
        The reduction overall, with an interval, per event and per channel.

    Notes
    -----
    The RMS is that of the signal as it is. Filter both recordings alike first if they have
    offsets or drifts, which would count as signal that did not go.
    """
    _check_option("normalize", normalize, ("zscore", None))
    pair = _Pair.of(before, after, picks, reject_by_annotation)
    samples, start, stop = _windows(pair, events, tmin, tmax)
    if not len(samples):
        raise ValueError("There are no events, so there is nothing to measure; pass at least one.")
    inside = (samples + start >= 0) & (samples + stop <= pair.n_times)
    clear = np.array([not pair.bad[max(0, k + start) : k + stop].any() for k in samples])
    used = samples[inside & clear]
    n_edge, n_bad = int(np.sum(~inside)), int(np.sum(inside & ~clear))
    if not len(used):
        raise ValueError(
            f"No window is left of {len(samples)} event(s): the edges of the recording cut "
            f"{n_edge}, and {n_bad} hold spans annotated as bad; pass a shorter window (now "
            f"{tmin} to {tmax} s) or other events."
        )
    shift, scale = _scaling(pair.before, normalize)
    cut = [[(x[:, k + start : k + stop] - shift) / scale for k in used] for x in pair.data]
    # One sum of squares per event and channel holds all that is wanted below.
    power = np.array([[np.mean(window**2, axis=1) for window in one] for one in cut])
    result = RMSReduction(
        overall=_reduction(*power.sum(axis=(1, 2))),
        interval=_interval(power.sum(axis=2), as_generator(random_state)),
        per_event=_reduction(*power.sum(axis=2)),
        per_channel=_reduction(*power.sum(axis=1)),
        rms_before=np.sqrt(power[0].mean(axis=0)),
        rms_after=np.sqrt(power[1].mean(axis=0)),
        blink_size=np.sqrt(np.mean(np.mean(cut[0], axis=0) ** 2, axis=1)),
        ch_names=pair.ch_names,
        samples=used + before.first_samp,
        n_edge=n_edge,
        n_bad=n_bad,
    )
    logger.info(
        f"RMS round {len(used)} blinks reduced by {result.overall:.1%} over "
        f"{len(pair.ch_names)} channels; {n_edge} cut by the edges, {n_bad} in bad spans."
    )
    return result


@verbose
def preservation(
    before: BaseRaw,
    after: BaseRaw,
    events: ArrayLike,
    *,
    tmin: float = -0.25,
    tmax: float = 0.25,
    picks: str | Sequence[str | int] | None = None,
    reject_by_annotation: bool = True,
    random_state: RandomState = None,
    verbose: bool | str | int | None = None,
) -> Preservation:
    """Measure what changed where there was no blink.

    Parameters
    ----------
    before, after : instance of Raw
        The recording before and after cleaning. They are not changed.
    events : array-like, shape (n_events, 3)
        MNE events at the blinks. As many windows of the same length, but at least 20, are
        drawn elsewhere.
    tmin, tmax : float
        The window round each event, in seconds.
    picks : str | sequence of str | sequence of int | None
        The channels; None takes the EEG channels that are not marked bad.
    reject_by_annotation : bool
        Whether to leave out spans annotated as bad.
    random_state : int | instance of RandomState | instance of Generator | None
        The seed of the windows; None is a fixed seed.
    %(verbose)s

    Returns
    -------
    harm : instance of Preservation
        Change of RMS, correlation, band power, variance and rank.
    """
    pair = _Pair.of(before, after, picks, reject_by_annotation)
    samples, start, stop = _windows(pair, events, tmin, tmax)
    rng = as_generator(random_state)
    for margin in _MARGINS:
        free = _free(pair, samples, start, stop, margin)
        starts = _draw(free, stop - start, max(len(samples), _MIN_WINDOWS), rng)
        if len(starts) >= len(samples):
            break
    if len(starts) < len(samples):
        warn(
            f"Only {len(starts)} of {len(samples)} windows of {tmax - tmin:.2f} s are free of "
            "blinks and bad spans; what changed there is known less well."
        )
    at = (starts[:, np.newaxis] + np.arange(stop - start)).ravel()
    one, other = (data[:, at] for data in pair.data)
    power = np.array([np.sum(x**2, axis=1) for x in (one, other)])
    result = Preservation(
        rms_change=-_reduction(*power.sum(axis=1)),
        difference=1 - _reduction(power[0].sum(), np.sum((other - one) ** 2)),
        correlation=_correlation(one, other),
        per_channel=-_reduction(*power),
        variance_removed=_variance_removed(pair, free),
        band_power=_band_power_change(pair, free),
        rank_before=_rank(pair.before, pair.info),
        rank_after=_rank(pair.after, pair.info),
        ch_names=pair.ch_names,
        n_windows=len(starts),
        margin=margin,
    )
    logger.info(
        f"RMS in {len(starts)} windows without blinks changed by {result.rms_change:+.1%}; rank "
        f"{result.rank_before} before, {result.rank_after} after."
    )
    return result


def verdict(benefit: RMSReduction, harm: Preservation) -> str:
    """Say in one line what went and what it cost.

    Parameters
    ----------
    benefit : instance of RMSReduction
        What :func:`rms_reduction` returned.
    harm : instance of Preservation
        What :func:`preservation` returned.

    Returns
    -------
    line : str
        For instance "removed 93 % of the blink at the 5 channels that see it most, changed
        1.8 % elsewhere".
    """
    names = benefit.most_affected()
    line = (
        f"removed {100 * benefit.over(names):.0f} % of the blink at the {len(names)} channels "
        f"that see it most, changed {100 * abs(harm.rms_change):.1f} % elsewhere"
    )
    return line + (": more than blinks explain" if harm.over_cleaned else "")


@dataclass(frozen=True)
class _Pair:
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
        _check_match(before, after)
        chosen = _picks_to_idx(before.info, "eeg" if picks is None else picks)
        bad = np.zeros(before.n_times, bool)
        if reject:
            # One channel is enough to learn where the annotations are.
            spans = before.get_data(chosen[:1], reject_by_annotation="NaN")
            bad = np.isnan(spans[0])
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


def _windows(pair, events, tmin, tmax):
    """Return the events as samples from 0, and the bounds of the window around them."""
    events = np.asarray(events)
    if events.ndim != 2 or events.shape[1] != 3:
        raise ValueError(
            f"events must have the shape (n_events, 3), got {events.shape}; pass an MNE events "
            "array, for instance of mne_otica.find_blink_events(raw)."
        )
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


def _scaling(data, normalize):
    if normalize is None:
        return 0.0, 1.0
    scale = np.nanstd(data, axis=1, keepdims=True)
    return np.nanmean(data, axis=1, keepdims=True), np.where(scale > 0, scale, 1.0)


def _reduction(before, after):
    """Return 1 - RMS(after) / RMS(before) for powers; NaN where there was none."""
    before, after = np.asarray(before), np.asarray(after)
    ratio = np.divide(after, before, out=np.full(before.shape, np.nan), where=before > 0)
    reduction = 1 - np.sqrt(ratio)
    return reduction if reduction.ndim else float(reduction)


def _interval(power, rng):
    """Return the bootstrap interval over events of powers of shape (2, n_events)."""
    n_events = power.shape[1]
    if n_events < 2:
        return float("nan"), float("nan")
    drawn = rng.integers(n_events, size=(_N_BOOTSTRAP, n_events))
    reductions = _reduction(*power[:, drawn].sum(axis=2))
    low, high = np.nanpercentile(reductions, [2.5, 97.5])
    return float(low), float(high)


def _free(pair, samples, start, stop, margin):
    """Return which samples are good and away from the windows of blinks."""
    start, stop = start - int(margin * pair.sfreq), stop + int(margin * pair.sfreq)
    free = ~pair.bad
    for sample in samples:
        free[max(0, sample + start) : max(0, sample + stop)] = False
    return free


def _draw(free, length, n_windows, rng):
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


def _correlation(one, other):
    """Return the median over channels of the correlation; NaN without samples."""
    if not one.shape[1]:
        return float("nan")
    one, other = (x - x.mean(axis=1, keepdims=True) for x in (one, other))
    size = np.sqrt(np.sum(one**2, axis=1) * np.sum(other**2, axis=1))
    varies = size > 0
    each = np.sum(one * other, axis=1)[varies] / size[varies]
    return float(np.median(each)) if len(each) else float("nan")


def _variance_removed(pair, free):
    if not free.any():
        return float("nan")
    before, after = (np.var(data[:, free], axis=1).sum() for data in pair.data)
    return float(1 - after / before) if before > 0 else float("nan")


def _band_power_change(pair, free):
    """Return the relative change of the power of each band, pooled over channels."""
    before, after = (_spectrum(data, pair.sfreq, free) for data in pair.data)
    change = {}
    for name, (low, high) in BANDS.items():
        inside = (before[0] >= low) & (before[0] < high)
        power = [psd[:, inside].sum() for _, psd in (before, after)]
        change[name] = float(power[1] / power[0] - 1) if power[0] > 0 else float("nan")
    return change


def spectrum_without(raw, events, margin):
    """Return the spectrum of the EEG away from the events, as the band power is measured."""
    pair = _Pair.of(raw, raw, None, True)
    samples, start, stop = _windows(pair, events, -0.25, 0.25)
    return _spectrum(pair.before, pair.sfreq, _free(pair, samples, start, stop, margin))


def _spectrum(data, sfreq, free):
    """Return frequencies and power of the stretches of two seconds that are free."""
    # A shorter stretch is taken where there is none of two seconds.
    for seconds in (2.0, 1.0, 0.5):
        length = int(seconds * sfreq)
        starts = _tiles(free, length)
        if len(starts):
            break
    else:
        return np.zeros(0), np.zeros((len(data), 0))
    segments = np.array([data[:, k : k + length] for k in starts])
    psd, freqs = mne.time_frequency.psd_array_welch(
        segments, sfreq, n_fft=length, n_per_seg=length, verbose="error"
    )
    return freqs, psd.mean(axis=0)


def _tiles(free, length):
    """Return the starts of the stretches of this length that lie side by side and are free."""
    edges = np.flatnonzero(np.diff(np.r_[False, free, False].astype(int)))
    runs = zip(edges[::2], edges[1::2], strict=True)
    return [k for start, stop in runs for k in range(start, stop - length + 1, length)]


def _rank(data, info):
    """Return the rank over all channel types."""
    # MNE's ICA puts the mean of each channel back, which is no variation.
    data = np.nan_to_num(data - np.nanmean(data, axis=1, keepdims=True))
    raw = mne.io.RawArray(data, info, verbose="error")
    rank = mne.compute_rank(raw, tol=1e-6, tol_kind="relative", verbose="error")
    return int(sum(rank.values()))


def plain(value):
    """Return numbers, lists and dictionaries that JSON knows; NaN becomes None."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
