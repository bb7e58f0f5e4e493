"""Figures of benefit and harm: topographies and spectra."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mne_otica.evaluation import harm as harm_measures
from mne_otica.utils.docs import fill_doc
from mne_otica.viz.drawing import (
    AFTER,
    BEFORE,
    axes_in_a_row,
    bare,
    check_axes,
    checked_part,
    entitle,
    finish,
    info_of,
)
from mne_otica.viz.topomap import plot_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mne_otica.cleaning.result import Cleaned

_AROUND_MAPS = dict(top=0.6, right=0.5, bottom=0.15)  # inches, for the title and colour bar


@fill_doc
def plot_reduction(
    result: Cleaned, *, kind: str | None = None, ax: Axes | None = None, show: bool = True
) -> Figure:
    """Plot how much of the signal around artifacts was removed, per channel.

    Parameters
    ----------
    %(result)s
    %(kind)s
    %(ax)s
    %(show)s

    Returns
    -------
    figure : instance of Figure
        A topographic map, or bars if positions are unknown.
    """
    part = checked_part(result, kind, by_events=True)
    shares = 100 * np.nan_to_num(part.benefit.per_channel)
    title = f"Benefit: RMS at {part.event}s\n{part.benefit.overall:.0%} less"
    return _plot_channels(result, shares, part.benefit.ch_names, title, 100.0, "Reds", ax, show)


@fill_doc
def plot_harm(
    result: Cleaned, *, kind: str | None = None, ax: Axes | None = None, show: bool = True
) -> Figure:
    """Plot how much of the signal away from artifacts was removed, per channel.

    Parameters
    ----------
    %(result)s
    %(kind)s
    %(ax)s
    %(show)s

    Returns
    -------
    figure : instance of Figure
        A topographic map, or bars if positions are unknown.
    """
    part = checked_part(result, kind)
    shares = 100 * np.nan_to_num(part.harm.taken_out_per_channel)
    where = f"away from {part.event}s" if part.benefit is not None else "in total"
    title = f"Harm: removed {where}\n{part.harm.taken_out:.1%}"
    most = 10.0 * max(1, np.ceil(shares.max() / 10))
    return _plot_channels(result, shares, part.harm.ch_names, title, most, "Purples", ax, show)


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
    """Plot a percentage per channel."""
    check_axes(None if ax is None else [ax], 1)
    if ax is None:
        (ax,) = axes_in_a_row(1, (4, 3), **_AROUND_MAPS)
    plot_map(ax, shares, info_of(result, ch_names), "%", (0, most), cmap)
    entitle(ax, title, fontsize="medium")
    return finish(ax, show)


@fill_doc
def plot_band_power(
    result: Cleaned, *, kind: str | None = None, ax: Axes | None = None, show: bool = True
) -> Figure:
    """Plot the spectrum before and after cleaning, away from events if the kind has any.

    Parameters
    ----------
    %(result)s
    %(kind)s
    %(ax)s
    %(show)s

    Returns
    -------
    figure : instance of Figure
        The mean spectrum over channels, with the change in each band.
    """
    harm = checked_part(result, kind).harm
    check_axes(None if ax is None else [ax], 1)
    if ax is None:
        (ax,) = axes_in_a_row(1, (6, 3.4), top=0.6)
    shown = (harm.freqs >= 1) & (harm.freqs <= harm_measures.BANDS["gamma"][1])
    for power, style, label in (
        (harm.power_before, BEFORE, "before"),
        (harm.power_after, AFTER, "after"),
    ):
        ax.semilogy(harm.freqs[shown], 1e12 * power[shown], label=label, **style)
    for name, (low, high) in harm_measures.BANDS.items():
        ax.axvline(low, color="0.85", linewidth=0.8, zorder=0)
        ax.text(
            np.sqrt(low * high),
            1.0,
            f"{name}\n{harm.band_power[name]:+z.1%}",
            ha="center",
            va="bottom",
            fontsize="small",
            transform=ax.get_xaxis_transform(),
        )
    ax.set_xscale("log")
    ax.set_xticks([1, 4, 8, 13, 30, 45], ["1", "4", "8", "13", "30", "45"])
    ax.minorticks_off()
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="Frequency (Hz)", ylabel="Power (µV²/Hz)")
    bare(ax)
    ax.legend(frameon=False, loc="lower left")
    return finish(ax, show)


@fill_doc
def plot_benefit_and_harm(result: Cleaned, *, kind: str | None = None, show: bool = True) -> Figure:
    """Plot benefit and harm per channel; only the harm if there are no events.

    Parameters
    ----------
    %(result)s
    %(kind)s
    %(show)s

    Returns
    -------
    figure : instance of Figure
        The figure.
    """
    part = checked_part(result, kind)
    by_events = part.benefit is not None
    axes = axes_in_a_row(2 if by_events else 1, (8, 3), gap=0.8, **_AROUND_MAPS)
    if by_events:
        plot_reduction(result, kind=part.kind, ax=axes[0], show=False)
    return plot_harm(result, kind=part.kind, ax=axes[-1], show=show)
