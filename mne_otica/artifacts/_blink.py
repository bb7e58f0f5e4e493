"""Which component holds the blinks: the evidence of each, judged alone and together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mne_otica.artifacts import _events as ev
from mne_otica.artifacts._eyes import eye_fields, eye_map, has_front
from mne_otica.artifacts._maps import (
    correlations,
    event_maps,
    eye_share,
    focality,
    frontality,
    same_map,
)
from mne_otica.artifacts._model import (
    BlinkCandidate,
    BlinkScores,
    explain,
    figures_of,
    score_of,
    weigh,
)
from mne_otica.artifacts._signals import Signals, check_names, eog_names, read

ACCEPT = 0.7  # the least score of a blink component
_DOUBT = 0.4  # the least score of one that might be
_GATE = 0.5  # excess kurtosis between 1 and 10 Hz; wide: even one blink a second has 1


@dataclass(frozen=True)
class Rule:
    """How to decide."""

    strategy: str = "blink"
    max_components: int = 2
    threshold: float = ACCEPT


def judge(ica, inst, rule, ch_name, reject):
    """Return the events of each component and the table of candidates."""
    signals = Signals.of_components(ica, inst, reject)
    found = _gather(signals.prepared)
    maps, names = _component_maps(ica)
    expected, geometry = eye_map(inst.info, names)
    if not has_front(expected):
        # Where no electrode is near the eyes, a map cannot speak for or against them.
        expected = np.full(len(names), np.nan)
    fields = np.where(np.isnan(expected)[:, np.newaxis], np.nan, eye_fields(inst.info, names))
    eog = _eog_correlations(inst, signals, ch_name, reject)
    if rule.strategy == "max_kurtosis":
        return found, _by_kurtosis(signals, found, maps, expected, geometry, eog)
    rows = _judge_each(signals, found, maps, expected, eog, rule.threshold)
    rows = _keep_together(rows, found, signals.prepared, maps, fields, rule)
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
            same = same_map(event_maps(prepared, one.peaks), scales)
            if 0.6 <= same.mean() < 1:
                peaks = np.round(one.peaks[same]).astype(int)
                one = ev.describe(prepared, k, peaks, one.polarity)
        found.append(one)
    return found


def _component_maps(ica):
    """Return the maps over EEG channels, and the names of these."""
    is_eeg = np.array(ica.get_channel_types()) == "eeg"
    return maps_in_volts(ica)[is_eeg], list(np.array(ica.ch_names)[is_eeg])


def maps_in_volts(ica):
    """Return the maps of the components in the units of the channels."""
    # MNE keeps its maps in units of the pre-whitened channels. Without a noise covariance the
    # pre-whitener is one number per channel, with one it is a matrix.
    whitener = ica.pre_whitener_
    maps = ica.get_components()
    return maps * whitener if whitener.shape[1] == 1 else np.linalg.pinv(whitener) @ maps


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
    table = correlations(signals.prepared.band[:, good], eog.band[:, good])
    return np.abs(table).max(axis=1)


def _figures(signals, found, one_map, expected, eog):
    """Return all figures of one component by name."""
    figures = figures_of(found, signals.prepared.duration)
    reach = np.ptp(one_map) if len(one_map) > 1 else np.abs(one_map).max()
    scale = found.scale * reach
    figures["amplitude"] = found.height * scale if signals.plausible_volts else np.nan
    figures["frontality"] = frontality(one_map * found.polarity, expected)
    figures["focality"] = focality(one_map) if len(one_map) >= 4 else np.nan
    figures["eog_correlation"] = eog
    return figures


def _judge_each(signals, found, maps, expected, eog, threshold):
    """Judge each component that passes the gate by itself, best first."""
    rows = []
    for k, one in enumerate(found):
        if one.kurtosis >= _GATE and one.n_events:
            figures = _figures(signals, one, maps[:, k], expected, eog[k])
            rows.append(_judged(_row(k, one, figures), figures, threshold))
    return sorted(rows, key=_rank)


def _row(component, found, figures):
    """Return the row of a component that is not judged yet."""
    return BlinkCandidate(
        component=component,
        kurtosis=found.kurtosis,
        events=found.n_events,
        polarity=found.polarity,
        score=0.0,
        decision="no",
        reason="",
        **{
            name: float(figures[name])
            for name in (
                "rate width height amplitude consistency rebound frontality focality "
                "eog_correlation"
            ).split()
        },
    )


def _judged(row, figures, threshold):
    """Return the row with the score, the decision and the reason that figures come to."""
    points = weigh(figures)
    score = score_of(points)
    doubt = min(_DOUBT, threshold)
    decision = "blink" if score >= threshold else "unsure" if score >= doubt else "no"
    return replace(
        row,
        score=score,
        decision=decision,
        reason=explain(figures, points, decision == "blink"),
    )


def _rank(row):
    """Order the candidates: blinks before others, by evidence and by how much they hold."""
    if row.decision != "blink":
        return 1, -row.score
    size = row.amplitude if np.isfinite(row.amplitude) else row.height
    odds = row.score / max(1 - row.score, 1e-6)
    return 0, -odds * row.events * size


def _keep_together(rows, found, prepared, maps, fields, rule):
    """Keep the best component, and further ones only where they blink along with it.

    The eyes turn while the lid is closed, and a fit may split what the lid does. Either gives
    components whose course is not that of a lid, but which are large when it closes and at
    no other time, with a map of the eyes.
    """
    if not rows or rows[0].decision != "blink":
        return rows
    first, *others = rows
    blinks = np.round(found[first.component].peaks).astype(int)
    for k, row in enumerate(others):
        c = row.component
        figures = ev.along(prepared, c, np.round(found[c].peaks).astype(int), blinks)
        if row.decision == "blink" and figures["coincidence"] < 0.5:
            reason = f"its events are not at the blinks of component {first.component}"
            others[k] = replace(row, decision="no", reason=reason)
        elif figures["coincidence"] >= 0.5:
            figures["frontality"] = eye_share(maps[:, c], fields)
            figures["focality"] = row.focality
            others[k] = max(row, _judged(row, figures, rule.threshold), key=lambda r: r.score)
    others.sort(key=_rank)
    for k, row in enumerate(others):
        if row.decision == "blink" and k + 2 > rule.max_components:
            reason = f"max_components ({rule.max_components}) is reached"
            others[k] = replace(row, decision="no", reason=reason)
    return [first, *others]


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
        value = float(values[k])
        row = replace(_row(int(k), found[k], figures), kurtosis=value, score=value)
        if k == top:
            row = replace(row, decision="blink", reason="has the highest kurtosis")
        else:
            row = replace(row, reason="its kurtosis is not the highest")
        rows.append(row)
    return BlinkScores("blink", values, tuple(rows), geometry, "max_kurtosis")
