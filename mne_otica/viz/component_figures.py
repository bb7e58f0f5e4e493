"""A component with its topography and time course."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mne_otica.cleaning.overview import glances
from mne_otica.cleaning.result import Cleaned
from mne_otica.utils.checks import _validate_type
from mne_otica.utils.docs import fill_doc
from mne_otica.viz.colours import EVENT, OUTLINE, SIGNED
from mne_otica.viz.drawing import axes_in_a_row, bare, course, event_times, finish, info_of
from mne_otica.viz.topomap import plot_map


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
