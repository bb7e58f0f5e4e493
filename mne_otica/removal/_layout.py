"""Recordings and epochs as courses of components on one line of samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import mne
import numpy as np
from numpy.typing import ArrayLike

from mne_otica._filtered import quiet
from mne_otica._windows import windows as check_events
from mne_otica.artifacts import locate_blinks
from mne_otica.artifacts._blink import Rule, judge
from mne_otica.artifacts._events import RATE as FINDER_RATE
from mne_otica.removal._model import WINDOW, Array, Mask, Samples

if TYPE_CHECKING:
    from mne import BaseEpochs
    from mne.io import BaseRaw
    from mne.preprocessing import ICA

_ENOUGH = 3  # blinks that channels show, to learn from
_GAP = 2.0  # s between epochs that are put side by side, so that none tells of the next
_CHUNK = 100_000  # samples that are unmixed in one go


class _Span(NamedTuple):
    """What a check of events has to know of a recording."""

    sfreq: float
    first_samp: int
    n_times: int


@dataclass(frozen=True)
class Layout:
    """Where a recording or its epochs lie on one line of samples."""

    starts: Samples
    length: int
    total: int

    @classmethod
    def of(cls, inst: BaseRaw | BaseEpochs) -> Layout:
        length = len(inst.times)
        if isinstance(inst, mne.io.BaseRaw):
            return cls(np.zeros(1, np.int64), length, length)
        stride = length + int(_GAP * inst.info["sfreq"])
        return cls(np.arange(len(inst)) * stride, length, len(inst) * stride)

    def read(
        self, inst: BaseRaw | BaseEpochs, ica: ICA, exclude: Sequence[int], reject: bool
    ) -> tuple[Array, Mask]:
        """Return the courses of the components, and which samples say nothing."""
        weights, offset = _unmixing(ica, exclude)
        picks = [inst.ch_names.index(name) for name in ica.ch_names]
        courses = np.zeros((len(exclude), self.total))
        if isinstance(inst, mne.io.BaseRaw):
            for begin in range(0, self.total, _CHUNK):
                end = min(begin + _CHUNK, self.total)
                courses[:, begin:end] = weights @ inst.get_data(picks, begin, end) - offset
            if not reject:
                return courses, ~np.isfinite(courses.sum(axis=0))
            # One channel is enough to learn where the annotations are.
            spans = inst.get_data(picks[:1], reject_by_annotation="NaN")[0]
            return courses, np.isnan(spans) | ~np.isfinite(courses.sum(axis=0))
        bad = np.ones(self.total, bool)
        for start, data in zip(self.starts, inst.get_data(picks=picks), strict=True):
            here = slice(start, start + self.length)
            courses[:, here] = weights @ data - offset
            bad[here] = ~np.isfinite(courses[:, here].sum(axis=0))
        return courses, bad

    def find(
        self, inst: BaseRaw | BaseEpochs, ica: ICA, exclude: Sequence[int], reject: bool
    ) -> Samples:
        """Return the blinks that channels show, or else the large deflections of a component."""
        sfreq = inst.info["sfreq"]
        labels = dict(ica.labels_)
        samples = np.zeros(0, np.int64)
        with quiet():
            if isinstance(inst, mne.io.BaseRaw):
                blinks = locate_blinks(inst, ica=ica, reject_by_annotation=reject).events
                samples = blinks[:, 0] - inst.first_samp
            if len(samples) < _ENOUGH:
                found, _ = judge(ica, inst, Rule(), None, reject)
                step = max(1, int(sfreq / FINDER_RATE))
                peaks = found[exclude[0]].typical_peaks * step + (step - 1) / 2
                samples = np.r_[samples, np.round(peaks).astype(np.int64)]
        ica.labels_ = labels
        epoch = np.minimum(samples // self.length, len(self.starts) - 1)
        return self.starts[epoch] + samples - epoch * self.length

    def place(self, inst: BaseRaw | BaseEpochs, events: ArrayLike) -> Samples:
        """Return where events lie."""
        sfreq = inst.info["sfreq"]
        if isinstance(inst, mne.io.BaseRaw):
            span = _Span(sfreq, inst.first_samp, inst.n_times)
            return check_events(span, events, *WINDOW)[0]
        # Events between the epochs are none of theirs, but no mistake.
        anywhere = _Span(sfreq, 0, np.iinfo(np.int64).max)
        samples, _, _ = check_events(anywhere, events, *WINDOW)
        first = inst.events[:, 0] + int(round(inst.tmin * sfreq))
        late = samples[:, np.newaxis] - first
        which, epoch = np.nonzero((late >= 0) & (late < self.length))
        return self.starts[epoch] + late[which, epoch]


def _unmixing(ica: ICA, components: Sequence[int]) -> tuple[Array, Array]:
    """Return what takes channels to the courses of components, and what to take off then."""
    weights = ica.unmixing_matrix_[list(components)] @ ica.pca_components_[: ica.n_components_]
    offset = weights @ (np.zeros(weights.shape[1]) if ica.pca_mean_ is None else ica.pca_mean_)
    whitener = ica.pre_whitener_
    weights = weights / whitener[:, 0] if whitener.shape[1] == 1 else weights @ whitener
    return weights, offset[:, np.newaxis]
