"""Whether removing a component does measurable good at the channels.

The average of what would be removed at half of the events is subtracted from the average of the
channels at the other half, and the same with sham events. Averages over halves have independent
noise, so this is no gain unless both halves show the artifact with the topography of the component.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import mne
import numpy as np
from numpy.typing import NDArray

from mne_otica.evaluation.measures import MOST_AFFECTED
from mne_otica.signals.windows import HALF_WINDOW, whole_windows, window_bounds

if TYPE_CHECKING:
    from mne_otica.removal.remove import Part

Array = NDArray[np.float64]
# Share of the power by which a component has to reduce the average in the other half: 0.1 is 5 % of
# its RMS. Set by hand, so that removals of 0 or 1 % do not count; no benchmark chose it.
LEAST_GAIN = 0.1
_FEWEST = 4  # events that can be halved; with fewer, all of them are both halves


def gains_at_events(
    part: Part,
    courses: Array,
    before: Array,
    maps: Array,
    events: tuple[NDArray[np.int64], Array],
    bad: NDArray[np.bool_],
    sfreq: float,
) -> dict[int, float]:
    """Return the share of the average's power that each component removes in the other half.

    Components are added one after the other, and left out again if they do not help.
    ``courses`` is what would be removed, ``before`` the channels, both in the band of the fit;
    ``events`` are samples from 0, and 1 or -1 for each.
    """
    bounds = window_bounds(-2 * HALF_WINDOW, HALF_WINDOW, sfreq)
    samples, signs = events
    used = np.isin(samples, whole_windows(samples, bad, bounds).used)
    samples, signs = samples[used], signs[used]
    if not len(samples):
        return {}
    halves = [slice(0, None, 2), slice(1, None, 2)] if len(samples) >= _FEWEST else [slice(None)]
    channels, parts = (
        [_average(x, samples[half], signs[half], bounds) for half in halves]
        for x in (before, courses)
    )
    size = np.sum(sum(channels) ** 2, axis=1)
    most = np.argsort(-size)[:MOST_AFFECTED]
    left, gains = [one[most] for one in channels], {}
    for k, component in enumerate(part.components):
        topography = maps[most, component][:, np.newaxis]
        trial = [x - topography * p[k] for x, p in zip(left, parts[::-1], strict=True)]
        power = [sum(np.sum(x**2) for x in some) for some in (left, trial)]
        gains[component] = 1 - power[1] / power[0] if power[0] > 0 else 0.0
        if gains[component] > LEAST_GAIN:
            left = trial
    return gains


def _average(
    data: Array, samples: NDArray[np.int64], signs: Array, bounds: tuple[int, int]
) -> Array:
    """Return the average over events, relative to the baseline before the window."""
    total = np.zeros((len(data), bounds[1] - bounds[0]))
    for sample, sign in zip(samples, signs, strict=True):
        total += sign * data[:, sample + bounds[0] : sample + bounds[1]]
    total /= len(samples)
    n_baseline = (bounds[1] - bounds[0]) // 3
    return (total - total[:, :n_baseline].mean(axis=1, keepdims=True))[:, n_baseline:]


def gains_in_band(
    part: Part, courses: Array, before: Array, maps: Array, bad: NDArray[np.bool_], sfreq: float
) -> dict[int, float]:
    """Return the share of the power above the edge of the band that each component removes.

    The smaller of both halves of the recording counts, at the channels most affected.
    """
    high = mne.filter.filter_data(courses, sfreq, part.l_freq, None, verbose="error")
    good = np.flatnonzero(~bad)
    gains, accepted = {}, []
    for k, component in enumerate(part.components):
        most = np.argsort(-np.abs(maps[:, component]))[:MOST_AFFECTED]
        topography = maps[most, component]
        shares = []
        for half in np.array_split(good, 2):
            along = topography @ before[np.ix_(most, half)]
            for j in accepted:
                along = along - (topography @ maps[most, part.components[j]]) * courses[j, half]
            own = high[k, half]
            removed = 2 * along @ own - topography @ topography * (own @ own)
            shares.append(removed / max(topography @ topography * (own @ own), 1e-300))
        gains[component] = float(min(shares)) if high[k].any() else 0.0
        if gains[component] > 0:
            accepted.append(k)
    return gains
