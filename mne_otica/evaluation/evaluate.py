"""Benefit and harm: how much of the blinks was removed, and how much of the signal elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from mne.utils import logger, verbose
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from mne_otica.evaluation.measures import (
    MOST_AFFECTED,
    OVER_CLEANED,
    KindResult,
    Preservation,
    RMSReduction,
    plain,
    reduction,
    rms_ratio,
)
from mne_otica.signals.windows import (
    HALF_WINDOW,
    Pair,
    event_samples,
    free_samples,
    free_spectra,
    rank_of,
    runs,
    whole_windows,
    window_bounds,
)
from mne_otica.utils.checks import RandomState, _check_option, _validate_type, as_generator, warn
from mne_otica.utils.docs import fill_doc

if TYPE_CHECKING:
    from mne.io import BaseRaw

__all__ = [
    "BANDS",
    "MOST_AFFECTED",
    "OVER_CLEANED",
    "KindResult",
    "Preservation",
    "RMSReduction",
    "kind_line",
    "plain",
    "preservation",
    "reduction",
    "rms_reduction",
    "verdict",
]

BANDS = {
    "delta": (1.0, 4.0),
    "theta": (4.0, 8.0),
    "alpha": (8.0, 13.0),
    "beta": (13.0, 30.0),
    "gamma": (30.0, 45.0),
}
# Why whole components are removed
_WHOLE = {
    "blink": "the eyes hardly rest between blinks",
    "eye movement": "the eyes hardly rest",
    "electrode": "it does more than pop",
}
_BASELINE = 0.25  # s before the window of an event
_N_BOOTSTRAP = 2000
# Margins around the window of a blink, in seconds. A high-pass filter at 1 Hz smears each blink
# over about a second on either side; smaller margins are used only if blinks are too frequent.
_MARGINS = (1.0, 0.5, 0.25)
_ENOUGH = 20  # windows; with fewer, the harm is not measured precisely enough


@verbose
@fill_doc
def rms_reduction(
    before: BaseRaw,
    after: BaseRaw,
    events: ArrayLike,
    *,
    tmin: float = -HALF_WINDOW,
    tmax: float = HALF_WINDOW,
    picks: str | Sequence[str | int] | None = None,
    normalize: str | None = None,
    reject_by_annotation: bool = True,
    random_state: RandomState = 0,
    verbose: bool | str | int | None = None,
) -> RMSReduction:
    """Measure how much of the signal around blinks was removed.

    Parameters
    ----------
    %(before_after)s
    events : array-like, shape (n_events, 3)
        MNE events at the blinks, for instance of :func:`mne_otica.find_blink_events`.
    tmin, tmax : float
        The window around each event, in seconds. Windows that reach beyond the recording are
        left out and counted.
    %(picks_eeg)s
    normalize : "zscore" | None
        ``"zscore"`` scales each channel by its mean and standard deviation before cleaning,
        as in the paper, so that all channels have the same weight.
    reject_by_annotation : bool
        Whether to leave out windows that hold spans annotated as bad.
    random_state : int | instance of RandomState | instance of Generator | None
        The seed of the intervals; None draws a random one.
    %(verbose)s

    Returns
    -------
    reduction : instance of RMSReduction
        The reduction overall, with an interval, per event and per channel.

    Notes
    -----
    The RMS is computed without filtering. Offsets and drifts would count as signal that was not
    removed; if there are any, apply the same high-pass filter to both recordings first.

    Brain activity in the windows lowers ``overall``, so this figure rewards removing brain
    activity. ``average`` does not, as brain activity cancels in the average over blinks.
    """
    _check_option("normalize", normalize, ("zscore", None))
    pair = Pair.of(before, after, picks, reject_by_annotation)
    return benefit_of(pair, events, (tmin, tmax), normalize, as_generator(random_state))


def benefit_of(
    pair: Pair,
    events: ArrayLike,
    limits: tuple[float, float] = (-HALF_WINDOW, HALF_WINDOW),
    normalize: str | None = None,
    rng: np.random.Generator | None = None,
    signs: NDArray[np.float64] | None = None,
) -> RMSReduction:
    """Measure the benefit on arrays; see `rms_reduction`.

    ``signs`` are 1 or -1 for each event, so that steps of opposite sign do not cancel.
    """
    rng = as_generator(0) if rng is None else rng
    bounds = window_bounds(*limits, pair.sfreq)
    samples = event_samples(events, pair.first_samp, pair.n_times)
    if not len(samples):
        raise ValueError("There are no events, so there is nothing to measure; pass at least one.")
    used, n_edge, n_bad = whole_windows(samples, pair.bad, bounds)
    if not len(used):
        raise ValueError(
            f"No window is left of {len(samples)} event(s): the edges of the recording cut "
            f"{n_edge}, and {n_bad} hold spans annotated as bad; pass a shorter window (now "
            f"{limits[0]} to {limits[1]} s) or other events."
        )
    shift, scale = _scaling(pair.before, normalize)
    signs = np.ones(len(used)) if signs is None else signs[np.isin(samples, used)]
    at = used[:, np.newaxis] + np.arange(*bounds)
    # Shape (before and after, n_events, n_channels, n_times in the window)
    cut = np.array(
        [
            ((x[:, at] - shift[:, None]) / scale[:, None]).swapaxes(0, 1)
            for x in (pair.before, pair.after)
        ]
    )
    cut = cut * signs[:, np.newaxis, np.newaxis]
    # One mean square per event and channel is enough for all but the averages.
    power = np.mean(cut**2, axis=3)
    blink_size = np.sqrt(np.mean(np.mean(cut[0], axis=0) ** 2, axis=1))
    result = RMSReduction(
        overall=reduction(*power.sum(axis=(1, 2))),
        interval=_interval(power.sum(axis=2), rng),
        per_event=reduction(*power.sum(axis=2)),
        per_channel=reduction(*power.sum(axis=1)),
        rms_before=np.sqrt(power[0].mean(axis=0)),
        rms_after=np.sqrt(power[1].mean(axis=0)),
        blink_size=blink_size,
        **_average_reduction(pair, cut * scale, used, bounds, blink_size, signs),
        ch_names=pair.ch_names,
        samples=used + pair.first_samp,
        n_edge=n_edge,
        n_bad=n_bad,
    )
    logger.info(
        f"RMS round {len(used)} blinks reduced by {result.overall:.1%} over "
        f"{len(pair.ch_names)} channels, that of their average by {result.average:.1%} at the "
        f"most affected; {n_edge} cut by the edges, {n_bad} in bad spans."
    )
    return result


def _average_reduction(
    pair: Pair,
    cut: NDArray[np.float64],
    used: NDArray[np.int64],
    bounds: tuple[int, int],
    blink_size: NDArray[np.float64],
    signs: NDArray[np.float64],
) -> dict[str, Any]:
    """Return the reduction of the average over events, relative to the baseline before it."""
    start = max(bounds[0] - int(_BASELINE * pair.sfreq), -int(used.min()))
    baseline = used[:, np.newaxis] + np.arange(start, max(bounds[0], start + 1))
    levels = [np.nanmean(x[:, baseline], axis=2).T for x in (pair.before, pair.after)]
    cut = cut - signs[:, np.newaxis, np.newaxis] * np.array(levels)[..., np.newaxis]
    most = np.argsort(-blink_size)[:MOST_AFFECTED]
    power = np.sum(np.mean(cut, axis=1) ** 2, axis=2)
    average = reduction(*power[:, most].sum(axis=1))
    return dict(
        average=average,
        average_interval=_jackknife(average, cut[:, :, most]),
        average_per_channel=reduction(*power),
    )


def _jackknife(average: float, cut: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 percent jackknife interval of the reduction of the average.

    A bootstrap would be biased: a draw has fewer distinct events, so brain activity cancels less
    in its average, and the reduction would be smaller in every draw.
    """
    n_events = cut.shape[1]
    if n_events < 2:
        return float("nan"), float("nan")
    without = (cut.sum(axis=1, keepdims=True) - cut) / (n_events - 1)
    values = reduction(*np.sum(without**2, axis=(2, 3)))
    error = np.sqrt((n_events - 1) * np.var(values))
    reach = float(stats.t.ppf(0.975, n_events - 1) * error)
    return average - reach, min(1.0, average + reach)


