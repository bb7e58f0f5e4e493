"""The decision about each component and kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mne_otica.artifacts.blink import Rule, by_evidence
from mne_otica.artifacts.components import Components
from mne_otica.artifacts.kinds import Kind, kinds
from mne_otica.artifacts.model import answer, explain, probability, weigh
from mne_otica.artifacts.scores import ArtifactRow, ArtifactScores
from mne_otica.artifacts.tables import BlinkScores

_BLINK_COMPONENTS = 2  # default of the maximum number of blink components
_BEYOND_DOUBT = 0.95  # least probability of a "yes" without proof
_BRAIN_HIGH = -0.5  # decimal logarithm: brain activity has at most this much power above 20 Hz
_BRAIN_FOCALITY = 0.7  # and is not limited to one electrode


def judge(
    components: Components,
    names: Sequence[str],
    threshold: float,
    max_components: int | None,
    first_samp: int,
    blinks: BlinkScores | None = None,
) -> ArtifactScores:
    """Return the scores of all kinds; ``blinks`` are those of blinks, if known already."""
    rows = []
    for name in names:
        kind = kinds()[name]
        one = [_row(components, kind, k, threshold, first_samp) for k in range(len(components))]
        if name == "blink":
            rule = Rule(max_components or _BLINK_COMPONENTS, threshold)
            blinks = by_evidence(components, rule) if blinks is None else blinks
            one = _as_blinks(one, blinks, components, kind, first_samp)
        one.sort(key=lambda row: -row.probability)
        rows += _limited(one, max_components)
    order = {name: k for k, name in enumerate(names)}
    rows.sort(key=lambda row: (row.answer != "yes", order[row.kind], -row.probability))
    labels = tuple(_label(components, k, rows) for k in range(len(components)))
    return ArtifactScores(tuple(names), tuple(rows), labels, components.geometry)


def _row(
    components: Components, kind: Kind, k: int, threshold: float, first_samp: int
) -> ArtifactRow:
    """Judge one component for one kind."""
    why_not = kind.gate(components, k)
    if why_not:
        return ArtifactRow(k, kind.name, 0.0, "no", why_not, {}, {}, _none(), kind.removal)
    known = kind.figures(components, k)
    points = weigh(kind.name, known)
    chance = probability(points)
    said = answer(chance, threshold)
    unproven = kind.proof and np.isnan([known[name] for name in kind.proof]).all()
    if said == "yes" and unproven and chance < _BEYOND_DOUBT:
        said = "unsure"
    reason = explain(kind.name, kind.features, known, points, said == "yes")
    events = _none() if said == "no" else _events(components, kind, k, first_samp)
    return ArtifactRow(k, kind.name, chance, said, reason, known, points, events, kind.removal)


def _none() -> NDArray[np.int64]:
    return np.zeros((0, 3), dtype=np.int64)


def _events(components: Components, kind: Kind, k: int, first_samp: int) -> NDArray[np.int64]:
    """Return the MNE events of a component."""
    return as_events(kind.events(components, k) + first_samp, kind.event_id)


def as_events(samples: NDArray[np.int64], event_id: int) -> NDArray[np.int64]:
    """Return samples as MNE events, without duplicates."""
    samples = np.unique(samples)
    events = np.zeros((len(samples), 3), dtype=np.int64)
    events[:, 0], events[:, 2] = samples, event_id
    return events


def _as_blinks(
    rows: list[ArtifactRow],
    blinks: BlinkScores,
    components: Components,
    kind: Kind,
    first_samp: int,
) -> list[ArtifactRow]:
    """Return the rows with the answers of the joint decision about blink components."""
    judged = {row.component: row for row in blinks.rows}
    found = []
    for row in rows:
        one = judged.get(row.component)
        if one is not None:
            said = "yes" if one.decision == "blink" else one.decision
            events = (
                _none() if said == "no" else _events(components, kind, row.component, first_samp)
            )
            row = replace(
                row,
                probability=one.score,
                answer=said,
                reason=one.reason,
                figures=one.figures,
                points=weigh(kind.name, one.figures),
                events=events,
            )
        found.append(row)
    return found


def _limited(rows: list[ArtifactRow], most: int | None) -> list[ArtifactRow]:
    """Set the answers beyond the maximum number of components to no."""
    found, n_yes = [], 0
    for row in rows:
        n_yes += row.answer == "yes"
        if row.answer == "yes" and most is not None and n_yes > most:
            reason = f"max_components ({most}) is reached"
            row = replace(row, answer="no", reason=reason, events=_none())
        found.append(row)
    return found


def _label(components: Components, k: int, rows: Sequence[ArtifactRow]) -> str:
    """Return the label of mne-icalabel for a component."""
    own = [row for row in rows if row.component == k]
    sure = [row for row in own if row.answer == "yes"]
    if sure:
        best = max(sure, key=lambda row: row.probability)
        return kinds()[best.kind].label(best.figures)
    falls = components.spectra["high"][k] < _BRAIN_HIGH
    broad = not components.focality(k) > _BRAIN_FOCALITY
    unlikely = all(row.answer == "no" for row in own)
    return "brain" if unlikely and falls and broad else "other"
