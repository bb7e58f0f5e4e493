"""Maps over channels: those that blinks and eye movements have, and what a map tells."""

from collections.abc import Iterable
from functools import cache

import numpy as np
from mne import Info

from mne_otica.signals.low_rate import Prepared
from mne_otica.signals.positions import site_names, standard_places
from mne_otica.utils.arrays import Array, Mask, Samples

# In units of the head's radius, from its centre: right, front, up. Of all places the one whose
# fields fit best the maps of real saccades, lids and roving eyes in eight recordings: those of the
# shared data with saccades or blinks and positions.
_EYES = np.array([[-0.3, 0.4, -0.2], [0.3, 0.4, -0.2]])
# The lid slides over the positive cornea: positive in front of the eye. Fitted like the eyes.
_LID = np.array([0.0, 1.0, -0.15])
# In head coordinates (metres), if too few positions are known to fit a sphere
_CENTRE, _RADIUS = np.array([0.0, 0.015, 0.04]), 0.1
# Channels with at least this share of the potential of a blink at Fpz are frontal: Fz has 0.3.
FRONTAL = 0.25


def eye_map(info: Info, ch_names: list[str]) -> tuple[Array, str]:
    """Return the potential of a blink relative to Fpz, and where the geometry came from."""
    fields, source = eye_fields(info, ch_names)
    fpz = _field(np.array([[0.0, 1.0, 0.0]]))[0]
    return np.clip(fields @ _LID / (fpz @ _LID), -1.0, 1.0), source


def eye_fields(info: Info, ch_names: list[str]) -> tuple[Array, str]:
    """Return the maps of dipoles in the eyes to the right, front and up, and their geometry."""
    # Relative to the ears, a difference for a bipolar name, NaN without position and name
    chs = [info["chs"][info["ch_names"].index(name)] for name in ch_names]
    positions = np.array([ch["loc"][:3] for ch in chs], dtype=float).reshape(-1, 3)
    known = np.isfinite(positions).all(axis=1) & positions.any(axis=1)
    if known.sum() >= max(1, min(4, len(ch_names))):
        fields = np.full((len(ch_names), 3), np.nan)
        fields[known] = _field(_on_sphere(positions[known]))
        return fields, "positions"
    unknown = np.full(3, np.nan)
    parts = [[_standard().get(site, unknown) for site in site_names(name)] for name in ch_names]
    fields = np.array([one[0] - sum(one[1:], np.zeros(3)) for one in parts]).reshape(-1, 3)
    return fields, "names" if np.isfinite(fields).any() else "none"


def has_front(values: Array) -> bool:
    """Return whether any of the channels is frontal."""
    return bool(np.nanmax(values, initial=-np.inf) >= FRONTAL)


def frontal_channels(values: Array) -> Samples:
    """Return the indices of the channels where a blink is largest, none if none is frontal."""
    if not has_front(values):
        return np.array([], dtype=int)
    return np.flatnonzero(np.nan_to_num(values, nan=-np.inf) >= 0.7 * np.nanmax(values))


def _on_sphere(positions: Array) -> Array:
    """Return the directions of positions from the centre of the head."""
    away = positions - fit_sphere(positions)[0]
    return away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), np.finfo(float).tiny)


def _field(unit: Array) -> Array:
    """Return the sum of both dipoles' potential on a conducting sphere, relative to the ears."""
    # On every montage the ears are at about 90 degrees from the vertex.
    unit = np.vstack([unit, [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]])[:, np.newaxis]
    # The gradient, at the source, of Neumann's function of a sphere: 2 / d - log(1 - r.e + d).
    away = unit - _EYES
    distance = np.linalg.norm(away, axis=2, keepdims=True)
    angle = (unit * _EYES).sum(axis=2, keepdims=True)
    field = 2 * away / distance**3 + (unit + away / distance) / (1 - angle + distance)
    field = field.sum(axis=1)
    return field[:-2] - field[-2:].mean(axis=0)


def fit_sphere(positions: Array) -> tuple[Array, float]:
    """Fit a sphere to the electrodes, if there are enough of them all around."""
    if len(positions) >= 12:
        # |p|^2 = 2 p.c + (r^2 - |c|^2) is linear in the centre and in the last term.
        design = np.c_[2 * positions, np.ones(len(positions))]
        solution, _, rank, _ = np.linalg.lstsq(design, (positions**2).sum(axis=1), rcond=1e-6)
        square = solution[3] + solution[:3] @ solution[:3]
        if rank == 4 and square > 0:
            centre, radius = solution[:3], np.sqrt(square)
            # With electrodes on one side only, the sphere need not be a head.
            if np.linalg.norm(positions.mean(axis=0) - centre) < 0.8 * radius:
                return centre, radius
    scale = np.median(np.linalg.norm(positions - _CENTRE, axis=1)) / _RADIUS
    # Positions on a unit sphere, or in millimetres, are used as they are.
    if 0.5 < scale < 2:
        return _CENTRE, _RADIUS
    return np.zeros(3), np.median(np.linalg.norm(positions, axis=1))


