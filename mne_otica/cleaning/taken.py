"""Removal of artifacts from a recording, and the time courses removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mne_otica.artifacts import kinds
from mne_otica.cleaning.decide import Decision
from mne_otica.ica import ICA
from mne_otica.removal.remove import Estimate, kind_part
from mne_otica.signals.recording import annotated_bad
from mne_otica.signals.unmixing import (
    maps_in_volts,
    others_along_maps,
    unmixing_in_volts,
    unmixing_offset,
)
from mne_otica.signals.windows import runs
from mne_otica.solver._linalg import chunks

if TYPE_CHECKING:
    from mne.io import BaseRaw

_PIECE = 2**17  # samples that are processed at a time


@dataclass(frozen=True)
class Part:
    """What is removed for one kind of artifact, or by a person's choice if ``kind`` is None.

    ``courses`` has a row for each of ``components``. ``estimate`` is how they were
    estimated; None if whole components are removed.
    """

    kind: str | None
    components: list[int]
    courses: NDArray[np.float64]
    estimate: Estimate | None = None

    @property
    def how(self) -> str:
        """How it is removed: by ``"events"``, by ``"band"``, or as the whole ``"component"``."""
        return "component" if self.estimate is None else kinds()[self.kind].removal.how

    @property
    def left_in(self) -> list[int]:
        """The components left as they are because the channels do not show the artifact."""
        shares = None if self.estimate is None else self.estimate.shares
        if shares is None:
            return []
        return [k for k, share in zip(self.components, shares, strict=True) if not share]


@dataclass(frozen=True)
class Taken:
    """What is removed from the excluded components, a row for each, and its parts by kind."""

    courses: NDArray[np.float64]
    parts: tuple[Part, ...] = ()

    def of(self, kind: str) -> Part | None:
        """Return what is removed for one kind."""
        return next((part for part in self.parts if part.kind == kind), None)


def take_out(
    raw: BaseRaw, ica: ICA, decisions: Mapping[str, Decision], settings: dict[str, Any]
) -> Taken:
    """Remove the artifacts from a loaded recording in place, and return what was removed.

    The parameters are those of `to_take`.
    """
    taken = to_take(raw, ica, decisions, settings)
    _subtract(raw, ica, taken.courses)
    return taken


def to_take(
    raw: BaseRaw, ica: ICA, decisions: Mapping[str, Decision], settings: dict[str, Any]
) -> Taken:
    """Return what is to be removed from a loaded recording.

    Parameters
    ----------
    raw : instance of Raw
        The recording.
    ica : instance of ICA
        Its ``exclude`` is sorted in place: components of the first kind first.
    decisions : dict
        The decision about each kind. Excluded components of no kind, chosen by a person, are
        removed entirely.
    settings : dict
        The parameters of `clean_raw`.
    """
    of_kinds = {
        kind: [k for k in one.components if k in ica.exclude] for kind, one in decisions.items()
    }
    known = list(dict.fromkeys(k for some in of_kinds.values() for k in some))
    by_hand = [k for k in ica.exclude if k not in known]
    ica.exclude = known + by_hand
    courses = component_courses(raw, ica)
    broken = ~np.isfinite(courses.sum(axis=0))
    bad = broken | annotated_bad(raw) if settings["reject_by_annotation"] else broken
    left, parts = courses, []
    if by_hand:
        parts.append(Part(None, by_hand, np.where(broken, 0.0, courses[len(known) :])))
    for kind, some in of_kinds.items():
        if some:
            rows = [ica.exclude.index(k) for k in some]
            part = _part(kind, some, decisions[kind], left[rows], bad, broken, raw, ica, settings)
            left = left.copy()
            left[rows] -= part.courses
            parts.append(part)
    taken = np.zeros_like(courses)
    for part in parts:
        taken[[ica.exclude.index(k) for k in part.components]] += part.courses
    return Taken(taken, tuple(parts))


def put_back(raw: BaseRaw, ica: ICA, courses: NDArray[np.float64]) -> BaseRaw:
    """Undo `take_out` in place, up to rounding of the samples that it changed."""
    _subtract(raw, ica, -courses)
    return raw


def _part(
    kind: str,
    components: list[int],
    decision: Decision,
    courses: NDArray[np.float64],
    bad: NDArray[np.bool_],
    broken: NDArray[np.bool_],
    raw: BaseRaw,
    ica: ICA,
    settings: dict[str, Any],
) -> Part:
    """Return what is to be removed from the time courses of a kind's components."""
    # Components are unknown where any channel is not finite, so nothing is removed there.
    if settings["removal"] == "component":
        return Part(kind, components, np.where(broken, 0.0, courses))
    others = None
    if kind != "blink":
        others = _projected(raw, ica, others_along_maps(ica, components))
    estimate = kind_part(
        kinds()[kind].removal,
        courses,
        raw.info["sfreq"],
        decision.events[:, 0] - raw.first_samp,
        bad,
        highpass=raw.info["highpass"] or 0.0,
        others=others,
    )
    return Part(kind, components, np.where(broken, 0.0, estimate.part), estimate)


def component_courses(raw: BaseRaw, ica: ICA) -> NDArray[np.float64]:
    """Return the time courses of the excluded components of a loaded recording."""
    unmixing, offset = unmixing_in_volts(ica)[ica.exclude], unmixing_offset(ica)[ica.exclude]
    return _projected(raw, ica, unmixing) - offset


def _projected(raw: BaseRaw, ica: ICA, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weighted sums of the channels that an ICA was fitted on."""
    found = np.zeros((len(weights), raw.n_times))
    picks = [raw.ch_names.index(name) for name in ica.ch_names]
    for chunk in chunks(raw._data) if len(found) else ():
        found[:, chunk] = weights @ raw._data[picks, chunk]
    return found


def _subtract(raw: BaseRaw, ica: ICA, courses: NDArray[np.float64]) -> None:
    """Subtract time courses in place; samples where all of them are zero are not touched."""
    maps = maps_in_volts(ica)[:, ica.exclude]
    picks = [raw.ch_names.index(name) for name in ica.ch_names]
    for start, stop in runs(courses.any(axis=0)):
        for begin in range(start, stop, _PIECE):
            span = slice(begin, min(begin + _PIECE, stop))
            raw._data[picks, span] -= maps @ courses[:, span]
