"""What was found in a recording, as plain content for a file, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mne_otica.artifacts import ArtifactScores, as_events, blink_times, kinds, restored
from mne_otica.cleaning.decide import Decision, Found

if TYPE_CHECKING:
    from mne.io import BaseRaw

    from mne_otica.ica import ICA


def found_content(found: Found) -> dict[str, Any]:
    """Return what was found, without the events, which `found_again` needs."""
    return {
        "status": found.status,
        "verdict": found.verdict,
        "components": found.components,
        "kinds": {
            kind: {
                "answer": decision.answer,
                "components": decision.components,
                "reason": decision.reason,
                "not_removed": decision.not_removed,
            }
            for kind, decision in found.decisions.items()
        },
        "artifacts": found.artifacts.stored(),
    }


def found_again(
    content: Mapping[str, Any],
    samples: Mapping[str, list[int]],
    raw: BaseRaw,
    ica: ICA,
    reject: bool,
) -> Found:
    """Return what was found, with the events of one recording by kind."""
    times = {
        kind: as_events(np.array(at, dtype=np.int64), kinds()[kind].event_id)
        for kind, at in samples.items()
    }
    artifacts = restored(content["artifacts"], {})
    artifacts = artifacts.with_times(times, artifacts.sources)
    decisions = {}
    for kind, saved in content["kinds"].items():
        events = times[kind]
        if kind == "blink":
            events = blinks_of_choice(raw, ica, artifacts, content["components"], reject)
        decisions[kind] = Decision(**saved, events=events)
    return Found(artifacts, decisions, content["status"], content["verdict"])


def blinks_of_choice(
    raw: BaseRaw, ica: ICA, artifacts: ArtifactScores, components: list[int], reject: bool
) -> NDArray[np.int64]:
    """Return the blinks found, or those of the component that a person chose instead."""
    by_hand = sorted(ica.exclude) != sorted(components)
    if by_hand and artifacts.sources["blink"].startswith(("component", "none")):
        samples, _ = blink_times(raw, ica=ica, reject_by_annotation=reject)
        return as_events(samples, kinds()["blink"].event_id)
    return artifacts.events("blink")
