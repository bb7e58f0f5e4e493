"""Blinks: the figures of each component, judged alone and together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from mne import Info

from mne_otica.artifacts import events as ev
from mne_otica.artifacts import maps as _maps
from mne_otica.artifacts.kinds import (
    ACCEPT,
    ArtifactRow,
    Kind,
    Removal,
    Words,
    judged,
    probability,
    weigh,
)
from mne_otica.artifacts.rhythm import alike
from mne_otica.signals.low_rate import LARGE, Prepared, Signals, eog_names
from mne_otica.utils.arrays import Array, Samples

if TYPE_CHECKING:
    from mne_otica.artifacts.components import Components

TOGETHER = 0.5  # share of the large deflections that have to be at the blinks of the best
_LOCKED = 1.5  # blink-locked average power over background; evoked responses stay below
# What makes one or two events blinks all the same. Set by hand: no benchmark has so few blinks.
_HIGH = 15.0  # robust standard deviations, three times what noise reaches
_CLEAR = 0.8  # correlation with the map of a blink, and with an EOG that proves it


def course_figures(found: ev.Evidence, duration: float) -> dict[str, float]:
    """Return the figures of a time course by name."""
    names = ("height", "consistency", "width", "rebound", "onset", "shift")
    few, expected = found.n_events < 3, max(min(1.5, duration / 60), 1e-9)
    # The share of intervals that are like the one before
    evenness = float(alike(np.diff(found.peaks)).mean()) if found.n_events >= 6 else np.nan
    return {name: getattr(found, name) for name in names} | {
        "events": float(found.n_events),
        # One or two events are penalised as few already, so recurrence does not count again.
        "recurrence": np.nan if few else (found.bursts - 1) / expected,
        "evenness": evenness,
    }


def _frontality(one_map: Array, expected: Array) -> float:
    """Return the correlation with the map of a blink; where all is upside down, it counts less."""
    correlation = _maps.frontality(one_map, expected)
    return -0.85 * correlation if correlation < 0 else correlation


def figures(components: Components, k: int) -> dict[str, float]:
    """Return the figures of one component."""
    found, one_map = components.blinks[k], components.maps[:, k]
    return course_figures(found, components.prepared.duration) | {
        "amplitude": components.volts(k, found.height * found.scale),
        "frontality": _frontality(one_map * found.polarity, components.expected),
        "eye_share": _maps.eye_share(one_map, components.fields),
        "eog_correlation": float(components.eog_correlations[k]),
    }


def gate(components: Components, k: int) -> str:
    """Return why a component cannot hold blinks."""
    return "" if components.blinks[k].n_events else "it has no sparse events"


def events(components: Components, k: int) -> Samples:
    """Return the samples of the recording at the peak of each blink."""
    return components.prepared.to_input(components.blinks[k].typical_peaks)


KIND = Kind(
    name="blink",
    keys=("blink", "eog", "eog/blink"),
    label="eye blink",
    removal=Removal("events"),
    event_id=998,
    figures=figures,
    gate=gate,
    events=events,
    remove=ACCEPT,
    words={
        "height": Words(
            "its peaks are no higher than noise ({:.1f} robust SD)", "high peaks ({:.0f} robust SD)"
        ),
        "consistency": Words(
            "its events differ from each other (r = {:.2f}), as movements do",
            "events alike (r = {:.2f})",
        ),
        "width": Words("its events last {:.0f} ms at half height, a blink 80 to 400", unit=1000),
        "amplitude": Words("its events measure {:.0f} uV, a blink 50 to 500", unit=1e6),
        "rebound": Words("its events swing to the other side ({:.0%}), as jumps and slow waves do"),
        "onset": Words(
            "its events start or stop too suddenly for a lid (onset {:.0%} of the width)"
        ),
        "events": Words("it has too few events ({:.0f})"),
        "recurrence": Words("its events come in one burst and do not recur", "events that recur"),
        "evenness": Words("{:.0%} of its events come at even intervals, as in a movement"),
        "shift": Words("it does not return after its events, as in eye movements"),
        "frontality": Words(
            "its topography is not that of the eyes (r = {:.2f})",
            "the topography of the eyes (r = {:.2f})",
        ),
        "eye_share": Words("", "a topography that eyes explain (r = {:.2f})"),
        "eog_correlation": Words(
            "it follows the EOG only weakly (r = {:.2f})", "agreement with the EOG (r = {:.2f})"
        ),
        "coincidence": Words(
            "", "its large deflections at the blinks of the best ({:.0%} beyond chance)"
        ),
    },
)


def judge_together(components: Components, threshold: float) -> list[ArtifactRow]:
    """Judge each component, and then those that blink together: rows without events, best first."""
    rows = [judged(components, KIND, k, threshold) for k in range(len(components))]
    rows = [_once_or_twice(row, components, threshold) for row in rows]
    return _keep_together(sorted(rows, key=_ranks(components)), components, threshold)


def _once_or_twice(row: ArtifactRow, components: Components, threshold: float) -> ArtifactRow:
    """Leave open whether one or two large frontal deflections are blinks; an EOG may prove it."""
    found, known = components.blinks[row.component], row.figures
    if row.answer == "yes" or not known or found.n_events > 2:
        return row
    if found.height < _HIGH or not known["frontality"] >= _CLEAR:
        return row
    times = "one event" if found.n_events == 1 else f"{found.n_events} events"
    reason = f"has the topography and the height of a blink, but only {times}"
    said, least = "unsure", 1 - threshold
    if known["eog_correlation"] >= _CLEAR:
        said, least, reason = "yes", threshold, f"{reason}, which the EOG shows as well"
    return replace(row, probability=max(row.probability, least), answer=said, reason=reason)


def _ranks(components: Components) -> Callable[[ArtifactRow], tuple[int, float]]:
    """Order rows: blinks before others, by evidence and by how much of blinks they hold."""

    def rank(row: ArtifactRow) -> tuple[int, float]:
        if row.answer != "yes":
            return 1, -row.probability
        found = components.blinks[row.component]
        volts = components.volts(row.component, found.height * found.scale)
        size = volts if np.isfinite(volts) else found.height
        odds = row.probability / max(1 - row.probability, 1e-6)
        return 0, -odds * found.n_events * size

    return rank


def _keep_together(
    rows: list[ArtifactRow], components: Components, threshold: float
) -> list[ArtifactRow]:
    """Keep the best component, and further ones only if they are active at its blinks."""
    if not rows or rows[0].answer != "yes":
        return rows
    first, *others = rows
    blinks = np.round(components.blinks[first.component].peaks).astype(int)
    for k, row in enumerate(others):
        if not row.figures:
            continue
        known = along(components, row.component, blinks)
        if row.answer == "yes" and not _together(components, first.component, row.component):
            reason = f"its events are not at the blinks of ICA{first.component:03d}"
            others[k] = replace(row, answer="no", reason=reason)
        elif known["coincidence"] >= TOGETHER:
            again = judged(components, KIND, row.component, threshold, known)
            others[k] = max(row, again, key=lambda r: r.probability)
            if others[k].answer != "yes":
                others[k] = _locked(others[k], components, blinks, threshold)
    return [first, *sorted(others, key=_ranks(components))]


def _together(components: Components, one: int, other: int) -> bool:
    """Return whether two components blink together, though one of them may lack some blinks."""
    peaks = {k: np.round(components.blinks[k].peaks).astype(int) for k in (one, other)}
    found = [along(components, a, peaks[b])["coincidence"] for a, b in ((one, other), (other, one))]
    return max(found) >= TOGETHER


def _locked(
    row: ArtifactRow, components: Components, blinks: Samples, threshold: float
) -> ArtifactRow:
    """Accept a component that holds rotations only seen in the average over another's blinks."""
    share = ev.locked(components.prepared, row.component, blinks)
    if share < _LOCKED:
        return row
    reason = f"has {share:.1f} times as much power in its blink-locked average as between blinks"
    return replace(row, probability=max(row.probability, threshold), answer="yes", reason=reason)


