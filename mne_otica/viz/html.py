"""A result as HTML for notebooks and reports, readable on a phone and in dark mode."""

import base64
import io
from importlib.resources import files
from typing import Any

import matplotlib
import numpy as np
from jinja2 import Environment
from numpy.typing import NDArray
from PIL import Image

from mne_otica.cleaning.overview import glances
from mne_otica.cleaning.result import Cleaned
from mne_otica.viz.colours import SIGNED
from mne_otica.viz.drawing import info_of, sentences
from mne_otica.viz.topomap import small_maps

_WORDS = {"none": "nothing to remove", "poor": "cleaned poorly"}


def page_file(name: str) -> str:
    """Return a template or a style sheet."""
    return files("mne_otica.viz").joinpath(name).read_text(encoding="utf-8")


def _rendered(name: str, **facts: Any) -> str:
    template = Environment(autoescape=True).from_string(page_file(name))
    return template.render(style=page_file("result.css"), **facts)


def head(result: Cleaned) -> str:
    """Return the verdict, with all figures and the candidates folded."""
    likely = sorted(glances(result), key=lambda one: (not one.removed, -one.row.probability))
    n_named = sum(glance.removed or glance.row.answer != "no" for glance in likely)
    shown = [glance for glance in likely if glance.row.reason]
    return _rendered(
        "result.html",
        status=_WORDS.get(result.status, result.status),
        sentences=sentences(result),
        figures=result.summary(),
        candidates=shown[: max(n_named, 10)],  # as many fit on a screen
    )


def components(result: Cleaned) -> str:
    """Return small topographies of all components with the artifact each one holds."""
    maps = small_maps(result.ica.get_components(), info_of(result, result.ica.ch_names))
    cards = [
        (one, "" if maps.images is None else topography(maps.images[one.row.component], one.name))
        for one in glances(result)
    ]
    trusted = result.stability is not None
    return _rendered("components.html", cards=cards, source=maps.source, stability=trusted)


def topography(image: NDArray[np.float64], name: str) -> str:
    """Return values from -1 to 1 on a head, in the colours of MNE's topographies."""
    colours, file = matplotlib.colormaps[SIGNED]((image + 1) / 2, bytes=True), io.BytesIO()
    Image.fromarray(colours[..., :3].copy()).save(file, format="png")
    data = base64.b64encode(file.getvalue()).decode()
    return page_file("topography.svg").strip().format(name=name, data=data)
