"""From figures to a probability, with the reason in words.

For each kind the log odds are a sum: an intercept, and for each figure a number read off a
curve of straight lines. The curves were fitted to recordings with known truth by
``python -m benchmarks.train``, and are in ``model.json`` with the seeds, the date and how well
they did.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

ACCEPT = 0.7  # the least probability of an answer "yes": a wrong removal costs twice a missed one
_N_REASONS = 2


class Feature(NamedTuple):
    """A figure that speaks for or against a kind.

    ``points`` are what physiology expects before any data are seen: (figure, log odds) pairs
    with straight lines between them, constant outside. Training keeps the direction of each
    line and changes its steepness. ``missing`` is what it counts when the figure is not known.
    ``speaks_for`` and ``against`` say so in words; ``unit`` scales the figure in them.
    """

    points: tuple[tuple[float, float], ...]
    against: str = ""
    speaks_for: str = ""
    unit: float = 1.0
    missing: float = 0.0


@cache
def model_data() -> dict[str, Any]:
    """Return the data of the model."""
    text = files("mne_otica.artifacts").joinpath("model.json").read_text(encoding="utf-8")
    return json.loads(text)


def weigh(kind: str, figures: Mapping[str, float]) -> dict[str, float]:
    """Return what each figure adds to the log odds of a kind, the intercept among them."""
    data = model_data()["kinds"][kind]
    points = {"intercept": data["intercept"]}
    for name, curve in data["features"].items():
        if name in figures:
            points[name] = curve["missing"]
            if np.isfinite(figures[name]):
                points[name] = float(np.interp(figures[name], curve["at"], curve["points"]))
    return points


def probability(points: Mapping[str, float]) -> float:
    """Return the probability that the points add up to."""
    return float(1 / (1 + np.exp(-np.clip(sum(points.values()), -50, 50))))


def answer(probability: float, threshold: float) -> str:
    """Return "yes", "no" or "unsure"."""
    if probability >= threshold:
        return "yes"
    return "unsure" if probability >= min(1 - threshold, threshold) else "no"


def explain(
    kind: str,
    features: Mapping[str, Feature],
    figures: Mapping[str, float],
    points: Mapping[str, float],
    for_it: bool,
) -> str:
    """Return the strongest reasons for or against in words.

    What speaks for a kind is how far a figure is above the worst that its curve has; what
    speaks against it, how far below the best.
    """
    words = {name: one.speaks_for if for_it else one.against for name, one in features.items()}
    weights = {}
    for name in points:
        if words.get(name):
            curve = model_data()["kinds"][kind]["features"][name]["points"]
            weight = points[name] - min(curve) if for_it else max(curve) - points[name]
            if weight > 0:
                weights[name] = weight
    reasons = []
    for name in sorted(weights, key=lambda name: -weights[name])[:_N_REASONS]:
        figure = figures[name] * features[name].unit
        reasons.append(words[name].format(figure) if np.isfinite(figure) else _unknown(name))
    return ("has " if for_it else "") + (" and ".join(reasons) or "weak evidence")


def _unknown(name: str) -> str:
    return f"its {name.replace('_', ' ')} is not known"