@verbose
@fill_doc
def preservation(
    before: BaseRaw,
    after: BaseRaw,
    events: ArrayLike,
    *,
    tmin: float = -HALF_WINDOW,
    tmax: float = HALF_WINDOW,
    picks: str | Sequence[str | int] | None = None,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> Preservation:
    """Measure how much of the signal away from blinks was removed.

    Parameters
    ----------
    %(before_after)s
    events : array-like, shape (n_events, 3)
        MNE events at the blinks. The harm is measured in all samples at least a second away
        from their windows, or closer if blinks are so frequent that few samples are left.
    tmin, tmax : float
        The window around each event, in seconds.
    %(picks_eeg)s
    %(reject_spans)s
    %(verbose)s

    Returns
    -------
    harm : instance of Preservation
        What was removed, overall, per channel and per band; band power and rank.
    """
    pair = Pair.of(before, after, picks, reject_by_annotation)
    return harm_of(pair, events, (tmin, tmax))


def harm_of(
    pair: Pair,
    events: ArrayLike,
    limits: tuple[float, float] = (-HALF_WINDOW, HALF_WINDOW),
    sham: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    brief: bool = False,
    margins: Sequence[float] = _MARGINS,
) -> Preservation:
    """Measure the harm on arrays; see `preservation`.

    ``sham`` are topographies and time courses of what would be removed for sham events.
    ``margins`` are distances from the windows of events in seconds, the largest first; a smaller
    one is used if too few samples are left. ``brief`` skips spectra, correlation and rank.
    """
    bounds = window_bounds(*limits, pair.sfreq)
    samples = event_samples(events, pair.first_samp, pair.n_times)
    enough = max(len(samples), _ENOUGH) * (bounds[1] - bounds[0])
    for margin in margins:
        free = free_samples(pair, samples, bounds, margin)
        if free.sum() >= enough:
            break
    else:
        if margins is _MARGINS:
            warn(
                f"Only {free.sum() / pair.sfreq:.1f} s of the recording are away from its "
                f"{len(samples)} blinks and bad spans; what was taken out there is known less "
                "well."
            )
    power = _powers(pair, free)
    freqs, spectra = (np.zeros(0), np.zeros((3, 0))) if brief else free_spectra(pair, free)
    result = Preservation(
        taken_out=rms_ratio(power[2].sum(), power[0].sum()),
        taken_out_per_channel=rms_ratio(power[2], power[0]),
        taken_out_per_band={
            name: rms_ratio(*(_in_band(freqs, spectra[k], band) for k in (2, 0)))
            for name, band in BANDS.items()
        },
        sham=None if sham is None else rms_ratio(_power_of(*sham, free), power[0].sum()),
        rms_change=-reduction(*power[:2].sum(axis=1)),
        correlation=float("nan") if brief else _correlation(pair, free),
        band_power={
            name: rms_ratio(*(_in_band(freqs, spectra[k], band) for k in (1, 0))) ** 2 - 1
            for name, band in BANDS.items()
        },
        freqs=freqs,
        power_before=spectra[0],
        power_after=spectra[1],
        rank_before=0 if brief else rank_of(pair.before, pair.info),
        rank_after=0 if brief else rank_of(pair.after, pair.info),
        ch_names=pair.ch_names,
        seconds=float(free.sum() / pair.sfreq),
        margin=margin,
    )
    logger.info(
        f"{result.taken_out:.1%} of the signal was taken out in {result.seconds:.0f} s away from "
        f"blinks; rank {result.rank_before} before, {result.rank_after} after."
    )
    return result


def verdict(benefit: RMSReduction, harm: Preservation) -> str:
    """Summarise benefit and harm in one line.

    Parameters
    ----------
    benefit : instance of RMSReduction
        What :func:`rms_reduction` returned.
    harm : instance of Preservation
        What :func:`preservation` returned.

    Returns
    -------
    line : str
        For instance "removed 93 % of the average blink at the 5 channels that see it most,
        and 1.8 % of the signal away from blinks".
    """
    _validate_type(benefit, RMSReduction, "benefit", "RMSReduction")
    _validate_type(harm, Preservation, "harm", "Preservation")
    return f"removed {_line(benefit, harm, 'blink')}"


def _line(benefit: RMSReduction, harm: Preservation, event: str) -> str:
    """Return benefit and harm as part of a sentence."""
    line = (
        f"{100 * benefit.average:.0f} % of the average {event} at the "
        f"{len(benefit.most_affected())} channels that see it most, and "
    )
    if event != "blink" and harm.sham is not None:
        # Steps shift the signal between events and beats never stop, so there is no "away".
        return line + f"{100 * harm.sham:.1f} % of the signal for as many that are not there"
    line += f"{100 * harm.taken_out:.1f} % of the signal away from {event}s"
    too_much = event == "blink" and harm.over_cleaned
    return line + (f": more than {event}s explain" if too_much else "")


def kind_line(result: KindResult) -> str:
    """Summarise benefit and harm of one kind in one line; empty if nothing was removed."""
    names = {k: f"ICA{k:03d}" for k in result.components}
    left_in = ", ".join(names[k] for k in result.left_in)
    if left_in and len(result.left_in) == len(names):
        return f"nothing of {result.kind} in {left_in}, as the channels do not show it there"
    line = ""
    if result.benefit is not None and result.harm is not None:
        line = _line(result.benefit, result.harm, result.event)
    elif result.gone is not None:
        line = f"{100 * result.gone:.0f} % of what is above 15 Hz where {result.kind} is strongest"
    if result.whole:
        line += f"; all of {', '.join(names.values())} went, as {_WHOLE[result.kind]}"
    if left_in:
        line += f"; {left_in} stayed in, as the channels do not show it there"
    return line


def _scaling(
    data: NDArray[np.float64], normalize: str | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return offset and scale of each channel, as columns."""
    if normalize is None:
        return np.zeros((len(data), 1)), np.ones((len(data), 1))
    scale = np.nanstd(data, axis=1, keepdims=True)
    return np.nanmean(data, axis=1, keepdims=True), np.where(scale > 0, scale, 1.0)


def _interval(power: NDArray[np.float64], rng: np.random.Generator) -> tuple[float, float]:
    """Return the bootstrap interval of the reduction over events, from their powers.

    The powers have the shape (2, n_events).
    """
    n_events = power.shape[1]
    if n_events < 2:
        return float("nan"), float("nan")
    drawn = rng.integers(n_events, size=(_N_BOOTSTRAP, n_events))
    return _percentiles(reduction(*power[:, drawn].sum(axis=2)))


def _percentiles(values: NDArray[np.float64]) -> tuple[float, float]:
    values = values[np.isfinite(values)]
    if not len(values):
        return float("nan"), float("nan")
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def _powers(pair: Pair, free: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the sums of squares of before, after and their difference, run by run."""
    power = np.zeros((3, len(pair.before)))
    for start, stop in runs(free):
        before, after = pair.before[:, start:stop], pair.after[:, start:stop]
        for k, x in enumerate((before, after, after - before)):
            power[k] += np.einsum("ct,ct->c", x, x)
    return power


def _correlation(pair: Pair, free: NDArray[np.bool_]) -> float:
    """Return the correlation at free samples, median over channels; NaN if there are none."""
    if not free.any():
        return float("nan")
    spans = runs(free)
    means = [
        sum(x[:, start:stop].sum(axis=1) for start, stop in spans) / free.sum()
        for x in (pair.before, pair.after)
    ]
    products = np.zeros((3, len(pair.before)))
    for start, stop in spans:
        one, other = (
            x[:, start:stop] - mean[:, np.newaxis]
            for x, mean in zip((pair.before, pair.after), means, strict=True)
        )
        for k, (a, b) in enumerate(((one, one), (other, other), (one, other))):
            products[k] += np.einsum("ct,ct->c", a, b)
    size = np.sqrt(products[0] * products[1])
    each = products[2][size > 0] / size[size > 0]
    return float(np.median(each)) if len(each) else float("nan")


def _power_of(
    maps: NDArray[np.float64], courses: NDArray[np.float64], free: NDArray[np.bool_]
) -> float:
    """Return the sum of squares over channels and free samples of courses with these maps."""
    courses = courses[:, free]
    return float(np.sum((maps.T @ maps) * (courses @ courses.T)))


def _in_band(
    freqs: NDArray[np.float64], psd: NDArray[np.float64], band: tuple[float, float]
) -> float:
    return psd[(freqs >= band[0]) & (freqs < band[1])].sum()
