"""Cleaning with components that a person chose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mne_otica.artifacts import as_events, blink_times, kinds
from mne_otica.cleaning.blink_tables import BlinkTimes
from mne_otica.cleaning.clean import conclude
from mne_otica.cleaning.decide import Decision, Found
from mne_otica.cleaning.result import Cleaned
from mne_otica.cleaning.taken import Taken, put_back, take_out
from mne_otica.utils.checks import _validate_type

if TYPE_CHECKING:
    from mne.io import BaseRaw

    from mne_otica.ica import ICA

# Verdicts where nothing was measured
_UNMEASURED = {
    False: "nothing removed, as components were chosen by hand",
    True: "removed components, but no whole event was found to check the result by",
}


def conclude_choice(
    cleaned: BaseRaw,
    filtered: BaseRaw,
    ica: ICA,
    found: Found,
    taken: Taken,
    settings: dict[str, Any],
    *,
    brief: bool = False,
) -> Cleaned:
    """Call `conclude`, and note in the verdict if components were chosen by hand."""
    by_hand = sorted(ica.exclude) != sorted(found.components)
    if by_hand:
        found = replace(found, status="ok", verdict=_UNMEASURED[bool(ica.exclude)])
    result = conclude(cleaned, filtered, ica, found, taken, settings, brief=brief)
    if by_hand and result.verdict != found.verdict:
        result = replace(result, verdict=f"{result.verdict} (components chosen by hand)")
    return result


def blinks_of_choice(
    raw: BaseRaw, ica: ICA, blinks: BlinkTimes, components: Sequence[int], reject: bool
) -> BlinkTimes:
    """Return the blinks found, or those of the component that a person chose instead."""
    by_hand = sorted(ica.exclude) != sorted(components)
    if by_hand and blinks.source in ("component", "none"):
        samples, source = blink_times(raw, ica=ica, reject_by_annotation=reject)
        names = source.removeprefix("component ").split(", ")
        events = as_events(samples, kinds()["blink"].event_id)
        return BlinkTimes(events, "component" if len(events) else "none", names)
    return blinks


def check_recording(result: Cleaned) -> None:
    """Raise unless this is the result of a recording: epochs cannot be cleaned again."""
    _validate_type(result, Cleaned, "result", "Cleaned")
    if result.epochs is not None:
        raise ValueError(
            "This result is of epochs, which are not cleaned again; set result.ica.exclude to the "
            "components that you chose, and call mne_otica.remove_artifacts(epochs, result.ica)."
        )


def rechosen(result: Cleaned, components: Sequence[int], *, brief: bool = False) -> Cleaned:
    """Return what a result would be with other components; see `Cleaned.with_components`."""
    _validate_type(components, (list, tuple, range, np.ndarray), "components", "a list of int")
    n_components = result.ica.n_components_
    wrong = [k for k in components if not 0 <= k < n_components]
    if wrong:
        raise ValueError(
            f"components {wrong} do not exist; choose from the {n_components} fitted, 0 to "
            f"{n_components - 1}."
        )
    check_recording(result)
    ica = result.ica.copy()
    ica.exclude = sorted({int(k) for k in components})
    raw = put_back(result.raw.copy(), result.ica, result.removed)
    reject = result.settings["reject_by_annotation"]
    blinks = blinks_of_choice(raw, ica, result.blinks, result.ica.exclude, reject)
    decisions = {
        kind: Decision(
            one.answer,
            one.components,
            blinks.events if kind == "blink" else one.events,
            one.reason,
        )
        for kind, one in result.kinds.items()
    }
    found = Found(result.scores, blinks, result.artifacts, decisions, result.status, result.verdict)
    taken = take_out(raw, ica, decisions, result.settings)
    chosen = conclude_choice(raw, result._filtered, ica, found, taken, result.settings, brief=brief)
    return replace(chosen, stability=result.stability)
