"""The results of the search for artifacts: a row for each component and kind."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from mne.preprocessing import ICA

from mne_otica.artifacts.kinds import ArtifactRow, kinds
from mne_otica.utils.arrays import Array, Samples

if TYPE_CHECKING:
    import pandas as pd

    from mne_otica.artifacts.components import Components

METHOD = "mne-otica"


@dataclass(frozen=True, repr=False, eq=False)
class ArtifactScores:
    """Probabilities, answers and reasons of each component for each kind of artifact.

    Attributes
    ----------
    kinds : tuple of str
        The kinds that were searched for.
    rows : tuple of ArtifactRow
        One for each component and kind, the most probable first.
    labels : tuple of str
        The label of mne-icalabel for each component: ``"eye blink"``, ``"heart beat"``,
        ``"muscle artifact"``, ``"channel noise"``, ``"line noise"``, ``"brain"`` if no artifact
        is likely and the spectrum fits brain activity, else ``"other"``.
    geometry : str
        The source of electrode positions: ``"positions"``, ``"names"`` or ``"none"``.
    sources : dict
        Where the times of each kind come from, such as ``"EOG 061"``, ``"channels Fp1, Fp2"`` or
        ``"component ICA000"``; ``"none"`` without events.
    times : dict
        The events of each kind in the recording, see ``events``.
    sensors : dict
        ``"used"`` or why not, for each EOG, ECG and EMG channel.
    """

    kinds: tuple[str, ...]
    rows: tuple[ArtifactRow, ...]
    labels: tuple[str, ...]
    geometry: str
    sources: Mapping[str, str]
    times: Mapping[str, Samples]
    sensors: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_components(self) -> int:
        """The number of components."""
        return len(self.labels)

    @property
    def probabilities(self) -> Array:
        """The probability of each component and kind, shape (n_components, n_kinds)."""
        table = np.zeros((self.n_components, len(self.kinds)))
        for row in self.rows:
            table[row.component, self.kinds.index(row.kind)] = row.probability
        return table

    @property
    def found(self) -> dict[str, list[int]]:
        """The components of each kind, the most probable first."""
        return {
            kind: [row.component for row in self.rows if (row.kind, row.answer) == (kind, "yes")]
            for kind in self.kinds
        }

    def of(self, kind: str) -> list[ArtifactRow]:
        """Return the rows of one kind.

        Parameters
        ----------
        kind : str
            One of ``kinds``.

        Returns
        -------
        rows : list of ArtifactRow
            One for each component, the most probable first; of blinks, those found come first,
            the component with the largest blinks before others.
        """
        rows = [row for row in self.rows if row.kind == kind]
        return rows if kind == "blink" else sorted(rows, key=lambda row: -row.probability)

    def events(self, kind: str) -> Samples:
        """Return the events of one kind in the recording.

        Parameters
        ----------
        kind : str
            One of ``kinds``.

        Returns
        -------
        events : ndarray, shape (n_events, 3)
            Blinks as seen by EOG or frontal channels, if there are any. Of the other kinds, the
            events of all components to remove, or else of the most probable one.
        """
        return self.times[kind]

    def row(self, component: int, kind: str) -> ArtifactRow:
        """Return the evidence for one kind in one component.

        Parameters
        ----------
        component : int
            The index of the component.
        kind : str
            One of ``kinds``.

        Returns
        -------
        row : ArtifactRow
            The row.
        """
        return next(row for row in self.rows if (row.component, row.kind) == (component, kind))

    def _with_times(self, times: dict[str, Samples], sources: dict[str, str]) -> ArtifactScores:
        """Return the scores with the times of some kinds; those of others are their components'."""
        found, told = {}, {}
        for kind in self.kinds:
            rows = [row for row in self.of(kind) if row.answer != "no"]
            rows = [row for row in rows if row.remove] or rows[:1]
            samples = np.concatenate([np.zeros(0, int), *(row.events[:, 0] for row in rows)])
            found[kind] = as_events(samples, kinds()[kind].event_id)
            names = ", ".join(f"ICA{row.component:03d}" for row in rows)
            told[kind] = f"component {names}" if len(found[kind]) else "none"
        return replace(self, times=found | times, sources=told | sources)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the rows as plain dictionaries, for JSON or a table.

        Returns
        -------
        rows : list of dict
            One per component and kind, the most probable first. Unknown figures are None.
        """
        return [
            {
                "component": row.component,
                "kind": row.kind,
                "probability": row.probability,
                "answer": row.answer,
                "reason": row.reason,
                "label": self.labels[row.component],
                "remove": row.remove,
                "n_events": len(row.events),
                "removal": row.removal.how,
                **{name: _plain(value) for name, value in row.figures.items()},
            }
            for row in self.rows
        ]

    def to_data_frame(self) -> pd.DataFrame | list[dict[str, Any]]:
        """Return the table.

        Returns
        -------
        table : instance of pandas.DataFrame | list of dict
            One row per component and kind. A list if pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            return self.to_dict()
        return pd.DataFrame(self.to_dict())

    def _cells(self) -> list[list[str]]:
        """Return a heading, and the cells of the rows whose answer is not no."""
        cells = [["component", "kind", "probability", "answer", "events", "removal", "reason"]]
        for row in self.rows:
            if row.answer != "no":
                shown = [f"ICA{row.component:03d}", row.kind, f"{row.probability:.2f}", row.answer]
                cells.append([*shown, str(len(row.events)), row.removal.how, row.reason])
        return cells

    def _summary(self) -> str:
        return ", ".join(f"{kind} {found or 'none'}" for kind, found in self.found.items())

    def __repr__(self) -> str:
        cells = self._cells()
        lines = [f"<ArtifactScores | {self.n_components} components: {self._summary()}>"]
        shown = cells[:13] if len(cells) > 1 else []  # what fits a screen
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        for row in shown:
            pairs = zip(row, widths, strict=True)
            lines.append("  ".join(cell.ljust(width) for cell, width in pairs).rstrip())
        if len(cells) > 13:
            lines.append(f"... and {len(cells) - 13} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *rows = ([html.escape(cell) for cell in row] for row in self._cells())
        body = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows)
        return (
            f"<p>Artifacts: <b>{html.escape(self._summary())}</b></p><table><thead><tr>"
            f"<th>{'</th><th>'.join(head)}</th></tr></thead><tbody>{body}</tbody></table>"
        )


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def stored(scores: ArtifactScores) -> dict[str, Any]:
    """Return scores as plain content for a file: numbers, strings and lists, without events."""
    names = ("component", "kind", "probability", "answer", "reason", "remove")
    return {
        "kinds": list(scores.kinds),
        "labels": list(scores.labels),
        "geometry": scores.geometry,
        "sources": dict(scores.sources),
        "rows": [
            {name: getattr(row, name) for name in names}
            | {"figures": {name: _plain(value) for name, value in row.figures.items()}}
            | {"points": dict(row.points)}
            for row in scores.rows
        ],
    }


