"""Figures of blinks and of their removal, in MNE's look and readable without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import mne
import numpy as np
from mne.viz.utils import plt_show
from scipy.stats import kurtosis

from mne_otica import evaluation
from mne_otica._checks import _validate_number, _validate_type
from mne_otica._docs import fill_doc
from mne_otica._viz_stability import plot_stability
from mne_otica._windows import spectrum_without
from mne_otica.cleaning import Cleaned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "plot_band_power",
    "plot_benefit_and_harm",
    "plot_blinks",
    "plot_cleaned",
    "plot_component",
    "plot_reduction",
    "plot_stability",
]

# Line styles tell before and after apart where colours do not.
_BEFORE = dict(color="0.45", linestyle="--", linewidth=1.5)
_AFTER = dict(color="C0", linestyle="-", linewidth=1.5)
_HALF = 0.5  # seconds on either side of a blink that are drawn
_MOST_LINES = 30  # blinks drawn one by one


@fill_doc
def plot_blinks(
    result: Cleaned, *, n_channels: int = 3, axes: list[Axes] | None = None, show: bool = True
) -> Figure:
    """Draw the blinks before and after at the channels that see them most.

    Parameters
    ----------
    %(result)s
    n_channels : int
        How many channels.
    axes : list of Axes | None
        One per channel; None makes a figure.
    %(show)s

    Returns
    -------
    figure : instance of Figure
        The figure: thin lines are blinks, thick lines their mean.
    """
    benefit = _checked(result).benefit
    _validate_type(n_channels, "int-like", "n_channels")
    _validate_number(n_channels, "n_channels", at_least=1)
    names = benefit.most_affected(n_channels)
    _check_axes(axes, len(names))
    if axes is None:
        # MNE's report shears figures whose width is no whole number of pixels.
        _, axes = plt.subplots(
            1,
            len(names),
            figsize=(10, 3),
            sharey=True,
            layout="constrained",
            squeeze=False,
        )
        axes = list(axes[0])
    lines = _before_and_after(result)
    for name, ax in zip(names, axes, strict=True):
        for raw, style, label in lines:
            times, windows = _cut(raw, name, benefit.samples)
            ax.plot(times, windows[:_MOST_LINES].T, **(style | dict(linewidth=0.5, alpha=0.4)))
            ax.plot(times, windows.mean(axis=0), label=label, **(style | dict(linewidth=2.5)))
        ax.axvspan(-0.25, 0.25, color="0.93", zorder=0)
        ax.set(title=f"{name}: {benefit.over([name]):.0%} less", xlabel="Time from blink (s)")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("EEG (µV)")
    axes[0].legend(frameon=False, loc="best")
    return _finish(axes[0], show)


@fill_doc
def plot_component(
    result: Cleaned,
    *,
    component: int | None = None,
    axes: list[Axes] | None = None,
    show: bool = True,
) -> Figure:
    """Draw the map and the time course of a component, with its kurtosis.

    Parameters
    ----------
    %(result)s
    component : int | None
        The component; None takes the first one removed, or else the best candidate.
    axes : list of Axes | None
        Two, for the map and the time course; None makes a figure.
    %(show)s

    Returns
    -------
    figure : instance of Figure
        The figure; ticks below the time course are the blinks found.
    """
    _validate_type(result, Cleaned, "result", "Cleaned")
    component = _checked_component(result, component)
    _check_axes(axes, 2)
    if axes is None:
        _, axes = plt.subplots(1, 2, figsize=(10, 2.8), width_ratios=[1, 4], layout="constrained")
    raw = result.filtered()
    source = result.ica.get_sources(raw).get_data()[component]
    weights = result.ica.get_components()[:, component]
    info = _info(result, result.ica.ch_names)
    most = np.abs(weights).max()
    _plot_map(axes[0], weights, info, "weight", (-most, most), "RdBu_r")
    axes[0].set_title(f"Component {component}")
    axes[1].plot(raw.times, source, color="k", linewidth=0.6)
    at = (result.events.events[:, 0] - raw.first_samp) / raw.info["sfreq"]
    low = source.min() - 0.08 * np.ptp(source)
    axes[1].plot(at, np.full(len(at), low), "|", color="C3", markersize=9, label="blinks")
    axes[1].set(
        xlabel="Time (s)",
        ylabel="Component (a.u.)",
        xlim=raw.times[[0, -1]],
        title=f"Excess kurtosis {kurtosis(source):.1f}, {len(at)} blinks (ticks)",
    )
    axes[1].spines[["top", "right"]].set_visible(False)
    return _finish(axes[0], show)


@fill_doc
def plot_reduction(result: Cleaned, *, ax: Axes | None = None, show: bool = True) -> Figure:
    """Draw how much of the signal round blinks went, per channel.

    Parameters
    ----------
    %(result)s
    %(ax)s
    %(show)s

    Returns
    -------
    figure : instance of Figure
        A topographic map, or bars where channels have no positions.
    """
    benefit = _checked(result).benefit
    _check_axes(None if ax is None else [ax], 1)
    if ax is None:
        _, ax = plt.subplots(figsize=(4, 3.2), layout="constrained")
    info = _info(result, benefit.ch_names)
    _plot_map(ax, 100 * np.nan_to_num(benefit.per_channel), info, "%", (0, 100), "Reds")
    ax.set_title(f"RMS reduction, {benefit.n_events} blinks")
    return _finish(ax, show)


@fill_doc
def plot_band_power(result: Cleaned, *, ax: Axes | None = None, show: bool = True) -> Figure:
    """Draw the spectrum away from blinks before and after.

    Parameters
    ----------
    %(result)s
    %(ax)s
    %(show)s

    Returns
    -------
    figure : instance of Figure
        The mean over channels, with the change of each band.
    """
    harm = _checked(result).harm
    _check_axes(None if ax is None else [ax], 1)
    if ax is None:
        _, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
    for raw, style, label in _before_and_after(result):
        freqs, psd = spectrum_without(raw, result.events.events, harm.margin)
        shown = (freqs >= 1) & (freqs <= evaluation.BANDS["gamma"][1])
        ax.semilogy(freqs[shown], 1e12 * psd[:, shown].mean(axis=0), label=label, **style)
    for name, (low, high) in evaluation.BANDS.items():
        ax.axvline(low, color="0.85", linewidth=0.8, zorder=0)
        ax.text(
            np.sqrt(low * high),
            1.0,
            f"{name}\n{harm.band_power[name]:+.0%}",
            ha="center",
            va="bottom",
            fontsize="small",
            transform=ax.get_xaxis_transform(),
        )
    ax.set_xscale("log")
    ax.set_xticks([1, 4, 8, 13, 30, 45], ["1", "4", "8", "13", "30", "45"])
    ax.minorticks_off()
    ax.set(xlabel="Frequency (Hz)", ylabel="Power away from blinks (µV²/Hz)")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower left")
    return _finish(ax, show)


@fill_doc
def plot_benefit_and_harm(result: Cleaned, *, show: bool = True) -> Figure:
    """Draw the reduction per channel beside the spectrum away from blinks.

    Parameters
    ----------
    %(result)s
    %(show)s

    Returns
    -------
    figure : instance of Figure
        The figure.
    """
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), width_ratios=[1, 2], layout="constrained")
    plot_reduction(result, ax=axes[0], show=False)
    plot_band_power(result, ax=axes[1], show=False)
    plt_show(show)
    return figure


@fill_doc
def plot_cleaned(result: Cleaned, *, show: bool = True) -> Figure:
    """Draw all about the removal on one page; only the component if nothing was removed.

    Parameters
    ----------
    %(result)s
    %(show)s

    Returns
    -------
    figure : instance of Figure
        The figure.
    """
    _validate_type(result, Cleaned, "result", "Cleaned")
    if result.benefit is None:
        figure = plot_component(result, show=False)
    else:
        figure = plt.figure(figsize=(11, 9), layout="constrained")
        n_channels = min(3, len(result.benefit.ch_names))
        top, middle, bottom = figure.subfigures(3, 1)
        axes = top.subplots(1, n_channels, sharey=True, squeeze=False)[0]
        plot_blinks(result, n_channels=n_channels, axes=list(axes), show=False)
        plot_component(result, axes=middle.subplots(1, 2, width_ratios=[1, 3]), show=False)
        left, right = bottom.subplots(1, 2, width_ratios=[1, 2])
        plot_reduction(result, ax=left, show=False)
        plot_band_power(result, ax=right, show=False)
    figure.suptitle(result.verdict[0].upper() + result.verdict[1:])
    plt_show(show)
    return figure


def _checked(result):
    """Return a result that removed something, or raise."""
    _validate_type(result, Cleaned, "result", "Cleaned")
    if result.benefit is None:
        raise ValueError(
            f"Nothing was removed ({result.verdict}), so there is no before and after to draw; "
            "plot_component shows the best candidate."
        )
    return result


def _checked_component(result, component):
    if component is None:
        return _main_component(result)
    _validate_type(component, "int-like", "component", "int or None")
    n_components = result.ica.n_components_
    if not 0 <= component < n_components:
        raise ValueError(
            f"component ({component}) must be one of the {n_components} fitted, 0 to "
            f"{n_components - 1}."
        )
    return component


def _check_axes(axes, n_axes):
    """Raise unless these are as many axes as there is to draw, or none are given."""
    if axes is None:
        return
    _validate_type(axes, (list, tuple, np.ndarray), "axes", "a list of Axes")
    for ax in axes:
        _validate_type(ax, plt.Axes, "ax", "Axes")
    if len(axes) != n_axes:
        raise ValueError(f"There are {len(axes)} axes for {n_axes} pictures; pass one for each.")


def _before_and_after(result):
    """Return both recordings in the band of the fit, each with its line style and label."""
    before = result.filtered()
    after = result.ica.apply(before.copy(), verbose="error")
    return (before, _BEFORE, "before"), (after, _AFTER, "after")


def _main_component(result):
    if result.ica.exclude:
        return int(result.ica.exclude[0])
    return int(result.scores.rows[0].component) if result.scores.rows else 0


def _info(result, names):
    """Return the info of some channels."""
    info = result.raw.info
    return mne.pick_info(info, [info.ch_names.index(name) for name in names])


def _cut(raw, name, samples):
    """Return the times and the windows round blinks that lie inside the recording, in µV."""
    half = int(_HALF * raw.info["sfreq"])
    data = 1e6 * raw.get_data([name])[0]
    padded = np.pad(data, half, constant_values=np.nan)
    at = samples - raw.first_samp
    windows = np.array([padded[k : k + 2 * half + 1] for k in at])
    keep = np.isfinite(windows).all(axis=1)
    times = np.arange(-half, half + 1) / raw.info["sfreq"]
    # Where the edges cut all of them, gaps in the lines are better than no lines.
    return times, windows[keep] if keep.any() else windows


def _plot_map(ax, values, info, label, limits, cmap):
    """Draw values on the head, or as bars where there are no positions for that."""
    if not _has_positions(info):
        ax.bar(info["ch_names"], values, color="0.6", edgecolor="k")
        ax.tick_params(axis="x", rotation=90, labelsize="small")
        ax.set_ylabel(label)
        ax.spines[["top", "right"]].set_visible(False)
        return
    image, _ = mne.viz.plot_topomap(
        values, info, axes=ax, vlim=limits, cmap=cmap, contours=4, show=False
    )
    ax.figure.colorbar(image, ax=ax, shrink=0.7, label=label)


def _has_positions(info):
    """Return whether there are places to draw between; MNE refuses channels at one place."""
    places = np.array([ch["loc"][:3] for ch in info["chs"]])
    if len(places) < 4 or not np.isfinite(places).all():
        return False
    return len(np.unique(np.round(places, 4), axis=0)) == len(places)


def _finish(ax, show):
    plt_show(show)
    return ax.get_figure()
