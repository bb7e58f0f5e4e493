"""What was found in a recording and what is to be removed; with a person's choice, and as JSON."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from mne.io import BaseRaw
from mne.preprocessing import ICA
from numpy.typing import NDArray

from mne_otica.artifacts.find import blink_times, component_events
from mne_otica.artifacts.kinds import kinds as all_kinds
from mne_otica.artifacts.scores import ArtifactScores, as_events, restored, stored
from mne_otica.evaluation.sentences import PLURALS, component_names, none_line

if TYPE_CHECKING:
    from mne_otica.removal.remove import Taken

_SAVED = ("answer", "components", "reason", "not_removed", "why")


@dataclass(frozen=True)
class Decision:
    """The decision about one kind of artifact: the components to remove, and its events."""

    answer: str
    components: list[int]
    events: NDArray[np.int64]
    reason: str
    not_removed: list[int] = field(default_factory=list)
    why: str = ""  # they were not removed
    given: NDArray[np.int64] | None = None  # the events before removal, if it found others

    @property
    def known(self) -> NDArray[np.int64]:
        """The events before removal."""
        return self.events if self.given is None else self.given


@dataclass(frozen=True)
class Found:
    """The artifacts found in a recording, the decisions about them, and what is to be removed."""

    artifacts: ArtifactScores
    decisions: dict[str, Decision]
    taken: "Taken | None" = None
    # What is removed of each kind, and would be for sham events, in the band of the fit
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
        lines = []
        for kind, one in self.decisions.items():
            if one.components:
                lines.append(f"{PLURALS[kind]} in {', '.join(component_names(one.components))}")
            elif (one.answer, self.status) == ("unsure", "unsure"):
                lines.append(f"{PLURALS[kind]}: unsure, {one.reason}")
        return "; ".join(lines) or none_line(self.decisions)


def add_choice(
    decisions: dict[str, Decision],
    kind: str,
    components: list[int],
    raw: BaseRaw,
    ica: ICA,
    reject: bool,
) -> None:
    """Add those of the components that have no kind to one, with the events that they show."""
    known = {k for one in decisions.values() for k in one.components}
    chosen = [k for k in components if k not in known]
    old = decisions.get(kind, Decision("no", [], as_events(np.zeros(0, np.int64), 1), ""))
    events = old.events
    if not len(events) and chosen:
        samples = component_events(ica, raw, chosen, kind, reject) + raw.first_samp
        events = as_events(samples, all_kinds()[kind].event_id)
    both = [*old.components, *chosen]
    decisions[kind] = replace(old, answer="yes", components=both, events=events)


def found_content(found: Found) -> dict[str, Any]:
    """Return what was found, without the events, which `found_again` needs."""
    told = {name: getattr(found, name) for name in ("status", "verdict", "components")}
    kinds = {k: {name: getattr(one, name) for name in _SAVED} for k, one in found.decisions.items()}
    return told | {"kinds": kinds, "artifacts": stored(found.artifacts)}


def found_again(
    content: dict[str, Any], samples: dict[str, list[int]], raw: BaseRaw, ica: ICA, reject: bool
) -> Found:
    """Return what was found, with the events of one recording by kind."""
    times = {
        kind: as_events(np.array(at, dtype=np.int64), all_kinds()[kind].event_id)
        for kind, at in samples.items()
    }
    artifacts = restored(content["artifacts"], times)
    decisions = {}
    for kind, saved in content["kinds"].items():
        events = times[kind]
        if kind == "blink":
            events = blinks_of_choice(raw, ica, artifacts, content["components"], reject)
        decisions[kind] = Decision(**saved, events=events)
    return Found(artifacts, decisions)


def blinks_of_choice(
    raw: BaseRaw, ica: ICA, artifacts: ArtifactScores, components: list[int], reject: bool
) -> NDArray[np.int64]:
    """Return the blinks found, or those of the component that a person chose instead."""
    by_hand = sorted(ica.exclude) != sorted(components)
    if by_hand and artifacts.sources["blink"].startswith(("component", "none")):
        samples, _ = blink_times(raw, ica=ica, reject_by_annotation=reject)
        return as_events(samples, all_kinds()["blink"].event_id)
    return artifacts.events("blink")
