"""Which component holds the blinks: the evidence of each, judged alone and together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kurtosis

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
from mne_otica.artifacts._model import explain, figures_of, score_of, weigh
from mne_otica.artifacts._signals import Prepared, Signals
from mne_otica.artifacts._tables import BlinkCandidate, BlinkScores
from mne_otica.ica import maps_in_volts

if TYPE_CHECKING:
    from mne import BaseEpochs, Info
    from mne.io import BaseRaw
    from mne.preprocessing import ICA

ACCEPT = 0.7  # the least score of a blink component
_DOUBT = 0.4  # the least score of one that might be
_GATE = 0.5  # excess kurtosis between 1 and 10 Hz; wide: even one blink a second has 1


@dataclass(frozen=True)
class Rule:
    """How to decide."""

    max_components: int = 2
    threshold: float = ACCEPT


@dataclass(frozen=True)
class Candidates:
    """Components with all that is known about them before they are judged."""

    signals: Signals
    found: list[ev.Evidence]  # the events of each
    maps: NDArray[np.float64]  # over EEG channels, in volts
    expected: NDArray[np.float64]  # the map of a blink; NaN where it is not known
    fields: NDArray[np.float64]  # the maps of eyes that turn, likewise
    geometry: str
    eog: NDArray[np.float64]  # correlation with the EOG; NaN without one

    @classmethod
    def of(cls, ica: ICA, info: Info, channels: Signals, eog: list[str]) -> Candidates:
        """Gather the evidence from channels that were read, those of the EOG among them."""
        signals = channels.components(ica)
        is_eeg = np.array(ica.get_channel_types()) == "eeg"
        names = list(np.array(ica.ch_names)[is_eeg])
        expected, geometry = eye_map(info, names)
        if not has_front(expected):
            # Where no electrode is near the eyes, a map cannot speak for or against them.
            expected = np.full(len(names), np.nan)
        fields = np.where(np.isnan(expected)[:, np.newaxis], np.nan, eye_fields(info, names))
        return cls(
            signals,
            _gather(signals.prepared),
            maps_in_volts(ica)[is_eeg],
            expected,
            fields,
            geometry,
            _eog_correlations(signals.prepared, channels.pick(eog).prepared),
        )

    def figures(self, component: int) -> dict[str, float]:
        """Return all figures of one component by name."""
        found, one_map = self.found[component], self.maps[:, component]
        figures = figures_of(found, self.signals.prepared.duration)
        reach = np.ptp(one_map) if len(one_map) > 1 else np.abs(one_map).max()
        volts = found.height * found.scale * reach
        figures["amplitude"] = volts if self.signals.plausible_volts else np.nan
        figures["frontality"] = frontality(one_map * found.polarity, self.expected)
        figures["focality"] = focality(one_map) if len(one_map) >= 4 else np.nan
        figures["eog_correlation"] = self.eog[component]
        return figures


def by_evidence(candidates: Candidates, rule: Rule) -> BlinkScores:
    """Judge each component by all the evidence, and then those together that blink together."""
    rows = _judge_each(candidates, rule.threshold)
    rows = _keep_together(rows, candidates, rule)
    values = np.zeros(len(candidates.found))
    for row in rows:
        values[row.component] = row.score
    decisions = {row.decision for row in rows}
    verdict = "blink" if "blink" in decisions else "none present"
    if verdict != "blink" and "unsure" in decisions:
        verdict = "unsure"
    return BlinkScores(verdict, values, tuple(rows), candidates.geometry, "blink")


def by_kurtosis(candidates: Candidates, ica: ICA, inst: BaseRaw | BaseEpochs) -> BlinkScores:
    """Return the table of the paper's rule: the highest kurtosis, at the full rate."""
    values = _kurtosis(ica, inst)
    rows = []
    for k in np.argsort(-values):
        row = _row(int(k), candidates.found[k], candidates.figures(k))
        highest = k == np.argmax(values)
        rows.append(
            replace(
                row,
                kurtosis=float(values[k]),
                score=float(values[k]),
                decision="blink" if highest else "no",
                reason="has the highest kurtosis" if highest else "its kurtosis is not the highest",
            )
        )
    return BlinkScores("blink", values, tuple(rows), candidates.geometry, "max_kurtosis")


