"""Take out the artifact, not the component that holds it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.signal import resample_poly

from mne_otica import _wiener

RATE = 120.0


@dataclass(frozen=True, eq=False)
class Estimate:
    part: NDArray[np.float64]
    events: NDArray[np.int64]
    weights: NDArray[np.float64]
    windows: NDArray[np.int64]
    whole: bool


def artifact_part(courses, sfreq, samples, bad=None):
    courses = np.atleast_2d(courses)
    n_times = courses.shape[1]
    bad = np.zeros(n_times, bool) if bad is None else bad
    step = max(1, int(sfreq / RATE))
    at = np.arange(n_times)
    filled = courses
    if bad.any():
        filled = np.array([np.where(bad, np.interp(at, at[~bad], row[~bad]), row) for row in courses])
    low = resample_poly(filled, 1, step, axis=1, padtype="line") if step > 1 else filled
    good = ~bad[::step][: low.shape[1]]
    events = np.unique(np.round(np.asarray(samples) / step).astype(int).clip(0, low.shape[1] - 1))
    found, weights, parts, components = _wiener.separate(low, good, sfreq / step, events)
    part = np.zeros_like(courses)
    g = components[0].geometry
    fine = np.arange((g.length - 1) * step + 1) / step
    windows = []
    for k, event in enumerate(found):
        first = (event + g.start) * step
        a, b = max(0, first), min(n_times, first + len(fine))
        for row, own in zip(part, parts, strict=True):
            row[a:b] += CubicSpline(np.arange(g.length), own[k], bc_type="clamped")(fine)[a - first : b - first]
        windows.append((a, b))
    return Estimate(part, found * step, weights, np.array(windows), False), components
