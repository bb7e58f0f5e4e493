"""Whether removing a component does measurable good at the channels, checked on the other half.

Averages over halves of the events have independent noise, so what was estimated in one half is no
gain in the other unless both show the artifact with the topography of the component.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import mne
import numpy as np
from mne.preprocessing import ICA
from numpy.typing import NDArray

from mne_otica.artifacts import as_events, kinds
from mne_otica.cleaning.found import Found
from mne_otica.evaluation.measures import MOST_AFFECTED, KindResult
from mne_otica.removal.estimate import sham_events, sham_part
from mne_otica.removal.remove import Part, Taken
from mne_otica.signals.reading import LowRateRaw
from mne_otica.signals.recording import annotated_bad
from mne_otica.signals.unmixing import maps_in_volts
from mne_otica.signals.windows import HALF_WINDOW, whole_windows, window_bounds
from mne_otica.utils.arrays import Array, Samples, nearest

Filter = Callable[[Array], Array]
# Share of the power by which a component has to reduce the average in the other half: 0.1 is 5 % of
# its RMS. Set by hand, so that removals of 0 or 1 % do not count; no benchmark chose it.
LEAST_GAIN = 0.1
NO_GAIN = "no measurable reduction at the channels"
SAME = 0.1  # s; events that are closer are one


def cross_checked(
    found: Found, taken: Taken, ica: ICA, filtered: LowRateRaw, reject: bool, in_band: Filter
) -> Found:
    """Keep the components whose removal does good in the band of the fit, in ``ica``, too."""
    check = _Check(filtered, maps_in_volts(ica), annotated_bad(filtered, reject))
    decisions, parts, levels, shams = dict(found.decisions), [], {}, {}
    for part in taken.parts:
        decision, courses = decisions[part.kind], in_band(part.courses)
        events = removed_events(part, decision.events, filtered)
        # An electrode that crackles or hums has no events whose average would show it.
        if part.l_freq is not None or part.kind == "electrode":
            gains, sham = check.in_band(part, courses), None
        else:
            gains, sham = check.beyond_sham(part, courses, events, in_band)
        kept = [k for k in part.components if gains.get(k, 0.0) > 0]
        rows = [part.components.index(k) for k in kept]
        dropped = [k for k in part.components if k not in kept]
        told = dict(not_removed=dropped, why=NO_GAIN if dropped else "", given=decision.events)
        decision = replace(decision, components=kept, **told)
        if kept:
            decision = replace(decision, events=events)
            parts.append(part.of_rows(rows))
            levels[part.kind] = courses[rows]
            if sham is not None:
                shams[part.kind] = sham[rows]
        decisions[part.kind] = decision
    found = replace(found, decisions=decisions, in_band=levels, shams=shams)
    ica.exclude = found.components
    return replace(found, taken=Taken.of_parts(parts, ica.exclude, taken.courses.shape[1]))


def without_useless(found: Found, results: Mapping[str, KindResult], ica: ICA) -> Found:
    """Leave out the kinds whose average is not reduced: the gain may have been another kind's."""
    useless = {
        kind: replace(found.decisions[kind], components=[], not_removed=one.components, why=NO_GAIN)
        for kind, one in results.items()
        if one.components and one.gone is not None and one.gone <= 0
    }
    if not useless:
        return found
    found = replace(found, decisions=found.decisions | useless)
    ica.exclude = found.components
    parts = [part for part in found.taken.parts if part.kind not in useless]
    taken = Taken.of_parts(parts, ica.exclude, found.taken.courses.shape[1])
    return replace(found, taken=taken)


