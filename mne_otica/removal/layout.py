"""Recordings and epochs as continuous time courses of components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from mne import BaseEpochs
from mne.io import BaseRaw
from mne.preprocessing import ICA
from numpy.typing import ArrayLike

from mne_otica.signals.recording import annotated_bad
from mne_otica.signals.unmixing import unmixing_in_volts, unmixing_offset
from mne_otica.signals.windows import event_samples
from mne_otica.utils.arrays import Array, Mask, Samples

CHUNK = 2**14  # samples that are unmixed or subtracted at a time: they stay in the cache


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
        if isinstance(inst, BaseRaw):
            return cls(np.zeros(1, np.int64), length, length)
        # Two seconds between epochs, so that they do not affect each other
        stride = length + int(2 * inst.info["sfreq"])
        return cls(np.arange(len(inst)) * stride, length, len(inst) * stride)

    def read(
        self, inst: BaseRaw | BaseEpochs, ica: ICA, components: Sequence[int], reject: bool
    ) -> tuple[Array, Mask, Mask]:
        """Return time courses, samples that must not be used, and those that are not finite."""
        picks = [inst.ch_names.index(name) for name in ica.ch_names]
        weights = unmixing_in_volts(ica)[components]
        courses = np.zeros((len(components), self.total))
        if isinstance(inst, BaseRaw):
            for begin in range(0, self.total, CHUNK):
                end = min(begin + CHUNK, self.total)
                courses[:, begin:end] = weights @ inst.get_data(picks, begin, end)
            bad = annotated_bad(inst) if reject else np.zeros(inst.n_times, bool)
        else:
            bad = np.ones(self.total, bool)
            for start, data in zip(self.starts, inst.get_data(picks=picks), strict=True):
                courses[:, start : start + self.length] = weights @ data
                bad[start : start + self.length] = False
        broken = ~np.isfinite(courses.sum(axis=0))
        return courses - unmixing_offset(ica)[components], bad | broken, broken

    def cut(self, courses: Array) -> Array:
        """Return time courses side by side, without the gaps between epochs."""
        return np.concatenate([courses[:, k : k + self.length] for k in self.starts], axis=1)

    def spread(self, courses: Array) -> Array:
        """Return time courses with gaps between epochs: the inverse of `cut`."""
        found = np.zeros((len(courses), self.total))
        found[:, self.with_gaps(np.arange(courses.shape[1]))] = courses
        return found

    def without_gaps(self, samples: Samples) -> Samples:
        """Return the samples that lie in epochs, counted without the gaps."""
        epoch = np.searchsorted(self.starts, samples, "right") - 1
        late = samples - self.starts[epoch]
        return (epoch * self.length + late)[late < self.length]

    def with_gaps(self, samples: Samples) -> Samples:
        """Return samples that are counted without the gaps where they lie in the time courses."""
        epoch = np.minimum(samples // self.length, len(self.starts) - 1)
        return self.starts[epoch] + samples - epoch * self.length

    def place(self, inst: BaseRaw | BaseEpochs, events: ArrayLike) -> Samples:
        """Return the samples of events in the continuous time courses."""
        if isinstance(inst, BaseRaw):
            return event_samples(events, inst.first_samp, inst.n_times)
        # Events between the epochs are ignored, but are not an error.
        samples, sfreq = event_samples(events, 0, np.iinfo(np.int64).max), inst.info["sfreq"]
        # Events count in samples of the recording, of which decimated epochs keep every few.
        decim = max(1, round((getattr(inst, "_raw_sfreq", None) or sfreq) / sfreq))
        first = inst.events[:, 0] + int(round(inst.tmin * sfreq * decim))
        late = (samples[:, np.newaxis] - first) // decim
        which, epoch = np.nonzero((late >= 0) & (late < self.length))
        return self.starts[epoch] + late[which, epoch]
