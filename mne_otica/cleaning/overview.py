"""Each component of a result with its most probable artifact, for tables and figures."""

from dataclasses import dataclass

from mne_otica.artifacts import ArtifactRow
from mne_otica.cleaning.result import Cleaned
from mne_otica.evaluation.measures import KindResult


@dataclass(frozen=True)
class Glance:
    """A component: the artifact it most probably holds, as text, and whether it was removed."""

    row: ArtifactRow
    name: str
    chance: str
    text: str
    stability: str
    removed: bool


def glances(result: Cleaned) -> list[Glance]:
    """Return each component as the kind it was removed for, or as the most probable kind."""
    removed_as = {k: part.kind for part in result.kinds.values() for k in part.components}

    def rank(row: ArtifactRow) -> tuple[bool, bool, float]:
        return removed_as.get(row.component) == row.kind, row.answer != "no", row.probability

    shown = []
    for k, label in enumerate(result.artifacts.labels):
        row = max((row for row in result.artifacts.rows if row.component == k), key=rank)
        chance = f"{row.probability:.2f}"
        text = f"{row.kind} {chance}" if row.answer != "no" else label
        trust = "" if result.stability is None else f"{result.stability.index[k]:.2f}"
        name, removed = result.ica._ica_names[k], k in result.ica.exclude
        shown.append(Glance(row, name, chance, text, trust, removed))
    return shown


def parts(result: Cleaned) -> list[KindResult]:
    """Return the kinds that were removed, if the removal could be measured."""
    return [part for part in result.kinds.values() if part.gone is not None]
