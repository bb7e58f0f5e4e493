"""Figures of artifacts and their removal, in the style of MNE and readable without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
from mne.viz.utils import plt_show

from mne_otica._checks import _validate_type
from mne_otica._cleaned import Cleaned
from mne_otica._docs import fill_doc
from mne_otica._glance import parts
from mne_otica._viz_components import plot_component, plot_components
from mne_otica._viz_events import plot_events, plot_removal, plot_traces
from mne_otica._viz_measures import (
    plot_band_power,
    plot_benefit_and_harm,
    plot_harm,
    plot_reduction,
)
from mne_otica._viz_review import ComponentReview
from mne_otica._viz_stability import plot_stability

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "ComponentReview",
    "plot_band_power",
    "plot_benefit_and_harm",
    "plot_cleaned",
    "plot_component",
    "plot_components",
    "plot_events",
    "plot_harm",
    "plot_reduction",
    "plot_removal",
    "plot_stability",
    "plot_traces",
]


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
    elif result.benefit is None:  # removed by its band, not at events
        figure = plt.figure(figsize=(11, 6), layout="constrained")
        top, bottom = figure.subfigures(2, 1)
        plot_component(result, axes=top.subplots(1, 2, width_ratios=[1, 3]), show=False)
        left, right = bottom.subplots(1, 2, width_ratios=[1, 1.6])
        plot_harm(result, ax=left, show=False)
        plot_band_power(result, ax=right, show=False)
    else:
        figure = plt.figure(figsize=(11, 12), layout="constrained")
        n_channels = min(3, len(result.benefit.ch_names))
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
