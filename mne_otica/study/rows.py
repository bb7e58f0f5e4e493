"""The rows of recordings in the summary of a study."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mne.utils import logger

from mne_otica.artifacts import kinds
from mne_otica.evaluation.text import component_names
from mne_otica.study import storage as files
from mne_otica.study.inputs import Recording
from mne_otica.study.state import STAGES, UnitState

Row = dict[str, Any]
STATUSES = ("failed", "poor", "unsure", "none", "cleaned")  # worst first
COLUMNS = (
    "recording",
    "status",
    "message",
    "duration",
    "rank",
    "components",
    "removed",
    "stability",
    "refits",
    "events",
    "benefit",
    "harm",
    "seconds",
    "converged",
    "warnings",
    "report",
)
_NUMBERS = "duration rank components stability events benefit harm seconds converged".split()
_WORDS = "removed refits warnings report".split()


def kind_columns(kind: str) -> dict[str, str]:
    """Return the names of the columns of one kind: found, removed, benefit and harm."""
    stem = kind.replace(" ", "_")
    return {what: f"{stem}_{what}" for what in ("found", "removed", "benefit", "harm")}


COLUMNS += tuple(name for kind in kinds() for name in kind_columns(kind).values())
_NUMBERS += [kind_columns(kind)[what] for kind in kinds() for what in ("benefit", "harm")]
_WORDS += [kind_columns(kind)[what] for kind in kinds() for what in ("found", "removed")]


def row_of(work: UnitState, recording: Recording) -> Row:
    """Return the row of a recording from the sidecars of its stages."""
    fit, find = (work.sidecar(stage).get("Results", {}) for stage in STAGES[:2])
    last = work.sidecar("evaluate", recording).get("Results", {})
    if last and work.sidecar("evaluate", recording)["Upstream"] != work.sidecar(
        "apply", recording
    ).get("Key"):
        last = {}  # of an earlier state
    report = work.report(recording).relative_to(work.out)
    told = [
        warning
        for stage in STAGES
        for warning in work.sidecar(stage, recording if stage in STAGES[2:] else None).get(
            "Warnings", []
        )
    ]
    seconds = work.notes.content["seconds"]
    shared = sum(seconds.get(stage, 0) for stage in STAGES[:2]) / len(work.unit.recordings)
    own = sum(seconds.get(f"{stage} {recording.name.label}", 0) for stage in STAGES[2:])
    removed = last.get("components", find.get("components", []))
    return {
        "recording": recording.name.label,
        "status": last.get("status") or find.get("status") or "none",
        "message": last.get("verdict") or find.get("verdict") or "fitted",
        "duration": last.get("seconds", fit.get("seconds")),
        "rank": fit.get("rank"),
        "components": fit.get("n_components"),
        "removed": " ".join(component_names(removed) or ["none"]),
        **_trusted(find.get("stability"), removed),
        "events": _n_events(find, last, recording),
        **overall([_measured(one) for one in last.get("kinds", {}).values()]),
        "seconds": round(shared + own, 2),
        "converged": fit.get("converged"),
        "warnings": " | ".join(dict.fromkeys(told)) or None,
        "report": report.as_posix() if last else None,
        **_by_kind(find, last),
    }


def _by_kind(find: dict[str, Any], last: dict[str, Any]) -> Row:
    """Return the answer for each kind and, for kinds to be removed, what was removed."""
    row: Row = {}
    rows = find.get("artifacts", {}).get("rows", [])
    for kind in kinds():
        answers = {one["answer"] for one in rows if one["kind"] == kind}
        asked = last.get("kinds", {}).get(kind) or find.get("kinds", {}).get(kind) or {}
        found = next((one for one in ("yes", "unsure", "no") if one in answers), None)
        values = {
            "found": asked.get("answer", found),
            "removed": " ".join(component_names(asked["components"])) or "none" if asked else None,
            **dict(zip(("benefit", "harm"), _measured(asked), strict=True)),
        }
        row |= {name: values[what] for what, name in kind_columns(kind).items()}
    return row


def _trusted(stability: dict[str, Any] | None, removed: list[int]) -> Row:
    """Return the lowest index of the removed components, and the fewest refits that matched."""
    if not stability or not removed:
        return {"stability": None, "refits": None}
    fewest = min(stability["n_returns"][component] for component in removed)
    return {
        "stability": min(stability["index"][component] for component in removed),
        "refits": f"{fewest} of {stability['n_fits']}",
    }


def _measured(kind: Row) -> tuple[float | None, float | None]:
    """Return benefit and harm in the results for a kind."""
    return kind.get("gone"), (kind.get("harm") or {}).get("taken_out")


def _n_events(find: Row, last: Row, recording: Recording) -> int | None:
    """Return the number of events of the kinds to be removed."""
    if last:
        return sum(len(one["samples"]) for one in last["kinds"].values())
    return sum(len(one[recording.name.label]) for one in find["samples"].values()) if find else None


def overall(measured: Sequence[tuple[float | None, float | None]]) -> Row:
    """Return the lowest benefit and the highest harm of the kinds that were removed."""
    benefits = [benefit for benefit, _ in measured if benefit is not None]
    harms = [harm for _, harm in measured if harm is not None]
    return {"benefit": min(benefits, default=None), "harm": max(harms, default=None)}


def failed_row(recording: Recording, error: Exception) -> Row:
    """Return the row of a recording that failed."""
    logger.debug("".join(traceback.format_exception(error)))
    empty = dict.fromkeys(COLUMNS)
    name = recording.name.label
    return empty | {"recording": name, "status": "failed", "message": sentence_of(error)}


def sentence_of(error: Exception) -> str:
    """Return the message of an error on one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {text}"


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
        and set(row) == set(COLUMNS)
        and row["status"] in STATUSES
        and all(isinstance(row[name], str) for name in ("recording", "message"))
        and all(isinstance(row[name], str | None) for name in _WORDS)
        and all(isinstance(row[name], int | float | None) for name in _NUMBERS)
    )