def along(components: Components, k: int, blinks: Samples) -> dict[str, float]:
    """Return the figures of a component at the blinks of another one."""
    own = np.round(components.blinks[k].peaks).astype(int)
    return ev.along(components.prepared, k, own, blinks) | {
        "frontality": _maps.eye_share(components.maps[:, k], components.fields)
    }


class Times(NamedTuple):
    """Peaks at the low rate, the channels they come from, and the evidence for blinks."""

    score: float
    names: list[str]
    polarity: int
    peaks: Array


def blink_sources(
    info: Info, signals: Signals, ch_name: str | Sequence[str] | None
) -> dict[str, list[list[int]]]:
    """Return the sources to try in turn: a name, and groups of signals."""
    names = signals.names
    if ch_name is not None:
        return {"channel": [[k] for k in range(len(names))]}
    sources = {}
    eog = [names.index(ch) for ch in eog_names(info)]
    if eog:
        sources["eog"] = [[k] for k in eog]
    eeg = [k for k in range(len(names)) if k not in eog]
    expected, _ = _maps.eye_map(info, [names[k] for k in eeg])
    frontal = [eeg[k] for k in _maps.frontal_channels(expected)]
    if frontal:
        # The median of all is robust to one bad electrode; single channels are the fallback.
        sources["frontal"] = [frontal, *[[k] for k in frontal if len(frontal) > 1]]
    elif eeg and not np.isfinite(expected).any():
        sources["channel"] = [[k] for k in eeg]
    return sources


