"""The probability of each kind from the figures, and the reason as text.

The log odds of a kind are the sum of an intercept and a piecewise linear function of each
figure. The functions were fitted to recordings with known sources by
``python -m training.train``, and are stored in ``model.json`` with the seeds, the date and the
results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

# The least probability of an answer "yes": a wrong one counts about twice as much as a missed
# artifact, 0.7 / 0.3. Blinks, for which all components are judged together, are removed from here.
ACCEPT = 0.7
# The other kinds are removed without a person looking at them from here: removing brain activity
# counts nine times as much as leaving an artifact in, 0.9 / 0.1.
REMOVE = 0.9
_N_REASONS = 2


class Feature(NamedTuple):
    """A figure that is evidence for or against a kind.

    ``points`` are what physiology suggests before training: (figure, log odds) pairs, linear in
    between and constant outside. Training keeps the direction of each piece and changes its slope.
    ``missing`` are the log odds of an unknown figure. ``speaks_for`` and ``against`` are the
    reasons as text; ``unit`` scales the figure in them.
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
    """Return what each figure, and the intercept, adds to the log odds of a kind."""
    data = model_data()["kinds"][kind]
    points = {"intercept": data["intercept"]}
    for name, curve in data["features"].items():
        if name in figures:
            points[name] = curve["missing"]
            if np.isfinite(figures[name]):
                points[name] = float(np.interp(figures[name], curve["at"], curve["points"]))
    return points


def probability(points: Mapping[str, float]) -> float:
    """Return the probability for the sum of the points, Equation (18) of docs/method."""
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
    """Return the strongest reasons for or against a kind as text.

    The strength of a reason for a kind is how far a figure is above the minimum of its function,
    that of a reason against it how far it is below the maximum.
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
