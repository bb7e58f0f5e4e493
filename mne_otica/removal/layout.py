"""Recordings and epochs as continuous time courses of components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mne
import numpy as np
from numpy.typing import ArrayLike

from mne_otica.artifacts.find import blink_times, component_events
from mne_otica.removal.linear_estimate import Array, Mask, Samples
from mne_otica.signals.recording import annotated_bad, quiet
from mne_otica.signals.unmixing import unmixing_in_volts, unmixing_offset
from mne_otica.signals.windows import event_samples

if TYPE_CHECKING:
    from mne import BaseEpochs
    from mne.io import BaseRaw
    from mne.preprocessing import ICA

_ENOUGH = 3  # blinks in the channels, to estimate a blink from
_GAP = 2.0  # s between epochs that are put side by side, so that they do not affect each other
_CHUNK = 2**14  # samples that are unmixed at a time


@dataclass(frozen=True)
class Layout:
    """The positions of a recording or its epochs in the continuous time courses."""

    starts: Samples
    length: int
    total: int

    @classmethod
    def of(cls, inst: BaseRaw | BaseEpochs) -> Layout:
        """Return the layout of a recording or of epochs."""
        length = len(inst.times)
        if isinstance(inst, mne.io.BaseRaw):
            return cls(np.zeros(1, np.int64), length, length)
        stride = length + int(_GAP * inst.info["sfreq"])
        return cls(np.arange(len(inst)) * stride, length, len(inst) * stride)

    def read(
        self, inst: BaseRaw | BaseEpochs, ica: ICA, exclude: Sequence[int], reject: bool
    ) -> tuple[Array, Mask, Mask]:
        """Return time courses, samples that must not be used, and those that are not finite."""
        courses = self._project(inst, ica, unmixing_in_volts(ica)[exclude])
        if isinstance(inst, mne.io.BaseRaw):
            bad = annotated_bad(inst) if reject else np.zeros(inst.n_times, bool)
        else:
            bad = np.ones(self.total, bool)
            for start in self.starts:
                bad[start : start + self.length] = False
        broken = ~np.isfinite(courses.sum(axis=0))
        return courses - unmixing_offset(ica)[exclude], bad | broken, broken

    def _project(self, inst: BaseRaw | BaseEpochs, ica: ICA, weights: Array) -> Array:
        """Return weighted sums of the channels that an ICA was fitted on, zero between epochs."""
        picks = [inst.ch_names.index(name) for name in ica.ch_names]
        found = np.zeros((len(weights), self.total))
        if not len(weights):
            return found
        if isinstance(inst, mne.io.BaseRaw):
            for begin in range(0, self.total, _CHUNK):
                end = min(begin + _CHUNK, self.total)
                found[:, begin:end] = weights @ inst.get_data(picks, begin, end)
            return found
        for start, data in zip(self.starts, inst.get_data(picks=picks), strict=True):
            found[:, start : start + self.length] = weights @ data
        return found

    def samples(
        self,
        inst: BaseRaw | BaseEpochs,
        ica: ICA,
        components: Sequence[int],
        events: ArrayLike | None,
        reject: bool,
        kind: str,
    ) -> Samples:
        """Return the samples of events, which are searched for if None are given."""
        if events is None:
            return self._find(inst, ica, components, reject, kind)
        return self._place(inst, events)

    def cut(self, courses: Array) -> Array:
        """Return time courses side by side, without the gaps between epochs."""
        return np.concatenate([courses[:, k : k + self.length] for k in self.starts], axis=1)

    def spread(self, courses: Array) -> Array:
        """Return time courses with gaps between epochs: the inverse of `cut`."""
        found = np.zeros((len(courses), self.total))
        for epoch, start in enumerate(self.starts):
            own = courses[:, epoch * self.length : (epoch + 1) * self.length]
            found[:, start : start + self.length] = own
        return found

    def without_gaps(self, samples: Samples) -> Samples:
        """Return the samples that lie in epochs, counted without the gaps."""
        epoch = np.searchsorted(self.starts, samples, "right") - 1
        late = samples - self.starts[epoch]
        return (epoch * self.length + late)[late < self.length]

    def _find(
        self,
        inst: BaseRaw | BaseEpochs,
        ica: ICA,
        exclude: Sequence[int],
        reject: bool,
        kind: str,
    ) -> Samples:
        """Return the events of a kind, found in the components, or for blinks in the channels.

        If the channels show too few blinks, the large deflections of a component are used.
        """
        labels = dict(ica.labels_)
        samples = np.zeros(0, np.int64)
        with quiet():
            if kind != "blink":
                samples = component_events(ica, inst, exclude, kind, reject)
            elif isinstance(inst, mne.io.BaseRaw):
                samples, _ = blink_times(inst, ica=ica, reject_by_annotation=reject)
                samples = samples - inst.first_samp
            if kind == "blink" and len(samples) < _ENOUGH:
                samples = np.r_[samples, component_events(ica, inst, exclude[:1], kind, reject)]
        ica.labels_ = labels
        epoch = np.minimum(samples // self.length, len(self.starts) - 1)
        return self.starts[epoch] + samples - epoch * self.length

    def _place(self, inst: BaseRaw | BaseEpochs, events: ArrayLike) -> Samples:
        """Return the samples of events in the continuous time courses."""
        sfreq = inst.info["sfreq"]
        if isinstance(inst, mne.io.BaseRaw):
            return event_samples(events, inst.first_samp, inst.n_times)
        # Events between the epochs are ignored, but are not an error.
        samples = event_samples(events, 0, np.iinfo(np.int64).max)
        # Events count in samples of the recording, of which decimated epochs keep every few.
        decim = max(1, round((getattr(inst, "_raw_sfreq", None) or sfreq) / sfreq))
        first = inst.events[:, 0] + int(round(inst.tmin * sfreq * decim))
        late = (samples[:, np.newaxis] - first) // decim
        which, epoch = np.nonzero((late >= 0) & (late < self.length))
        return self.starts[epoch] + late[which, epoch]
