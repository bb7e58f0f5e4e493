"""The result in words: one sentence for each kind, all of one form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mne_otica.evaluation.measures import LEAST_REMOVED, OVER_CLEANED, KindResult

PLURALS = {
    "blink": "blinks",
    "eye movement": "eye movements",
    "heartbeat": "heartbeats",
    "muscle": "muscle",
    "electrode": "electrodes",
}
LONGEST = 200  # characters of a sentence
_COMPONENT = re.compile(r"ICA(\d+)")
_NAMED = 4  # components named in a sentence


def component_names(components: Sequence[int]) -> list[str]:
    """Return MNE's names of components: ICA000, ICA001, ..."""
    return [f"ICA{component:03d}" for component in components]


def kind_line(result: KindResult, elsewhere: Mapping[int, str] | None = None) -> str:
    """Return the sentence about one kind; empty if it was not found.

    ``elsewhere`` are the kinds that were removed from components.
    """
    name = PLURALS[result.kind]
    if not result.components:
        if result.not_removed:
            kept = _kept(result.not_removed, elsewhere or {})
            return f"{name}: found in {_names(result.not_removed)}, {kept}: {result.why}"
        if result.answer == "unsure":
            kept = _kept([int(k) for k in _COMPONENT.findall(result.reason)[:1]], elsewhere or {})
            return _short(f"{name}: unsure, {kept}: {result.reason}", "; check it by eye")
        return ""
    if result.gone is None:
        return f"{name}: removed {_source(result)}; no whole event to measure it by"
    share = _percent(result.gone, 0)
    if result.l_freq is not None:
        line = f"{name}: {share} above {result.l_freq:g} Hz removed {_source(result)}"
    else:
        line = f"{name}: {share} removed {_source(result)}"
    return line + _elsewhere(result) + _advice(result)


def _kept(components: Sequence[int], elsewhere: Mapping[int, str]) -> str:
    """Return that a kind was not removed, but what was, so that sentences do not contradict."""
    others = [elsewhere[k] for k in components if k in elsewhere]
    return f"only its {PLURALS[others[0]]} removed" if others else "not removed"


def _percent(share: float, digits: int) -> str:
    """Return a share as text; more than all of a signal is no share of it."""
    return "over 100 %" if share > 1 else f"{100 * max(share, 0.0):.{digits}f} %"


def _elsewhere(result: KindResult) -> str:
    cost = result.cost
    if cost is None or cost != cost:
        return "; events too frequent to measure elsewhere" if result.l_freq is None else ""
    return f"; {_percent(cost, 1)} " + ("elsewhere" if result.l_freq is None else "of the signal")


def _advice(result: KindResult) -> str:
    """Return which limit a poor result fails, and what to try."""
    if not result.poor:
        return ""
    if result.cost is not None and result.cost > OVER_CLEANED:
        if result.how == "component":
            return "; poor: much else removed, try fewer artifacts or more channels"
        return "; poor: much else removed, check the components"
    return f"; poor: less than {LEAST_REMOVED:.0%} removed, check the components".replace("%", " %")


def _source(result: KindResult) -> str:
    """Return events and components, in brackets."""
    n_events = len(result.events)
    told = [] if result.l_freq is not None else [f"{n_events} event{'s' * (n_events != 1)}"]
    whole = "all of " if result.how == "component" else ""
    told.append(whole + _names(result.components))
    lost = 0 if result.harm is None else result.harm.rank_before - result.harm.rank_after
    if lost > 0:
        told.append(f"rank lower by {lost}")
    return f"({', '.join(told)})"


def hand_line(components: Sequence[int], share: float) -> str:
    """Return the sentence about whole components that a person chose."""
    return f"chosen by hand: {_names(components)}; {_percent(share, 1)} of the signal removed"


def evoked_line(facts: Mapping[str, Any]) -> str:
    """Return the sentence about the responses that the ICA was fitted without."""
    told = [
        f"{name} ({clean} of {facts['trials'][name]} trials without blinks)"
        for name, clean in facts["clean_trials"].items()
        if name not in facts["left_out"]
    ]
    line = (
        f"fitted without the evoked responses of {' and '.join(told)}" if told else "fitted as is"
    )
    if facts["left_out"]:
        line += f"; too few trials without blinks: {', '.join(facts['left_out'])}"
    return _short(line, "")


def none_line(kinds: Iterable[str]) -> str:
    """Return the sentence if nothing was found."""
    *most, last = [PLURALS[kind] for kind in kinds]
    return f"no {', '.join(most)}{' or ' if most else ''}{last} found, nothing removed"


def listed(names: Sequence[str]) -> str:
    """Return the first names, and the number of the others."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _names(components: Sequence[int]) -> str:
    return listed(component_names(components))


def _short(line: str, advice: str) -> str:
    """Return a sentence with its advice, without the last clauses if it is too long."""
    while len(line) + len(advice) > LONGEST and " and " in line:
        line = line.rpartition(" and ")[0]
    room = LONGEST - len(advice)
    return (line if len(line) <= room else line[: room - 1].rsplit(" ", 1)[0] + "…") + advice
