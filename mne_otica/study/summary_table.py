"""The rows of recordings in the summary of a study, and its tables for programs."""

import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from mne_otica.artifacts import kinds
from mne_otica.evaluation.sentences import component_names
from mne_otica.study.components_table import tsv_text
from mne_otica.study.file_names import Name
from mne_otica.study.inputs import Recording, Unit
from mne_otica.study.scratch_and_locks import WORK, write_text
from mne_otica.study.sidecars import STAGES, UnitState, json_text, read_json, sealed, unsealed

Row = dict[str, Any]
# The marks of the statuses, worst first
MARKS = {"failed": "✕", "poor": "!", "unsure": "?", "none": "–", "cleaned": "✓"}
_ENTITIES = {"participant_id": "sub", "session_id": "ses", "task": "task", "run": "run"}
COLUMNS = (
    *("recording", *_ENTITIES, "status", "message", "duration", "rank", "components", "removed"),
    *("stability", "events", "benefit", "harm", "converged", "warnings"),
    *("file", "ica", "report", "averages"),
)
_OF_KIND = ("kind", "found", "removed", "not_removed", "events", "benefit", "harm")
KIND_COLUMNS = ("recording", *_ENTITIES, *_OF_KIND)


def row_of(work: UnitState, recording: Recording) -> Row:
    """Return the row of a recording from the sidecars of its stages."""
    sidecars = {one: work.sidecar(one, recording) for one in STAGES}
    fit, find, _, last = (one.get("Results", {}) for one in sidecars.values())
    applied = sidecars["apply"]
    if sidecars["evaluate"].get("Upstream") != applied.get("Key"):
        last = {}  # of an earlier state
    told = [warning for one in sidecars.values() for warning in one.get("Warnings", [])]
    removed = last.get("components", find.get("components", []))
    by_kind = [_kind_row(kind, find, last, recording) for kind in kinds()] if find else []
    row, stability = empty_row(recording), find.get("stability")
    if stability and removed:
        row["stability"] = min(stability["index"][k] for k in removed)
    results = ("file", "apply", applied), ("ica", "find", find), ("report", "report", last)
    averages = "averages", "averages", last.get("averages")
    for column, what, content in (*results, averages):
        if content:
            row[column] = work.path(what, recording).relative_to(work.out).as_posix()
    return row | {
        "status": last.get("status") or find.get("status") or "none",
        "message": last.get("verdict") or find.get("verdict") or "fitted",
        "duration": last.get("seconds", fit.get("seconds")),
        "rank": fit.get("rank"),
        "components": fit.get("n_components"),
        "removed": _names(removed),
        "events": sum(one["events"] or 0 for one in by_kind) if by_kind else None,
        # The lowest benefit and the highest harm of the kinds that were removed
        "benefit": min((x for one in by_kind if (x := one["benefit"]) is not None), default=None),
        "harm": max((x for one in by_kind if (x := one["harm"]) is not None), default=None),
        "converged": fit.get("converged"),
        "warnings": " | ".join(dict.fromkeys(told)) or None,
        "kinds": by_kind,
    }


def _kind_row(kind: str, find: Row, last: Row, recording: Recording) -> Row:
    answers = {row["answer"] for row in find["artifacts"]["rows"] if row["kind"] == kind}
    found = next((one for one in ("yes", "unsure") if one in answers), "no")
    asked = last.get("kinds", {}).get(kind) or find["kinds"].get(kind)
    row = dict.fromkeys(_OF_KIND) | {"kind": kind, "found": found}
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


def empty_row(recording: Recording) -> Row:
    """Return the row of a recording without results, with what its name says."""
    name = recording.name.label
    row = dict.fromkeys(COLUMNS) | {"recording": name, "kinds": []}
    for column, key in _ENTITIES.items():
        if value := re.search(rf"(?:^|_){key}-([^_]+)", name):
            row[column] = f"{key}-{value[1]}" if column.endswith("_id") else value[1]
    return row


def sentence_of(error: Exception) -> str:
    """Return the message of an error on one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {text}"


def badness(row: Row) -> tuple[Any, ...]:
    """Return the key of the order in which to look at recordings, worst first."""
    gain = (row["benefit"] or 0.0) - (row["harm"] or 0.0)
    trust = 1.0 if row["stability"] is None else row["stability"]
    status = list(MARKS).index(row["status"])
    return status, row["converged"] is not False, round(gain, 3), trust, row["recording"]


def rows_text(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Return rows as tab-separated text; columns without any value are left out."""
    columns = [name for name in columns if not rows or any(row[name] is not None for row in rows)]
    return tsv_text(columns, [[_cell(row[name]) for name in columns] for row in rows])


def _cell(value: Any) -> str:
    if value is None:
        return "n/a"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split()) or "n/a"


@dataclass(frozen=True)
class Kept:
    """The row of a recording in its last run, and what it was made from."""

    row: Row
    recording: Recording
    unit: Unit


def keep_row(out: Path, recording: Recording, unit: Unit, row: Row) -> None:
    """Save a row, for the summaries of later runs on other recordings of the study."""
    path = out / WORK / "rows" / f"{recording.name.label}.json"
    content = {
        "input": str(recording.path),
        "bids_root": recording.bids_root and str(recording.bids_root),
        "names": [[str(part) for part in astuple(one.name)] for one in (recording, unit)],
        "row": row,
    }
    if unsealed(read_json(path)) != content:
        write_text(out, path, json_text(sealed(content)))


def kept_rows(out: Path) -> dict[str, Kept]:
    """Return the rows of the recordings of any run, by label."""
    found, members = {}, {}
    for path in sorted((out / WORK / "rows").glob("*.json")):
        content = unsealed(read_json(path))
        row, names = content.get("row", {}), content.get("names", [])
        names = [Name(Path(folder), head, tail) for folder, head, tail in names]
        if set(row) != {*COLUMNS, "kinds"} or row["recording"] != path.stem:
            continue  # of another version
        places = [name.folder / name.label for name in names]
        if any(place.is_absolute() or ".." in place.parts for place in places):
            continue  # outside the output folder
        root = content["bids_root"] and Path(content["bids_root"])
        recording = Recording(Path(content["input"]), names[0], root)
        found[path.stem] = row, recording, names[1]
        members.setdefault(names[1], []).append(recording)
    return {
        label: Kept(row, recording, Unit(name, tuple(members[name])))
        for label, (row, recording, name) in found.items()
    }
