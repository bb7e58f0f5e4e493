"""The artifact in components, by the kind of artifact. Arrays only."""

import numpy as np

from mne_otica.artifacts.kinds import Removal
from mne_otica.removal.beats import beat_parts
from mne_otica.removal.estimate import Estimate, artifact_part
from mne_otica.removal.spectral import band_part, gaze_part
from mne_otica.utils.arrays import Array, Mask, Samples


def kind_part(
    removal: Removal, courses: Array, sfreq: float, samples: Samples, bad: Mask, highpass: float = 0
) -> Estimate:
    """Estimate the artifacts of one kind in the time courses of components, as `artifact_part`."""
    if removal.shape == "bump" and removal.how == "events":
        return artifact_part(courses, sfreq, samples, bad, highpass)
    bad = bad | ~np.isfinite(courses.sum(axis=0))
    if bad.all():
        return Estimate(np.zeros_like(courses), np.zeros(0, np.int64))
    if removal.shape == "pop":
        # One electrode's noise: hardly anything else is in such a component.
        return Estimate(np.where(bad, 0.0, courses), samples, whole=True)
    if removal.shape == "step":
        part = np.array([gaze_part(course, sfreq, bad) for course in courses])
        return Estimate(part, samples)
    if removal.how == "band":
        part = np.array([band_part(course, sfreq, removal.l_freq, bad) for course in courses])
        return Estimate(part, np.zeros(0, np.int64))
    part, events = beat_parts(courses, sfreq, samples, bad)
    rest = courses - part
    return Estimate(part, events, model=lambda sham: beat_parts(rest, sfreq, sham, bad)[0])
