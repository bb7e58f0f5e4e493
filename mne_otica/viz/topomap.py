"""Topographies: one large one on axes, or many small ones as images."""

from typing import NamedTuple

import mne
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from matplotlib.ticker import MaxNLocator
from scipy.interpolate import RBFInterpolator

from mne_otica.artifacts.maps import fit_sphere
from mne_otica.signals.positions import places_of
from mne_otica.utils.arrays import Array
from mne_otica.viz.colours import BARS, SMALL

_PIXELS = 40  # on each side of a small topography


def plot_map(
    ax: Axes, values: Array, info: mne.Info, label: str, limits: tuple[float, float], cmap: str
) -> None:
    """Draw values on the head, or as bars if the positions of channels are unknown."""
    places = places_of(info)
    if places.info is None:
        ax.bar(info["ch_names"], values, **BARS)
        ax.tick_params(axis="x", rotation=90, labelsize="small")
        ax.set_ylabel(label)
        ax.spines[["top", "right"]].set_visible(False)
        return
    options = dict(vlim=limits, cmap=cmap, contours=4, sphere=(0, 0, 0, 1), show=False)
    points = _seen_from_above(places.points)
    image, contours = mne.viz.plot_topomap(values[places.picks], points, axes=ax, **options)
    outline = Circle((0, 0), 1, transform=ax.transData)  # MNE fills a disc that reaches beyond it
    image.set_clip_path(outline)
    if contours is not None:  # as it is where all values are the same
        contours.set_clip_path(outline)
    ax.figure.colorbar(image, ax=ax, shrink=0.7, label=label, ticks=MaxNLocator(2))
    if places.source == "standard":
        ax.text(0, -1.08, "at standard positions", ha="center", va="top", **SMALL)


class SmallMaps(NamedTuple):
    """Topographies of several sets of weights, each scaled to its largest absolute weight."""

    images: Array | None  # from the front to the back; the head is their inscribed circle
    dots: Array  # positions of the channels on a head of radius 1
    weights: Array
    source: str


def small_maps(weights: Array, info: mne.Info) -> SmallMaps:
    """Return topographies of weights of shape (n_channels, n_maps)."""
    weights = weights / np.maximum(np.abs(weights).max(axis=0), np.finfo(float).tiny)
    places = places_of(info)
    if places.info is None:
        return SmallMaps(None, np.zeros((0, 2)), weights, places.source)
    dots, values = _seen_from_above(places.points), weights[places.picks]
    ring = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    ring = 1.15 * np.c_[np.cos(ring), np.sin(ring)]  # up to which maps are extrapolated
    nearest = np.argmin(np.linalg.norm(ring[:, np.newaxis] - dots, axis=2), axis=1)
    interpolate = RBFInterpolator(np.r_[dots, ring], np.r_[values, values[nearest]])
    axis = np.linspace(-1, 1, _PIXELS)
    x, y = np.meshgrid(axis, -axis)
    images = np.clip(interpolate(np.c_[x.ravel(), y.ravel()]), -1, 1)
    return SmallMaps(images.T.reshape(-1, _PIXELS, _PIXELS), dots, weights, places.source)


def _seen_from_above(points: Array) -> Array:
    """Project positions onto a disc of radius 1 (azimuthal equidistant projection)."""
    from_centre = points - fit_sphere(points)[0]
    polar = np.arccos(np.clip(from_centre[:, 2] / np.linalg.norm(from_centre, axis=1), -1, 1))
    across = np.linalg.norm(from_centre[:, :2], axis=1)
    direction = from_centre[:, :2] / np.maximum(across, np.finfo(float).tiny)[:, np.newaxis]
    radius = polar / max(np.pi / 2, polar.max())  # all electrodes lie on the disc
    return radius[:, np.newaxis] * direction
