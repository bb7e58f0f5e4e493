"""The results of the search for artifacts of all kinds."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mne_otica.artifacts.kinds import Removal, kinds

if TYPE_CHECKING:
    import pandas as pd

_MOST_ROWS = 12


@dataclass(frozen=True, eq=False)
class ArtifactRow:
    """The evidence for one kind of artifact in one component.

    Attributes
    ----------
    component : int
        The index of the component.
    kind : str
        The kind of artifact.
    probability : float
        The probability that the component holds it.
    answer : str
        ``"yes"``, ``"no"`` or ``"unsure"``.
    reason : str
        The reason as text.
    figures : dict
        The figures used as evidence, by name; NaN if unknown.
    points : dict
        What each of them adds to the log odds, and the intercept. The probability is
        ``1 / (1 + exp(-sum(points.values())))``.
    events : ndarray, shape (n_events, 3)
        MNE events at the artifacts; empty if the answer is no.
    removal : Removal
        The part of the component that is the artifact: ``removal.how`` is ``"events"`` or
        ``"band"`` (above ``removal.l_freq`` hertz); ``removal.advice`` names a better remedy,
        if there is one.
    """

    component: int
    kind: str
    probability: float
    answer: str
    reason: str
    figures: Mapping[str, float] = field(repr=False)
    points: Mapping[str, float] = field(repr=False)
    events: NDArray[np.int64] = field(repr=False)
    removal: Removal = field(repr=False)


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
        is likely and spectrum and topography fit brain activity, else ``"other"``.
    geometry : str
        The source of electrode positions: ``"positions"``, ``"names"`` or ``"none"``.
    """

    kinds: tuple[str, ...]
    rows: tuple[ArtifactRow, ...]
    labels: tuple[str, ...]
    geometry: str

    @property
    def n_components(self) -> int:
        """The number of components."""
        return len(self.labels)

    @property
    def probabilities(self) -> NDArray[np.float64]:
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
                "n_events": len(row.events),
                "removal": row.removal.how,
                **{name: _plain(value) for name, value in row.figures.items()},
            }
            for row in self.rows
        ]

    def stored(self) -> dict[str, Any]:
        """Return the scores as plain content for a file.

        Returns
        -------
        content : dict
            Numbers, strings and lists, without events.
        """
        return {
            "kinds": list(self.kinds),
            "labels": list(self.labels),
            "geometry": self.geometry,
            "rows": [
                {
                    "component": row.component,
                    "kind": row.kind,
                    "probability": row.probability,
                    "answer": row.answer,
                    "reason": row.reason,
                    "figures": {name: _plain(value) for name, value in row.figures.items()},
                    "points": dict(row.points),
                }
                for row in self.rows
            ],
        }

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
                n = str(len(row.events))
                shown = [f"ICA{row.component:03d}", row.kind, f"{row.probability:.2f}", row.answer]
                cells.append([*shown, n, row.removal.how, row.reason])
        return cells

    def _summary(self) -> str:
        counts = [f"{kind} {found or 'none'}" for kind, found in self.found.items()]
        return ", ".join(counts)

    def __repr__(self) -> str:
        cells = self._cells()
        lines = [f"<ArtifactScores | {self.n_components} components: {self._summary()}>"]
        shown = cells[: _MOST_ROWS + 1]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        for row in shown if len(cells) > 1 else []:
            pairs = zip(row, widths, strict=True)
            lines.append("  ".join(cell.ljust(width) for cell, width in pairs).rstrip())
        if len(cells) > len(shown):
            lines.append(f"... and {len(cells) - len(shown)} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *rows = self._cells()
        heading = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in rows
        )
        return (
            f"<p>Artifacts: <b>{html.escape(self._summary())}</b></p>"
            f"<table><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>"
        )


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def restored(
    content: Mapping[str, Any], events: Mapping[tuple[int, str], NDArray[np.int64]]
) -> ArtifactScores:
    """Return saved scores, with the events of some components and kinds.

    Parameters
    ----------
    content : dict
        What `ArtifactScores.stored` returned.
    events : dict
        MNE events by component and kind; all others have none.
    """
    none = np.zeros((0, 3), np.int64)
    rows = tuple(
        ArtifactRow(
            **{
                **row,
                "figures": {
                    name: np.nan if value is None else value
                    for name, value in row["figures"].items()
                },
            },
            events=events.get((row["component"], row["kind"]), none),
            removal=kinds()[row["kind"]].removal,
        )
        for row in content["rows"]
    )
    return ArtifactScores(
        tuple(content["kinds"]), rows, tuple(content["labels"]), content["geometry"]
    )
