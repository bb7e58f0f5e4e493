"""What was found in a recording, and what is to be removed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mne_otica.artifacts import ArtifactScores
from mne_otica.evaluation.sentences import PLURALS, component_names, none_line
from mne_otica.removal.remove import Taken


@dataclass(frozen=True)
class Decision:
    """The decision about one kind of artifact: the components to remove, and its events."""

    answer: str
    components: list[int]
    events: NDArray[np.int64]
    reason: str
    not_removed: list[int] = field(default_factory=list)
    given: NDArray[np.int64] | None = None  # the events before removal, if it found others


@dataclass(frozen=True)
class Found:
    """The artifacts found in a recording, and the decisions about them.

    ``taken`` is what is to be removed. Of each kind, ``in_band`` is the same in the band of the
    fit, and ``shams`` what would be removed for sham events.
    """

    artifacts: ArtifactScores
    decisions: dict[str, Decision]
    taken: Taken | None = None
    in_band: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    shams: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def components(self) -> list[int]:
        """The components to remove, those of the first kind first."""
        return list(dict.fromkeys(k for one in self.decisions.values() for k in one.components))

    @property
    def status(self) -> str:
        """The status before anything is removed."""
        unsure = any(one.answer == "unsure" for one in self.decisions.values())
        return "cleaned" if self.components else "unsure" if unsure else "none"

    @property
    def verdict(self) -> str:
        """What was found as text, before anything is removed."""
        lines = [
            f"{PLURALS[kind]} in {', '.join(component_names(one.components))}"
            if one.components
            else f"{PLURALS[kind]}: unsure, {one.reason}"
            for kind, one in self.decisions.items()
            if one.components or (one.answer, self.status) == ("unsure", "unsure")
        ]
        return "; ".join(lines) or none_line(self.decisions)
