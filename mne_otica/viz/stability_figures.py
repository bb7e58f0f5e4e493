"""Figures of the stability of components."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from mne.viz.utils import plt_show

from mne_otica.trust.stability import Stability
from mne_otica.utils.checks import _validate_type
from mne_otica.utils.docs import fill_doc
from mne_otica.viz.colours import AFTER, CURVE, SHARE, SIGNED, STABLE, THRESHOLD, UNSTABLE
from mne_otica.viz.drawing import bare
from mne_otica.viz.topomap import plot_map


@fill_doc
def plot_stability(stability: Stability, *, show: bool = True) -> Figure:
    """Plot the index of the components, topographies of the first five, and the learning curve.

    Parameters
    ----------
    stability : instance of Stability
        What :func:`mne_otica.stability` returned.
    %(show)s

    Returns
    -------
    figure : instance of Figure
        Top: the index of each component. Middle: the mean topography of the first components over
        refits, and its standard deviation. Bottom: how many components are stable with less data.
    """
    _validate_type(stability, Stability, "stability", "Stability")
    components = range(min(5, len(stability.index)))
    figure = plt.figure(figsize=(10, 9), layout="constrained")
    top, middle, bottom = figure.subfigures(3, 1, height_ratios=[1, 1.6, 1])
    _plot_index(top.subplots(), stability)
    axes = middle.subplots(2, len(components), squeeze=False)
    for component, (mean_ax, spread_ax) in zip(components, axes.T, strict=True):
        mean, spread = stability.maps[:, component].mean(axis=0), stability.spread[component]
        plot_map(mean_ax, mean / np.abs(mean).max(), stability.info, "", (-1, 1), SIGNED)
        plot_map(spread_ax, spread, stability.info, "", (0, 1), SHARE)
        title = f"Component {component}\nindex {stability.index[component]:.2f}"
        mean_ax.set_title(title, fontsize="medium")
        spread_ax.set_title(f"spread {spread.max():.2f}", fontsize="medium")
    _plot_curve(bottom.subplots(), stability, components)
    plt_show(show)
    return figure


def _plot_index(ax: Axes, stability: Stability) -> None:
    """Draw a bar for each component."""
    for stable, style, label in ((True, STABLE, "stable"), (False, UNSTABLE, "not stable")):
        at = np.flatnonzero(stability.stable == stable)
        ax.bar(at, stability.index[at], label=f"{label} ({len(at)})", **style)
    ax.axhline(stability.threshold, **THRESHOLD)
    last = len(stability.index) - 0.4
    ax.set(xlabel="Component", ylabel="Share of refits", ylim=(0, 1), xlim=(-0.6, last))
    refits = f"{len(stability.matches)} refits by {stability.method}"
    ax.set_title(f"{refits}. Stable is not the same as brain", loc="left")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    bare(ax)
    ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=2)


def _plot_curve(ax: Axes, stability: Stability, components: range) -> None:
    """Draw the index of some components, and how many are stable, against the data length."""
    minutes = stability.lengths / 60
    for component in components:
        ax.plot(minutes, stability.curve[:, component], **CURVE)
        ax.annotate(str(component), (minutes[0], stability.curve[0, component]), color="0.4")
    share = np.mean(stability.curve >= stability.threshold, axis=1)
    ax.plot(minutes, share, marker="o", label="share of components that are stable", **AFTER)
    ax.axhline(stability.threshold, **THRESHOLD)
    ax.set(xlabel="Data used (min)", ylabel="Share stable; index (grey)", ylim=(-0.02, 1.02))
    ax.set_title(f"{stability.stable.sum()} of {len(stability.index)} components are stable")
    ax.legend(frameon=False, loc="center right", fontsize="small")
    bare(ax)
