"""Figures of blinks and of their removal, in MNE's look and readable without colour."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import mne
import numpy as np
from mne.viz.utils import plt_show
from numpy.typing import NDArray

from mne_otica import evaluation
from mne_otica._checks import _validate_number, _validate_type
from mne_otica._docs import fill_doc
from mne_otica._topomap import plot_map
from mne_otica._viz_stability import plot_stability
from mne_otica.cleaning import Cleaned
from mne_otica.ica import unmixing_in_volts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "plot_band_power",
    "plot_benefit_and_harm",
    "plot_blinks",
    "plot_cleaned",
    "plot_component",
    "plot_harm",
    "plot_reduction",
    "plot_removal",
    "plot_stability",
]

# Line styles tell before and after apart where colours do not.
_BEFORE = dict(color="0.45", linestyle="--", linewidth=1.5)
_AFTER = dict(color="C0", linestyle="-", linewidth=1.5)
_PARTS = {
    "component": dict(color="0.3", linestyle="-", linewidth=0.8),
    "taken out": dict(color="C3", linestyle="--", linewidth=1.8),
    "stayed": dict(color="C0", linestyle="-", linewidth=1.5),
}
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
    for name, ax in zip(names, axes, strict=True):
        for data, style, label in _before_and_after(result, name):
            times, windows = _cut(result, data, benefit.samples)
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
    raw, source = result._filtered, _course(result, component)
    weights = result.ica.get_components()[:, component]
    info = _info(result, result.ica.ch_names)
    most = np.abs(weights).max()
    plot_map(axes[0], weights, info, "weight", (-most, most), "RdBu_r")
    axes[0].set_title(result.ica._ica_names[component])
    axes[1].plot(raw.times, source, color="k", linewidth=0.6)
    at = (result.blinks.events[:, 0] - raw.first_samp) / raw.info["sfreq"]
    low = source.min() - 0.08 * np.ptp(source)
    axes[1].plot(at, np.full(len(at), low), "|", color="C3", markersize=9, label="blinks")
    axes[1].set(
        xlabel="Time (s)",
        ylabel="Component (a.u.)",
        xlim=raw.times[[0, -1]],
        title=_course_title(result, component),
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
    shares = 100 * np.nan_to_num(benefit.per_channel)
    title = f"RMS reduction, {benefit.n_events} blinks"
    return _plot_channels(result, shares, benefit.ch_names, title, 100.0, "Reds", ax, show)


@fill_doc
def plot_harm(result: Cleaned, *, ax: Axes | None = None, show: bool = True) -> Figure:
    """Draw how much of the signal away from blinks was taken out, per channel.

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
    harm = _checked(result).harm
    shares = 100 * np.nan_to_num(harm.taken_out_per_channel)
    title = f"Taken out away from blinks, {harm.taken_out:.1%}"
    most = max(10.0, shares.max())
    return _plot_channels(result, shares, harm.ch_names, title, most, "Purples", ax, show)


def _plot_channels(
    result: Cleaned,
    shares: NDArray[np.float64],
    ch_names: list[str],
    title: str,
    most: float,
    cmap: str,
    ax: Axes | None,
    show: bool,
) -> Figure:
    """Draw percentages of channels."""
    _check_axes(None if ax is None else [ax], 1)
    if ax is None:
        _, ax = plt.subplots(figsize=(4, 3.2), layout="constrained")
    plot_map(ax, shares, _info(result, ch_names), "%", (0, most), cmap)
    ax.set_title(title)
    return _finish(ax, show)


