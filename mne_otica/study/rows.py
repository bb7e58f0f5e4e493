"""The rows of recordings in the summary of a study."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mne.utils import logger

from mne_otica.artifacts import kinds
from mne_otica.evaluation.sentences import component_names
from mne_otica.study import storage as files
from mne_otica.study.inputs import Recording
from mne_otica.study.state import STAGES, UnitState

Row = dict[str, Any]
STATUSES = ("failed", "poor", "unsure", "none", "cleaned")  # worst first
_ENTITIES = {"participant_id": "sub", "session_id": "ses", "task": "task", "run": "run"}
_WORDS = (*_ENTITIES, "removed", "refits", "warnings", "file", "ica", "report")
_NUMBERS = tuple("duration rank components stability events benefit harm converged".split())
COLUMNS = (
    *("recording", *_ENTITIES, "status", "message", "duration", "rank", "components", "removed"),
    *("stability", "refits", "events", "benefit", "harm", "converged", "warnings"),
    *("file", "ica", "report"),
)
KIND_COLUMNS = ("kind", "found", "removed", "not_removed", "events", "benefit", "harm")


def row_of(work: UnitState, recording: Recording) -> Row:
    """Return the row of a recording from the sidecars of its stages."""
    sidecars = {one: work.sidecar(one, recording if one in STAGES[2:] else None) for one in STAGES}
    fit, find, _, last = (one.get("Results", {}) for one in sidecars.values())
    if sidecars["evaluate"].get("Upstream") != sidecars["apply"].get("Key"):
        last = {}  # of an earlier state
    told = [warning for one in sidecars.values() for warning in one.get("Warnings", [])]
    removed = last.get("components", find.get("components", []))
    by_kind = [_kind_row(kind, find, last, recording) for kind in kinds()] if find else []
    report, cleaned = work.report(recording), work.path("apply", ".fif", recording)
    return empty_row(recording) | {
        "unit": work.unit.name.label,
        "status": last.get("status") or find.get("status") or "none",
        "message": last.get("verdict") or find.get("verdict") or "fitted",
        "duration": last.get("seconds", fit.get("seconds")),
        "rank": fit.get("rank"),
        "components": fit.get("n_components"),
        "removed": _names(removed),
        **_trusted(find.get("stability"), removed),
        "events": sum(one["events"] or 0 for one in by_kind) if by_kind else None,
        **overall(by_kind),
        "converged": fit.get("converged"),
        "warnings": " | ".join(dict.fromkeys(told)) or None,
        "file": cleaned.relative_to(work.out).as_posix() if sidecars["apply"] else None,
        "ica": work.path("find", ".fif").relative_to(work.out).as_posix() if find else None,
        "report": report.relative_to(work.out).as_posix() if last else None,
        "kinds": by_kind,
    }


def _kind_row(kind: str, find: Row, last: Row, recording: Recording) -> Row:
    """Return the answer for a kind and, if it was to be removed, what was removed."""
    answers = {row["answer"] for row in find["artifacts"]["rows"] if row["kind"] == kind}
    found = next((one for one in ("yes", "unsure") if one in answers), "no")
    asked = last.get("kinds", {}).get(kind) or find["kinds"].get(kind)
    row = dict.fromkeys(KIND_COLUMNS) | {"kind": kind, "found": found}
    if asked is None:
        return row
    samples = last["samples"][kind] if last else find["samples"][kind][recording.name.label]
    return row | {
        "found": asked["answer"],
        "removed": _names(asked["components"]),
        "not_removed": _names(asked["not_removed"]),
        "events": len(samples),
        "benefit": asked.get("gone"),
        "harm": (asked.get("harm") or {}).get("taken_out"),
    }


def _names(components: Sequence[int]) -> str:
    return " ".join(component_names(components)) or "none"


def _trusted(stability: dict[str, Any] | None, removed: list[int]) -> Row:
    """Return the lowest index of the removed components, and the fewest refits that matched."""
    if not stability or not removed:
        return {}
    fewest = min(stability["n_returns"][component] for component in removed)
    return {
        "stability": min(stability["index"][component] for component in removed),
        "refits": f"{fewest} of {stability['n_fits']}",
    }


def overall(by_kind: Sequence[Row]) -> Row:
    """Return the lowest benefit and the highest harm of the kinds that were removed."""
    benefits = [one["benefit"] for one in by_kind if one["benefit"] is not None]
    harms = [one["harm"] for one in by_kind if one["harm"] is not None]
    return {"benefit": min(benefits, default=None), "harm": max(harms, default=None)}


def empty_row(recording: Recording) -> Row:
    """Return the row of a recording without results, with what its name says."""
    name = recording.name.label
    row = dict.fromkeys(COLUMNS) | {"recording": name, "kinds": [], "unit": name}
    for column, key in _ENTITIES.items():
        if value := re.search(rf"(?:^|_){key}-([^_]+)", name):
            row[column] = f"{key}-{value[1]}" if column.endswith("_id") else value[1]
    return row


def failed_row(recording: Recording, error: Exception) -> Row:
    """Return the row of a recording that failed."""
    logger.debug("".join(traceback.format_exception(error)))
    return empty_row(recording) | {"status": "failed", "message": sentence_of(error)}


def sentence_of(error: Exception) -> str:
    """Return the message of an error on one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {text}"


