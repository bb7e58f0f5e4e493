"""The one path of removal: from recordings, from epochs, of a part or of whole components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from mne import BaseEpochs
from mne.io import BaseRaw
from mne.preprocessing import ICA
from mne.utils import logger, verbose
from numpy.typing import ArrayLike

from mne_otica.artifacts.find import blink_times, check_kinds, component_events
from mne_otica.artifacts.kinds import kinds
from mne_otica.removal.by_kind import kind_part
from mne_otica.removal.estimate import Estimate
from mne_otica.removal.layout import CHUNK, Layout
from mne_otica.signals.low_rate import check_ica
from mne_otica.signals.recording import quiet, runs, stretches
from mne_otica.signals.unmixing import maps_in_volts
from mne_otica.utils.arrays import Array, Mask, Samples
from mne_otica.utils.checks import _check_option, _mult_cal_one, _validate_flag, _validate_type
from mne_otica.utils.docs import fill_doc

REMOVALS = ("events", "component")


@dataclass(frozen=True)
class Part:
    """What is removed for one kind of artifact, or by a person's choice if ``kind`` is None."""

    kind: str | None
    components: list[int]
    courses: Array  # a row for each of the components
    estimate: Estimate | None = None  # None if whole components are removed

    @property
    def how(self) -> str:
        """How it is removed: by ``"events"``, by ``"band"``, or as the whole ``"component"``."""
        if self.estimate is None or self.estimate.whole:
            return "component"
        return kinds()[self.kind].removal.how

    @property
    def l_freq(self) -> float | None:
        """The lower limit of the band of the artifact, if it has one instead of events."""
        return None if self.kind is None else kinds()[self.kind].removal.l_freq

    def of_rows(self, rows: Sequence[int]) -> Part:
        """Return the part of some of the components."""
        if list(rows) == list(range(len(self.components))):
            return self
        some, estimate = [self.components[k] for k in rows], self.estimate
        if estimate is not None:
            estimate = replace(estimate, part=estimate.part[rows])
        return Part(self.kind, some, self.courses[rows], estimate)


@dataclass(frozen=True)
class Taken:
    """What is removed from the excluded components, a row for each, and its parts by kind."""

    courses: Array
    parts: tuple[Part, ...] = ()

    @classmethod
    def of_parts(cls, parts: Sequence[Part], exclude: Sequence[int], n_times: int) -> Taken:
        """Add up the parts, a row for each of the excluded components."""
        if len(parts) == 1 and parts[0].components == list(exclude):
            return cls(parts[0].courses, tuple(parts))
        courses = np.zeros((len(exclude), n_times))
        for part in parts:
            courses[[exclude.index(k) for k in part.components]] += part.courses
        return cls(courses, tuple(parts))

    def of(self, kind: str | None) -> Part | None:
        """Return what is removed for one kind, or by a person's choice."""
        return next((part for part in self.parts if part.kind == kind), None)


