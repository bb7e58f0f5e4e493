"""Figures of components: all of them at a glance, or one with its time course."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mne_otica.cleaning.overview import Glance, glances
from mne_otica.cleaning.result import Cleaned
from mne_otica.utils.checks import _validate_type
from mne_otica.utils.docs import fill_doc
from mne_otica.viz.colours import EVENT, OUTLINE, REMOVED, SIGNED, SMALL, signed
from mne_otica.viz.drawing import (
    axes_in_a_row,
    bare,
    course,
    event_times,
    finish,
    info_of,
)
from mne_otica.viz.topomap import STANDARD, SmallMaps, clip_to_head, plot_map, small_maps

_NOSE = np.array([[-0.12, 0.993], [0.0, 1.13], [0.12, 0.993]])


@fill_doc
def plot_components(result: Cleaned, *, show: bool = True) -> Figure:
    """Plot the topographies of all components, with the artifact each one holds.

    Parameters
    ----------
    %(result)s
    %(show)s

    Returns
    -------
    figure : instance of Figure
        A topography for each component with the kind of artifact it holds, the probability,
        and the index of stability if it was computed. Removed components have a frame.
    """
    _validate_type(result, Cleaned, "result", "Cleaned")
    seen = glances(result)
    maps = small_maps(result.ica.get_components(), info_of(result, result.ica.ch_names))
    n_columns = int(np.ceil(np.sqrt(2 * len(seen))))  # a page about twice as wide as high
    n_rows = -(-len(seen) // n_columns)
    options = dict(figsize=(1.2 * n_columns, 1.9 * n_rows + 0.3), layout="constrained")
    figure, axes = plt.subplots(n_rows, n_columns, squeeze=False, **options)
    for ax in axes.flat[len(seen) :]:
        ax.set_axis_off()
    for glance, ax in zip(seen, axes.flat, strict=False):
        _draw_small_map(ax, maps, glance.row.component)
        _label(ax, glance)
    if maps.source == "standard":
        figure.supxlabel(f"Maps {STANDARD}", **SMALL)
    return finish(axes[0, 0], show)


def _draw_small_map(ax: Axes, maps: SmallMaps, component: int) -> None:
    """Draw the topography of a component, or its weights as bars if positions are unknown."""
    ax.set(xticks=[], yticks=[])
    if maps.images is None:
        weights = maps.weights[:, component]
        ax.bar(np.arange(len(weights)), weights, color=signed(weights))
        ax.set_ylim(-1.05, 1.05)
        return
    colours = dict(vmin=-1, vmax=1, cmap=SIGNED, interpolation="bilinear")
    image = ax.imshow(maps.images[component], extent=(-1, 1, -1, 1), **colours)
    clip_to_head(ax, image)
    ring = np.linspace(0, 2 * np.pi, 100)
    for line in (np.c_[np.cos(ring), np.sin(ring)], _NOSE):
        ax.plot(*line.T, **OUTLINE)
    ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.2))


def _label(ax: Axes, glance: Glance) -> None:
    """Label a small topography, and frame it if the component is removed."""
    ax.set_label(glance.name)
    trust = f"\nstability {glance.stability}" if glance.stability else ""
    title = f"{glance.name}\n{glance.text}{trust}"
    ax.set_title(title, fontsize="x-small", color=REMOVED if glance.removed else "k")
    ax.set_xlabel("removed" if glance.removed else "", fontsize="x-small", color=REMOVED)
    ax.spines[:].set(visible=glance.removed, color=REMOVED, linewidth=1.5)


@fill_doc
def plot_component(
    result: Cleaned,
    *,
    component: int | None = None,
    axes: list[Axes] | None = None,
    show: bool = True,
) -> Figure:
    """Plot the topography and the time course of a component.

    Parameters
    ----------
    %(result)s
    component : int | None
        The component; None uses the first one removed, or else the best candidate.
    axes : list of Axes | None
        Two, for the topography and the time course; None makes a figure.
    %(show)s

    Returns
    -------
    figure : instance of Figure
        The figure; ticks below the time course are the events that were found.
    """
    _validate_type(result, Cleaned, "result", "Cleaned")
    component = _checked_component(result, component)
    axes = axes_in_a_row(axes, 2, (10, 2.8), width_ratios=[1, 3.5])
    raw, source = result._filtered, course(result, component)
    weights = result.ica.get_components()[:, component]
    info = info_of(result, result.ica.ch_names)
    plot_map(axes[0], weights / np.abs(weights).max(), info, "weight", (-1, 1), SIGNED)
    axes[0].set_title(result.ica._ica_names[component])
    axes[1].plot(raw.times, source, **OUTLINE)
    low = source.min() - 0.08 * np.ptp(source)
    glance = glances(result)[component]
    # The events for which it was removed, or would be
    at = event_times(result, result.kinds.get(glance.row.kind) or next(iter(result.kinds.values())))
    axes[1].plot(at, np.full(len(at), low), **EVENT)
    ticks = f", {len(at)} events (ticks)" if len(at) else ""
    axes[1].set(xlabel="Time (s)", ylabel="Component (a.u.)", xlim=raw.times[[0, -1]])
    axes[1].set_title(glance.text + ticks)
    bare(axes[1])
    return finish(axes[0], show)


def _checked_component(result: Cleaned, component: int | None) -> int:
    """Return the component to draw: the first that was removed, or the most probable one."""
    if component is None and result.ica.exclude:
        return int(result.ica.exclude[0])
    if component is None:
        return int(np.argmax([glance.row.probability for glance in glances(result)]))
    _validate_type(component, "int-like", "component", "int or None")
    n = result.ica.n_components_
    if not 0 <= component < n:
        raise ValueError(f"component ({component}) must be one of the {n} fitted, 0 to {n - 1}.")
    return component
