"""The kinds of artifacts, and what defines a kind.

Each kind is a module, named after it, with a constant ``KIND``. The kinds are those for which the
data file of the model has coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mne_otica.artifacts.model import Feature, model_data

if TYPE_CHECKING:
    from mne_otica.artifacts.components import Components

Figures = Mapping[str, float]


class Removal(NamedTuple):
    """The part of a component of this kind that is the artifact.

    ``how`` is ``"events"`` or ``"band"`` (mainly above ``l_freq`` hertz); ``advice`` names a
    better remedy, if there is one. ``shape`` is that of the events: transient deflections, nearly
    identical beats, lasting steps of the eyes, whose part is removed at all times, or pops of an
    electrode, of which the whole component is removed.
    """

    how: Literal["events", "band"]
    l_freq: float | None = None
    advice: str = ""
    shape: Literal["bump", "beat", "step", "pop"] = "bump"


@dataclass(frozen=True)
class Kind:
    """A kind of artifact.

    ``label`` returns the label of mne-icalabel for a component with these figures. ``keys``
    are those of ``ica.labels_``. ``gate`` returns why a component cannot be of this kind, or
    an empty string. ``events`` returns the samples of the events in the recording. If none of the
    figures in ``proof`` is known, an answer "yes" needs a higher probability.
    """

    name: str
    keys: tuple[str, ...]
    label: Callable[[Figures], str]
    removal: Removal
    event_id: int
    features: Mapping[str, Feature]
    figures: Callable[[Components, int], dict[str, float]]
    gate: Callable[[Components, int], str]
    events: Callable[[Components, int], NDArray[np.int64]]
    proof: tuple[str, ...] = ()


@cache
def kinds() -> dict[str, Kind]:
    """Return the kinds by name."""
    package = __name__.rpartition(".")[0]
    names = model_data()["kinds"]
    modules = [import_module(f"{package}.{name.replace(' ', '_')}") for name in names]
    return {module.KIND.name: module.KIND for module in modules}
