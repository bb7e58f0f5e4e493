"""The artifacts found in a recording, and the components to remove."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from mne.utils import logger
from numpy.typing import NDArray

from mne_otica.artifacts import ArtifactScores, as_events, check_kinds, kinds, search
from mne_otica.cleaning.cross_check import LEAST_GAIN, gains_at_events, gains_in_band
from mne_otica.evaluation.sentences import PLURALS, component_names, none_line
from mne_otica.removal.estimate import sham_events, sham_part
from mne_otica.removal.remove import Part, Taken, to_take
from mne_otica.signals.reading import LowRate, LowRateRaw, filtered_copy
from mne_otica.signals.recording import annotated_bad, quiet
from mne_otica.signals.unmixing import maps_in_volts
from mne_otica.signals.windows import HALF_WINDOW, whole_windows, window_bounds
from mne_otica.utils.checks import _validate_type

if TYPE_CHECKING:
    from mne.io import BaseRaw

    from mne_otica.ica import ICA

InBand = Callable[[NDArray[np.float64]], NDArray[np.float64]]
# The kind with the best evidence; docs/artifacts.md has the numbers for the others and their
# shortcomings. Electrodes should never be added: it is better to mark the channel as bad.
DEFAULT = ("blink",)
_SAME = 0.1  # s; events that are closer are one
NO_GAIN = "no measurable reduction at the channels"


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

    ``taken`` is what is to be removed, and ``shams`` what would be for sham events of each kind.
    """

    artifacts: ArtifactScores
    decisions: dict[str, Decision]
    taken: Taken | None = None
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
    raw: BaseRaw,
    ica: ICA,
    artifacts: Sequence[str],
    max_components: int,
    reject: bool,
    *,
    removal: str = "events",
    band: tuple[float | None, float | None] = (1.0, 40.0),
    filtered: LowRateRaw | None = None,
    low: LowRate | None = None,
) -> Found:
    """Find the artifacts, and set ``ica.exclude`` to the components whose removal does good.

    ``filtered`` is the copy in this ``band`` that the ICA was fitted on; None makes one. ``low``
    is the recording at the low rate, if it was read already.
    """
    with quiet():
        scores = search(
            ica,
            raw,
            artifacts=artifacts,
            max_components=max_components,
            reject_by_annotation=reject,
            low=low,
        )
    found = judged(raw, ica, scores, artifacts, reject)
    if not ica.exclude:
        return found
    filtered = filtered_copy(raw, *band) if filtered is None else filtered
    taken = to_take(raw, ica, found.decisions, {"removal": removal, "reject_by_annotation": reject})
    return earned(found, taken, ica, filtered, reject, filtered.like)


def earned(
    found: Found, taken: Taken, ica: ICA, filtered: LowRateRaw, reject: bool, in_band: InBand
) -> Found:
    """Keep the components whose removal does good, and update ``ica.exclude``.

    ``in_band`` filters time courses like the copy that the ICA was fitted on.
    """
    decisions, parts, shams = dict(found.decisions), [], {}
    for part in taken.parts:
        decision = decisions[part.kind]
        events = removed_events(part, decision.events, filtered)
        gains, sham = _gains(part, events, ica, filtered, reject, in_band)
        kept = [k for k in part.components if gains.get(k, 0.0) > 0]
        if sham is not None:
            shams[part.kind] = sham[[part.components.index(k) for k in kept]]
        dropped = [k for k in part.components if k not in kept]
        decisions[part.kind] = replace(
            decision,
            components=kept,
            events=events if kept else decision.events,
            not_removed=dropped,
            given=decision.events,
        )
        if kept:
            parts.append(part.only(kept))
    found = replace(found, decisions=decisions, shams=shams)
    ica.exclude = found.components
    n_times = taken.courses.shape[1]
    return replace(found, taken=Taken.of_parts(parts, ica.exclude, n_times))


def _gains(
    part: Part,
    events: NDArray[np.int64],
    ica: ICA,
    filtered: LowRateRaw,
    reject: bool,
    in_band: InBand,
) -> tuple[dict[int, float], NDArray[np.float64] | None]:
    """Return what each component gains beyond sham events, and the part for those, in band."""
    maps, sfreq, before = maps_in_volts(ica), filtered.info["sfreq"], filtered._data
    bad = annotated_bad(filtered) if reject else np.zeros(filtered.n_times, bool)
    courses = in_band(part.courses)
    # An electrode that crackles or hums has no events whose average would show it.
    if part.l_freq is not None or part.kind == "electrode":
        return gains_in_band(part, courses, before, maps, bad, sfreq), None
    options = (before, maps, bad, filtered)
    gains = _gains_of_each(part, courses, events[:, 0] - filtered.origin, *options)
    gains = {k: gain if gain > LEAST_GAIN else 0.0 for k, gain in gains.items()}
    if part.estimate is None or part.estimate.model is None:
        return gains, None
    sham = sham_events(part.estimate, filtered.sfreq, part.courses.shape[1])
    sham_courses = in_band(sham_part(part.estimate, sham))
    chance = _gains_of_each(part, sham_courses, sham, *options)
    return {
        k: gain if gain > chance.get(k, 0.0) else 0.0 for k, gain in gains.items()
    }, sham_courses


