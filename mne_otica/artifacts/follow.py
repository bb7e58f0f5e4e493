"""Tracking of heartbeats from beat to beat. Arrays only.

Weak beats are not the highest peaks of a signal, but they occur at the expected times. So, for
a range of heart rates, dynamic programming finds the path through the peaks that are high among
their neighbours and whose intervals are close to the expected one. The gain of the path is
compared with that of paths through the same peaks with permuted heights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_PERIODS = 60 / np.geomspace(38, 200, 26)  # s
_SPREAD = 0.16  # deviation of the log interval whose cost equals the largest gain of a rank
_SKIPPED = 0.5  # cost of a missing beat, in ranks
_RESTART = 3.0  # cost of losing the track and starting again
_REACH = 2.3  # periods back to the previous beat, with one missing
_NEIGHBOURS = 8  # on either side, among which peaks are ranked
_N_SHUFFLED = 8


def follow(
    times: NDArray[np.float64], heights: NDArray[np.float64]
) -> tuple[NDArray[np.intp], float]:
    """Return the peaks on the best path, and its gain in standard deviations above chance.

    The best rate is the one with the largest gain above paths through permuted heights.
    """
    ranks = _local_ranks(heights)
    rng = np.random.default_rng(0)
    ranks = np.stack([ranks, *(rng.permutation(ranks) for _ in range(_N_SHUFFLED))])
    gains, before = _paths(times, ranks)
    # A path reaches to the end of the recording.
    end = int(np.searchsorted(times, times[-1] - _REACH * _PERIODS.max()))
    total = gains[end:].max(axis=0)
    beyond = total[:, 0] - total[:, 1:].mean(axis=1)
    rate = int(np.argmax(beyond))
    path = [end + int(np.argmax(gains[end:, rate, 0]))]
    while before[path[-1], rate] >= 0:
        path.append(before[path[-1], rate])
    # Neighbouring rates are similar, so that their standard deviations can be pooled.
    deviation = total[:, 1:].std(axis=1, ddof=1).mean()
    return np.array(path[::-1]), float(beyond[rate] / max(deviation, np.finfo(float).tiny))


def _local_ranks(heights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of each peak among its neighbours, from -0.5 to 0.5."""
    n = min(_NEIGHBOURS, len(heights) - 1)
    around = np.lib.stride_tricks.sliding_window_view(np.pad(heights, n, "reflect"), 2 * n + 1)
    return (around < heights[:, np.newaxis]).mean(axis=1) + 0.5 / (2 * n + 1) - 0.5


def _paths(
    times: NDArray[np.float64], ranks: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the gain of the best path to each peak, and the previous peak on it.

    The gains have the shape (n_peaks, n_rates, n_ranks); the previous peaks are those of the
    first ranks only.
    """
    shape = (len(times), len(_PERIODS), len(ranks))
    gains, before = np.zeros(shape), np.full(shape[:2], -1)
    gains[0] = ranks[:, 0]
    # What the best path gains that has lost the beat, and where it was lost.
    lost, lost_at = gains[0].copy(), np.zeros(shape[1], int)
    waiting = _SKIPPED * (np.diff(times)[:, np.newaxis] / _PERIODS)[:, :, np.newaxis]
    # All that does not depend on the paths so far is reckoned for all peaks at once.
    first = np.searchsorted(times, times - _REACH * _PERIODS.max())
    last = np.cumsum(np.arange(len(times)) - first)
    own = np.repeat(np.arange(len(times)), np.diff(last, prepend=0))
    earlier = np.arange(len(own)) - last[own] + own
    costs = _costs(times[own] - times[earlier])[:, :, np.newaxis]
    for i in range(1, len(times)):
        gain, at = lost - _RESTART, lost_at
        if i > first[i]:
            near = gains[first[i] : i] - costs[last[i - 1] : last[i]]
            nearest = near.max(axis=0)
            latest = near[:, :, 0].argmax(axis=0) + first[i]
            at = np.where(nearest[:, 0] > gain[:, 0], latest, at)
            gain = np.maximum(nearest, gain)
        gains[i] = ranks[:, i] + gain
        before[i] = at
        lost -= waiting[i - 1]
        lost_at = np.where(gains[i, :, 0] > lost[:, 0], i, lost_at)
        lost = np.maximum(lost, gains[i])
    return gains, before


def _costs(intervals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cost of intervals at each rate, with or without a missing beat."""
    share = intervals[:, np.newaxis] / _PERIODS
    off, skipped = (0.5 * (np.log(x) / _SPREAD) ** 2 for x in (share, share / 2))
    return np.where(share <= _REACH, np.minimum(off, skipped + _SKIPPED), np.inf)
