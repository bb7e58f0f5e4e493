"""Blinks as separate tables, for the modules that still read them so."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

if TYPE_CHECKING:
    import pandas as pd

    from mne_otica.artifacts import ArtifactScores


@dataclass(frozen=True)
class BlinkCandidate:
    """One row of the table: a component, its figures, and the decision.

    Attributes
    ----------
    component : int
        The index of the component.
    kurtosis : float
        Excess kurtosis between 1 and 10 Hz.
    events : int
        Number of large deflections.
    rate : float
        Events per minute.
    width : float
        Median width at half height, in seconds.
    polarity : int
        Sign of the events in the component, 1 or -1.
    height : float
        Median height in robust standard deviations.
    amplitude : float
        Median height in volts at the channel where it is largest.
    consistency : float
        Median correlation of each event with the median event.
    rebound : float
        Largest deflection of the other sign around the median event, relative to it.
    frontality : float
        Correlation of the topography with that of a blink; NaN without positions or names.
    focality : float
        Share of the topography that is limited to one channel.
    eog_correlation : float
        Absolute correlation with the EOG channel; NaN without one.
    score : float
        The combined evidence, from 0 to 1.
    decision : str
        ``"blink"``, ``"unsure"`` or ``"no"``.
    reason : str
        The reason as text.
    figures : dict
        All figures used for the score, by name.
    """

    component: int
    kurtosis: float
    events: int
    rate: float
    width: float
    polarity: int
    height: float
    amplitude: float
    consistency: float
    rebound: float
    frontality: float
    focality: float
    eog_correlation: float
    score: float
    decision: str
    reason: str
    figures: Mapping[str, float] = field(default_factory=dict, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the row as a plain dictionary, without ``figures``.

        Returns
        -------
        row : dict
            One entry per attribute.
        """
        return {name: getattr(self, name) for name in self.columns()}

    @classmethod
    def columns(cls) -> list[str]:
        """Return the names of the columns of the table.

        Returns
        -------
        names : list of str
            All attributes but ``figures``.
        """
        return [one.name for one in fields(cls) if one.name != "figures"]


@dataclass(frozen=True, repr=False, eq=False)
class BlinkScores:
    """The evidence for each component, and the verdict on the recording.

    It converts to an array of one score per component, so it can be used like the scores of
    :meth:`mne.preprocessing.ICA.find_bads_eog`.

    Attributes
    ----------
    verdict : str
        ``"blink"``, ``"none present"`` or ``"unsure"``.
    values : ndarray, shape (n_components,)
        One score per component, from 0 to 1; excess kurtosis for the strategy
        ``"max_kurtosis"``.
    rows : tuple of BlinkCandidate
        The candidates, best first.
    geometry : str
        The source of electrode positions: ``"positions"``, ``"names"`` or ``"none"``.
    strategy : str
        The strategy that was used.
    """

    verdict: str
    values: NDArray[np.float64]
    rows: tuple[BlinkCandidate, ...]
    geometry: str
    strategy: str

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> NDArray:
        return np.array(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, item: Any) -> Any:
        return self.values[item]

    def __iter__(self) -> Iterator[float]:
        return iter(self.values)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the rows as plain dictionaries, for JSON or a table.

        Returns
        -------
        rows : list of dict
            One per candidate, best first; unknown figures are None.
        """
        return [
            {
                name: None if isinstance(value, float) and np.isnan(value) else value
                for name, value in row.to_dict().items()
            }
            for row in self.rows
        ]

    def to_data_frame(self) -> pd.DataFrame | list[dict[str, Any]]:
        """Return the table.

        Returns
        -------
        table : instance of pandas.DataFrame | list of dict
            One row per candidate, best first. A list if pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            return self.to_dict()
        rows = [row.to_dict() for row in self.rows]
        return pd.DataFrame(rows, columns=BlinkCandidate.columns())

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Return a heading and the cells of the rows as text."""
        head = ["component", "score", "events", "rate/min", "width ms", "height SD", "uV"]
        head += ["alike", "eye map", "focal", "EOG", "kurtosis", "decision", "reason"]
        table = []
        for row in self.rows:
            figures = [
                (row.rate, ".1f"),
                (row.width * 1e3, ".0f"),
                (row.height, ".1f"),
                (row.amplitude * 1e6, ".0f"),
                (row.consistency, ".2f"),
                (row.frontality, ".2f"),
                (row.focality, ".2f"),
                (row.eog_correlation, ".2f"),
                (row.kurtosis, ".1f"),
            ]
            cells = [f"ICA{row.component:03d}", f"{row.score:.2f}", str(row.events)]
            cells += ["-" if np.isnan(v) else format(v, spec) for v, spec in figures]
            table.append([*cells, row.decision, row.reason])
        return head, table

    def __repr__(self) -> str:
        head, table = self._cells()
        widths = [max(map(len, column)) for column in zip(head, *table[:8], strict=True)]
        lines = [f"<BlinkScores | {self.verdict}, {len(self)} components>"]
        for cells in [head, *table[:8]]:
            pairs = zip(cells, widths, strict=True)
            lines.append("  ".join(cell.rjust(w) for cell, w in pairs).rstrip())
        if len(table) > 8:
            lines.append(f"... and {len(table) - 8} more candidates")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, table = self._cells()
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
            for cells in table[:8]
        )
        heading = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        return (
            f"<p>Blinks: <b>{html.escape(self.verdict)}</b></p>"
            f"<table><thead><tr>{heading}</tr></thead><tbody>{rows}</tbody></table>"
        )


@dataclass(frozen=True, eq=False)
class BlinkTimes:
    """Blink times and their source.

    Attributes
    ----------
    events : ndarray, shape (n_blinks, 3)
        MNE events at the peaks of the blinks.
    source : str
        ``"eog"``, ``"frontal"``, ``"component"``, ``"channel"`` (any channel, if neither
        positions nor names tell which are frontal) or ``"none"`` without blinks.
    channels : list of str
        The channels or the component that the times come from.
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


def blinks_of(scores: ArtifactScores) -> tuple[BlinkScores, BlinkTimes]:
    """Return the blinks of scores of all kinds."""
    rows, values = [], np.zeros(scores.n_components)
    for row in scores.of("blink"):
        values[row.component] = row.probability
        if row.figures:
            decision = "blink" if row.answer == "yes" else row.answer
            rows.append(
                BlinkCandidate(
                    component=row.component,
                    events=int(np.nan_to_num(row.figures.get("events", 0))),
                    polarity=1,
                    score=row.probability,
                    decision=decision,
                    reason=row.reason,
                    figures=row.figures,
                    **{
                        name: float(row.figures.get(name, np.nan))
                        for name in (
                            "kurtosis rate width height amplitude consistency rebound "
                            "frontality focality eog_correlation"
                        ).split()
                    },
                )
            )
    decisions = {row.decision for row in rows}
    verdict = next((one for one in ("blink", "unsure") if one in decisions), "none present")
    told = scores.sources["blink"]
    source = "eog"
    for prefix, name in (("channels ", "frontal"), ("component ", "component"), ("none", "none")):
        if told.startswith(prefix):
            source, told = name, told.removeprefix(prefix)
    times = BlinkTimes(scores.events("blink"), source, told.split(", ") if told else [])
    return BlinkScores(verdict, values, tuple(rows), scores.geometry, "blink"), times
