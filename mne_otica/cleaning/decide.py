"""The artifacts found in a recording, and the components to remove."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from mne.io import BaseRaw
from mne.utils import logger
from numpy.typing import NDArray

from mne_otica.artifacts import ArtifactScores, check_kinds, kinds, search
from mne_otica.cleaning.cross_check import cross_checked
from mne_otica.cleaning.found import Decision, Found
from mne_otica.evaluation.sentences import PLURALS, component_names
from mne_otica.ica import ICA
from mne_otica.removal.remove import to_take
from mne_otica.signals.low_rate import Signals
from mne_otica.signals.reading import LowRateRaw, filtered_copy
from mne_otica.signals.recording import annotated_bad, quiet
from mne_otica.signals.windows import HALF_WINDOW, whole_windows, window_bounds
from mne_otica.utils.checks import _validate_type

# The kind with the best evidence; docs/artifacts.md has the numbers for the others and their
# shortcomings. Electrodes should never be added: it is better to mark the channel as bad.
DEFAULT = ("blink",)


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
    channels: Signals | None = None,
) -> Found:
    """Find the artifacts, and set ``ica.exclude`` to the components whose removal does good.

    ``filtered`` is the copy in this ``band`` that the ICA was fitted on; None makes one.
    ``channels`` are the signals of the recording, if it was read already.
    """
    options = dict(max_components=max_components, reject_by_annotation=reject, channels=channels)
    with quiet():
        scores = search(ica, raw, artifacts=artifacts, **options)
    found = judged(raw, ica, scores, artifacts, reject)
    if not ica.exclude:
        return found
    filtered = filtered_copy(raw, *band) if filtered is None else filtered
    taken = to_take(raw, ica, found.decisions, {"removal": removal, "reject_by_annotation": reject})
    return cross_checked(found, taken, ica, filtered, reject, filtered.like)


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
    return len(whole_windows(events[:, 0] - raw.first_samp, bad, bounds)[0]) > 0
