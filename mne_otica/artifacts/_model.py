"""From evidence to a decision, with the reason in words, and the table that keeps it."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

# Each test turns a figure into points for or against a blink: log odds, bounded, so that
# no single figure decides alone. The figures are what physiology says, not a fit to data:
# (figure, points) pairs, straight lines between them, level outside.
POINTS = {
    # Peaks of pure noise reach 4 to 5 robust standard deviations.
    "height": ((4.5, -4), (5.5, -2), (7, 0), (10, 2), (20, 3), (50, 3.5)),
    # The lid always moves the same way; a movement never does.
    "consistency": ((0.6, -3), (0.75, -1.5), (0.85, 0), (0.92, 1), (0.97, 1.5)),
    # Between 1 and 10 Hz an impulse is 0.05 s wide, a blink 0.08 to 0.2 s,
    # or 0.3 s if the subject is drowsy.
    "width": ((0.04, -4), (0.055, -2.5), (0.075, 0), (0.2, 0), (0.3, -0.7), (0.5, -3)),
    # Spread of the widths over their median: a lid is a machine, a movement is not.
    "unevenness": ((0.2, 0), (0.4, -1.5), (0.7, -3)),
    # Volts at the channel that sees it best: 50 to 500 uV.
    "amplitude": ((8e-6, -4), (20e-6, -2), (40e-6, 0), (2e-4, 1), (6e-4, 1), (1e-3, 0), (3e-3, -2)),
    # One sign: slow waves and jumps swing back. A high-pass at 1 Hz gives about a third.
    "rebound": ((0.25, 0), (0.45, -1.5), (0.7, -3.5), (1.2, -5)),
    # The lid takes about 0.1 s to close; a pop takes none.
    "onset": ((0.1, -5), (0.17, -3.5), (0.25, 0), (0.75, 0), (0.9, -2)),
    # Per minute.
    "rate": ((45, 0), (70, -1.5), (100, -4)),
    "events": ((1, -2.5), (2, -1.5), (3, -0.5), (4, 0)),
    # Bursts of events beyond the first, over how many this length of recording should show.
    "recurrence": ((0, -4), (0.5, -1), (1, 0.5)),
    # Correlation with the map of two eyes.
    "frontality": ((0, -4), (0.4, -2.5), (0.6, -0.5), (0.8, 1), (0.95, 2)),
    # Share of the map that is one electrode's alone; a blink reaches its neighbours.
    "focality": ((0.7, 0), (0.85, -1.5), (0.95, -4)),
    # Absolute correlation. A horizontal EOG knows nothing of blinks, so never against; an
    # EOG sees frontal brain waves too, so never enough by itself.
    "eog_correlation": ((0.4, 0), (0.6, 0.5), (0.85, 1.5)),
    # Share of the large deflections that are at the blinks of another component, beyond
    # chance: what else happens when the lid closes, and never otherwise?
    "coincidence": ((0.5, 0), (0.75, 2), (0.95, 4)),
}
_PRIOR = -1.0  # of twenty components, one or none is a blink's
_NO_GEOMETRY = -1.2  # where no map can tell, the time course has to be clearer

_AGAINST = {
    "height": "its peaks are no higher than noise ({:.1f} robust SD)",
    "consistency": "its events differ from each other (r = {:.2f}), as movements do",
    "width": "its events last {:.0f} ms at half height, a blink 80 to 400",
    "unevenness": "its events vary in length ({:.0%}), as movements do",
    "amplitude": "its events measure {:.0f} uV, a blink 50 to 500",
    "rebound": "its events swing to the other side ({:.0%}), as jumps and slow waves do",
    "onset": "its events start or stop too suddenly for a lid (onset {:.0%} of the width)",
    "rate": "{:.0f} events a minute are too many for blinks",
    "events": "it has too few events ({:.0f})",
    "recurrence": "its events come in one burst and do not recur",
    "frontality": "its map is not that of the eyes (r = {:.2f})",
    "geometry": "neither positions nor channel names tell where the eyes are",
    "focality": "{:.0%} of its map is one electrode's alone, as with pops and poor contact",
    "eog_correlation": "it follows the EOG only weakly (r = {:.2f})",
}
_FOR = {
    "height": "high peaks ({:.0f} robust SD)",
    "consistency": "events alike (r = {:.2f})",
    "frontality": "the map of the eyes (r = {:.2f})",
    "eog_correlation": "agreement with the EOG (r = {:.2f})",
    "recurrence": "events that recur",
    "coincidence": "its large deflections at the blinks of the best ({:.0%} beyond chance)",
}
_UNIT = {"width": 1e3, "amplitude": 1e6}


def figures_of(evidence, duration):
    """Return the figures of a time course by the names of their tests."""
    few = evidence.n_events < 3
    expected = min(1.5, duration / 60)
    return {
        "height": evidence.height,
        "consistency": evidence.consistency,
        "width": evidence.width,
        "unevenness": evidence.unevenness,
        "rebound": evidence.rebound,
        "onset": evidence.onset,
        "rate": evidence.rate,
        "events": float(evidence.n_events),
        # One or two events pay for being few; they cannot recur as well.
        "recurrence": np.nan if few else (evidence.bursts - 1) / max(expected, 1e-9),
    }


def weigh(figures):
    """Return the points of each test; figures that are not known give none."""
    points = {}
    if "frontality" in figures and not np.isfinite(figures["frontality"]):
        points["geometry"] = _NO_GEOMETRY
    for name, figure in figures.items():
        if np.isfinite(figure):
            if name == "frontality" and figure < 0:
                # A blink is positive at the front. Some amplifiers are wired the other way
                # round, so the opposite is believed too, but less readily.
                figure = -0.85 * figure
            at, value = zip(*POINTS[name], strict=True)
            points[name] = float(np.interp(figure, at, value))
    return points


def score_of(points):
    """Return the score, from 0 to 1, that the points add up to."""
    return float(1 / (1 + np.exp(-(_PRIOR + sum(points.values())))))


def explain(figures, points, for_it):
    """Return the strongest two reasons for or against in words."""
    words, sign = (_FOR, 1) if for_it else (_AGAINST, -1)
    order = sorted((name for name in points if name in words), key=lambda n: -sign * points[n])
    reasons = [
        words[name].format(figures.get(name, 0) * _UNIT.get(name, 1))
        for name in order[:2]
        if sign * points[name] > 0
    ]
    return ("has " if for_it else "") + (" and ".join(reasons) or "weak evidence")


@dataclass(frozen=True)
class BlinkCandidate:
    """One row of the table: a component, its figures, and what became of it.

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
        Median height in volts at the channel that sees them best.
    consistency : float
        Median correlation of each event with the median event.
    rebound : float
        Largest deflection of the other sign around the median event, relative to it.
    frontality : float
        Correlation of the map with that of two eyes; NaN without positions or names.
    focality : float
        Share of the map that is one channel's alone.
    eog_correlation : float
        Absolute correlation with the EOG channel; NaN where there is none.
    score : float
        From 0 to 1, all the evidence together.
    decision : str
        ``"blink"``, ``"unsure"`` or ``"no"``.
    reason : str
        Why, in words.
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


