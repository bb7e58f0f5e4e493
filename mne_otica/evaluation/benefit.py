"""Benefit: how much of the artifact was removed at its events."""

from collections.abc import Sequence

import numpy as np
from mne.io import BaseRaw
from mne.utils import logger, verbose
from numpy.typing import ArrayLike
from scipy import stats

from mne_otica.evaluation.measures import MOST_AFFECTED, RMSReduction, reduction
from mne_otica.signals.windows import HALF_WINDOW, Pair, whole_windows, window_bounds
from mne_otica.utils.arrays import Array
from mne_otica.utils.docs import fill_doc


@verbose
@fill_doc
def rms_reduction(
    before: BaseRaw,
    after: BaseRaw,
    events: ArrayLike,
    *,
    picks: str | Sequence[str | int] | None = None,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> RMSReduction:
    """Measure how much of the signal within 250 ms of blinks was removed.

    Parameters
    ----------
    %(before_after)s
    events : array-like, shape (n_events, 3)
        MNE events at the blinks, for instance of :func:`mne_otica.find_artifact_events`. Those
        whose windows reach beyond the recording are left out and counted.
    %(picks_eeg)s
    reject_by_annotation : bool
        Whether to leave out windows that hold spans annotated as bad.
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
    return benefit_of(Pair.of(before, after, picks, reject_by_annotation), events)


def benefit_of(
    pair: Pair, events: ArrayLike, weights: Array | None = None, half: float = HALF_WINDOW
) -> RMSReduction:
    """Measure the benefit on arrays, with weights so that opposite steps do not cancel."""
    bounds = window_bounds(-half, half, pair.sfreq)
    samples = pair.samples(events)
    if not len(samples):
        raise ValueError("There are no events, so there is nothing to measure; pass at least one.")
    used, n_edge, n_bad = whole_windows(samples, pair.bad, bounds)
    if not len(used):
        raise ValueError(
            f"No window is left of {len(samples)} event(s): the edges of the recording cut "
            f"{n_edge}, and {n_bad} hold spans annotated as bad; pass other events."
        )
    kept = np.isin(samples, used)
    weights = np.ones(len(used)) if weights is None else weights[kept]
    at = used[:, np.newaxis] + np.arange(*bounds)

    def cut(channel: int) -> Array:
        """Return the windows of a channel, shape (before and after, n_events, n_times)."""
        return np.array([x[channel, at] for x in (pair.before, pair.after)])

    def weighed(windows: Array) -> Array:
        """Return windows relative to their own level, as the average over events is."""
        return weights[:, np.newaxis] * (windows - windows.mean(axis=2, keepdims=True))

    # One channel at a time, as all windows of a long recording may be larger than the recording.
    # One mean square per event and channel is enough for all but the averages.
    power = np.empty((2, len(used), len(pair.before)))
    average_power = np.empty((2, len(pair.before)))
    for k in range(len(pair.before)):
        windows = cut(k)
        power[:, :, k] = np.mean(windows**2, axis=2)
        average_power[:, k] = np.mean(weighed(windows).mean(axis=1) ** 2, axis=1)
    overall, each = reduction(*power.sum(axis=(1, 2))), power.sum(axis=2)
    blink_size = np.sqrt(average_power[0])
    most = np.argsort(-blink_size)[:MOST_AFFECTED]
    average = reduction(*average_power[:, most].sum(axis=1))
    affected = np.stack([weighed(cut(k)) for k in most], axis=2)
    without = (affected.sum(axis=1, keepdims=True) - affected) / max(len(used) - 1, 1)
    result = RMSReduction(
        overall=overall,
        interval=_jackknife(overall, reduction(*(each.sum(axis=1, keepdims=True) - each))),
        per_channel=reduction(*power.sum(axis=1)),
        rms_before=np.sqrt(power[0].mean(axis=0)),
        rms_after=np.sqrt(power[1].mean(axis=0)),
        blink_size=blink_size,
        average=average,
        average_interval=_jackknife(average, reduction(*np.sum(without**2, axis=(2, 3)))),
        average_per_channel=reduction(*average_power),
        ch_names=pair.ch_names,
        samples=np.asarray(events)[kept, 0],
        weights=weights,
        n_edge=n_edge,
        n_bad=n_bad,
    )
    logger.info(
        f"RMS around {len(used)} events reduced by {result.overall:.1%} over "
        f"{len(pair.ch_names)} channels, that of their average by {result.average:.1%} at the "
        f"most affected; {n_edge} cut by the edges, {n_bad} in bad spans."
    )
    return result


def _jackknife(value: float, without: Array) -> tuple[float, float]:
    """Return the 95 percent jackknife interval of a reduction, from those without each event."""
    # A bootstrap would be biased: brain activity cancels less in the average of a draw, as it has
    # fewer distinct events.
    n_events = len(without)
    if n_events < 2:
        return float("nan"), float("nan")
    reach = float(stats.t.ppf(0.975, n_events - 1) * np.sqrt((n_events - 1) * np.var(without)))
    return value - reach, min(1.0, value + reach)
