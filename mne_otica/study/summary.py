"""The summary of a study, worst first: two tables for programs and a page for people.

The page is one self-contained HTML file, for desktop and phone.
"""

from __future__ import annotations

import csv
import html
import io
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files as package_files
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote

from mne_otica.artifacts import kinds
from mne_otica.evaluation.sentences import PLURALS
from mne_otica.study import storage as files
from mne_otica.study.rows import COLUMNS, KIND_COLUMNS, STATUSES, Row, badness

_MARKS = {"failed": "✕", "poor": "!", "unsure": "?", "none": "–", "cleaned": "✓"}
_PAGES = package_files("mne_otica.study").joinpath("review_page")
# What a cell says of a kind that was not removed: was it to be, and was it found?
_NOT_REMOVED = {
    (True, "yes"): "found, no gain",
    (False, "yes"): "found, kept",
    (True, "unsure"): "unsure",
    (False, "unsure"): "unsure, kept",
}


def write_summary(out: Path, rows: Sequence[Row]) -> Path:
    """Write ``summary.tsv``, ``summary_kinds.tsv`` and ``summary.html``; return the last."""
    rows = sorted(rows, key=badness)
    path = out / "summary.html"
    texts = {
        "summary.tsv": table_text(rows, COLUMNS),
        "summary_kinds.tsv": table_text(kind_rows(rows), ("recording", *KIND_COLUMNS)),
        path.name: page(rows),
    }
    with files.staged(out, out) as scratch:
        for name, text in texts.items():
            (scratch / name).write_text(text, encoding="utf-8", newline="\n")
    return path


def kind_rows(rows: Sequence[Row]) -> list[Row]:
    """Return one row per recording and kind, with what is known of the recording."""
    return [{"recording": row["recording"]} | one for row in rows for one in row["kinds"]]


def table_text(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Return rows as tab-separated text; columns without any value are left out."""
    columns = [name for name in columns if not rows or any(row[name] is not None for row in rows)]
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_plain_cell(row[name]) for name in columns] for row in rows)
    return file.getvalue()


def _plain_cell(value: Any) -> str:
    if value is None:
        return "n/a"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split()) or "n/a"


def style(name: str) -> str:
    """Return a style sheet, preceded by the colours of all pages."""
    sheets = (_PAGES.joinpath(file).read_text(encoding="utf-8") for file in ("colours.css", name))
    return "".join(sheets)


def page(rows: Sequence[Row], title: str = "Artifacts removed") -> str:
    """Return the page, with the rows in the order given."""
    counts = Counter(row["status"] for row in rows)
    chips = "".join(
        f'<li class="{status}"><b>{counts[status]}</b>{_MARKS[status]} {status}</li>'
        for status in STATUSES
        if counts[status]
    )
    done = [row for row in rows if row["status"] != "failed"]
    heads = ("Recording", "Status", *(PLURALS[kind].capitalize() for kind in kinds()))
    head = "".join(f'<th scope="col">{name}</th>' for name in (*heads, "Fit"))
    body = "\n".join(_line(row) for row in done)
    table = f"""<table><thead><tr>{head}</tr>{_medians(done)}</thead><tbody>
{body}
</tbody></table>"""
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title><style>{style("summary.css")}</style></head><body>
<h1>{html.escape(title)}</h1>
<ul class="counts">{chips}</ul>
{_problems(rows)}
<p>{len(done)} recording(s), worst first: by status, then fits that did not converge, then the
lowest difference of benefit and harm. Upper bar: <b class="benefit">benefit</b>, the share of the
artifact that was removed; lower bar: <b class="harm">harm</b>, that of the signal away from it.
Names link to reports. To remove other components, use <code>mne_otica review</code> or edit
<code>*_components.tsv</code>, and run again.</p>
{table if done else ""}</body></html>
"""


def _problems(rows: Sequence[Row]) -> str:
    """Return the recordings that failed, or of which there are warnings, and why."""
    told = []
    for row in rows:
        failed = row["status"] == "failed"
        if text := row["message"] if failed else row["warnings"]:
            name = f"<b>{html.escape(row['recording'])}</b>"
            kind = "failed" if failed else "unsure"
            told.append(f'<li class="{kind}">{name} <span>{html.escape(text)}</span></li>')
    return f'<h2>Problems</h2><ul class="problems">{"".join(told)}</ul>' if told else ""


def _medians(rows: Sequence[Row]) -> str:
    """Return the line of medians of benefit and harm of each kind."""
    cells = []
    for kind in kinds():
        removed = [
            one
            for row in rows
            for one in row["kinds"]
            if one["kind"] == kind and one["benefit"] is not None
        ]
        if len(removed) < 2:
            cells.append("<td></td>")
            continue
        harms = [one["harm"] for one in removed if one["harm"] is not None]
        both = median(one["benefit"] for one in removed), median(harms) if harms else None
        cells.append(f"<td>{_bars(*both)} in {len(removed)}</td>")
    told = any(len(cell) > len("<td></td>") for cell in cells)
    return f'<tr class="medians"><td>Median</td><td></td>{"".join(cells)}<td></td></tr>' * told


def _line(row: Row) -> str:
    """Return the line of a recording, with a cell for each kind."""
    name = f"<span>{html.escape(row['recording'])}</span>"
    if row["report"]:
        name = f'<a href="{html.escape(quote(row["report"]))}">{name}</a>'
    status, message = row["status"], html.escape(row["message"])
    by_kind = {one["kind"]: one for one in row["kinds"]}
    cells = "".join(_cell(kind, by_kind.get(kind)) for kind in kinds())
    return (
        f'<tr><td class="name">{name}</td><td class="status {status}" title="{message}">'
        f'{_MARKS[status]} {status}</td>{cells}<td class="soft">{_fit(row)}</td></tr>'
    )


def _cell(kind: str, one: Row | None) -> str:
    """Return what was found and removed of a kind."""
    label = f'data-label="{PLURALS[kind]}"'
    asked = one is not None and one["removed"] is not None
    if asked and one["removed"] != "none":
        told = "removed" if one["benefit"] is None else _bars(one["benefit"], one["harm"])
        also = "" if one["not_removed"] == "none" else f"; {one['not_removed']}: no gain"
        n_events = "" if not one["events"] else f", {one['events']} events"
        return f'<td {label} title="{one["removed"]}{n_events}{also}">{told}</td>'
    told = one and _NOT_REMOVED.get((asked, one["found"]))
    return f'<td {label} class="kept">{told}</td>' if told else f'<td {label} class="no">–</td>'


def _bars(benefit: float, harm: float | None) -> str:
    """Return two bars with their figures."""
    told = f"{100 * benefit:.0f} %" + ("" if harm is None else f" / {100 * harm:.1f} %")
    widths = (min(100.0, max(0.0, 100 * share)) for share in (benefit, harm or 0.0))
    bars = (
        f'<rect class="{name}" y="{top}" width="{width:.1f}" height="5"/>'
        for name, top, width in zip(("benefit", "harm"), (0, 7), widths, strict=True)
    )
    return (
        '<svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">'
        f"{''.join(bars)}</svg>{told}"
    )


def _fit(row: Row) -> str:
    """Return the number of components, and what casts doubt on them."""
    told = [] if row["components"] is None else [f"{row['components']} of rank {row['rank']}"]
    if row["converged"] is False:
        told.append("not converged")
    if row["refits"]:
        told.append(f"back in {row['refits']} refits")
    return ", ".join(told)
