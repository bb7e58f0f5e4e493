"""The verdict: one sentence for each kind of artifact, all of one form."""

import re
from collections.abc import Iterable, Mapping, Sequence
from textwrap import shorten
from typing import Any

from mne_otica.evaluation.measures import LEAST_REMOVED, OVER_CLEANED, KindResult

PLURALS = {
    "blink": "blinks",
    "eye movement": "eye movements",
    "heartbeat": "heartbeats",
    "muscle": "muscle",
    "electrode": "electrodes",
}
BY_HAND = "Components chosen by hand"
NOTHING = "nothing removed: no component chosen by hand"
LONGEST = 200  # characters of a sentence
_COMPONENT = re.compile(r"ICA(\d+)")


def verdict_of(
    results: Mapping[str, KindResult],
    whole_by_hand: tuple[Sequence[int], float] | None,
    chosen_by_hand: bool,
    evoked_free: Mapping[str, Any] | None,
    conditions: Sequence[str],
    suspects: Mapping[str, str],
) -> str:
    """Return the sentences about a recording; ``whole_by_hand`` are entire components."""
    removed = {k: kind for kind, one in results.items() for k in one.components}
    lines = [line for one in results.values() if (line := kind_line(one, removed))]
    if whole_by_hand is not None:
        lines.append(hand_line(*whole_by_hand))
    elif chosen_by_hand:
        lines = [*lines, BY_HAND] if removed else [NOTHING]
    lines = lines or [none_line(results)]
    if evoked_free:
        lines += [evoked_line(evoked_free), *conditions]
    if suspects:
        lines.append(suspects_line(suspects))
    return ". ".join(shorten(line, LONGEST, placeholder="…") for line in lines)


def component_names(components: Sequence[int]) -> list[str]:
    """Return MNE's names of components: ICA000, ICA001, ..."""
    return [f"ICA{component:03d}" for component in components]


def kind_line(result: KindResult, elsewhere: Mapping[int, str] | None = None) -> str:
    """Return the sentence about one kind, with the kinds removed instead; empty if not found."""
    name = PLURALS[result.kind]
    if result.components:
        return f"{name}: {_removed(result)}"
    if result.not_removed:
        kept = _kept(result.not_removed, elsewhere or {})
        return _short(f"{name}: found in {_names(result.not_removed)}, {kept}: {result.why}")
    if result.answer != "unsure":
        return ""
    kept = _kept([int(k) for k in _COMPONENT.findall(result.reason)[:1]], elsewhere or {})
    return _short(f"{name}: unsure, {kept}: {result.reason}", "; inspect it")


def _removed(result: KindResult) -> str:
    """Return what was removed of a kind, what else, and what to try if that is poor."""
    whole = "all of " if result.how == "component" else ""
    told = [whole + _names(result.components)]
    if result.l_freq is None:
        of = f" of {len(result.events)}" if len(result.events) > result.n_removed else ""
        n_events = len(result.events) if of else result.n_removed
        told.insert(0, f"{result.n_removed}{of} event{'s' * (n_events != 1)}")
    lost = 0 if result.harm is None else result.harm.rank_before - result.harm.rank_after
    if lost > 0:
        told.append(f"rank lower by {lost}")
    source = f"({', '.join(told)})"
    if result.gone is None:
        return f"removed {source}; not measured, as no event is complete"
    at = f" at {listed(result.own_channels)}" if result.own_channels else ""
    line, again = f"{_percent(result.gone, 0)} removed{at} {source}", ""
    if result.l_freq is not None:  # brain activity in the band does not cancel as in an average
        line = f"RMS above {result.l_freq:g} Hz reduced by {_percent(result.gone, 0)} {source}"
        again = " removed"
    cost = result.cost
    if cost is not None and cost == cost:
        where = "of the whole signal" if result.harm.margin is None else "elsewhere"
        line += f"; {_percent(cost, 1)} {where}{again}"
    if result.poor:
        poor = f"less than {100 * LEAST_REMOVED:.0f} % removed"
        if not result.little:
            sham = " at sham beats" if result.kind == "heartbeat" else ""
            poor = f"more than {100 * OVER_CLEANED:.0f} %{sham}"
        line += f"; poor: {poor}, try {_remedy(result)}"
    return line


def _remedy(result: KindResult) -> str:
    """Return what to try if little of an artifact was removed, or much else."""
    if result.kind == "electrode":
        return "marking them as bad"
    leave = "" if result.kind == "blink" else f'artifacts without "{result.kind}"'
    if result.kind == "heartbeat":  # whole components did no better in four of four recordings
        return leave
    if result.little:
        remedy = "more channels" if result.how == "component" else 'removal="component"'
        return remedy + f" or {leave}" * bool(leave)
    return 'removal="events"' if result.how == "component" else leave or "more channels"


def _kept(components: Sequence[int], elsewhere: Mapping[int, str]) -> str:
    """Return that a kind was not removed, but what was, so that sentences do not contradict."""
    others = [elsewhere[k] for k in components if k in elsewhere]
    return f"only {PLURALS[others[0]]} removed" if others else "not removed"


def _percent(share: float, digits: int) -> str:
    """Return a share as text; more than all of a signal is no share of it."""
    return "over 100 %" if share > 1 else f"{100 * max(share, 0.0):.{digits}f} %"


def hand_line(components: Sequence[int], share: float) -> str:
    """Return the sentence about whole components that a person chose."""
    return f"chosen by hand: {_names(components)}; {_percent(share, 1)} of the whole signal removed"


def evoked_line(facts: Mapping[str, Any]) -> str:
    """Return the sentence about the responses that the ICA was fitted without."""
    told = []
    for name, clean in facts["clean_trials"].items():
        if name not in facts["left_out"]:
            told.append(f"{name} ({clean} of {facts['trials'][name]} trials without blinks)")
    names = " and ".join(told)
    line = f"fitted without the evoked responses of {names}" if told else "fitted as is"
    if facts["left_out"]:
        line += f"; too few trials without blinks: {', '.join(facts['left_out'])}"
    return _short(line)


def suspects_line(suspects: Mapping[str, str]) -> str:
    """Return which channels look broken, and why."""
    return f"suspect channels: {listed([f'{name} ({why})' for name, why in suspects.items()])}"


def none_line(kinds: Iterable[str]) -> str:
    """Return the sentence if nothing was found."""
    *most, last = [PLURALS[kind] for kind in kinds]
    return f"no {', '.join(most)}{' or ' if most else ''}{last} found, nothing removed"


def listed(names: Sequence[str]) -> str:
    """Return up to four names, or three and the number of the others."""
    more = f" and {len(names) - 3} more" if len(names) > 4 else ""
    return ", ".join(names[: 3 if more else 4]) + more


def _names(components: Sequence[int]) -> str:
    return listed(component_names(components))


def _short(line: str, advice: str = "") -> str:
    """Return a sentence with its advice, without the last clauses if it is too long."""
    while len(line) + len(advice) > LONGEST and " and " in line:
        line = line.rpartition(" and ")[0]
    room = LONGEST - len(advice)
    return (line if len(line) <= room else line[: room - 1].rsplit(" ", 1)[0] + "…") + advice
