"""Cleaning with components that a person chose, and what was found as content for a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from mne.io import BaseRaw
from numpy.typing import NDArray

from mne_otica.artifacts import ArtifactScores, as_events, blink_times, check_kinds, restored
from mne_otica.artifacts import kinds as all_kinds
from mne_otica.artifacts.find import component_events
from mne_otica.cleaning.conclude import conclude
from mne_otica.cleaning.found import Decision, Found
from mne_otica.cleaning.result import Cleaned
from mne_otica.evaluation.methods_section import mark_cleaned
from mne_otica.ica import ICA
from mne_otica.removal.remove import put_back, take_out
from mne_otica.utils.checks import _validate_type

_SAVED = ("answer", "components", "reason", "not_removed")


def rechosen(result: Cleaned, components: Sequence[int], kind: str | None = None) -> Cleaned:
    """Return what a result would be with other components; see `Cleaned.with_components`."""
    _validate_type(components, (list, tuple, range, np.ndarray), "components", "a list of int")
    _validate_type(kind, (str, None), "kind", "a kind or None")
    n_components = result.ica.n_components_
    wrong = [k for k in components if not 0 <= k < n_components]
    if wrong:
        raise ValueError(
            f"components {wrong} do not exist; choose from the {n_components} fitted, 0 to "
            f"{n_components - 1}."
        )
    if result.epochs is not None:
        raise ValueError(
            "This result is of epochs, which are not cleaned again; set result.ica.exclude to the "
            "components that you chose, and call mne_otica.remove_artifacts(epochs, result.ica)."
        )
    ica = result.ica.copy()
    ica.exclude = sorted({int(k) for k in components})
    raw = put_back(result.raw.copy().load_data(verbose="error"), result.ica, result.removed)
    reject = result.settings["reject_by_annotation"]
    blinks = blinks_of_choice(raw, ica, result.artifacts, result.ica.exclude, reject)
    decisions = {}
    for name, one in result.kinds.items():
        events = blinks if name == "blink" and not one.components else one.events
        kept = events[events[:, 1] == 0]
        decisions[name] = Decision(one.answer, one.components, kept, one.reason, one.not_removed)
    if kind is not None:
        kind = check_kinds(kind, "kind")[0]
        add_choice(decisions, kind, ica.exclude, raw, ica, reject)
    found = Found(result.artifacts, decisions)
    taken = take_out(raw, ica, decisions, result.settings)
    mark_cleaned(raw.info, taken)
    options = dict(suspects=result.suspects)
    chosen = conclude(raw, result._filtered, ica, found, taken, result.settings, **options)
    return replace(chosen, stability=result.stability)


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
    decisions[kind] = replace(
        old, answer="yes", components=[*old.components, *chosen], events=events
    )


def found_content(found: Found) -> dict[str, Any]:
    """Return what was found, without the events, which `found_again` needs."""
    return {
        "status": found.status,
        "verdict": found.verdict,
        "components": found.components,
        "kinds": {
            kind: {name: getattr(one, name) for name in _SAVED}
            for kind, one in found.decisions.items()
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
        kind: as_events(np.array(at, dtype=np.int64), all_kinds()[kind].event_id)
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