def _gains_of_each(
    part: Part,
    courses: NDArray[np.float64],
    samples: NDArray[np.int64],
    before: NDArray[np.float64],
    maps: NDArray[np.float64],
    bad: NDArray[np.bool_],
    filtered: LowRateRaw,
) -> dict[int, float]:
    """Return what each component gains, by the directions of its own steps if it has any.

    Eyes that turn up do not turn to the right as well: by the directions of one component the steps
    of another cancel.
    """
    step = part.kind is not None and kinds()[part.kind].removal.shape == "step"
    rows = [[row] for row in range(len(part.components))] if step else [slice(None)]
    gains = {}
    for row in rows:
        one = part.only([part.components[k] for k in row]) if step else part
        events = (samples // filtered.step, signs_of(one, samples, filtered.sfreq))
        gains |= gains_at_events(
            one, courses[row], before, maps, events, bad, filtered.info["sfreq"]
        )
    return gains


def signs_of(part: Part, samples: NDArray[np.int64], sfreq: float) -> NDArray[np.float64]:
    """Return 1 or -1 for each event, so that steps in opposite directions do not cancel."""
    if part.kind is None or kinds()[part.kind].removal.shape != "step":
        return np.ones(len(samples))
    return directions(part.courses[0], samples, sfreq)


def directions(
    course: NDArray[np.float64], samples: NDArray[np.int64], sfreq: float
) -> NDArray[np.float64]:
    """Return the sign of each step, read 0.1 s before and after it: 1 or -1."""
    away = max(1, round(_SAME * sfreq))
    after, before = ((samples + k).clip(0, len(course) - 1) for k in (away, -away))
    return np.where(course[after] >= course[before], 1.0, -1.0)


def removed_events(part: Part, given: NDArray[np.int64], like: LowRateRaw) -> NDArray[np.int64]:
    """Return the events that were removed: those given that were confirmed, and those found.

    The second column is 1 for the latter if there are both: the benefit is not measured there.
    """
    if part.estimate is None or part.how != "events":
        return given
    apart = _SAME * like.sfreq
    found = part.estimate.events + like.origin
    known = np.sort(given[:, 0])
    if len(known) and len(found):
        near = np.abs(found[:, np.newaxis] - known)
        found = np.where(near.min(axis=1) <= apart, known[near.argmin(axis=1)], found)
    events = as_events(np.unique(found), kinds()[part.kind].event_id)
    events[:, 1] = len(known) and ~np.isin(events[:, 0], known)
    return events


def judged(
    raw: BaseRaw, ica: ICA, scores: ArtifactScores, artifacts: Sequence[str], reject: bool
) -> Found:
    """Decide which components to remove, set ``ica.exclude`` to them, and log it."""
    found = Found(scores, {kind: decide(raw, scores, kind, reject) for kind in artifacts})
    ica.exclude = found.components
    times = "; ".join(
        f"{len(decision.events)} {PLURALS[kind]} from {scores.sources[kind]}"
        for kind, decision in found.decisions.items()
        if len(decision.events)
    )
    logger.info(f"Find: {found.verdict}{'; ' if times else ''}{times}.")
    return found


def decide(raw: BaseRaw, scores: ArtifactScores, kind: str, reject: bool) -> Decision:
    """Decide about one kind: see `mne_otica.artifacts.scores.collected` for the rule."""
    rows = [row for row in scores.of(kind) if row.answer != "no"]
    components, events = [row.component for row in rows if row.remove], scores.events(kind)
    answer = "yes" if components else "unsure" if rows else "no"
    reason = f"{component_names([rows[0].component])[0]}, {rows[0].reason}" if rows else ""
    if kind == "blink" and components and not _checkable(raw, events, reject):
        # Without times of blinks the result cannot be checked, so nothing is removed.
        answer, components = "unsure", []
        reason = "no whole blink was found to check the result by"
    return Decision(answer, components, events, reason)


def _checkable(raw: BaseRaw, events: NDArray[np.int64], reject: bool) -> bool:
    """Return whether the benefit can be measured at any of the events."""
    bad = annotated_bad(raw) if reject else np.zeros(raw.n_times, bool)
    bounds = window_bounds(-HALF_WINDOW, HALF_WINDOW, raw.info["sfreq"])
    return len(whole_windows(events[:, 0] - raw.first_samp, bad, bounds).used) > 0
