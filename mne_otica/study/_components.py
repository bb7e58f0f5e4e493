"""The table of components, ``components.tsv``: written here, edited by people, read again."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from mne_otica.artifacts import BlinkScores

# The first five are those of mne-bids-pipeline.
_HEAD = ("component", "type", "description", "status", "status_description", "score")
_FIGURES = (
    "events",
    "rate",
    "width",
    "height",
    "amplitude",
    "consistency",
    "frontality",
    "focality",
    "eog_correlation",
    "kurtosis",
)
# How the reasons begin that are written here
_AUTOMATIC = ("Auto-detected blink (mne-otica)", "Kept, unsure (mne-otica)", "n/a")


def table_text(
    scores: BlinkScores, exclude: Sequence[int], edited: dict[int, tuple[str, str]] | None = None
) -> str:
    """Return the table as text; what a person has ``edited`` stands as it is."""
    candidates = {row.component: row for row in scores.rows}
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow([*_HEAD, *_FIGURES])
    for component, score in enumerate(scores.values):
        candidate = candidates.get(component)
        status, why = "good", "n/a"
        if component in exclude:
            status, why = "bad", f"{_AUTOMATIC[0]}: {candidate.reason}"
        elif candidate is not None and candidate.decision != "no":
            why = f"{_AUTOMATIC[1]}: {candidate.reason}"
        status, why = (edited or {}).get(component, (status, why))
        figures = {} if candidate is None else asdict(candidate)
        row = [component, "ica", "Independent Component", status, why, _cell(score)]
        writer.writerow([*row, *(_cell(figures.get(name)) for name in _FIGURES)])
    return file.getvalue()


def reworded(path: Path, rows: dict[int, tuple[str, str]], automatic: Sequence[int]) -> str | None:
    """Return an edited table in which no reason contradicts its status; None if none does.

    Parameters
    ----------
    path : pathlib.Path
        The table. Nothing but the reasons that are not the person's own is changed.
    rows : dict
        What it says, see `read_table`.
    automatic : sequence of int
        The components that were found to be bad.
    """
    wrong = {
        component
        for component, (status, why) in rows.items()
        if (status == "bad") != (component in automatic) and why.startswith(_AUTOMATIC)
    }
    if not wrong:
        return None
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    head = lines[0].split("\t")
    number, reason = head.index("component"), head.index("status_description")
    for k, line in enumerate(lines[1:], start=1):
        cells = line.split("\t")
        component = int(cells[number])
        if component in wrong:
            status, why = rows[component]
            done = "Removed" if status == "bad" else "Kept"
            cells[reason] = f"{done} by hand" + ("" if why == "n/a" else f"; before: {why}")
            lines[k] = "\t".join(cells)
    return "\n".join(lines) + "\n"


def _cell(value: float | None) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "n/a"
    return f"{value:.6g}"


def read_table(path: Path, n_components: int) -> dict[int, tuple[str, str]]:
    """Return status and reason of each component; raise for what cannot be understood."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not text in UTF-8; save it as such.") from error
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t")
    missing = {"component", "status"} - set(reader.fieldnames or ())
    if missing:
        raise ValueError(
            f"{path.name} has no column {' and '.join(sorted(missing))}; it must be a table with "
            "tabs between the columns. Delete it to have it written anew."
        )
    numbers = {str(component): component for component in range(n_components)}
    rows = {}
    for line, row in enumerate(reader, start=2):
        component, status = (row["component"] or "").strip(), (row["status"] or "").strip()
        if component not in numbers:
            raise ValueError(
                f"{path.name}, line {line}: component {component[:20]!r} is not one of 0 to "
                f"{n_components - 1}; correct it."
            )
        if status not in ("good", "bad"):
            raise ValueError(
                f"{path.name}, line {line}: status {status!r} is neither 'good' nor 'bad'; "
                "correct it."
            )
        if numbers[component] in rows:
            raise ValueError(
                f"{path.name}, line {line}: component {component} has two rows; keep one."
            )
        rows[numbers[component]] = status, (row.get("status_description") or "n/a").strip()
    return rows


def bad_components(rows: dict[int, tuple[str, str]]) -> list[int]:
    """Return the components to remove."""
    return sorted(component for component, (status, _) in rows.items() if status == "bad")
