"""The summary of a study, worst first: a table for programs and a page for people.

The page is one self-contained HTML file, for desktop and phone.
"""

from __future__ import annotations

import csv
import html
import io
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from mne_otica.artifacts import kinds
from mne_otica.study import storage as files
from mne_otica.study.rows import COLUMNS, STATUSES, Row, kind_columns

_MARKS = {"failed": "✕", "poor": "!", "unsure": "?", "none": "–", "cleaned": "✓"}
_STYLE = """
:root { color-scheme: light dark; --line: #d5d9de; --soft: #5b6570; --bar: #3b6ea5; --back: #fff;
  --text: #1d2329; --card: #f6f7f9; --failed: #a4262c; --unsure: #8a5a00; --none: #4a5560;
  --cleaned: #1e6b3a; }
@media (prefers-color-scheme: dark) { :root { --line: #3a424b; --soft: #a3adb8; --bar: #7fb0e6;
  --back: #14181c; --text: #e6e9ec; --card: #1d2329; --failed: #ff8f8f; --unsure: #f0c060;
  --none: #b8c2cc; --cleaned: #7fd69d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 90rem; background: var(--back);
  color: var(--text); font: 14px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
p { margin: 0 0 1rem; color: var(--soft); }
.counts, .charts { display: flex; flex-wrap: wrap; gap: .75rem; margin: 0 0 1.25rem; padding: 0;
  list-style: none; }
.counts li, figure { border: 1px solid var(--line); border-radius: 6px; background: var(--card); }
.counts li { padding: .4rem .9rem; }
.counts b { font-size: 1.25rem; margin-right: .35rem; }
figure { margin: 0; padding: .75rem 1rem; flex: 1 1 18rem; max-width: 30rem; }
figcaption { font-weight: 600; margin-bottom: .4rem; }
svg { width: 100%; height: auto; display: block; }
svg rect { fill: var(--bar); }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; text-anchor: middle; }
svg line { stroke: var(--line); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .5rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { position: sticky; top: 0; background: var(--back); vertical-align: bottom; }
td.number, th.number { text-align: right; }
td.number { white-space: nowrap; }
td.name, td.message { overflow-wrap: anywhere; }
td.name { min-width: 8rem; }
td.message { min-width: 16rem; }
td.list { min-width: 6rem; }
td.list span { white-space: nowrap; }
details { color: var(--soft); font-size: 12px; }
a { color: inherit; text-decoration-color: var(--bar); text-underline-offset: 2px; }
.status { font-weight: 600; white-space: nowrap; }
.failed { color: var(--failed); } .unsure { color: var(--unsure); }
.none { color: var(--none); } .cleaned { color: var(--cleaned); }
@media (max-width: 64rem) {
  body { padding: 1rem; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table, tbody, tr, td { display: block; }
  tr { display: flex; flex-wrap: wrap; column-gap: 1rem; border: 1px solid var(--line);
    border-radius: 6px; background: var(--card); margin-bottom: .75rem; padding: .5rem .75rem; }
  td, td.number { border: 0; padding: .1rem 0; text-align: left; }
  td.empty { display: none; }
  td.name, td.message { flex-basis: 100%; min-width: 0; }
  td.name { font-weight: 600; }
  td.list { min-width: 0; }
  td.number::before, td.list::before { content: attr(data-label) " "; color: var(--soft); }
}
"""


def worst_first(rows: Sequence[Row]) -> list[Row]:
    """Return the rows in the order in which a person should look at them."""
    return sorted(rows, key=_badness)


def _badness(row: Row) -> tuple[int, bool, float]:
    benefit = 0.0 if row["benefit"] is None else row["benefit"]
    harm = 0.0 if row["harm"] is None else row["harm"]
    # Fits that did not converge and large harm come before small benefit.
    return STATUSES.index(row["status"]), row["converged"] is not False, benefit - harm


def write_summary(out: Path, rows: Sequence[Row]) -> Path:
    """Write ``summary.tsv`` and ``summary.html``; return the latter."""
    rows = worst_first(rows)
    path = out / "summary.html"
    with files.staged(out, out) as scratch:
        (scratch / "summary.tsv").write_text(_table(rows), encoding="utf-8", newline="\n")
        (scratch / path.name).write_text(page(rows), encoding="utf-8", newline="\n")
    return path


def _table(rows: Sequence[Row]) -> str:
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_plain_cell(row[name]) for name in COLUMNS])
    return file.getvalue()


def _plain_cell(value: Any) -> str:
    if value is None:
        return "n/a"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split()) or "n/a"


def page(rows: Sequence[Row], title: str = "Artifacts removed") -> str:
    """Return the page, with the rows in the order given."""
    counts = Counter(row["status"] for row in rows)
    chips = "".join(
        f'<li class="{status}"><b>{counts[status]}</b>{_MARKS[status]} {status}</li>'
        for status in STATUSES
        if counts[status]
    )
    head = "".join(
        f'<th scope="col"{_class(kind)}>{name}</th>' for name, _, kind in _COLUMNS.values()
    )
    body = "\n".join(_row(row) for row in rows)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>
