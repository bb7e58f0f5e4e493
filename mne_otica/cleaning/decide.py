"""The artifacts found in a recording, and the components to remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from mne.utils import logger
from numpy.typing import NDArray

from mne_otica.artifacts import ArtifactScores, check_kinds, kinds, search
from mne_otica.cleaning.blink_tables import BlinkScores, BlinkTimes, blinks_of
from mne_otica.signals.recording import annotated_bad, quiet
from mne_otica.signals.windows import HALF_WINDOW, whole_windows, window_bounds
from mne_otica.utils.checks import _validate_type

if TYPE_CHECKING:
    from mne.io import BaseRaw

    from mne_otica.ica import ICA

# The kind with the best evidence; docs/artifacts.md has the numbers for the others and their
# shortcomings. Electrodes should never be added: it is better to mark the channel as bad.
DEFAULT = ("blink",)
_ANSWERS = {"blink": "yes", "none present": "no", "unsure": "unsure"}
PLURALS = {
    "blink": "blinks",
    "eye movement": "eye movements",
    "heartbeat": "heartbeats",
    "muscle": "muscle",
    "electrode": "electrodes",
}


@dataclass(frozen=True)
class Decision:
    """The decision about one kind of artifact: the components to remove, and its events."""

    answer: str
    components: list[int]
    events: NDArray[np.int64]
    reason: str


@dataclass(frozen=True)
class Found:
    """The artifacts found in a recording, and the decisions about them."""

    scores: BlinkScores
    blinks: BlinkTimes
    artifacts: ArtifactScores
    decisions: dict[str, Decision]
    status: str
    verdict: str

    @property
    def components(self) -> list[int]:
        """The components to remove, those of the first kind first."""
        return list(dict.fromkeys(k for one in self.decisions.values() for k in one.components))


def check_artifacts(artifacts: str | Sequence[str]) -> tuple[str, ...]:
    """Return the kinds to remove, in their usual order; raise for unknown ones."""
    _validate_type(artifacts, (str, list, tuple), "artifacts", 'a kind, a list of kinds, or "all"')
    if not artifacts:
        raise ValueError(
            f"artifacts is {artifacts!r}, so there would be nothing to remove; name some of "
            f'{list(kinds())}, or pass "all".'
        )
    every = artifacts == "all" or "all" in artifacts and not isinstance(artifacts, str)
    names = check_kinds(None if every else artifacts, "artifacts")
    return tuple(kind for kind in kinds() if kind in names)


def find(
    raw: BaseRaw, ica: ICA, artifacts: Sequence[str], max_components: int, reject: bool
) -> Found:
    """Find the artifacts, and set ``ica.exclude`` to the components to remove."""
    with quiet():
        scores = search(
            ica,
            raw,
            artifacts=artifacts,
            max_components=max_components,
            reject_by_annotation=reject,
        )
    blink_scores, blinks = blinks_of(scores)
    return judged(raw, ica, scores, blink_scores, blinks, artifacts, reject)


def judged(
    raw: BaseRaw,
    ica: ICA,
    scores: ArtifactScores,
    blink_scores: BlinkScores,
    blinks: BlinkTimes,
    artifacts: Sequence[str],
    reject: bool,
) -> Found:
    """Decide which components to remove, set ``ica.exclude`` to them, and log it."""
    decisions = {}
    for kind in artifacts:
        if kind == "blink":
            decisions[kind] = _blinks(raw, blink_scores, blinks, reject)
        else:
            decisions[kind] = decide(scores, kind)
    answers = [one.answer for one in decisions.values()]
    status = "unsure" if "unsure" in answers else "no-blink"
    if any(one.components for one in decisions.values()):
        status = "ok"
    found = Found(blink_scores, blinks, scores, decisions, status, _verdict(status, decisions))
    ica.exclude = found.components
    logger.info(f"Find: {found.verdict}; {len(blinks.events)} blinks from {blinks.source}.")
    return found


def _blinks(raw: BaseRaw, scores: BlinkScores, blinks: BlinkTimes, reject: bool) -> Decision:
    """Decide about blinks, for which all components are judged together."""
    answer = _ANSWERS[scores.verdict]
    components = [row.component for row in scores.rows if row.decision == "blink"]
    reason = ""
    if scores.rows:
        best = scores.rows[0]
        reason = f"{component_names([best.component])[0]}, {best.reason}"
    if answer == "yes" and not _checkable(raw, blinks, reject):
        # Without times of blinks the result cannot be checked, so nothing is removed.
        answer, components = "unsure", []
        reason = "no whole blink was found to check the result by"
    return Decision(answer, components, blinks.events, reason)


def _checkable(raw: BaseRaw, blinks: BlinkTimes, reject: bool) -> bool:
    """Return whether the benefit can be measured at any of the blinks."""
    bad = annotated_bad(raw) if reject else np.zeros(raw.n_times, bool)
    bounds = window_bounds(-HALF_WINDOW, HALF_WINDOW, raw.info["sfreq"])
    return len(whole_windows(blinks.events[:, 0] - raw.first_samp, bad, bounds).used) > 0


def decide(scores: ArtifactScores, kind: str) -> Decision:
    """Decide about a kind for which each component is judged by itself."""
    rows = [row for row in scores.of(kind) if row.answer != "no"]
    chosen = [row.component for row in rows if row.remove]
    answer = "yes" if chosen else "unsure" if rows else "no"
    reason = f"{component_names([rows[0].component])[0]}, {rows[0].reason}" if rows else ""
    return Decision(answer, chosen, scores.events(kind), reason)


def _verdict(status: str, decisions: dict[str, Decision]) -> str:
    """Return what was found as text, before anything is measured."""
    if status == "ok":
        return "; ".join(
            f"{PLURALS[kind]} in {', '.join(component_names(one.components))}"
            for kind, one in decisions.items()
            if one.components
        )
    if status == "no-blink":
        names = [PLURALS[kind] if len(decisions) > 1 else kind for kind in decisions]
        return f"no {' or '.join(names)} found, nothing removed"
    told = [
        one.reason if kind == "blink" else f"{one.reason} ({kind})"
        for kind, one in decisions.items()
        if one.answer == "unsure"
    ]
    return f"unsure, nothing removed: {'; '.join(told)}"


def component_names(components: Sequence[int]) -> list[str]:
    """Return MNE's names of components: ICA000, ICA001, ..."""
    return [f"ICA{component:03d}" for component in components]
