"""How much of the blinks went, and what it cost elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from mne.utils import logger, verbose
from numpy.typing import ArrayLike, NDArray

from mne_otica._checks import RandomState, _check_option, _validate_type, as_generator, warn
from mne_otica._docs import fill_doc
from mne_otica._windows import Pair, draw, free_samples, rank_of, spectrum, windows

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
@fill_doc
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
    %(before_after)s
    events : array-like, shape (n_events, 3)
        MNE events at the blinks, for instance of :func:`mne_otica.find_blink_events`.
    tmin, tmax : float
        The window round each event, in seconds. Windows that the edges of the recording
        cut are left out and counted.
    %(picks_eeg)s
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
    pair = Pair.of(before, after, picks, reject_by_annotation)
    samples, start, stop = windows(pair, events, tmin, tmax)
    if not len(samples):
        raise ValueError("There are no events, so there is nothing to measure; pass at least one.")
    inside = (samples + start >= 0) & (samples + stop <= pair.n_times)
    whole = samples[inside]
    used = np.array([k for k in whole if not pair.bad[k + start : k + stop].any()])
    n_edge, n_bad = len(samples) - len(whole), len(whole) - len(used)
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
@fill_doc
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
    %(before_after)s
    events : array-like, shape (n_events, 3)
        MNE events at the blinks. As many windows of the same length, but at least 20, are
        drawn elsewhere.
    tmin, tmax : float
        The window round each event, in seconds.
    %(picks_eeg)s
    %(reject_spans)s
    random_state : int | instance of RandomState | instance of Generator | None
        The seed of the windows; None is a fixed seed.
    %(verbose)s

    Returns
    -------
    harm : instance of Preservation
        Change of RMS, correlation, band power, variance and rank.
    """
    pair = Pair.of(before, after, picks, reject_by_annotation)
    samples, start, stop = windows(pair, events, tmin, tmax)
    rng = as_generator(random_state)
    for margin in _MARGINS:
        free = free_samples(pair, samples, start, stop, margin)
        starts = draw(free, stop - start, max(len(samples), _MIN_WINDOWS), rng)
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
        rank_before=rank_of(pair.before, pair.info),
        rank_after=rank_of(pair.after, pair.info),
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
    _validate_type(benefit, RMSReduction, "benefit", "RMSReduction")
    _validate_type(harm, Preservation, "harm", "Preservation")
    names = benefit.most_affected()
    line = (
        f"removed {100 * benefit.over(names):.0f} % of the blink at the {len(names)} channels "
        f"that see it most, changed {100 * abs(harm.rms_change):.1f} % elsewhere"
    )
    return line + (": more than blinks explain" if harm.over_cleaned else "")


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
    before, after = (spectrum(data, pair.sfreq, free) for data in pair.data)
    change = {}
    for name, (low, high) in BANDS.items():
        inside = (before[0] >= low) & (before[0] < high)
        power = [psd[:, inside].sum() for _, psd in (before, after)]
        change[name] = float(power[1] / power[0] - 1) if power[0] > 0 else float("nan")
    return change


def plain(value):
    """Return numbers, lists and dictionaries that JSON knows; NaN becomes None."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
