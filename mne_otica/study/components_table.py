"""The table of components, ``components.tsv``, which people may edit."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mne_otica.artifacts import ArtifactScores, component_rows, kinds

# Reasons written by this module
_AUTOMATIC = re.compile(r"(Auto-detected|Kept,) [a-z ]+ \(mne-otica\)|n/a")
# Reasons of a status that a person changed; the second group is the reason before.
_BY_HAND = re.compile("(Removed|Kept) by hand(?:; before: (.*))?")
DECIDED = ("who", "when", "note", "kind")  # columns added by decisions
_BOM = "\ufeff"  # byte order mark, which spreadsheets write at the start of a file


def table_text(
    scores: ArtifactScores,
    removed: Mapping[str, Sequence[int]],
    stability: Mapping[str, Any] | None = None,
) -> str:
    """Return the table as text."""
    rows = component_rows(scores, removed)
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow([*rows[0], "stability", "refits"])
    for component, row in enumerate(rows):
        writer.writerow([*row.values(), *_trusted(stability, component)])
    return file.getvalue()


def _trusted(stability: Mapping[str, Any] | None, component: int) -> tuple[str, str]:
    """Return the index of a component, and the number of refits that matched it."""
    if stability is None:
        return "n/a", "n/a"
    came_back = f"{stability['n_returns'][component]} of {stability['n_fits']}"
    return _cell(stability["index"][component]), came_back


def glance(row: Mapping[str, str]) -> dict[str, Any]:
    """Return a short description of a component from its row, which may have been edited."""
    chances = {kind: _number(row.get(kind)) for kind in kinds()}
    kind = max(chances, key=lambda name: chances[name] or 0.0)
    chance, label = chances[kind], row.get("ic_type", "")
    told = label if chance is None or label in ("brain", "other") else f"{kind} {chance:.2f}"
    return {"told": told, "chance": chance, "trust": _number(row.get("stability"))}


def _number(text: str | None) -> float | None:
    """Return the number in a cell, if there is one."""
    try:
        number = float(text or "nan")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def reworded(path: Path, rows: dict[int, tuple[str, str]], automatic: Sequence[int]) -> str | None:
    """Return an edited table in which reasons agree with the status; None if they do already.

    ``automatic`` are the components that were found to be bad. Reasons that a person wrote are
    kept.
    """
    wrong = {
        component
        for component, (status, why) in rows.items()
        if (status == "bad") != (component in automatic) and _AUTOMATIC.match(why)
    }
    if not wrong:
        return None
    changes = {one: {"status_description": _by_hand(*rows[one])} for one in wrong}
    return edited_text(table_source(path), changes)


def _by_hand(status: str, why: str) -> str:
    """Return the reason of a status that a person changed; changing it back restores it."""
    changed = _BY_HAND.fullmatch(why)
    if changed:
        return changed[2] or "n/a"
    done = "Removed" if status == "bad" else "Kept"
    return f"{done} by hand" + ("" if why == "n/a" else f"; before: {why}")


def table_source(path: Path) -> str:
    """Return the text of a table with its original line ends and byte order mark."""
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def cells(text: str) -> dict[int, dict[str, str]]:
    """Return all cells of a valid table, by component and column."""
    reader = csv.DictReader(io.StringIO(text.removeprefix(_BOM), newline=""), delimiter="\t")
    return {
        int(row["component"]): {
            name: (value or "").strip() or "n/a" for name, value in row.items() if name
        }
        for row in reader
    }


def edits(path: Path, n_components: int) -> dict[int, dict[str, str]]:
    """Return the cells that people may have edited; raise if the table is not valid."""
    read_table(path, n_components)
    names = ("status", "status_description", *DECIDED)
    rows = cells(table_source(path))
    return {one: {name: row[name] for name in names if name in row} for one, row in rows.items()}


def edited_text(text: str, changes: Mapping[int, Mapping[str, str]]) -> str:
    """Return a table with some cells changed; everything else is kept.

    Missing columns and components are appended.
    """
    mark = _BOM if text.startswith(_BOM) else ""
    head, *rows = csv.reader(io.StringIO(text.removeprefix(_BOM), newline=""), delimiter="\t")
    number = head.index("component")
    columns = dict.fromkeys(name for cells in changes.values() for name in cells)
    head += [name for name in columns if name not in head]
    rows = [row for row in rows if row]
    new = set(changes) - {int(row[number]) for row in rows}
    rows += [[str(one) if name == "component" else "n/a" for name in head] for one in sorted(new)]
    file = io.StringIO(newline="")
    ends = "\r\n" if "\r\n" in text else "\n"
    writer = csv.writer(file, delimiter="\t", lineterminator=ends)
    writer.writerow(head)
    for row in rows:
        row += ["n/a"] * (len(head) - len(row))
        for name, value in changes.get(int(row[number]), {}).items():
            row[head.index(name)] = value
        writer.writerow(row)
    return mark + file.getvalue()


def decision(
    row: Mapping[str, str],
    who: str,
    when: str,
    status: str | None = None,
    note: str | None = None,
    kind: str | None = None,
) -> dict[str, str]:
    """Return the cells that change with a decision about a component, or a note."""
    changes = {"status": row["status"], "who": who, "when": when, "note": row.get("note", "n/a")}
    if status is not None and status != row["status"]:
        why = _by_hand(status, row.get("status_description", "n/a"))
        changes |= {"status": status, "status_description": why}
    if note is not None:
        changes["note"] = note or "n/a"
    if kind is not None:
        changes["kind"] = kind or "n/a"
    return changes


def _cell(value: float | None) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "n/a"
    return f"{value:.6g}"


def read_table(path: Path, n_components: int) -> dict[int, tuple[str, str]]:
    """Return status and reason of each component; raise if the table is not valid."""
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
