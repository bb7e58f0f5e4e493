"""Measure what was removed from a recording, and put it into a result; with a person's choice."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import mne
import numpy as np
import scipy
from mne.io import BaseRaw
from mne.utils import logger
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from scipy.signal import find_peaks

from mne_otica import __version__
from mne_otica.artifacts import check_kinds, kinds
from mne_otica.artifacts.maps import correlations
from mne_otica.cleaning.cross_check import SAME, removed_events, weights_of, without_useless
from mne_otica.cleaning.found import Decision, Found, add_choice, blinks_of_choice
from mne_otica.cleaning.result import Cleaned
from mne_otica.evaluation.benefit import benefit_of
from mne_otica.evaluation.harm import MARGIN, harm_of, power_of
from mne_otica.evaluation.measures import MISSED, MOST_AFFECTED, KindResult, plain, rms_ratio
from mne_otica.evaluation.methods_section import mark_cleaned, recording_facts
from mne_otica.evaluation.sentences import verdict_of
from mne_otica.evaluation.shares import condition_lines
from mne_otica.ica import ICA
from mne_otica.removal.estimate import sham_events, sham_part
from mne_otica.removal.remove import Part, Taken, check_components, put_back, take_out
from mne_otica.signals.reading import LowRateRaw, of_steps
from mne_otica.signals.recording import quiet
from mne_otica.signals.unmixing import maps_in_volts
from mne_otica.signals.windows import HALF_BEAT, HALF_WINDOW, Pair
from mne_otica.utils.arrays import Array, Samples, nearest
from mne_otica.utils.checks import _validate_type


def conclude(
    raw: BaseRaw,
    filtered: LowRateRaw,
    ica: ICA,
    found: Found,
    taken: Taken,
    settings: dict[str, Any],
    suspects: dict[str, str],
    brief: bool = False,
) -> Cleaned:
    """Measure benefit and harm; ``brief`` measures only what the verdict needs."""
    in_band, total = dict(found.in_band), np.zeros((len(taken.courses), filtered.n_times))
    for part in taken.parts:
        if part.kind not in in_band:
            in_band[part.kind] = filtered.like(part.courses)
        total[[ica.exclude.index(k) for k in part.components]] += in_band[part.kind]
    reject = settings["reject_by_annotation"]
    sides = _Sides(filtered, maps_in_volts(ica), taken, in_band, reject, brief)
    results = {kind: _measured(kind, found, sides) for kind in found.decisions}
    lines = []
    if facts := settings.get("evoked_free"):
        found_at = {kind: one.events[:, 0] - raw.first_samp for kind, one in results.items()}
        lines = condition_lines(found_at, facts, raw.info["sfreq"])
    chosen = None
    if by_hand := taken.of(None):  # whole components
        power = power_of(sides.maps[:, by_hand.components], in_band[None])
        chosen = by_hand.components, rms_ratio(power, np.sum(filtered._data**2))
    other = sorted(ica.exclude) != sorted(found.components)
    verdict = verdict_of(results, chosen, other, facts, lines, suspects)
    logger.info(f"Clean: {verdict}.")
    if not brief:
        settings = settings | recording_facts(raw, filtered, settings["l_freq"], settings["h_freq"])
    if taken.courses.any():
        poor = any(one.poor for one in results.values() if one.components)
        status = "poor" if poor else "cleaned"
    else:
        status = "unsure" if any(one.answer == "unsure" for one in results.values()) else "none"
    told = dict(verdict=verdict, status=status, suspects=suspects)
    told |= dict(settings=plain(settings), versions=versions())
    data = dict(removed=taken.courses, _filtered=filtered, _taken=total)
    # Of the kinds that were removed by events, and blinks in any case
    with_events = "events", "component"
    shown = [one for one in results.values() if one.kind == "blink" or one.how in with_events]
    events = _merged(np.zeros((0, 3), np.int64), *(one.events for one in shown))
    return Cleaned(raw, ica, events, found.artifacts, results, **data, **told)


def conclude_useful(
    raw: BaseRaw, filtered: LowRateRaw, ica: ICA, found: Found, settings: dict, suspects: dict
) -> tuple[Cleaned, Taken]:
    """Measure, leave out the kinds that are not reduced, and return what is removed, too."""
    while True:
        taken = Taken(np.zeros((0, raw.n_times))) if found.taken is None else found.taken
        result = conclude(raw, filtered, ica, found, taken, settings, suspects)
        useful = without_useless(found, result.kinds, ica)
        if useful is found:
            return result, taken
        found = useful


@dataclass(frozen=True)
class _Sides:
    """A recording and what each part removes, by kind, both in the band of the fit."""

    filtered: LowRateRaw
    maps: Array
    taken: Taken
    in_band: dict[str | None, Array]
    reject: bool
    brief: bool

    def pair(self, *parts: Part) -> Pair:
        """Return the recording before and after the removal of some parts."""
        before = self.filtered._data
        after = before.copy()
        for part in parts:
            for row, weights in zip(after, self.maps[:, part.components], strict=True):
                row -= weights @ self.in_band[part.kind]
        return Pair.of_arrays(self.filtered, before, after, range(len(before)), self.reject)


def _measured(kind: str, found: Found, sides: _Sides) -> KindResult:
    """Return the result for one kind: the decision, and benefit and harm of the removal."""
    decision, part, filtered = found.decisions[kind], sides.taken.of(kind), sides.filtered
    events = decision.events
    kept = dict(not_removed=decision.not_removed, why=decision.why)
    result = KindResult(kind, decision.answer, [], events, "nothing", decision.reason, **kept)
    if part is None or not part.courses.any():
        return result
    result = replace(result, components=list(part.components), how=part.how, l_freq=part.l_freq)
    if part.l_freq is not None:
        with quiet():
            harm = harm_of(sides.pair(part), events[:0], brief=sides.brief, margin=None)
        return replace(result, gone=_gone_above(part, sides), harm=harm)
    given = decision.given
    if given is None:
        given, events = events, removed_events(part, events, filtered)
    # At the events, the recording is compared with what is returned, without any of the artifacts.
    cleaned = sides.pair(*sides.taken.parts)
    # Events that the removal found in its own components would favour it.
    measured = given if len(given) else events
    unconfirmed = given[~np.isin(given[:, 0], events[:, 0])]
    unconfirmed[:, 1] = MISSED
    events = _merged(events, unconfirmed)
    if part.how == "events" and kinds()[kind].removal.shape == "bump" and len(events):
        missed = _missed(events, filtered, cleaned.bad)
        events, measured = (_merged(some, missed) for some in (events, measured))
    result = replace(result, events=events)
    # Steps are weighed by their size and direction at the channel from which most is removed.
    maps = sides.maps[:, part.components]
    most = np.argmax(np.sum((maps @ sides.in_band[kind]) ** 2, axis=1))
    samples, course = measured[:, 0] - filtered.origin, maps[[most]] @ part.courses
    weights = weights_of(kind, course, samples, filtered.sfreq)
    beats = kinds()[kind].removal.shape == "beat"
    with quiet():
        try:
            benefit = benefit_of(cleaned, measured, weights, HALF_BEAT if beats else HALF_WINDOW)
        except ValueError:  # there are none, or the edges or bad spans cut every window
            return result
        own = cleaned if len(sides.taken.parts) == 1 else sides.pair(part)
        # A filter spreads what was removed; samples that did not change have no harm.
        if part.how == "events":
            same = ~of_steps(part.courses.any(axis=0), filtered.step)
            own.after[:, same] = own.before[:, same]
        options = dict(sham=_sham(part, found, sides), brief=sides.brief)
        # A heart beats everywhere, and other artifacts may be as frequent.
        margin = None if beats else MARGIN
        harm = harm_of(own, events, margin=margin, **options)
        if np.isnan(harm.taken_out):
            harm = harm_of(own, events, margin=None, **options)
    logger.info(f"Evaluate: {len(events)} {kind} events, {harm.seconds:.0f} s away from them.")
    result = replace(result, gone=benefit.average, benefit=benefit, harm=harm)
    if kinds()[kind].removal.shape != "pop":
        return result
    # Other channels do not see what a single electrode does.
    at = np.unique(np.abs(sides.maps[:, part.components]).argmax(axis=0))
    size, left = benefit.blink_size[at], 1 - benefit.average_per_channel[at]
    gone = 1 - rms_ratio(np.sum((size * left) ** 2), np.sum(size**2))
    return replace(result, gone=gone, own_channels=[benefit.ch_names[k] for k in at])


def _missed(events: Samples, filtered: LowRateRaw, bad: NDArray[np.bool_]) -> Samples:
    """Return deflections of the channels like the events that are none, as in a flutter."""
    sfreq, samples = filtered.info["sfreq"], filtered.samples(events)
    near = np.arange(round(SAME * sfreq)) - round(SAME * sfreq / 2)

    def maps_at(peaks: Samples) -> Array:
        at = (peaks[:, np.newaxis] + near).clip(0, filtered.n_times - 1)
        return filtered._data[:, at].mean(axis=2)

    average = maps_at(samples).mean(axis=1)
    most = np.argsort(-np.abs(average))[:MOST_AFFECTED]
    course = uniform_filter1d(average[most] @ filtered._data[most], len(near))
    height = np.median(course[samples]) / 2
    if height <= 0:
        return events[:0]
    apart = round(HALF_WINDOW * sfreq)
    peaks, _ = find_peaks(course, height, distance=apart, prominence=height)
    peaks = peaks[(np.abs(peaks - samples[nearest(peaks, samples)]) > apart) & ~bad[peaks]]
    # benchmarks.stated, `mmidb_S002R01`, chose 0.8, and half the median height.
    peaks = peaks[correlations(average[np.newaxis], maps_at(peaks).T)[0] >= 0.8]
    new = peaks * filtered.step + filtered.origin
    return np.column_stack([new, np.full(len(new), MISSED), np.full(len(new), events[0, 2])])


def _merged(*several: Samples) -> Samples:
    events = np.concatenate(several)
    return events[np.argsort(events[:, 0], kind="stable")]


def _gone_above(part: Part, sides: _Sides) -> float:
    """Return the reduction above the edge of the band at the channels most affected."""
    sfreq, courses = sides.filtered.info["sfreq"], sides.in_band[part.kind]
    maps = sides.maps[:, part.components]

    def high(x: Array) -> Array:
        return mne.filter.filter_data(x, sfreq, part.l_freq, None, verbose="error")

    courses = high(courses)
    most = np.argsort(-np.einsum("ca,ab,cb->c", maps, courses @ courses.T, maps))[:MOST_AFFECTED]
    before = high(sides.filtered._data[most])
    after = before - maps[most] @ courses
    return 1 - rms_ratio(np.sum(after**2), np.sum(before**2))


def _sham(part: Part, found: Found, sides: _Sides) -> tuple[Array, Array] | None:
    """Return topographies and time courses of what would be removed for sham events."""
    needed = not sides.brief or kinds()[part.kind].removal.shape == "beat"
    if not needed or part.estimate is None or part.estimate.model is None:
        return None
    courses = found.shams.get(part.kind)
    if courses is None:
        samples = sham_events(part.estimate, sides.filtered.sfreq, part.courses.shape[1])
        courses = sides.filtered.like(sham_part(part.estimate, samples))
    return sides.maps[:, part.components], courses


def versions() -> dict[str, str]:
    """Return the versions of the packages that the result depends on."""
    found = {module.__name__: module.__version__ for module in (mne, np, scipy)}
    return {"python": platform.python_version(), "mne_otica": __version__} | found


def rechosen(result: Cleaned, components: Sequence[int], kind: str | None = None) -> Cleaned:
    """Return what a result would be with other components; see `Cleaned.with_components`."""
    _validate_type(components, (list, tuple, range, np.ndarray), "components", "a list of int")
    _validate_type(kind, (str, None), "kind", "a kind or None")
    chosen = check_components(result.ica, components, "components")
    if result.epochs is not None:
        raise ValueError(
            "This result is of epochs, which are not cleaned again; set result.ica.exclude to the "
            "components that you chose, and call mne_otica.remove_artifacts(epochs, result.ica)."
        )
    ica = result.ica.copy()
    ica.exclude = sorted(chosen)
    raw = put_back(result.raw.copy().load_data(verbose="error"), result.ica, result.removed)
    reject = result.settings["reject_by_annotation"]
    blinks = blinks_of_choice(raw, ica, result.artifacts, result.ica.exclude, reject)
    decisions = {}
    for name, one in result.kinds.items():
        events = blinks if name == "blink" and not one.components else one.events
        kept = events[events[:, 1] == 0]
        told = one.reason, one.not_removed, one.why
        decisions[name] = Decision(one.answer, one.components, kept, *told)
    if kind is not None:
        kind = check_kinds(kind, "kind")[0]
        add_choice(decisions, kind, ica.exclude, raw, ica, reject)
    taken = take_out(raw, ica, decisions, result.settings)
    mark_cleaned(raw.info, taken)
    found = Found(result.artifacts, decisions)
    again = conclude(raw, result._filtered, ica, found, taken, result.settings, result.suspects)
    return replace(again, stability=result.stability)
