"""When the subject blinked, and which component holds the blinks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import mne
import numpy as np
from mne.utils import logger, verbose
from numpy.typing import NDArray

from mne_otica import _blink_evidence as ev
from mne_otica._blink_scores import (
    BlinkCandidate,
    BlinkScores,
    explain,
    figures_of,
    score_of,
    weigh,
)
from mne_otica._blink_signals import Signals, check_names, eog_names, read
from mne_otica._blink_times import best_group, blink_sources, with_one_map
from mne_otica._checks import _check_option, _validate_type
from mne_otica._eye_map import eye_map, has_front

if TYPE_CHECKING:
    from mne import BaseEpochs
    from mne.io import BaseRaw
    from mne.preprocessing import ICA

__all__ = [
    "BlinkCandidate",
    "BlinkScores",
    "BlinkTimes",
    "find_bads_blink",
    "find_blink_events",
    "locate_blinks",
]

_GATE = 0.5  # excess kurtosis between 1 and 10 Hz; wide: even one blink a second has 1
_ACCEPT, _DOUBT = 0.7, 0.4  # scores


@dataclass(frozen=True)
class BlinkTimes:
    """Blink times and where they came from.

    Attributes
    ----------
    events : ndarray, shape (n_blinks, 3)
        MNE events at the peaks of the blinks.
    source : str
        ``"eog"``, ``"frontal"``, ``"component"``, ``"channel"`` (any channel, where neither
        positions nor names tell which are frontal) or ``"none"`` without blinks.
    channels : list of str
        The channels or the component that gave the times.
    polarity : int
        Sign of the blinks there, 1 or -1.
    score : float
        The evidence that these are blinks, from 0 to 1.
    """

    events: NDArray[np.int64]
    source: str = "none"
    channels: list[str] = field(default_factory=list)
    polarity: int = 1
    score: float = 0.0


@verbose
def find_blink_events(
    inst: BaseRaw,
    *,
    ica: ICA | None = None,
    ch_name: str | Sequence[str] | None = None,
    event_id: int = 998,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> NDArray[np.int64]:
    """Find the times of eye blinks.

    EOG channels are used if there are any, else frontal channels, known by position or by
    name, else the blink component. Where there is none of these, every EEG channel is
    tried. The scale is robust, so that one large artefact does not hide the blinks.

    Parameters
    ----------
    inst : instance of Raw
        The recording. It is not changed.
    ica : instance of ICA | None
        A fitted ICA of the recording, used when no channel shows blinks: the components in
        ``ica.labels_["blink"]``, else those that :func:`find_bads_blink` picks.
    ch_name : str | sequence of str | None
        Channels to use instead of those found automatically.
    event_id : int
        The third column of the events.
    reject_by_annotation : bool
        Whether to leave out spans annotated as bad.
    %(verbose)s

    Returns
    -------
    events : ndarray, shape (n_blinks, 3)
        The peak of each blink, with ``inst.first_samp`` included. Without blinks, its shape
        is (0, 3).

    See Also
    --------
    locate_blinks : The same with the source of the times.
    mne.preprocessing.find_eog_events
    """
    return locate_blinks(
        inst,
        ica=ica,
        ch_name=ch_name,
        event_id=event_id,
        reject_by_annotation=reject_by_annotation,
    ).events


@verbose
def locate_blinks(
    inst: BaseRaw,
    *,
    ica: ICA | None = None,
    ch_name: str | Sequence[str] | None = None,
    event_id: int = 998,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> BlinkTimes:
    """Find the times of eye blinks and tell where they came from.

    Parameters
    ----------
    inst : instance of Raw
        The recording. It is not changed.
    ica : instance of ICA | None
        As in :func:`find_blink_events`.
    ch_name : str | sequence of str | None
        Channels to use instead of those found automatically.
    event_id : int
        The third column of the events.
    reject_by_annotation : bool
        Whether to leave out spans annotated as bad.
    %(verbose)s

    Returns
    -------
    times : instance of BlinkTimes
        Events, source, channels, polarity and score.
    """
    _validate_type(inst, mne.io.BaseRaw, "inst", "a Raw instance")
    _validate_type(ica, (mne.preprocessing.ICA, None), "ica", "an ICA instance or None")
    signals = Signals.of_channels(inst, reject_by_annotation, ch_name)
    sources = blink_sources(inst.info, signals, ch_name)
    if ica is not None and ch_name is None:
        # After the channels that are known to see the eyes, before any channel at all.
        sources["component"] = None
        if "channel" in sources:
            sources["channel"] = sources.pop("channel")
    for source, groups in sources.items():
        if source == "component":
            best = _from_component(ica, inst, signals, reject_by_annotation)
        else:
            sharpen = source == "channel" and ch_name is None
            best = best_group(inst.info, signals, groups, sharpen)
        score, names, polarity, peaks = best
        if score >= 0.5:
            break
    else:
        logger.info(f"No blinks found; looked at: {', '.join(sources)}.")
        return BlinkTimes(np.zeros((0, 3), dtype=np.int64))
    samples = np.unique(signals.prepared.to_input(peaks)) + inst.first_samp
    events = np.zeros((len(samples), 3), dtype=np.int64)
    events[:, 0], events[:, 2] = samples, event_id
    logger.info(f"{len(events)} blinks found from {source}: {', '.join(names)}.")
    return BlinkTimes(events, source, names, polarity, score)


@verbose
def find_bads_blink(
    ica: ICA,
    inst: BaseRaw | BaseEpochs,
    *,
    strategy: str = "blink",
    max_components: int = 2,
    threshold: float = _ACCEPT,
    ch_name: str | Sequence[str] | None = None,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> tuple[list[int], BlinkScores]:
    """Find the components that hold eye blinks; no EOG channel is needed.

    Parameters
    ----------
    ica : instance of ICA
        Any fitted :class:`mne.preprocessing.ICA`. Its ``labels_["blink"]`` is set; its
        ``exclude`` is left alone.
    inst : instance of Raw | instance of Epochs
        The recording, with the channels that the ICA was fitted on. It may be the
        unfiltered one. It is not changed.
    strategy : "blink" | "max_kurtosis"
        ``"blink"`` weighs all the evidence. ``"max_kurtosis"`` takes the component with the
        highest kurtosis, whatever it is.
    max_components : int
        The most components to return. A second is returned only if it is as much a blink
        as the first and at the same times.
    threshold : float
        The least score, between 0 and 1, of a blink component.
    ch_name : str | sequence of str | None
        EOG channels, or channels that stand in for them. By default the EOG channels that
        are not marked bad, if there are any.
    reject_by_annotation : bool
        Whether to leave out spans annotated as bad.
    %(verbose)s

    Returns
    -------
    indices : list of int
        The blink components, best first; empty where no blink is present or the evidence
        is not enough.
    scores : instance of BlinkScores
        One score per component, as an array, and the table of candidates with the reason
        for each decision; ``scores.verdict`` is ``"blink"``, ``"none present"`` or
        ``"unsure"``.

    Notes
    -----
    Kurtosis only opens the gate. Then each figure gives points for or against: how high
    the events are above the rest of the component, how alike they are, their width,
    amplitude, number and recurrence, whether they have one sign and a gradual start,
    whether the map is that of the eyes (from positions, or else from channel names) and
    not one electrode's alone, and the correlation with an EOG channel where there is one.
    """
    _validate_type(ica, mne.preprocessing.ICA, "ica", "an ICA instance")
    _validate_type(inst, (mne.io.BaseRaw, mne.BaseEpochs), "inst", "Raw or Epochs")
    _check_option("strategy", strategy, ("blink", "max_kurtosis"))
    _validate_type(max_components, "int-like", "max_components")
    if max_components < 1 or not 0 < threshold < 1:
        raise ValueError(
            f"max_components ({max_components}) must be at least 1 and threshold "
            f"({threshold}) between 0 and 1."
        )
    _, scores = _judge(
        ica,
        inst,
        _Rule(strategy, int(max_components), threshold),
        ch_name,
        reject_by_annotation,
    )
    indices = [row.component for row in scores.rows if row.decision == "blink"]
    ica.labels_["blink"] = list(indices)
    best = scores.rows[0].reason if scores.rows else "none has sparse events"
    logger.info(f"Blinks: {scores.verdict}; components {indices}. Best candidate: {best}.")
    return indices, scores


@dataclass(frozen=True)
class _Rule:
    strategy: str = "blink"
    max_components: int = 2
    threshold: float = _ACCEPT


def _judge(ica, inst, rule, ch_name, reject):
    """Return the events of each component and the table of candidates."""
    signals = Signals.of_components(ica, inst, reject)
    found = _gather(signals.prepared)
    maps, expected, geometry = _component_maps(ica, inst.info)
    eog = _eog_correlations(inst, signals, ch_name, reject)
    if rule.strategy == "max_kurtosis":
        return found, _by_kurtosis(signals, found, maps, expected, geometry, eog)
    rows = _judge_each(signals, found, maps, expected, eog, rule.threshold)
    rows = _keep_together(rows, found, signals.prepared, rule.max_components)
    return found, _table(rows, len(found), geometry)


def _gather(prepared):
    """Return the evidence of each component, from the events that most have in common."""
    scales = np.array([ev.robust_scale(row[prepared.good]) for row in prepared.band])
    found = []
    for k in range(len(prepared.band)):
        one = ev.evidence(prepared, k)
        if one.n_events > 4:
            # Across components a blink looks like the other blinks; the odd drift or movement
            # that this component picked up as well does not, and says nothing of blinks.
            same = ev.same_map(ev.event_maps(prepared, one.peaks), scales)
            if 0.6 <= same.mean() < 1:
                peaks = np.round(one.peaks[same]).astype(int)
                one = ev.describe(prepared, k, peaks, one.polarity)
        found.append(one)
    return found


def _from_component(ica, inst, channels, reject):
    """Return score, names, polarity and peaks of the component that holds the blinks."""
    found, scores = _judge(ica, inst, _Rule(), None, reject)
    picked = ica.labels_.get("blink")
    if picked is None:
        picked = [row.component for row in scores.rows if row.decision == "blink"]
    if not len(picked) or not found[picked[0]].n_events:
        return 0.0, [], 1, np.array([])
    one = found[picked[0]]
    peaks = with_one_map(channels, one.typical_peaks)
    # A component that someone has labelled is believed, whatever its score.
    score = max(0.5, float(scores.values[picked[0]]))
    return score, [f"component {picked[0]}"], one.polarity, peaks


def _component_maps(ica, info):
    """Return the maps over EEG channels, the map of a blink there, and its origin."""
    kinds = np.array(ica.get_channel_types())
    # MNE keeps its maps in units of the pre-whitened channels; back to volts. Without a noise
    # covariance the pre-whitener is one number per channel, with one it is a matrix.
    whitener = ica.pre_whitener_
    maps = ica.get_components()
    maps = maps * whitener if whitener.shape[1] == 1 else np.linalg.pinv(whitener) @ maps
    maps = maps[kinds == "eeg"]
    names = [ch for ch, kind in zip(ica.ch_names, kinds, strict=True) if kind == "eeg"]
    expected, geometry = eye_map(info, names)
    if not has_front(expected):
        # Where no electrode is near the eyes, a map cannot speak for or against them.
        expected = np.full(len(names), np.nan)
    return maps, expected, geometry


def _eog_correlations(inst, signals, ch_name, reject):
    """Return the largest absolute correlation with any EOG channel, NaN without one."""
    if ch_name is not None:
        names = check_names(ch_name, inst.ch_names)
    else:
        names = eog_names(inst.info)
    if not names:
        return np.full(len(signals.names), np.nan)
    data, bad = read(inst, names, reject)
    eog = ev.prepare(data, inst.info["sfreq"], bad)
    good = eog.good & signals.prepared.good
    table = ev.correlations(signals.prepared.band[:, good], eog.band[:, good])
    return np.abs(table).max(axis=1)


def _figures(signals, found, one_map, expected, eog):
    """Return all figures of one component by name."""
    figures = figures_of(found, signals.prepared.duration)
    reach = np.ptp(one_map) if len(one_map) > 1 else np.abs(one_map).max()
    scale = found.scale * reach
    figures["amplitude"] = found.height * scale if signals.plausible_volts else np.nan
    figures["frontality"] = ev.frontality(one_map * found.polarity, expected)
    figures["focality"] = ev.focality(one_map) if len(one_map) >= 4 else np.nan
    figures["eog_correlation"] = eog
    return figures


def _row(component, found, figures, score, decision, reason):
    return BlinkCandidate(
        component=component,
        kurtosis=found.kurtosis,
        events=found.n_events,
        polarity=found.polarity,
        score=score,
        decision=decision,
        reason=reason,
        **{
            name: float(figures[name])
            for name in (
                "rate width height amplitude consistency rebound frontality focality "
                "eog_correlation"
            ).split()
        },
    )


def _judge_each(signals, found, maps, expected, eog, threshold):
    """Judge each component that passes the gate by itself, best first."""
    rows = []
    for k, one in enumerate(found):
        if one.kurtosis < _GATE or not one.n_events:
            continue
        figures = _figures(signals, one, maps[:, k], expected, eog[k])
        points = weigh(figures)
        score = score_of(points)
        doubt = min(_DOUBT, threshold)
        decision = "blink" if score >= threshold else "unsure" if score >= doubt else "no"
        reason = explain(figures, points, decision == "blink")
        rows.append(_row(k, one, figures, score, decision, reason))
    return sorted(rows, key=_rank)


def _rank(row):
    """Order the candidates: blinks before others, by evidence and by how much they hold."""
    if row.decision != "blink":
        return 1, -row.score
    size = row.amplitude if np.isfinite(row.amplitude) else row.height
    odds = row.score / max(1 - row.score, 1e-6)
    return 0, -odds * row.events * size


def _keep_together(rows, found, prepared, max_components):
    """Keep the best component, and further ones only where they blink along with it."""
    out, kept = [], []
    for row in rows:
        if row.decision == "blink" and kept:
            first = found[kept[0]].peaks
            mine = found[row.component].peaks
            shared = ev.coincidence(mine, first, 0.1 * prepared.sfreq)
            if shared < 0.5:
                reason = f"only {shared:.0%} of its events are at the blinks of {kept[0]}"
                row = _with(row, "no", reason)
            elif len(kept) >= max_components:
                row = _with(row, "no", f"max_components ({max_components}) is reached")
        if row.decision == "blink":
            kept.append(row.component)
        out.append(row)
    return out


def _with(row, decision, reason):
    return BlinkCandidate(**{**vars(row), "decision": decision, "reason": reason})


def _table(rows, n_components, geometry):
    values = np.zeros(n_components)
    for row in rows:
        values[row.component] = row.score
    decisions = {row.decision for row in rows}
    verdict = "blink" if "blink" in decisions else "none present"
    if verdict != "blink" and "unsure" in decisions:
        verdict = "unsure"
    return BlinkScores(verdict, values, tuple(rows), geometry, "blink")


def _by_kurtosis(signals, found, maps, expected, geometry, eog):
    """Return the table of the rule that asks for the highest kurtosis only."""
    values = signals.kurtosis
    top = int(np.argmax(values))
    rows = []
    for k in np.argsort(-values):
        figures = _figures(signals, found[k], maps[:, k], expected, eog[k])
        decision = "blink" if k == top else "no"
        reason = "has the highest kurtosis" if k == top else "its kurtosis is not the highest"
        row = _row(int(k), found[k], figures, float(values[k]), decision, reason)
        rows.append(BlinkCandidate(**{**vars(row), "kurtosis": float(values[k])}))
    return BlinkScores("blink", values, tuple(rows), geometry, "max_kurtosis")
