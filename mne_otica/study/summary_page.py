"""The page of a study, worst first: one self-contained HTML file, for desktop and phone."""

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

import mne
import numpy as np
from jinja2 import Environment
from numpy.typing import NDArray

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
        path.name: page(rows, _topographies(out, rows), list(_panels(out, rows))),
    }
    with staged(out, out) as scratch:
        for name, text in texts.items():
            (scratch / name).write_bytes(text.encode())
    return path


def page_file(name: str) -> str:
    """Return a file of the pages; a style sheet comes after the colours of all pages."""
    names = ["colours.css", name] if name.endswith(".css") else [name]
    return "".join(_PAGES.joinpath(one).read_text(encoding="utf-8") for one in names)


def page(rows: Sequence[Row], maps: Sequence[Any] = (), panels: Sequence[Any] = ()) -> str:
    """Return the page, with the rows in the order given."""
    names = {kind: PLURALS[kind] for kind in kinds()}
    template = Environment(autoescape=True).from_string(page_file("summary.html"))
    style = page_file("summary.css")
    facts = dict(rows=rows, maps=maps, panels=panels, names=names)
    return template.render(**facts, marks=MARKS, style=style)


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


def _panels(out: Path, rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Yield the averages at the channel that cleaning changed most, and at the largest after it."""
    sums: dict[str, dict[str, NDArray]] = {}  # by channel and condition: before and after
    numbers, times = Counter(), None
    for path in [out / row["averages"] for row in rows if row["averages"]]:
        evokeds = mne.read_evokeds(path, verbose="error") if path.exists() else []
        for one in zip(evokeds[::2], evokeds[1::2], strict=True):
            times = one[0].times if times is None else times
            condition = one[0].comment.removesuffix(", before")
            for name, *sides in zip(one[0].ch_names, *(side.data for side in one), strict=True):
                # Other recordings may have other sampling rates.
                sides = [1e6 * np.interp(times, one[0].times, side) for side in sides]
                own = sums.setdefault(name, {})
                own[condition] = own.get(condition, 0.0) + np.array(sides)
                numbers[name, condition] += 1

    def size(name: str, before: int) -> float:
        # Of the sum over recordings, so that a channel of few of them does not win by its noise
        return sum(np.std(after - before * other) for other, after in sums[name].values())

    chosen = [max(sums, key=lambda name: size(name, before)) for before in (1, 0) if sums]
    for name in dict.fromkeys(chosen):
        means = {condition: x / numbers[name, condition] for condition, x in sums[name].items()}
        limit = max(np.abs(sides).max() for sides in means.values()) or 1.0
        x = 200 * (times - times[0]) / np.ptp(times)
        for condition, sides in means.items():
            lines = [np.c_[x, 50 - 50 * side / limit].round(1).ravel() for side in sides]
            points = [" ".join(f"{value:g}" for value in line) for line in lines]
            yield dict(zip(("before", "after"), points, strict=True)) | {
                "title": f"{condition}, {name}, mean of {numbers[name, condition]}",
                "limits": f"±{limit:.3g} µV, {times[0]:.1f} to {times[-1]:.1f} s",
                "onset": round(-200 * times[0] / np.ptp(times), 1),
            }
