"""The page of a study, worst first: one self-contained HTML file, for desktop and phone."""

import html
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files as package_files
from pathlib import Path
from string import Template
from urllib.parse import quote

import mne
import numpy as np

from mne_otica.artifacts import kinds
from mne_otica.evaluation.sentences import PLURALS
from mne_otica.study.scratch_and_locks import staged
from mne_otica.study.summary_table import COLUMNS, KIND_COLUMNS, Row, badness, rows_text
from mne_otica.viz.html import topography
from mne_otica.viz.topomap import small_maps

_MARKS = {"failed": "✕", "poor": "!", "unsure": "?", "none": "–", "cleaned": "✓"}
_PAGES = package_files("mne_otica.study").joinpath("review_page")


def write_summary(out: Path, rows: Sequence[Row]) -> Path:
    """Write ``summary.tsv``, ``summary_kinds.tsv`` and ``summary.html``; return the last."""
    rows = sorted(rows, key=badness)
    path, by_kind = out / "summary.html", [row | one for row in rows for one in row["kinds"]]
    texts = {
        "summary.tsv": rows_text(rows, COLUMNS),
        "summary_kinds.tsv": rows_text(by_kind, KIND_COLUMNS),
        path.name: page(rows, _topographies(out, rows)),
    }
    with staged(out, out) as scratch:
        for name, text in texts.items():
            (scratch / name).write_bytes(text.encode())
    return path


def page_file(name: str) -> str:
    """Return a file of the pages; a style sheet comes after the colours of all pages."""
    names = ["colours.css", name] if name.endswith(".css") else [name]
    return "".join(_PAGES.joinpath(one).read_text(encoding="utf-8") for one in names)


def page(rows: Sequence[Row], maps: str = "") -> str:
    """Return the page, with the rows in the order given."""
    counts = Counter(row["status"] for row in rows)
    done = [row for row in rows if row["status"] != "failed"]
    heads = ["Recording", "Status", *(PLURALS[kind].capitalize() for kind in kinds()), "Fit"]
    return Template(page_file("summary.html")).substitute(
        style=page_file("summary.css"),
        counts="".join(
            f'<li class="{status}"><b>{counts[status]}</b>{mark} {status}</li>'
            for status, mark in _MARKS.items()
            if counts[status]
        ),
        problems=_problems(rows),
        n=len(done),
        maps=maps,
        heads="".join(f'<th scope="col">{name}</th>' for name in heads if done),
        lines="\n".join(map(_line, done)),
    )


def _topographies(out: Path, rows: Sequence[Row]) -> str:
    """Return the mean topography of the first component removed, for each kind."""
    images = {}
    for row in rows:
        removed = [one for one in row["kinds"] if one["removed"] not in (None, "none")]
        if not removed or not (out / row["ica"]).exists():
            continue
        ica = mne.preprocessing.read_ica(out / row["ica"], verbose="error")
        first = [int(one["removed"].split()[0].removeprefix("ICA")) for one in removed]
        maps = small_maps(ica.get_components()[:, first], ica.info)
        for one, image in zip(removed, () if maps.images is None else maps.images, strict=False):
            known = images.setdefault(one["kind"], [])
            known.append(-image if known and np.sum(image * known[0]) < 0 else image)
    shown = "".join(
        f"<li>{topography(np.mean(own, axis=0), kind)}{PLURALS[kind]}, mean of {len(own)}</li>"
        for kind, own in images.items()
        if len(own) > 1
    )
    return f'<ul class="counts maps">{shown}</ul>' if shown else ""


def _problems(rows: Sequence[Row]) -> str:
    told = []
    for row in rows:
        failed = row["status"] == "failed"
        if text := row["message"] if failed else row["warnings"]:
            kind, name = "failed" if failed else "unsure", html.escape(row["recording"])
            told.append(f'<li class="{kind}"><b>{name}</b> <span>{html.escape(text)}</span></li>')
    return f'<h2>Problems</h2><ul class="problems">{"".join(told)}</ul>' if told else ""


def _line(row: Row) -> str:
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
    label = f'data-label="{PLURALS[kind]}"'
    asked = one is not None and one["removed"] is not None
    if asked and one["removed"] != "none":
        told = "removed" if one["benefit"] is None else _bars(one["benefit"], one["harm"])
        also = "" if one["not_removed"] == "none" else f"; {one['not_removed']}: no gain"
        n_events = "" if not one["events"] else f", {one['events']} events"
        return f'<td {label} title="{one["removed"]}{n_events}{also}">{told}</td>'
    said = {"yes": "found, no gain" if asked else "found, kept"}
    said["unsure"] = "unsure" if asked else "unsure, kept"
    told = one and said.get(one["found"])
    return f'<td {label} class="kept">{told}</td>' if told else f'<td {label} class="no">–</td>'


def _bars(benefit: float, harm: float | None) -> str:
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
    told = [] if row["components"] is None else [f"{row['components']} of rank {row['rank']}"]
    if row["converged"] is False:
        told.append("not converged")
    if row["stability"] is not None:
        told.append(f"stability {row['stability']:.2f}")
    return ", ".join(told)