def badness(row: Row) -> tuple[Any, ...]:
    """Return the key of the order in which to look at recordings.

    By status, worst first; then fits that did not converge; then the difference of benefit and
    harm; then the stability of the components removed.
    """
    gain = (row["benefit"] or 0.0) - (row["harm"] or 0.0)
    trust = 1.0 if row["stability"] is None else row["stability"]
    status = STATUSES.index(row["status"])
    return status, row["converged"] is not False, round(gain, 3), trust, row["recording"]


def keep_row(out: Path, recording: Recording, row: Row) -> None:
    """Save a row, for the summaries of later runs on other recordings of the study."""
    path = _rows_folder(out) / f"{recording.name.label}.json"
    content = {"input": str(recording.path), "row": row}
    if files.read_json(path) != content:
        with files.staged(out, path.parent) as scratch:
            files.write_json(scratch / path.name, content)


def _rows_folder(out: Path) -> Path:
    return out / files.WORK / "rows"


def kept_rows(out: Path) -> dict[str, tuple[Path, Row]]:
    """Return the input and the row of every recording of any run, by label."""
    rows = {}
    for path in sorted(_rows_folder(out).glob("*.json")):
        content = files.read_json(path)
        row = content.get("row")
        if _is_row(row) and row["recording"] == path.stem:
            rows[path.stem] = Path(str(content.get("input"))), row
    return rows


def other_rows(out: Path, recordings: list[Recording]) -> list[Row]:
    """Return the rows of other runs, for recordings that still exist."""
    own = {recording.name.label for recording in recordings}
    kept = kept_rows(out).items()
    return [row for label, (path, row) in kept if label not in own and path.exists()]


def _is_row(row: Any) -> bool:
    """Return whether this is a valid row: the file may have been changed."""
    return (
        isinstance(row, dict)
        and set(row) == {*COLUMNS, "kinds", "unit"}
        and row["status"] in STATUSES
        and all(isinstance(row[name], str) for name in ("recording", "message", "unit"))
        and all(isinstance(row[name], str | None) for name in _WORDS)
        and all(isinstance(row[name], int | float | None) for name in _NUMBERS)
        and isinstance(row["kinds"], list)
        and all(_is_kind_row(one) for one in row["kinds"])
    )


def _is_kind_row(row: Any) -> bool:
    numbers = KIND_COLUMNS[-3:]
    return (
        isinstance(row, dict)
        and set(row) == set(KIND_COLUMNS)
        and row["kind"] in kinds()
        and row["found"] in ("yes", "unsure", "no")
        and all(isinstance(row[name], str | None) for name in ("removed", "not_removed"))
        and all(isinstance(row[name], int | float | None) for name in numbers)
    )