@dataclass(frozen=True)
class _Check:
    """A recording in the band of the fit, the topographies of its components, and bad samples."""

    filtered: LowRateRaw
    maps: Array
    bad: NDArray[np.bool_]

    def beyond_sham(
        self, part: Part, courses: Array, events: Samples, in_band: Filter
    ) -> tuple[dict[int, float], Array | None]:
        """Return what each component gains beyond sham events, and the part for those, in band."""
        gains = self.at_events(part, courses, events[:, 0] - self.filtered.origin)
        gains = {k: gain if gain > LEAST_GAIN else 0.0 for k, gain in gains.items()}
        if part.estimate is None or part.estimate.model is None:
            return gains, None
        samples = sham_events(part.estimate, self.filtered.sfreq, part.courses.shape[1])
        sham = in_band(sham_part(part.estimate, samples))
        chance = self.at_events(part, sham, samples)
        return {k: gain if gain > chance.get(k, 0.0) else 0.0 for k, gain in gains.items()}, sham

    def at_events(self, part: Part, courses: Array, samples: Samples) -> dict[int, float]:
        """Return the share of the average's power that each component removes in the other half."""
        if kinds()[part.kind].removal.shape != "step":
            return self._halves(part.components, courses, samples, np.ones(len(samples)))
        gains = {}
        # Eyes that turn up do not turn to the right as well.
        for k in range(len(part.components)):
            row = slice(k, k + 1)
            # Weighed by their own size, the steps that any course has would seem to be real.
            signs = np.sign(weights_of(part.kind, part.courses[row], samples, self.filtered.sfreq))
            gains |= self._halves(part.components[row], courses[row], samples, signs, steps=True)
        return gains

    def _halves(
        self,
        components: list[int],
        courses: Array,
        samples: Samples,
        signs: Array,
        steps: bool = False,
    ) -> dict[int, float]:
        """Add components one after the other, and leave them out again if they do not help."""
        bounds = window_bounds(-2 * HALF_WINDOW, HALF_WINDOW, self.filtered.info["sfreq"])
        samples = samples // self.filtered.step
        used = np.isin(samples, whole_windows(samples, self.bad, bounds)[0])
        samples, signs = samples[used], signs[used]
        if not len(samples):
            return {}
        # All halves of up to eight blocks of events, of which the last is the complement of the
        # first; drawn at random, as eyes go there and back. A single event is both halves.
        n_blocks = min(8, max(1, len(samples) // 2 * 2))
        order = np.random.default_rng(0).permutation(len(samples))
        blocks = [(samples[k], signs[k], bounds, steps) for k in np.array_split(order, n_blocks)]
        halves = list(combinations(range(n_blocks), max(1, n_blocks // 2)))
        channels = np.array([_average(self.filtered._data, *block) for block in blocks])
        parts = np.array([_average(courses, *block) for block in blocks])
        most = np.argsort(-np.sum(channels.sum(axis=0) ** 2, axis=1))[:MOST_AFFECTED]
        left = [channels[list(half)][:, most].mean(axis=0) for half in halves]
        parts, gains = [parts[list(half)].mean(axis=0) for half in halves], {}
        for k, component in enumerate(components):
            topography = self.maps[most, component][:, np.newaxis]
            trial = [x - topography * p[k] for x, p in zip(left, parts[::-1], strict=True)]
            power = [sum(np.sum(x**2) for x in some) for some in (left, trial)]
            gains[component] = 1 - power[1] / power[0] if power[0] > 0 else 0.0
            if gains[component] > LEAST_GAIN:
                left = trial
        return gains

    def in_band(self, part: Part, courses: Array) -> dict[int, float]:
        """Return the share of the power in its band that each removes, in the worse half."""
        sfreq, before = self.filtered.info["sfreq"], self.filtered._data
        high = mne.filter.filter_data(courses, sfreq, part.l_freq, None, verbose="error")
        gains, accepted = {}, []
        for k, component in enumerate(part.components):
            most = np.argsort(-np.abs(self.maps[:, component]))[:MOST_AFFECTED]
            topography = self.maps[most, component]
            shares = []
            for half in np.array_split(np.flatnonzero(~self.bad), 2):
                along = topography @ before[np.ix_(most, half)]
                for j in accepted:
                    overlap = topography @ self.maps[most, part.components[j]]
                    along = along - overlap * courses[j, half]
                own = high[k, half]
                power = topography @ topography * (own @ own)
                shares.append((2 * along @ own - power) / max(power, np.finfo(float).tiny))
            gains[component] = float(min(shares)) if high[k].any() else 0.0
            if gains[component] > 0:
                accepted.append(k)
        return gains


def _average(
    data: Array, samples: Samples, signs: Array, bounds: tuple[int, int], steps: bool
) -> Array:
    """Return the average over events, relative to the baseline; of steps, to its own mean."""
    total = np.zeros((len(data), bounds[1] - bounds[0]))
    for sample, sign in zip(samples, signs, strict=True):
        total += sign * data[:, sample + bounds[0] : sample + bounds[1]]
    total /= len(samples)
    n_baseline = (bounds[1] - bounds[0]) // 3
    # Eyes that look back and forth have been elsewhere before: in `benchmarks.put_in`, three of 50
    # components with gains of 0.6 and more seem to lose by their level before the window.
    level = slice(n_baseline, None) if steps else slice(0, n_baseline)
    return (total - total[:, level].mean(axis=1, keepdims=True))[:, n_baseline:]


def weights_of(kind: str, courses: Array, samples: Samples, sfreq: float) -> Array:
    """Return the weight of each event: 1, of steps their size and direction in the first course."""
    if kinds()[kind].removal.shape != "step":
        return np.ones(len(samples))
    away, course = max(1, round(SAME * sfreq)), courses[0]
    after, before = ((samples + k).clip(0, len(course) - 1) for k in (away, -away))
    # With signs alone, the direction of the smallest steps, which is uncertain, would count most.
    steps = course[after] - course[before]
    return steps / (np.sqrt(np.mean(steps**2)) or 1.0) if len(steps) else steps


def removed_events(part: Part, given: Samples, like: LowRateRaw) -> Samples:
    """Return the given events that were confirmed, and those found: 1 in the second column."""
    if part.estimate is None or part.how != "events":
        return given
    found = part.estimate.events + like.origin
    known = np.sort(given[:, 0])
    if len(known) and len(found):
        close = known[nearest(found, known)]
        found = np.where(np.abs(found - close) <= SAME * like.sfreq, close, found)
    events = as_events(np.unique(found), kinds()[part.kind].event_id)
    events[:, 1] = len(known) and ~np.isin(events[:, 0], known)
    return events
