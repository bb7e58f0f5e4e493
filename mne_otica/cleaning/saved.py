"""What was found in a recording, as plain content for a file, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mne_otica.artifacts import (
    BlinkCandidate,
    BlinkScores,
    BlinkTimes,
    as_events,
    blink_events,
    kinds,
    locate_blinks,
    restored,
)
from mne_otica.cleaning.decide import Decision, Found

if TYPE_CHECKING:
    from mne.io import BaseRaw

    from mne_otica.ica import ICA

_BLINK_FACTS = ("source", "channels", "polarity", "score")


def found_content(found: Found) -> dict[str, Any]:
    """Return what was found, without the events, which `found_again` needs."""
    blinks = {name: getattr(found.blinks, name) for name in _BLINK_FACTS}
    scores = found.scores
    return {
        "status": found.status,
        "verdict": found.verdict,
        "components": found.components,
        "kinds": {
            kind: {"answer": one.answer, "components": one.components, "reason": one.reason}
            for kind, one in found.decisions.items()
        },
        "artifacts": found.artifacts.stored(),
        "blinks": blinks | {"rows": scores.to_dict(), "values": scores.values},
        "judged": [scores.verdict, scores.geometry, scores.strategy],
    }


def found_again(
    content: Mapping[str, Any],
    samples: Mapping[str, list[int]],
    raw: BaseRaw,
    ica: ICA,
    reject: bool,
) -> Found:
    """Return what was found, with the events of one recording by kind."""
    blinks = content["blinks"]
    rows = [
        BlinkCandidate(**{name: np.nan if value is None else value for name, value in row.items()})
        for row in blinks["rows"]
    ]
    verdict, *told = content["judged"]
    scores = BlinkScores(verdict, np.array(blinks["values"], dtype=float), tuple(rows), *told)
    times = BlinkTimes(
        blink_events(np.array(samples.get("blink", []), dtype=np.int64)),
        *(blinks[name] for name in _BLINK_FACTS),
    )
    times = blinks_of_choice(raw, ica, times, content["components"], reject)
    decisions = {}
    for kind, one in content["kinds"].items():
        events = as_events(np.array(samples[kind], dtype=np.int64), kinds()[kind].event_id)
        if kind == "blink":
            events = times.events
        decisions[kind] = Decision(one["answer"], one["components"], events, one["reason"])
    artifacts = restored(content["artifacts"], {})
    return Found(scores, times, artifacts, decisions, content["status"], content["verdict"])


def blinks_of_choice(
    raw: BaseRaw, ica: ICA, blinks: BlinkTimes, components: Sequence[int], reject: bool
) -> BlinkTimes:
    """Return the blinks found, or those of the component that a person chose instead."""
    by_hand = sorted(ica.exclude) != sorted(components)
    if by_hand and blinks.source in ("component", "none"):
        return locate_blinks(raw, ica=ica, reject_by_annotation=reject)
    return blinks