@dataclass(frozen=True, repr=False, eq=False)
class BlinkScores:
    """The evidence for each component, and the verdict on the recording.

    It stands for an array of one score per component, so it can be used wherever the
    scores of :meth:`mne.preprocessing.ICA.find_bads_eog` can.

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
        Where the shape of the head came from: ``"positions"``, ``"names"`` or ``"none"``.
    strategy : str
        The rule that decided.
    """

    verdict: str
    values: NDArray[np.float64]
    rows: tuple[BlinkCandidate, ...]
    geometry: str
    strategy: str

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, item):
        return self.values[item]

    def __iter__(self) -> Iterator[float]:
        return iter(self.values)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the rows as plain dictionaries, for JSON or a table.

        Returns
        -------
        rows : list of dict
            One per candidate, best first; figures that are not known are None.
        """
        return [
            {
                name: None if isinstance(value, float) and np.isnan(value) else value
                for name, value in asdict(row).items()
            }
            for row in self.rows
        ]

    def to_data_frame(self) -> pd.DataFrame | list[dict[str, Any]]:
        """Return the table.

        Returns
        -------
        table : instance of pandas.DataFrame | list of dict
            One row per candidate, best first. A list where pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            return self.to_dict()
        names = BlinkCandidate.__dataclass_fields__
        return pd.DataFrame([asdict(row) for row in self.rows], columns=list(names))

    def _cells(self):
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
            cells = [str(row.component), f"{row.score:.2f}", str(row.events)]
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