<h1>{html.escape(title)}</h1>
<p>{len(rows)} recording(s), worst first. Names link to reports. To remove other components, use
<code>mne_otica review</code> or edit <code>*_components.tsv</code>, and run again.</p>
<ul class="counts">{chips}</ul>
<div class="charts">{_charts(rows)}</div>
<table><thead><tr>{head}</tr></thead><tbody>
{body}
</tbody></table></body></html>
"""


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _seconds(value: float) -> str:
    return f"{int(value) // 60}:{int(value) % 60:02d}" if value >= 60 else f"{value:.0f} s"


_COLUMNS: dict[str, tuple[str, Callable[[Any], str] | None, str]] = {
    "recording": ("Recording", None, "name"),
    "status": ("Status", None, "status"),
    "message": ("What happened", None, "message"),
    "duration": ("Length", _seconds, "number"),
    "components": ("Fitted / rank", str, "number"),
    "removed": ("Removed", str, "list"),
    "blinks": ("Blinks", str, "number"),
    "benefit": ("Average artifact removed", _percent, "number"),
    "harm": ("Taken out away from it", _percent, "number"),
    "kinds": ("Benefit / harm, by kind", str, "list"),
    "converged": ("Converged", lambda value: "yes" if value else "no", "number"),
    "seconds": ("Took", lambda value: f"{value:.1f} s", "number"),
}


def _class(kind: str) -> str:
    return f' class="{kind}"'


def _row(row: Row) -> str:
    names = list(_COLUMNS)
    if row["status"] == "failed":  # there are no results, only the reason
        names = names[:3]
    return "<tr>" + "".join(_cell(row, name) for name in names) + "</tr>"


def _cell(row: Row, name: str) -> str:
    label, show, kind = _COLUMNS[name]
    value = _by_kind(row) if name == "kinds" else row[name]
    if name == "status":
        return f'<td class="status {value}">{_MARKS[value]} {value}</td>'
    if name == "recording":
        text = html.escape(value)
        if row["report"]:
            text = f'<a href="{html.escape(quote(row["report"]))}">{text}</a>'
        return f'<td class="name">{text}</td>'
    if name == "message":
        told = html.escape(row["warnings"] or "")
        told = told and f"<details><summary>Warnings</summary>{told}</details>"
        width = len(_COLUMNS) - 2 if row["status"] == "failed" else 1
        return f'<td class="message" colspan="{width}">{html.escape(value)}{told}</td>'
    if value is None or value == "":
        return f'<td class="{kind} empty"></td>'
    text = f"{value} / {row['rank']}" if name == "components" else show(value)
    if name == "removed" and row["refits"]:
        text += f", came back in {'at least ' * (' ' in value)}{row['refits']} refits"
    text = html.escape(text)
    if name == "kinds":
        text = ", ".join(f"<span>{one}</span>" for one in text.split(", "))
    return f'<td class="{kind}" data-label="{label}">{text}</td>'


def _by_kind(row: Row) -> str:
    """Return benefit and harm of each kind, as short text."""
    told = []
    for kind in kinds():
        at = kind_columns(kind)
        if row[at["benefit"]] is not None:
            cost = "" if row[at["harm"]] is None else f" / {_percent(row[at['harm']])}"
            told.append(f"{kind} {_percent(row[at['benefit']])}{cost}")
        elif row[at["found"]] == "unsure":
            told.append(f"{kind} unsure")
    return ", ".join(told)


def _charts(rows: Sequence[Row]) -> str:
    benefit = [100 * row["benefit"] for row in rows if row["benefit"] is not None]
    harm = [100 * row["harm"] for row in rows if row["harm"] is not None]
    return _histogram(
        benefit, np.arange(0, 101, 10), "Average artifact removed (%)", "recordings"
    ) + _histogram(harm, np.arange(0, 51, 5), "Taken out away from it (%)", "recordings")


def _histogram(values: list[float], edges: np.ndarray, caption: str, unit: str) -> str:
    """Return a histogram as a figure; values beyond the edges count in the outer bins."""
    if not values:
        return ""
    counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
    width, height, bottom = 300, 110, 18
    step, most = width / len(counts), max(counts.max(), 1)
    parts = [f'<line x1="0" x2="{width}" y1="{height - bottom}" y2="{height - bottom}"/>']
    for k, count in enumerate(counts):
        tall = (height - bottom - 16) * count / most
        left, top = k * step, height - bottom - tall
        middle = left + step / 2
        if count:
            parts.append(
                f'<rect x="{left + 2:.1f}" y="{top:.1f}" width="{step - 4:.1f}" '
                f'height="{tall:.1f}"/><text x="{middle:.1f}" y="{top - 4:.1f}">{count}</text>'
            )
        last = k == len(counts) - 1
        label = f"{edges[k]:g}+" if last and edges[-1] < 100 else f"{edges[k]:g}"
        parts.append(f'<text x="{middle:.1f}" y="{height - 4}">{label}</text>')
    spoken = ", ".join(f"{edges[k]:g} to {edges[k + 1]:g}: {n}" for k, n in enumerate(counts) if n)
    return (
        f"<figure><figcaption>{caption}</figcaption>"
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{caption}; {unit} in each '
        f'bin: {spoken}">{"".join(parts)}</svg></figure>'
    )