@fill_doc
def plot_removal(result: Cleaned, *, axes: list[Axes] | None = None, show: bool = True) -> Figure:
    """Draw what was taken out of the blink component, and what stayed.

    Parameters
    ----------
    %(result)s
    axes : list of Axes | None
        Two, for one blink and for the average; None makes a figure.
    %(show)s

    Returns
    -------
    figure : instance of Figure
        The course of the first component removed round a blink of median size, and its average
        over blinks, with the part taken out and the part that stayed.
    """
    benefit = _checked(result).benefit
    _check_axes(axes, 2)
    if axes is None:
        _, axes = plt.subplots(1, 2, figsize=(10, 3), sharey=True, layout="constrained")
    component = result.ica.exclude[0]
    course = _course(result, component)
    pieces = {
        "component": course,
        "taken out": result._taken[0],
        "stayed": course - result._taken[0],
    }
    windows = {}
    for name, piece in pieces.items():
        times, windows[name] = _cut(result, 1e-6 * piece, benefit.samples)
    heights = np.nanmax(np.abs(windows["taken out"]), axis=1)
    median = int(np.argsort(heights)[len(heights) // 2])
    for name, style in _PARTS.items():
        axes[0].plot(times, windows[name][median], label=name, **style)
        axes[1].plot(times, np.nanmean(windows[name], axis=0), **style)
    axes[0].set(title="One blink", ylabel=f"{result.ica._ica_names[component]} (a.u.)")
    axes[1].set(title=f"Average of {len(heights)} blinks")
    for ax in axes:
        ax.set_xlabel("Time from blink (s)")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, loc="best")
    return _finish(axes[0], show)


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
    shown = (harm.freqs >= 1) & (harm.freqs <= evaluation.BANDS["gamma"][1])
    for power, style, label in (
        (harm.power_before, _BEFORE, "before"),
        (harm.power_after, _AFTER, "after"),
    ):
        ax.semilogy(harm.freqs[shown], 1e12 * power[shown], label=label, **style)
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
    """Draw the reduction and the harm per channel, and the spectrum away from blinks.

    Parameters
    ----------
    %(result)s
    %(show)s

    Returns
    -------
    figure : instance of Figure
        The figure.
    """
    figure, axes = plt.subplots(
        1, 3, figsize=(12, 3.4), width_ratios=[1, 1, 1.6], layout="constrained"
    )
    plot_reduction(result, ax=axes[0], show=False)
    plot_harm(result, ax=axes[1], show=False)
    plot_band_power(result, ax=axes[2], show=False)
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
        figure = plt.figure(figsize=(11, 12), layout="constrained")
        n_channels = min(3, len(result.benefit.ch_names))
        top, middle, parts, bottom = figure.subfigures(4, 1)
        axes = top.subplots(1, n_channels, sharey=True, squeeze=False)[0]
        plot_blinks(result, n_channels=n_channels, axes=list(axes), show=False)
        plot_component(result, axes=middle.subplots(1, 2, width_ratios=[1, 3]), show=False)
        plot_removal(result, axes=list(parts.subplots(1, 2, sharey=True)), show=False)
        left, centre, right = bottom.subplots(1, 3, width_ratios=[1, 1, 1.6])
        plot_reduction(result, ax=left, show=False)
        plot_harm(result, ax=centre, show=False)
        plot_band_power(result, ax=right, show=False)
    figure.suptitle(result.verdict[0].upper() + result.verdict[1:])
    plt_show(show)
    return figure


def _checked(result: Cleaned) -> Cleaned:
    """Return a result that removed something, or raise."""
    _validate_type(result, Cleaned, "result", "Cleaned")
    if result.benefit is None:
        raise ValueError(
            f"Nothing was removed ({result.verdict}), so there is no before and after to draw; "
            "plot_component shows the best candidate."
        )
    return result


def _checked_component(result: Cleaned, component: int | None) -> int:
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


def _check_axes(axes: list[Axes] | None, n_axes: int) -> None:
    """Raise unless these are as many axes as there is to draw, or none are given."""
    if axes is None:
        return
    _validate_type(axes, (list, tuple, np.ndarray), "axes", "a list of Axes")
    for ax in axes:
        _validate_type(ax, plt.Axes, "ax", "Axes")
    if len(axes) != n_axes:
        raise ValueError(f"There are {len(axes)} axes for {n_axes} pictures; pass one for each.")


def _before_and_after(
    result: Cleaned, name: str
) -> Iterator[tuple[NDArray[np.float64], dict[str, Any], str]]:
    """Yield a channel in the band of the fit, before and after, with line style and label."""
    before, after = result.before_and_after([name])
    yield before[0], _BEFORE, "before"
    yield after[0], _AFTER, "after"


def _course(result: Cleaned, component: int) -> NDArray[np.float64]:
    """Return the time course of a component in the band of the fit."""
    return unmixing_in_volts(result.ica)[component] @ result._filtered.get_data()


def _course_title(result: Cleaned, component: int) -> str:
    """Return the figures of the component that the table has, too."""
    row = next((one for one in result.scores.rows if one.component == component), None)
    blinks = f"{len(result.blinks.events)} blinks (ticks)"
    return blinks if row is None else f"Excess kurtosis {row.kurtosis:.1f}, {blinks}"


def _main_component(result: Cleaned) -> int:
    if result.ica.exclude:
        return int(result.ica.exclude[0])
    return int(result.scores.rows[0].component) if result.scores.rows else 0


def _info(result: Cleaned, names: list[str]) -> mne.Info:
    """Return the info of some channels."""
    info = result._filtered.info
    return mne.pick_info(info, [info.ch_names.index(name) for name in names])


def _cut(
    result: Cleaned, data: NDArray[np.float64], samples: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the times and the windows round blinks that lie inside the recording, in µV."""
    raw = result._filtered
    sfreq = raw.info["sfreq"]
    half = int(_HALF * sfreq)
    padded = np.pad(1e6 * data, half, constant_values=np.nan)
    windows = np.array([padded[k : k + 2 * half + 1] for k in samples - raw.first_samp])
    keep = np.isfinite(windows).all(axis=1)
    times = np.arange(-half, half + 1) / sfreq
    # Where the edges cut all of them, gaps in the lines are better than no lines.
    return times, windows[keep] if keep.any() else windows


def _finish(ax: Axes, show: bool) -> Figure:
    plt_show(show)
    return ax.get_figure()
