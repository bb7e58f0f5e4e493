"""The kinds of artifacts: what defines a kind, and the probability that a component holds it.

Each kind is a module, named after it, with a constant ``KIND``. ``python -m training.train`` fitted
the functions in ``model.json``, which give the log odds, to recordings with known sources.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from mne_otica.utils.arrays import Samples

if TYPE_CHECKING:
    from mne_otica.artifacts.components import Components

Figures = Mapping[str, float]
# The least probability of an answer "yes": a wrong one counts about twice as much as a missed
# artifact, 0.7 / 0.3. Blinks, for which all components are judged together, are removed from here.
ACCEPT = 0.7
# Kinds without a limit of their own (`Kind.remove`) are removed, without a person looking at them,
# from here: removing brain activity counts nine times as much as leaving an artifact in, 0.9 / 0.1.
REMOVE = 0.9


class Words(NamedTuple):
    """The reasons that a figure gives against and for a kind; ``unit`` scales it in them."""

    against: str
    speaks_for: str = ""
    unit: float = 1.0


class Removal(NamedTuple):
    """The part of a component of this kind that is the artifact."""

    how: Literal["events", "band"]
    l_freq: float | None = None  # the lower end of the band in hertz
    advice: str = ""  # a better remedy, if there is one
    # Of the events: transient deflections, nearly identical beats, lasting steps of the eyes,
    # whose part is removed at all times, or pops, removed with the whole component
    shape: Literal["bump", "beat", "step", "pop"] = "bump"


@dataclass(frozen=True)
class Kind:
    """A kind of artifact."""

    name: str
    keys: tuple[str, ...]  # in ``ica.labels_``
    label: str  # of mne-icalabel
    removal: Removal
    event_id: int
    words: Mapping[str, Words]  # of the figures that can be a reason
    figures: Callable[[Components, int], dict[str, float]]
    gate: Callable[[Components, int], str]  # why a component cannot be of this kind
    events: Callable[[Components, int], Samples]  # samples of the recording
    proof: tuple[str, ...] = ()  # if none of these figures is known, "yes" needs more evidence
    remove: float = REMOVE  # the least probability to be removed


@dataclass(frozen=True, eq=False)
class ArtifactRow:
    """The evidence for one kind of artifact in one component.

    Attributes
    ----------
    component : int
        The index of the component.
    kind : str
        The kind of artifact.
    probability : float
        The probability that the component holds it.
    answer : str
        ``"yes"``, ``"no"``, or ``"unsure"`` if the evidence is not sufficient: below the threshold
        of the finder, or in a cleaning below the probability from which the kind is removed.
    reason : str
        The reason as text.
    figures : dict
        The figures used as evidence, by name; NaN if unknown.
    points : dict
        What each of them adds to the log odds, and the intercept. The probability is
        ``1 / (1 + exp(-sum(points.values())))``.
    events : ndarray, shape (n_events, 3)
        MNE events at the artifacts; empty if the answer is no.
    removal : Removal
        The part of the component that is the artifact: ``removal.how`` is ``"events"`` or
        ``"band"`` (above ``removal.l_freq`` hertz); ``removal.advice`` names a better remedy,
        if there is one.
    remove : bool
        Whether :func:`mne_otica.clean_raw` removes this artifact from the component, if asked to.
    """

    component: int
    kind: str
    probability: float
    answer: str
    reason: str
    figures: Mapping[str, float] = field(default_factory=dict, repr=False)
    points: Mapping[str, float] = field(default_factory=dict, repr=False)
    events: Samples = field(default_factory=lambda: np.zeros((0, 3), int), repr=False)
    remove: bool = False

    @property
    def removal(self) -> Removal:
        """The part of a component of this kind that is the artifact."""
        return kinds()[self.kind].removal


@cache
def kinds() -> dict[str, Kind]:
    """Return the kinds by name."""
    names = [name.replace(" ", "_") for name in model_data()["kinds"]]
    modules = [import_module(f"mne_otica.artifacts.{name}") for name in names]
    return {module.KIND.name: module.KIND for module in modules}


@cache
def model_data() -> dict[str, Any]:
    """Return the data of the model."""
    text = files("mne_otica.artifacts").joinpath("model.json").read_text(encoding="utf-8")
    return json.loads(text)


def weigh(kind: str, figures: Figures) -> dict[str, float]:
    """Return what each figure, and the intercept, adds to the log odds of a kind."""
    data = model_data()["kinds"][kind]
    points = {"intercept": data["intercept"]}
    for name, curve in data["features"].items():
        if name in figures:
            points[name] = curve["missing"]
            if np.isfinite(figures[name]):
                points[name] = float(np.interp(figures[name], curve["at"], curve["points"]))
    return points


def probability(points: Figures) -> float:
    """Return the probability for the sum of the points, Equation (18) of docs/method."""
    return float(1 / (1 + np.exp(-np.clip(sum(points.values()), -50, 50))))


def answer(probability: float, threshold: float) -> str:
    """Return "yes", "no" or "unsure"."""
    if probability >= threshold:
        return "yes"
    return "unsure" if probability >= min(1 - threshold, threshold) else "no"


def explain(kind: Kind, figures: Figures, points: Figures, for_it: bool) -> str:
    """Return the two strongest reasons for or against a kind as text."""
    curves = model_data()["kinds"][kind.name]["features"]
    weights = {}  # how far a figure is above the minimum of its function, or below the maximum
    for name, words in kind.words.items():
        if name in points and words[for_it] and np.isfinite(figures[name]):
            curve = curves[name]["points"]
            weights[name] = points[name] - min(curve) if for_it else max(curve) - points[name]
    strongest = sorted(weights, key=lambda name: -weights[name])[:2]
    reasons = [
        kind.words[name][for_it].format(figures[name] * kind.words[name].unit).replace("%", " %")
        for name in strongest
        if weights[name] > 0
    ]
    return ("has " if for_it else "") + (" and ".join(reasons) or "weak evidence")


def judged(
    components: Components,
    kind: Kind,
    k: int,
    threshold: float | None,  # None is that of a removal
    figures: Figures | None = None,
) -> ArtifactRow:
    """Judge one component for one kind, without its events; None computes its figures."""
    if figures is None:
        why_not = kind.gate(components, k)
        if why_not:
            return ArtifactRow(k, kind.name, 0.0, "no", why_not)
        figures = kind.figures(components, k)
    points = weigh(kind.name, figures)
    chance = probability(points)
    said = answer(chance, ACCEPT if threshold is None else threshold)
    least = kind.remove if threshold is None else 0.0
    if kind.proof and np.isnan([figures[name] for name in kind.proof]).all():
        least = REMOVE
    if said == "yes" and chance < least:
        said = "unsure"
    why = explain(kind, figures, points, said == "yes")
    return ArtifactRow(k, kind.name, chance, said, why, figures, points)
