"""The page of a study, worst first: one self-contained HTML file, for desktop and phone."""

from collections.abc import Sequence
from importlib.resources import files as package_files
from pathlib import Path

import mne
import numpy as np
from jinja2 import Environment

from mne_otica.artifacts import kinds
from mne_otica.evaluation.sentences import PLURALS
from mne_otica.study.scratch_and_locks import staged
from mne_otica.study.summary_table import COLUMNS, KIND_COLUMNS, MARKS, Row, badness, rows_text
from mne_otica.viz.html import topography
from mne_otica.viz.topomap import small_maps

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


def page(rows: Sequence[Row], maps: Sequence[tuple[str, str, int]] = ()) -> str:
    """Return the page, with the rows in the order given."""
    names = {kind: PLURALS[kind] for kind in kinds()}
    template = Environment(autoescape=True).from_string(page_file("summary.html"))
    style = page_file("summary.css")
    return template.render(rows=rows, maps=maps, marks=MARKS, names=names, style=style)


def _topographies(out: Path, rows: Sequence[Row]) -> list[tuple[str, str, int]]:
    """Return each kind with the mean topography of the first component removed, and the number."""
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
    return [
        (kind, topography(np.mean(own, axis=0), kind), len(own))
        for kind, own in images.items()
        if len(own) > 1
    ]