def restored(content: Mapping[str, Any], times: Mapping[str, Samples]) -> ArtifactScores:
    """Return saved scores (see `stored`), with the events of each kind."""
    rows = []
    for row in content["rows"]:
        figures = {name: np.nan if v is None else v for name, v in row["figures"].items()}
        rows.append(ArtifactRow(**row | dict(figures=figures)))
    scores = collected(rows, content["kinds"], content["labels"], content["geometry"])
    return scores._with_times(times, content["sources"])


def collected(
    rows: Sequence[ArtifactRow], names: Sequence[str], labels: Sequence[str], geometry: str
) -> ArtifactScores:
    """Return scores of rows, the components to remove marked by the one rule for it."""
    # A component is removed if its kind is probable enough for this and no other kind is more
    # probable. Blinks, judged together, are removed with every "yes", even if another kind is.
    highest: dict[int, float] = {}
    for row in rows:
        if row.kind != "blink":
            highest[row.component] = max(highest.get(row.component, 0.0), row.probability)
    marked = []
    for row in rows:
        least = max(kinds()[row.kind].remove, highest.get(row.component, 0.0))
        sure = row.kind == "blink" or row.probability >= least
        marked.append(replace(row, remove=row.answer == "yes" and sure))
    # Blinks are in order already, see `of`.
    marked.sort(key=lambda row: -row.probability * (row.kind != "blink"))
    marked.sort(key=lambda row: (row.answer != "yes", names.index(row.kind)))
    scores = ArtifactScores(tuple(names), tuple(marked), tuple(labels), geometry, {}, {})
    return scores._with_times({}, {})


def as_events(samples: Samples, event_id: int) -> Samples:
    """Return samples as MNE events, without duplicates."""
    samples = np.unique(samples)
    return np.c_[samples, np.zeros_like(samples), np.full_like(samples, event_id)].astype(np.int64)


def label_of(components: Components, k: int, rows: Sequence[ArtifactRow]) -> str:
    """Return the label of mne-icalabel for a component."""
    own = [row for row in rows if row.component == k]
    sure = [row for row in own if row.answer == "yes"]
    best = max(sure, key=lambda row: row.probability, default=None)
    if components.is_hum[k] and (best is None or best.kind == "electrode"):
        return "line noise"
    if best is not None:
        return kinds()[best.kind].label
    # Brain activity has at most this much power above 20 Hz, as a decimal logarithm.
    falls = components.spectra["high"][k] < -0.5
    unlikely = all(row.answer == "no" for row in own)
    return "brain" if unlikely and falls else "other"


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
    """Return the rows of ``components.tsv``, which mne-bids-pipeline and mne-icalabel read."""
    chances, rows = scores.probabilities, []
    for k, label in enumerate(scores.labels):
        kinds_of = [kind for kind, some in removed.items() if k in some]
        own = [r for r in scores.rows if r.component == k and (not kinds_of or r.kind in kinds_of)]
        best = max(own, key=lambda r: r.probability)
        # The first five are those of mne-bids-pipeline, the next three those of mne-icalabel.
        named = {
            "component": str(k),
            "type": "ica",
            "description": "Independent Component",
            "status": "bad" if kinds_of else "good",  # bad if removed entirely or in part
            "status_description": _why(best, bool(kinds_of)),
            "annotate_method": METHOD,
            "annotate_author": METHOD,
            "ic_type": label,
        }
        rows.append(named | {kind: f"{chances[k, j]:.4f}" for j, kind in enumerate(scores.kinds)})
    return rows


def _why(row: ArtifactRow, excluded: bool) -> str:
    if excluded:
        return f"Auto-detected {row.kind} ({METHOD}): {row.reason}"
    if row.answer == "no":
        return "n/a"
    return f"Kept, {row.kind} {row.answer} ({METHOD}): {row.reason}"
