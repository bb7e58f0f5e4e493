"""Values of channels, drawn on the head."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mne
import numpy as np
from matplotlib.patches import Circle
from numpy.typing import NDArray

from mne_otica.artifacts._eyes import fit_sphere

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_map(
    ax: Axes,
    values: NDArray[np.float64],
    info: mne.Info,
    label: str,
    limits: tuple[float, float],
    cmap: str,
) -> None:
    """Draw values on the head, or as bars where there are no positions for that."""
    if not _has_positions(info):
        ax.bar(info["ch_names"], values, color="0.6", edgecolor="k")
        ax.tick_params(axis="x", rotation=90, labelsize="small")
        ax.set_ylabel(label)
        ax.spines[["top", "right"]].set_visible(False)
        return
    (x, y, z), radius = _head(info)
    image, contours = mne.viz.plot_topomap(
        values,
        info,
        axes=ax,
        vlim=limits,
        cmap=cmap,
        contours=4,
        sphere=(x, y, z, radius),
        show=False,
    )
    # MNE fills a disc that reaches beyond the head.
    outline = Circle((x, y), radius, transform=ax.transData)
    for artist in (image, contours):
        artist.set_clip_path(outline)
    ax.figure.colorbar(image, ax=ax, shrink=0.7, label=label)


def _head(info: mne.Info) -> tuple[NDArray[np.float64], float]:
    """Return centre and radius of a sphere on which no electrode lies below the equator."""
    places = np.array([ch["loc"][:3] for ch in info["chs"]])
    centre, radius = fit_sphere(places)
    return np.array([*centre[:2], min(centre[2], places[:, 2].min())]), radius


def _has_positions(info: mne.Info) -> bool:
    """Return whether there are places to draw between; MNE refuses channels at one place."""
    places = np.array([ch["loc"][:3] for ch in info["chs"]])
    if len(places) < 4 or not np.isfinite(places).all():
        return False
    return len(np.unique(np.round(places, 4), axis=0)) == len(places)
