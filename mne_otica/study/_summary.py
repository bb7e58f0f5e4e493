"""The study on one page: a table for programs and one for people, worst first."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from mne_otica.study import _storage as files
from mne_otica.study._page import STATUSES, Row, page
from mne_otica.study._rows import COLUMNS


def worst_first(rows: Sequence[Row]) -> list[Row]:
    """Return the rows in the order in which a person should look at them."""
    return sorted(rows, key=_badness)


def _badness(row):
    benefit = 0.0 if row["benefit"] is None else row["benefit"]
    harm = 0.0 if row["harm"] is None else abs(row["harm"])
    # What did not converge, or changed more than blinks explain, before what removed little.
    return STATUSES.index(row["status"]), row["converged"] is not False, benefit - harm


def write_summary(out: Path, rows: Sequence[Row]) -> Path:
    """Write ``summary.tsv`` and ``summary.html``; return the latter."""
    rows = worst_first(rows)
    path = out / "summary.html"
    with files.staged(out, out) as scratch:
        (scratch / "summary.tsv").write_text(_table(rows), encoding="utf-8", newline="\n")
        (scratch / path.name).write_text(page(rows), encoding="utf-8", newline="\n")
    return path


def _table(rows):
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_plain_cell(row[name]) for name in COLUMNS])
    return file.getvalue()


def _plain_cell(value):
    if value is None:
        return "n/a"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split()) or "n/a"
