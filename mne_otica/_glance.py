"""What a result says of each component and each kind of artifact, for tables and figures alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mne_otica._cleaned import Cleaned
    from mne_otica.evaluation import Preservation, RMSReduction


@dataclass(frozen=True)
class Glance:
    """A component: the kind of artifact it most probably holds, and what became of it."""

    component: int
    kind: str
    probability: float
    answer: str
    reason: str
    trust: float | None
    removed: bool

    @property
    def name(self) -> str:
        """The name that MNE gives it."""
        return f"ICA{self.component:03d}"

    @property
    def chance(self) -> str:
        """The probability as text."""
        return "–" if np.isnan(self.probability) else f"{self.probability:.2f}"

    @property
    def told(self) -> str:
        """What it is said to hold."""
        return f"{self.kind} {self.chance}" if self.answer != "no" else "no artifact"

    @property
    def trusted(self) -> str:
        """The index of trust as text."""
        return "–" if self.trust is None else f"{self.trust:.2f}"


@dataclass(frozen=True)
class Part:
    """A kind of artifact that was removed: where, when, and what that did."""

    kind: str
    components: list[int]
    events: NDArray[np.int64]
    benefit: RMSReduction
    harm: Preservation


def glances(result: Cleaned) -> list[Glance]:
    """Return what is known of every component, in their order."""
    rows = {row.component: row for row in result.scores.rows}
    index = None if result.stability is None else result.stability.index
    shown = []
    for k in range(result.ica.n_components_):
        row = rows.get(k)
        shown.append(
            Glance(
                component=k,
                kind="blink",
                probability=float(result.scores.values[k]),
                answer={"blink": "yes"}.get(row.decision, row.decision) if row else "no",
                reason=row.reason if row else "",
                trust=None if index is None else float(index[k]),
                removed=k in result.ica.exclude,
            )
        )
    return shown


def parts(result: Cleaned) -> list[Part]:
    """Return the kinds that were removed and measured."""
    if result.benefit is None or result.harm is None:
        return []
    removed = [int(k) for k in result.ica.exclude]
    return [Part("blink", removed, result.events, result.benefit, result.harm)]