def _kurtosis(ica: ICA, inst: BaseRaw | BaseEpochs) -> NDArray[np.float64]:
    """Return the excess kurtosis of each component, in the samples that are finite."""
    sources = ica.get_sources(inst).get_data()
    if sources.ndim == 3:
        sources = np.concatenate(list(sources), axis=1)
    values = [kurtosis(row[np.isfinite(row)]) for row in sources]
    return np.nan_to_num(values)  # a constant has none


def _gather(prepared: Prepared) -> list[ev.Evidence]:
    """Return the evidence of each component, from the events that most have in common."""
    found = []
    for k in range(len(prepared.band)):
        one = ev.evidence(prepared, k)
        if one.n_events > 4:
            # Across components a blink looks like the other blinks; the odd drift or movement
            # that this component picked up as well does not, and says nothing of blinks.
            same = same_map(event_maps(prepared, one.peaks), prepared.noise)
            if 0.6 <= same.mean() < 1:
                peaks = np.round(one.peaks[same]).astype(int)
                one = ev.describe(prepared, k, peaks, one.polarity)
        found.append(one)
    return found


def _eog_correlations(components: Prepared, eog: Prepared) -> NDArray[np.float64]:
    """Return the largest absolute correlation with any EOG channel, NaN without one."""
    if not len(eog.band):
        return np.full(len(components.band), np.nan)
    good = components.good
    return np.abs(correlations(components.band[:, good], eog.band[:, good])).max(axis=1)


def _judge_each(candidates: Candidates, threshold: float) -> list[BlinkCandidate]:
    """Judge each component that passes the gate by itself, best first."""
    rows = []
    for k, one in enumerate(candidates.found):
        if one.kurtosis >= _GATE and one.n_events:
            figures = candidates.figures(k)
            rows.append(_judged(_row(k, one, figures), figures, threshold))
    return sorted(rows, key=_rank)


def _row(component: int, found: ev.Evidence, figures: dict[str, float]) -> BlinkCandidate:
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


def _judged(row: BlinkCandidate, figures: dict[str, float], threshold: float) -> BlinkCandidate:
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


def _rank(row: BlinkCandidate) -> tuple[int, float]:
    """Order the candidates: blinks before others, by evidence and by how much they hold."""
    if row.decision != "blink":
        return 1, -row.score
    size = row.amplitude if np.isfinite(row.amplitude) else row.height
    odds = row.score / max(1 - row.score, 1e-6)
    return 0, -odds * row.events * size


def _keep_together(
    rows: list[BlinkCandidate], candidates: Candidates, rule: Rule
) -> list[BlinkCandidate]:
    """Keep the best component, and further ones only where they blink along with it.

    The eyes turn while the lid is closed, and a fit may split what the lid does. Either gives
    components whose course is not that of a lid, but which are large when it closes and at
    no other time, with a map of the eyes.
    """
    if not rows or rows[0].decision != "blink":
        return rows
    first, *others = rows
    found, prepared = candidates.found, candidates.signals.prepared
    blinks = np.round(found[first.component].peaks).astype(int)
    for k, row in enumerate(others):
        c = row.component
        figures = ev.along(prepared, c, np.round(found[c].peaks).astype(int), blinks)
        if row.decision == "blink" and figures["coincidence"] < 0.5:
            reason = f"its events are not at the blinks of ICA{first.component:03d}"
            others[k] = replace(row, decision="no", reason=reason)
        elif figures["coincidence"] >= 0.5:
            figures["frontality"] = eye_share(candidates.maps[:, c], candidates.fields)
            figures["focality"] = row.focality
            others[k] = max(row, _judged(row, figures, rule.threshold), key=lambda r: r.score)
    others.sort(key=_rank)
    for k, row in enumerate(others):
        if row.decision == "blink" and k + 2 > rule.max_components:
            reason = f"max_components ({rule.max_components}) is reached"
            others[k] = replace(row, decision="no", reason=reason)
    return [first, *others]
