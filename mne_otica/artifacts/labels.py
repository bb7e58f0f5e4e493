"""Labels for other packages: ``ica.labels_`` and the table of components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mne_otica.artifacts.kinds import kinds
from mne_otica.artifacts.scores import ArtifactRow, ArtifactScores

if TYPE_CHECKING:
    from mne.preprocessing import ICA

    from mne_otica.artifacts.components import Components

METHOD = "mne-otica"
_BRAIN_HIGH = -0.5  # decimal logarithm: brain activity has at most this much power above 20 Hz
_BRAIN_FOCALITY = 0.7  # and is not limited to one electrode
# The first five are those of mne-bids-pipeline, the next three those of mne-icalabel.
COLUMNS = (
    "component",
    "type",
    "description",
    "status",
    "status_description",
    "annotate_method",
    "annotate_author",
    "ic_type",
)


def label_of(components: Components, k: int, rows: Sequence[ArtifactRow]) -> str:
    """Return the label of mne-icalabel for a component."""
    own = [row for row in rows if row.component == k]
    sure = [row for row in own if row.answer == "yes"]
    if sure:
        best = max(sure, key=lambda row: row.probability)
        return kinds()[best.kind].label(best.figures)
    if components.is_hum[k]:
        return "line noise"
    falls = components.spectra["high"][k] < _BRAIN_HIGH
    broad = not components.focality(k) > _BRAIN_FOCALITY
    unlikely = all(row.answer == "no" for row in own)
    return "brain" if unlikely and falls and broad else "other"


def put_labels(ica: ICA, scores: ArtifactScores) -> None:
    """Store the components found in ``ica.labels_``, with our keys and those of MNE."""
    labels = {}
    for kind, found in scores.found.items():
        for key in kinds()[kind].keys:
            labels.setdefault(key, []).extend(k for k in found if k not in labels.get(key, []))
    labels["line_noise"] = [k for k, label in enumerate(scores.labels) if label == "line noise"]
    ica.labels_.update({key: [int(k) for k in found] for key, found in labels.items()})


def component_rows(
    scores: ArtifactScores, removed: Mapping[str, Sequence[int]]
) -> list[dict[str, str]]:
    """Return the rows of ``components.tsv``, which mne-bids-pipeline and mne-icalabel read.

    The probability of each kind follows after their columns.

    Parameters
    ----------
    scores : instance of ArtifactScores
        The scores.
    removed : dict
        The components removed for each kind, entirely or in part: their status is bad.
    """
    chances = scores.probabilities
    rows = []
    for k, label in enumerate(scores.labels):
        kinds_of = [kind for kind, some in removed.items() if k in some]
        own = [r for r in scores.rows if r.component == k and (not kinds_of or r.kind in kinds_of)]
        best = max(own, key=lambda r: r.probability)
        values = (
            str(k),
            "ica",
            "Independent Component",
            "bad" if kinds_of else "good",
            _why(best, bool(kinds_of)),
            METHOD,
            METHOD,
            label,
        )
        rows.append(
            dict(zip(COLUMNS, values, strict=True))
            | {kind: f"{chances[k, j]:.4f}" for j, kind in enumerate(scores.kinds)}
        )
    return rows


def _why(row: ArtifactRow, excluded: bool) -> str:
    if excluded:
        return f"Auto-detected {row.kind} ({METHOD}): {row.reason}"
    if row.answer == "no":
        return "n/a"
    return f"Kept, {row.kind} {row.answer} ({METHOD}): {row.reason}"
