"""The summary of a cleaning as one figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
from mne.viz.utils import plt_show

from mne_otica.cleaning.overview import parts
from mne_otica.cleaning.result import Cleaned
from mne_otica.utils.checks import _validate_type
from mne_otica.utils.docs import fill_doc
from mne_otica.viz.component_figures import plot_component
from mne_otica.viz.event_figures import plot_events, plot_removal
from mne_otica.viz.measure_figures import (
    plot_band_power,
    plot_harm,
    plot_reduction,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@fill_doc
def plot_cleaned(result: Cleaned, *, show: bool = True) -> Figure:
    """Plot a summary of the removal on one page; only the component if nothing was removed.

    Parameters
    ----------
    %(result)s
    %(show)s

    Returns
    -------
    figure : instance of Figure
        The figure, of the first kind of artifact that was removed.
    """
    _validate_type(result, Cleaned, "result", "Cleaned")
    removed = parts(result)
    if not removed:
        figure = plot_component(result, show=False)
    elif all(part.benefit is None for part in removed):  # removed by band, not at events
        figure = plt.figure(figsize=(11, 6), layout="constrained")
        top, bottom = figure.subfigures(2, 1)
        plot_component(result, axes=top.subplots(1, 2, width_ratios=[1, 3]), show=False)
        left, right = bottom.subplots(1, 2, width_ratios=[1, 1.6])
        plot_harm(result, ax=left, show=False)
        plot_band_power(result, ax=right, show=False)
    else:
        figure = plt.figure(figsize=(11, 12), layout="constrained")
        n_channels = min(3, len(result._filtered.ch_names))
        top, middle, removal, bottom = figure.subfigures(4, 1)
        axes = top.subplots(1, n_channels, sharey=True, squeeze=False)[0]
        plot_events(result, n_channels=n_channels, axes=list(axes), show=False)
        plot_component(result, axes=middle.subplots(1, 2, width_ratios=[1, 3]), show=False)
        plot_removal(result, axes=list(removal.subplots(1, 2, sharey=True)), show=False)
        left, centre, right = bottom.subplots(1, 3, width_ratios=[1, 1, 1.6])
        plot_reduction(result, ax=left, show=False)
        plot_harm(result, ax=centre, show=False)
        plot_band_power(result, ax=right, show=False)
    figure.suptitle(result.verdict[0].upper() + result.verdict[1:])
    plt_show(show)
    return figure
