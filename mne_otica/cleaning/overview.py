"""Each component of a result with its most probable artifact, for tables and figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mne_otica.artifacts import ArtifactRow
    from mne_otica.cleaning.result import Cleaned
    from mne_otica.evaluation.measures import KindResult


@dataclass(frozen=True)
class Glance:
    """A component: the artifact it most probably holds, and whether it was removed."""

    component: int
    kind: str
    label: str
    probability: float
    answer: str
    reason: str
    trust: float | None
    removed: bool

    @property
    def name(self) -> str:
        """MNE's name of the component."""
        return f"ICA{self.component:03d}"

    @property
    def chance(self) -> str:
        """The probability as text."""
        return "–" if np.isnan(self.probability) else f"{self.probability:.2f}"

    @property
    def text(self) -> str:
        """The kind of artifact with its probability, or the label if it holds none."""
        return f"{self.kind} {self.chance}" if self.answer != "no" else self.label

    @property
    def stability(self) -> str:
        """The index of stability as text."""
        return "–" if self.trust is None else f"{self.trust:.2f}"


def glances(result: Cleaned) -> list[Glance]:
    """Return a summary of each component, in order."""
    index = None if result.stability is None else result.stability.index
    removed_as = {k: part.kind for part in result.kinds.values() for k in part.components}
    shown = []
    for k, label in enumerate(result.artifacts.labels):
        row = _shown([row for row in result.artifacts.rows if row.component == k], removed_as)
        shown.append(
            Glance(
                component=k,
                kind=row.kind,
                label=label,
                probability=row.probability,
                answer=row.answer,
                reason=row.reason,
                trust=None if index is None else float(index[k]),
                removed=k in result.ica.exclude,
            )
        )
    return shown


def _shown(rows: list[ArtifactRow], removed_as: dict[int, str]) -> ArtifactRow:
    """Return the row of the kind a component was removed for, or of the most probable kind."""

    def rank(row: ArtifactRow) -> tuple[bool, bool, float]:
        return removed_as.get(row.component) == row.kind, row.answer != "no", row.probability

    return max(rows, key=rank)


def parts(result: Cleaned) -> list[KindResult]:
    """Return the kinds that were removed, if the removal could be measured."""
    return [part for part in result.kinds.values() if part.gone is not None]