@verbose
@fill_doc
def remove_artifacts(
    inst: BaseRaw | BaseEpochs,
    ica: ICA,
    *,
    artifacts: str = "blink",
    events: ArrayLike | None = None,
    removal: str = "events",
    exclude: Sequence[int] | None = None,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> BaseRaw | BaseEpochs:
    """Remove artifacts from a recording, but keep the brain activity in their components.

    Parameters
    ----------
    inst : instance of Raw | instance of Epochs
        The recording, with the channels that the ICA was fitted on, filtered or not. It is not
        changed.
    ica : instance of ICA
        Any fitted :class:`mne.preprocessing.ICA`.
    artifacts : str
        The kind of artifact: ``"blink"``, ``"eye movement"``, ``"heartbeat"``,
        ``"muscle"`` or ``"electrode"``. Of electrodes, whole components are removed.
    events : array-like, shape (n_events, 3) | None
        MNE events at the artifacts, counted as in ``inst``. More blinks are searched for in
        the components; eye movements and muscle need no events. None uses the
        blinks found by :func:`mne_otica.find_artifact_events`; if these are too few to estimate a
        blink from, and in epochs, the large deflections of the first component. For the other
        kinds, None uses the events found in the components.
    removal : "events" | "component"
        ``"events"`` removes the part of the components that belongs to the events;
        ``"component"`` removes whole components, as :meth:`mne.preprocessing.ICA.apply`
        does.
    exclude : sequence of int | None
        The components that hold the artifacts; None uses ``ica.exclude``. If it is empty, nothing
        is removed.
    %(reject_spans)s
        Of the events in these spans, only blinks are removed.
    %(verbose)s

    Returns
    -------
    cleaned : instance of Raw | instance of Epochs
        A copy. Samples outside the windows around blinks and heartbeats are unchanged, and the
        rank is kept, except where whole components are removed.

    See Also
    --------
    clean_raw : Fit the ICA and find the components, too.
    mne.preprocessing.ICA.apply : Remove whole components.

    Notes
    -----
    A blink component is modelled as the sum of the artifact, which is non-zero only around its
    events, and the rest. Mean and covariance of the artifact are estimated from the events, the
    autocovariance of the rest from the quiet stretches. The best linear estimate of the artifact,
    times the topography of the component, is subtracted. Windows reach from 0.5 s before an
    event to 0.7 s after it; if ``inst.info["highpass"]`` names a filter that prolongs events,
    they are extended by its impulse response.

    Blinks so frequent that more of them would be left than the time between their windows spares
    are removed with the whole component.

    Heartbeats are nearly identical: their average is removed at each beat. The eyes move at all
    times, so eye movements are what exceeds, below 20 Hz, the power of the windows in which the
    eyes rest. Muscle activity above 15 Hz is what exceeds the spectrum expected of brain activity,
    without rhythms; below 15 Hz nothing is removed.
    """
    check_ica(ica, inst)
    _validate_type(artifacts, str, "artifacts")
    check_kinds([artifacts], "artifacts")
    _check_option("removal", removal, REMOVALS)
    _validate_flag(reject_by_annotation, "reject_by_annotation")
    exclude = check_components(ica, ica.exclude if exclude is None else exclude, "exclude")
    with quiet():
        cleaned = inst.copy().load_data()  # drops bad epochs
    wanted = {artifacts: (exclude, events)} if exclude else {}
    taken = parts_of(cleaned, ica, wanted, removal=removal, reject=reject_by_annotation)
    subtract(cleaned, ica, exclude, taken.courses)
    part = taken.of(artifacts)
    if part is not None:
        whole = ", whole components." if part.how == "component" else "."
        n_events = 0 if part.estimate is None else len(part.estimate.events)
        logger.info(f"Removed {n_events} events from {len(exclude)} component(s){whole}")
    return cleaned


def take_out(
    inst: BaseRaw | BaseEpochs, ica: ICA, decisions: Mapping[str, Any], settings: dict[str, Any]
) -> Taken:
    """Remove the artifacts from loaded data in place, and return what was removed."""
    taken = to_take(inst, ica, decisions, settings)
    subtract(inst, ica, ica.exclude, taken.courses)
    return taken


def to_take(
    inst: BaseRaw | BaseEpochs, ica: ICA, decisions: Mapping[str, Any], settings: dict[str, Any]
) -> Taken:
    """Return what is to be removed for ``ica.exclude``, which is sorted by kind."""
    of_kinds = {
        kind: ([k for k in one.components if k in ica.exclude], one.events)
        for kind, one in decisions.items()
    }
    known = list(dict.fromkeys(k for some, _ in of_kinds.values() for k in some))
    by_hand = [k for k in ica.exclude if k not in known]  # these are removed entirely
    ica.exclude = known + by_hand
    options = dict(removal=settings["removal"], reject=settings["reject_by_annotation"])
    return parts_of(inst, ica, of_kinds, by_hand, **options)


def put_back(raw: BaseRaw, ica: ICA, courses: Array) -> BaseRaw:
    """Undo `take_out` in place, up to rounding of the samples that it changed."""
    subtract(raw, ica, ica.exclude, -courses)
    return raw


def parts_of(
    inst: BaseRaw | BaseEpochs,
    ica: ICA,
    wanted: Mapping[str, tuple[list[int], ArrayLike | None]],  # None searches for the events
    by_hand: Sequence[int] = (),
    *,
    removal: str,
    reject: bool,
) -> Taken:
    """Return the part of each kind in its components, and whole components chosen by hand."""
    every = list(dict.fromkeys([k for some, _ in wanted.values() for k in some] + list(by_hand)))
    layout = Layout.of(inst)
    courses, bad, broken = layout.read(inst, ica, every, reject)
    whole_runs = stretches(inst) if isinstance(inst, BaseRaw) else np.zeros((0, 2), int)
    # Components are unknown where any channel is not finite, so nothing is removed there.
    left, parts = np.where(broken, 0.0, courses), []
    if by_hand:
        rows = [every.index(k) for k in by_hand]
        parts.append(Part(None, list(by_hand), left[rows].copy()))
        left[rows] = 0.0
    for kind, (components, events) in wanted.items():
        if not components:
            continue
        rows = [every.index(k) for k in components]
        part = Part(kind, list(components), left[rows])
        if removal == "events":
            if events is None:
                samples = layout.with_gaps(_found(inst, ica, components, reject, kind))
            else:
                samples = layout.place(inst, events)
            levelled = _level(np.where(broken, np.nan, left[rows]), bad, whole_runs)
            highpass, sfreq = inst.info["highpass"] or 0.0, inst.info["sfreq"]
            own = kinds()[kind].removal, levelled, sfreq, samples
            estimate = kind_part(*own, bad, highpass)
            annotated = bad & ~broken
            if kind == "blink" and annotated.any() and isinstance(inst, BaseRaw):
                # What is annotated says nothing about blinks elsewhere, but they are removed there.
                estimate = estimate.joined(kind_part(*own, broken, highpass), annotated)
            own = np.where(broken, 0.0, estimate.part) if broken.any() else estimate.part
            part = Part(kind, list(components), own, estimate)
        left[rows] = left[rows] - part.courses  # a component of several kinds: each in turn
        parts.append(part)
    return Taken.of_parts(parts, every, courses.shape[1])


def _found(
    inst: BaseRaw | BaseEpochs, ica: ICA, components: Sequence[int], reject: bool, kind: str
) -> Samples:
    """Return the events of a kind, found in the components, or for blinks in the channels."""
    labels, samples = dict(ica.labels_), np.zeros(0, np.int64)
    with quiet():
        if kind != "blink":
            samples = component_events(ica, inst, components, kind, reject)
        elif isinstance(inst, BaseRaw):
            samples = blink_times(inst, ica=ica, reject_by_annotation=reject)[0] - inst.first_samp
        if kind == "blink" and len(samples) < 3:  # too few to estimate a blink from
            samples = np.r_[samples, component_events(ica, inst, components[:1], kind, reject)]
    ica.labels_ = labels
    return samples


def _level(courses: Array, bad: Mask, parts: Samples) -> Array:
    """Subtract the median of each run in place: offsets between runs are not the artifact's."""
    for start, stop in parts:
        good = ~bad[start:stop]
        if good.any():
            own = courses[:, start:stop]
            own -= np.median(own[:, good], axis=1, keepdims=True)
    return courses


def subtract(inst: BaseRaw | BaseEpochs, ica: ICA, exclude: Sequence[int], courses: Array) -> None:
    """Subtract time courses of components in place; where all are zero, no sample is touched."""
    maps = maps_in_volts(ica)[:, list(exclude)]
    picks = [inst.ch_names.index(name) for name in ica.ch_names]
    layout = Layout.of(inst)
    for epoch, start in enumerate(layout.starts):
        data = inst._data[epoch] if isinstance(inst, BaseEpochs) else inst._data
        own = courses[:, start : start + layout.length]
        for first, last in runs(own.any(axis=0)):
            for begin in range(first, last, CHUNK):
                span = slice(begin, min(begin + CHUNK, last))
                data[picks, span] -= maps @ own[:, span]


def without(raw: BaseRaw, ica: ICA, courses: Array) -> BaseRaw:
    """Return a copy, loaded or not, without these courses of the components in ``ica.exclude``."""
    if not courses.any():
        return raw.copy()
    if not raw.preload:
        maps = np.zeros((len(raw.ch_names), len(ica.exclude)))
        picks = [raw.ch_names.index(name) for name in ica.ch_names]
        maps[picks] = maps_in_volts(ica)[:, ica.exclude]
        return RawCleanedOnRead(raw, maps, courses)
    cleaned = raw.copy()
    subtract(cleaned, ica, ica.exclude, courses)
    return cleaned


def check_components(ica: ICA, components: Sequence[int], name: str) -> list[int]:
    """Return the components without duplicates; raise if any does not exist."""
    chosen = [int(k) for k in components]
    if wrong := [k for k in chosen if not 0 <= k < ica.n_components_]:
        raise ValueError(
            f"{name} holds {wrong}, but the ICA has {ica.n_components_} components, counted from "
            "0; pass some of these."
        )
    return list(dict.fromkeys(chosen))


class RawCleanedOnRead(BaseRaw):
    """A recording that is not loaded, without some time courses with topographies in ``maps``."""

    def __init__(self, raw: BaseRaw, maps: Array, courses: Array) -> None:
        super().__init__(
            raw.info.copy(),
            preload=False,
            first_samps=[raw.first_samp],
            last_samps=[raw.last_samp],
            filenames=list(raw.filenames[:1]),
            raw_extras=[{"raw": raw.copy(), "maps": maps, "courses": courses}],
            orig_format=raw.orig_format,
            verbose="error",
        )
        self._cals = np.ones(len(self.ch_names))  # what is read from `raw` is calibrated
        self.set_annotations(raw.annotations, verbose="error")

    def _read_segment_file(
        self, data: Array, idx: Any, fi: int, start: int, stop: int, cals: Array, mult: Array | None
    ) -> None:
        raw, maps, courses = (self._raw_extras[fi][name] for name in ("raw", "maps", "courses"))
        span = slice(start - raw.first_samp, stop - raw.first_samp)
        piece, own = raw[:, span][0], courses[:, span]
        changed = own.any(axis=0)
        if changed.any():  # all other samples stay as they are, to the last digit
            piece[:, changed] -= maps @ own[:, changed]
        _mult_cal_one(data, piece, idx, cals, mult)