@cache
def _standard() -> dict[str, Array]:
    """Return the potentials at the positions of the 10-05 system by name."""
    names, positions = zip(*standard_places().items(), strict=True)
    return dict(zip(names, _field(_on_sphere(np.array(positions))), strict=True))


def event_maps(prepared: Prepared, peaks: Array) -> Array:
    """Return the map of each event: all signals at its peak."""
    at = np.round(peaks).astype(int)
    return prepared.band[:, np.clip(at, 0, prepared.band.shape[1] - 1)]


def same_map(maps: Array, scale: Array) -> Mask:
    """Tell which events have the map of the median event, channels weighed by quietness."""
    quiet = np.where(scale > 0, scale, np.inf)
    weighed = maps / quiet[:, np.newaxis]
    weighed = weighed / np.maximum(np.linalg.norm(weighed, axis=0), np.finfo(float).tiny)
    median = np.median(weighed, axis=1)
    median /= max(np.linalg.norm(median), np.finfo(float).tiny)
    agreement = weighed.T @ median
    # Noise lowers the agreement of all events, so the bound moves with it.
    return agreement >= max(0.6, np.median(agreement) - 0.2)


def large_maps(signals: Array, channels: Array, large: Iterable[Mask]) -> Array:
    """Return the map of each signal where it is large, (n_channels, n_signals); NaN if nowhere."""
    found = np.full((len(channels), len(signals)), np.nan)
    for k, (signal, chosen) in enumerate(zip(signals, large, strict=True)):
        at = np.flatnonzero(chosen)
        if len(at):
            found[:, k] = channels[:, at] @ signal[at] / (signal[at] @ signal[at])
    return found


def focality(maps: Array) -> Array:
    """Return how much of each map is one channel's alone, from 0 to 1."""
    # The second largest value over the largest, without the median, which references move
    size = np.sort(np.abs(maps - np.median(maps, axis=0)), axis=0)
    return 1 - size[-2] / np.maximum(size[-1], np.finfo(float).tiny)


def sharpness(one_map: Array) -> float:
    """Return the logarithm of how steeply a map falls off from its maximum to the next channel."""
    # By how many factors of e, times the number of channels in hundreds: over a head the former
    # goes with the square of the distance of electrodes, or one over their number.
    falls = -np.log(max(1 - focality(one_map), 1e-3))
    return float(np.log10(max(falls * len(one_map) / 100, 1e-3)))


def frontality(one_map: Array, expected: Array) -> float:
    """Return the correlation of a map with a blink's without the worst tenth, bad channels."""
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
    return float(correlations(a[np.newaxis], b[np.newaxis])[0, 0])


def eye_share(one_map: Array, fields: Array, lids: bool = False) -> float:
    """Return the multiple correlation of a map with those of eyes that turn, adjusted."""
    known = np.isfinite(fields).all(axis=1)
    n = int(known.sum())
    if n < 8:
        return np.nan
    turns = fields[known] - fields[known].mean(axis=0)
    y = one_map[known] - one_map[known].mean()
    parts = turns * np.linalg.lstsq(turns, y, rcond=None)[0]
    # Lids move with eyes that look up or down, so that most of their map is the field to the front.
    # A map that is mostly the field upward is largest behind the forehead, as slow waves are.
    sizes = np.var(parts, axis=0)
    if lids and sizes[2] > sizes[:2].sum():
        parts = turns[:, :2] * np.linalg.lstsq(turns[:, :2], y, rcond=None)[0]
    misfit = y - parts.sum(axis=1)
    unexplained = (misfit @ misfit) / max(y @ y, np.finfo(float).tiny) * (n - 1) / (n - 4)
    return float(np.sqrt(max(0.0, 1 - unexplained)))


def correlations(a: Array, b: Array) -> Array:
    """Return the correlation of each row of one array with each row of another."""
    a, b = (x - x.mean(axis=1, keepdims=True) for x in (a, b))
    norms = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
    return np.divide(a @ b.T, norms, out=np.zeros_like(norms), where=norms > 0)
