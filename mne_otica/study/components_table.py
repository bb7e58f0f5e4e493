"""The table of components, ``components.tsv``, which people may edit."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mne_otica.artifacts import ArtifactScores, component_rows

# Reasons written by this module
_AUTOMATIC = re.compile(r"(Auto-detected|Kept,) [a-z ]+ \(mne-otica\)|n/a")
# Reasons of a status that a person changed; the second group is the reason before.
_BY_HAND = re.compile("(Removed|Kept) by hand(?:; before: (.*))?")
# Columns that people may edit, the last four of which decisions add
EDITED = ("status", "status_description", "who", "when", "note", "kind")
_BOM = "\ufeff"  # byte order mark, which spreadsheets write at the start of a file

Table = dict[int, dict[str, str]]


def tsv_text(columns: Sequence[str], rows: Iterable[Sequence[str]], end: str = "\n") -> str:
    """Return a table as tab-separated text."""
    file = io.StringIO(newline="")
    csv.writer(file, delimiter="\t", lineterminator=end).writerows([columns, *rows])
    return file.getvalue()


def table_text(
    scores: ArtifactScores, removed: Mapping[str, Sequence[int]], stability: dict[str, Any] | None
) -> str:
    """Return the table as text."""
    rows = component_rows(scores, removed)
    index = ["n/a"] * len(rows) if stability is None else [f"{x:.6g}" for x in stability["index"]]
    values = [[*row.values(), one] for row, one in zip(rows, index, strict=True)]
    return tsv_text([*rows[0], "stability"], values)


def reworded(text: str, rows: Table, automatic: Sequence[int]) -> str:
    """Return a table in which the reasons of the package agree with the edited status."""
    changes = {
        one: {"status_description": by_hand(row["status"], row["status_description"])}
        for one, row in rows.items()
        if (row["status"] == "bad") != (one in automatic)
        and _AUTOMATIC.match(row["status_description"])
    }
    return edited_text(text, changes) if changes else text


def by_hand(status: str, why: str) -> str:
    """Return the reason of a status that a person changed; changing it back restores it."""
    if changed := _BY_HAND.fullmatch(why):
        return changed[2] or "n/a"
    done = "Removed" if status == "bad" else "Kept"
    return f"{done} by hand" + ("" if why == "n/a" else f"; before: {why}")


def edited_text(text: str, changes: Mapping[int, Mapping[str, str]]) -> str:
    """Return a table with some cells changed, and missing columns and components appended."""
    mark = _BOM if text.startswith(_BOM) else ""
    head, *rows = csv.reader(io.StringIO(text.removeprefix(_BOM), newline=""), delimiter="\t")
    number = head.index("component")
    columns = dict.fromkeys(name for cells in changes.values() for name in cells)
    head += [name for name in columns if name not in head]
    rows = [row for row in rows if row]
    new = set(changes) - {int(row[number]) for row in rows}
    rows += [[str(one) if name == "component" else "n/a" for name in head] for one in sorted(new)]
    for row in rows:
        row += ["n/a"] * (len(head) - len(row))
        for name, value in changes.get(int(row[number]), {}).items():
            row[head.index(name)] = value
    return mark + tsv_text(head, rows, "\r\n" if "\r\n" in text else "\n")


def table_source(path: Path) -> str:
    """Return the text of a table with its original line ends and byte order mark."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not encoded in UTF-8; save it in UTF-8.") from error


def read_table(path: Path, n_components: int) -> Table:
    """Return the cells of each component by column; raise if the table is not valid."""
    text = table_source(path).removeprefix(_BOM)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t", restval="")
    missing = {"component", "status"} - set(reader.fieldnames or ())
    if missing:
        lacks = f"{path.name} has no column {' and '.join(sorted(missing))}; it must be a table"
        told = "with tabs between the columns. Delete it, and it is written again."
        raise ValueError(f"{lacks} {told}")
    numbers = {str(component): component for component in range(n_components)}
    rows = {}
    for line, row in enumerate(reader, start=2):
        cells = {name: value.strip() or "n/a" for name, value in row.items() if name}
        component, status, wrong = cells["component"], cells["status"], ""
        if component not in numbers:
            last = n_components - 1
            wrong = f"component {component[:20]!r} is not one of 0 to {last}; correct it."
        elif status not in ("good", "bad"):
            wrong = f"status {status!r} is neither 'good' nor 'bad'; correct it."
        elif numbers[component] in rows:
            wrong = f"component {component} has two rows; keep one."
        if wrong:
            raise ValueError(f"{path.name}, line {line}: {wrong}")
        rows[numbers[component]] = {"status_description": "n/a"} | cells
    return rows


def bad_components(rows: Table) -> list[int]:
    """Return the components to remove."""
    return sorted(component for component, row in rows.items() if row["status"] == "bad")