def best_group(info: Info, signals: Signals, groups: list[list[int]]) -> Times:
    """Return the times of the group with the best evidence for blinks."""
    expected, _ = _maps.eye_map(info, signals.names)
    if not _maps.has_front(expected):
        expected = np.full(len(signals.names), np.nan)
    best = None
    for group in groups:
        score, found = _events(signals, signals.prepared.middle(group), expected)
        # The first group is the most robust; another has to be clearly better.
        if best is None or score > best.score + 0.05:
            names = [signals.names[j] for j in group]
            best = Times(score, names, found.polarity, found.typical_peaks)
    return best


def with_one_map(signals: Signals, peaks: Array) -> Array:
    """Return the peaks that share the topography of most of them."""
    if len(signals.names) < 4 or len(peaks) < 3:
        return peaks
    prepared = signals.prepared
    return peaks[_maps.same_map(_maps.event_maps(prepared, peaks), prepared.noise)]


def with_confirmed(signals: Signals, found: Times, candidates: Array) -> Array:
    """Return the peaks of channels, and candidates of a component that these channels confirm."""
    one = signals.prepared.middle([signals.names.index(name) for name in found.names])
    apart = ev.REFRACTORY * one.sfreq
    new = np.array([c for c in candidates if np.all(np.abs(found.peaks - c) > apart)])
    scale = one.background[0]
    if not len(new) or not scale > 0:
        return found.peaks
    heights = found.polarity * one.band[0][np.round(new).astype(int)] / scale
    # Small blinks may be visible only on average: if that is significant, all are confirmed.
    on_average = heights.mean() * np.sqrt(len(new)) > 5
    return np.sort(np.r_[found.peaks, new[(heights > LARGE) | on_average]])


def _events(signals: Signals, one: Prepared, expected: Array) -> tuple[float, ev.Evidence]:
    """Return the score and the evidence of one prepared signal."""
    found = ev.evidence(one, 0)
    maps = _maps.event_maps(signals.prepared, found.peaks)
    if found.n_events and len(maps) >= 4:
        # A blink has the topography of the other blinks; a pop or a movement does not.
        keep = _maps.same_map(maps, signals.prepared.noise)
        whole = np.round(found.peaks[keep]).astype(int)
        found = ev.describe(one, 0, whole, found.polarity)
        maps = maps[:, keep]
    if not found.n_events:
        return 0.0, found
    one_map = np.median(maps, axis=1)
    figures = course_figures(found, signals.prepared.duration)
    if signals.plausible_volts:
        figures["amplitude"] = found.height * found.scale
    if len(one_map) >= 4:
        figures["frontality"] = _frontality(one_map, expected)
    return probability(weigh(KIND.name, figures)), found
