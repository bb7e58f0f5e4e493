"""The artifacts found in a recording, and the components to remove."""

from collections.abc import Sequence
from typing import Any

from mne.io import BaseRaw
from mne.utils import logger

from mne_otica.artifacts import ArtifactScores, check_kinds, kinds, search
from mne_otica.cleaning.cross_check import cross_checked
from mne_otica.cleaning.found import Decision, Found
from mne_otica.evaluation.sentences import PLURALS, component_names
from mne_otica.ica import ICA
from mne_otica.removal.remove import REMOVALS, to_take
from mne_otica.signals.low_rate import Signals
from mne_otica.signals.reading import LowRateRaw, filtered_copy
from mne_otica.signals.recording import annotated_bad, quiet
from mne_otica.signals.windows import HALF_WINDOW, whole_windows, window_bounds
from mne_otica.utils.checks import _check_option, _validate_flag, _validate_number, _validate_type
from mne_otica.utils.progress import stage

# The kind with the best evidence; docs/artifacts.md has the numbers for the others and their
# shortcomings. Electrodes should never be added: it is better to mark the channel as bad.
DEFAULT = ("blink",)


def check_options(options: dict[str, Any]) -> tuple[str, ...]:
    """Return the kinds to remove, in their usual order; raise if any parameter is wrong."""
    artifacts = options["artifacts"]
    _validate_type(artifacts, (str, list, tuple), "artifacts", 'a kind, a list of kinds, or "all"')
    if not artifacts:
        told = f"artifacts is {artifacts!r}, so there would be nothing to remove; name some of"
        raise ValueError(f'{told} {list(kinds())}, or pass "all".')
    every = artifacts == "all" or "all" in artifacts and not isinstance(artifacts, str)
    names = check_kinds(None if every else artifacts, "artifacts")
    _check_option("removal", options["removal"], REMOVALS)
    _validate_flag(options["find_bad_channels"], "find_bad_channels")
    _validate_type(options["max_components"], "int-like", "max_components")
    _validate_number(options["max_components"], "max_components", at_least=1)
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
    """Find the artifacts, and set ``ica.exclude`` to the components whose removal does good."""
    options = dict(max_components=max_components, reject_by_annotation=reject, channels=channels)
    with quiet():
        scores = search(ica, raw, artifacts=artifacts, **options)
    found = judged(raw, ica, scores, artifacts, reject)
    if not ica.exclude:
        return found
    filtered = filtered_copy(raw, *band) if filtered is None else filtered
    stage("remove")
    taken = to_take(raw, ica, found.decisions, {"removal": removal, "reject_by_annotation": reject})
    return cross_checked(found, taken, ica, filtered, reject, filtered.like)


def judged(
    raw: BaseRaw, ica: ICA, scores: ArtifactScores, artifacts: Sequence[str], reject: bool
) -> Found:
    """Decide which components to remove, set ``ica.exclude`` to them, and log it."""
    found = Found(scores, {kind: decide(raw, scores, kind, reject) for kind in artifacts})
    ica.exclude = found.components
    told = [found.verdict]
    for kind, decision in found.decisions.items():
        if n_events := len(decision.events):
            told.append(f"{n_events} {PLURALS[kind]} from {scores.sources[kind]}")
    logger.info(f"Find: {'; '.join(told)}.")
    return found


def decide(raw: BaseRaw, scores: ArtifactScores, kind: str, reject: bool) -> Decision:
    """Decide about one kind: see `mne_otica.artifacts.scores.collected` for the rule."""
    rows = [row for row in scores.of(kind) if row.answer != "no"]
    components, events = [row.component for row in rows if row.remove], scores.events(kind)
    found = [row.component for row in rows if row.answer == "yes"]
    answer = "yes" if found else "unsure" if rows else "no"
    reason = ""
    if rows:
        first = rows[0]
        reason = f"{component_names([first.component])[0]} (probability {first.probability:.2f})"
        reason += f"{' ' if first.reason.startswith('has ') else ', but '}{first.reason}"
    if kind == "blink" and components:
        bounds = window_bounds(-HALF_WINDOW, HALF_WINDOW, raw.info["sfreq"])
        samples, bad = events[:, 0] - raw.first_samp, annotated_bad(raw, reject)
        if not len(whole_windows(samples, bad, bounds)[0]):
            # Without times of blinks the result cannot be checked, so nothing is removed.
            reason = "no whole blink was found to check the result by"
            return Decision("unsure", [], events, reason)
    if found and not components:
        return Decision(answer, [], events, reason, found, "another artifact is more probable")
    return Decision(answer, components, events, reason)
