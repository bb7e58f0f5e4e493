"""What maps over channels say about blinks. Arrays only."""

import numpy as np
from numpy.typing import NDArray

from mne_otica.artifacts.events import correlation
from mne_otica.signals.low_rate import Prepared

_FLAT = 1e-3  # smaller values count as zero


def event_maps(prepared: Prepared, peaks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the map of each event: all signals at its peak."""
    at = np.round(peaks).astype(int)
    return prepared.band[:, np.clip(at, 0, prepared.band.shape[1] - 1)]


def same_map(maps: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which events have the map of the median event, channels weighed by quietness."""
    quiet = np.where(scale > 0, scale, np.inf)
    weighed = maps / quiet[:, np.newaxis]
    weighed = weighed / np.maximum(np.linalg.norm(weighed, axis=0), np.finfo(float).tiny)
    median = np.median(weighed, axis=1)
    median /= max(np.linalg.norm(median), np.finfo(float).tiny)
    agreement = weighed.T @ median
    # Noise lowers the agreement of all events, so the bound moves with it.
    return agreement >= max(0.6, np.median(agreement) - 0.2)


def large_maps(
    signals: NDArray[np.float64], channels: NDArray[np.float64], large: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return how much of each signal each channel has where the signal is large.

    The shape is (n_channels, n_signals). What is rare and large may have a map that
    differs from that of its component, which holds other things at other times; NaN where nothing
    is large.
    """
    found = np.full((len(channels), len(signals)), np.nan)
    for k, (signal, chosen) in enumerate(zip(signals, large, strict=True)):
        at = np.flatnonzero(chosen)
        if len(at):
            found[:, k] = channels[:, at] @ signal[at] / (signal[at] @ signal[at])
    return found


def focality(maps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much of each map is one channel's alone, from 0 to 1.

    One minus the second largest value over the largest, once the median over channels,
    which a reference moves, is taken off.
    """
    size = np.sort(np.abs(maps - np.median(maps, axis=0)), axis=0)
    top = np.maximum(size[-1], np.finfo(float).tiny)
    return 1 - size[-2] / top


def sharpness(one_map: NDArray[np.float64]) -> float:
    """Return how steeply a map falls off from its maximum, for so many electrodes.

    The decimal logarithm of how often it falls by a factor of e from the largest value to the
    next, times the number of channels in hundreds: over a head the former goes with the square
    of the distance of electrodes, which goes with one over their number.
    """
    falls = -np.log(max(1 - focality(one_map), _FLAT))
    return float(np.log10(max(falls * len(one_map) / 100, _FLAT)))


def frontality(one_map: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    """Return the correlation of a map with a blink's, where the latter is known.

    With enough channels the worst tenth is left out: unmarked bad channels.
    """
    known = np.isfinite(expected)
    if known.sum() < 4:
        return np.nan
    a, b = one_map[known], expected[known]
    # Not where one channel is nearly the whole map: without it the rest would be judged.
    n_out = len(a) // 10 if focality(a) < 0.7 else 0
    if n_out:
        keep = np.arange(len(a))
        for _ in range(3):
            # Fit a line, set aside what fits it worst, and fit again to the rest.
            x, y = b[keep] - b[keep].mean(), a[keep] - a[keep].mean()
            slope = x @ y / max(x @ x, np.finfo(float).tiny)
            misfit = np.abs(a - a[keep].mean() - slope * (b - b[keep].mean()))
            keep = np.argsort(misfit)[: len(a) - n_out]
        a, b = a[keep], b[keep]
    return float(correlation(a, b))


def eye_share(one_map: NDArray[np.float64], fields: NDArray[np.float64]) -> float:
    """Return how well eyes that turn in any direction explain a map: a multiple correlation.

    Adjusted for the three directions and the reference, which few channels always fit.
    """
    known = np.isfinite(fields).all(axis=1)
    n = int(known.sum())
    if n < 8:
        return np.nan
    design = np.c_[fields[known], np.ones(n)]
    y = one_map[known] - one_map[known].mean()
    misfit = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    unexplained = (misfit @ misfit) / max(y @ y, np.finfo(float).tiny) * (n - 1) / (n - 4)
    return float(np.sqrt(max(0.0, 1 - unexplained)))


def breadth(one_map: NDArray[np.float64], places: NDArray[np.float64]) -> float:
    """Return the share of a map's power that is farther than 50 degrees from its maximum.

    Each channel stands for the part of the head around it, so that the figure depends on the
    map, not on how many electrodes there are or how close they sit.
    """
    known = np.isfinite(places).all(axis=1)
    if known.sum() < 6:
        return np.nan
    power, at = _area_power(one_map[known], places[known])
    cosine = at @ at[np.argmax(np.abs(_referenced(one_map[known])))]
    return float(power[cosine < np.cos(np.deg2rad(50))].sum() / max(power.sum(), 1e-300))


def rim(one_map: NDArray[np.float64], places: NDArray[np.float64]) -> float:
    """Return the mean angle of a map's power from the vertex, in degrees; the rim is at 90."""
    known = np.isfinite(places).all(axis=1)
    if known.sum() < 6:
        return np.nan
    power, at = _area_power(one_map[known], places[known])
    angle = np.rad2deg(np.arccos(np.clip(at[:, 2], -1, 1)))
    return float(power @ angle / max(power.sum(), 1e-300))


def _referenced(one_map: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the map without what a reference adds to all channels."""
    return one_map - np.median(one_map)


def _area_power(
    one_map: NDArray[np.float64], places: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the power of each channel times the area it stands for, and the places."""
    crowd = np.exp(-(2 - 2 * places @ places.T) / 0.3**2).sum(axis=1)
    return _referenced(one_map) ** 2 / crowd, places


def correlations(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlation of each row of one array with each row of another."""
    a, b = (x - x.mean(axis=1, keepdims=True) for x in (a, b))
    norms = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
    return np.divide(a @ b.T, norms, out=np.zeros_like(norms), where=norms > 0)
