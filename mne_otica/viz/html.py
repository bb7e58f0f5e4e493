"""A result as HTML for notebooks and reports, readable on a phone and in dark mode."""

import base64
import io
from html import escape
from importlib.resources import files

import matplotlib
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mne_otica.cleaning.overview import Glance, glances
from mne_otica.cleaning.result import Cleaned
from mne_otica.viz.colours import SIGNED
from mne_otica.viz.drawing import info_of, sentences
from mne_otica.viz.topomap import STANDARD, SmallMaps, small_maps

_WORDS = {"none": "nothing to remove", "poor": "cleaned poorly"}


def page_style(name: str) -> str:
    """Return a style sheet."""
    return files("mne_otica.viz").joinpath(name).read_text(encoding="utf-8")


def head(result: Cleaned) -> str:
    """Return the verdict, with all figures and the candidates folded."""
    status = escape(_WORDS.get(result.status, result.status))
    text = "<br>".join(escape(text) for text in sentences(result))
    verdict = f"<p class='verdict'><span class='status'>{status}</span>{text}</p>"
    cells = [(escape(name), escape(value)) for name, value in result.summary()]
    rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in cells)
    return _box(
        verdict,
        _folded("All figures", f"<table>{rows}</table>"),
        _folded("Candidates", _candidates(result)),
    )


def components(result: Cleaned) -> str:
    """Return small topographies of all components with the artifact each one holds."""
    maps = small_maps(result.ica.get_components(), info_of(result, result.ica.ch_names))
    cards = "".join(_card(glance, maps) for glance in glances(result))
    text = "The most probable artifact of each component, and its probability."
    if result.stability is not None:
        text += " Stability is from 0 to 1; stable does not mean brain."
    text += " Components that were removed have a frame."
    if maps.source == "standard":
        text += f" Topographies {STANDARD}, from channel names."
    elif maps.source == "none":
        text += " There are no topographies, as positions are unknown."
    return _box(f"<p class='soft'>{text}</p><div class='maps'>{cards}</div>")


def _box(*content: str) -> str:
    style = page_style("result.css")
    return f"<div class='otica'><style>{style}</style>{''.join(content)}</div>"


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary>{content}</details>"


def _candidates(result: Cleaned) -> str:
    """Return the most probable components first, as a table that is cards on narrow pages."""
    likely = sorted(glances(result), key=lambda one: (not one.removed, -one.row.probability))
    n_named = sum(glance.removed or glance.row.answer != "no" for glance in likely)
    rows, shown = [], [glance for glance in likely if glance.row.reason]
    for glance in shown[: max(n_named, 10)]:  # as many fit on a screen
        row = {
            "Component": glance.name,
            "Kind": glance.row.kind,
            "Probability": glance.chance,
            "Answer": glance.row.answer,
            "Decision": "removed" if glance.removed else "kept",
        }
        if glance.stability:
            row["Stability"] = glance.stability
        rows.append(row | {"Why": glance.row.reason})
    if not rows:
        return "<p>No candidates.</p>"
    heading = "".join(f"<th>{name}</th>" for name in rows[0])
    cells = ("".join(_cell(name, value) for name, value in row.items()) for row in rows)
    body = "".join(f"<tr>{some}</tr>" for some in cells)
    return f"<table class='stack'><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>"


def _cell(name: str, value: str) -> str:
    if name == "Why":
        return f"<td>{_folded('why', escape(value))}</td>"
    text = f"<b class='bad'>{value}</b>" if value == "removed" else escape(value)
    return f"<td data-label='{escape(name)}'>{text}</td>"


def _card(glance: Glance, maps: SmallMaps) -> str:
    k = glance.row.component
    picture = "" if maps.images is None else topography(maps.images[k], glance.name)
    lines = [f"<b>{glance.name}</b>", escape(glance.text)]
    if glance.stability:
        lines.append(f"stability {glance.stability}")
    if glance.removed:
        lines.append("<i>removed</i>")
    name = " class='removed'" if glance.removed else ""
    return f"<div{name}>{picture}{'<br>'.join(lines)}</div>"


def topography(image: NDArray[np.float64], name: str) -> str:
    """Return values from -1 to 1 on a head, in the colours of MNE's topographies."""
    colours, file = matplotlib.colormaps[SIGNED]((image + 1) / 2, bytes=True), io.BytesIO()
    Image.fromarray(colours[..., :3].copy()).save(file, format="png")
    data = base64.b64encode(file.getvalue()).decode()
    return (
        f"<svg viewBox='-1.1 -1.2 2.2 2.3' role='img' aria-label='Topography of {name}'>"
        f"<image href='data:image/png;base64,{data}' x='-1' y='-1' width='2' height='2' "
        "style='clip-path: circle(50%)'/>"
        "<path d='M-.12 -.993 L0 -1.13 L.12 -.993' fill='none' stroke='currentColor' "
        "stroke-width='.03'/><circle r='1' fill='none' stroke='currentColor' "
        "stroke-width='.03'/></svg>"
    )
