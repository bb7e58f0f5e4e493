"""Figures of benefit and harm: topographies, spectra, and effects by condition."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mne_otica.cleaning.result import Cleaned
from mne_otica.evaluation.audit import Audit
from mne_otica.evaluation.harm import BANDS
from mne_otica.evaluation.shares import Row
from mne_otica.utils.docs import fill_doc
from mne_otica.viz.colours import AFTER, BEFORE, GUIDE, HARM, SHARE
from mne_otica.viz.drawing import axes_in_a_row, bare, checked_part, finish, info_of
from mne_otica.viz.topomap import plot_map


@fill_doc
def plot_benefit_and_harm(
    result: Cleaned, *, kind: str | None = None, axes: list[Axes] | None = None, show: bool = True
) -> Figure:
    """Plot how much was removed at the artifacts and away from them, per channel.

    Parameters
    ----------
    %(result)s
    %(kind)s
    axes : list of Axes | None
        Two, or one if the kind has no events; None makes a figure.
    %(show)s

    Returns
    -------
    figure : instance of Figure
        Topographies, or bars if positions are unknown. A kind without events, such as muscle, has
        only the second: the share of the whole signal that was removed.
    """
    part = checked_part(result, kind)
    benefit, harm = part.benefit, part.harm
    n_axes = 1 if benefit is None else 2
    axes = axes_in_a_row(axes, n_axes, (4 * n_axes, 3))
    if benefit is not None:
        title = f"Benefit: RMS at {part.event}s\n{benefit.overall:.0%} less"
        shares = 100 * np.nan_to_num(benefit.per_channel)
        plot_map(axes[0], shares, info_of(result, benefit.ch_names), "%", (0, 100), SHARE)
        axes[0].set_title(title, fontsize="medium")
    where = "in total" if harm.margin is None else f"away from {part.event}s"
    shares = 100 * np.nan_to_num(harm.taken_out_per_channel)
    most = 10 * max(1, np.ceil(shares.max() / 10))
    plot_map(axes[-1], shares, info_of(result, harm.ch_names), "%", (0, most), HARM)
    axes[-1].set_title(f"Harm: removed {where}\n{harm.taken_out:.1%}", fontsize="medium")
    return finish(axes[0], show)


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
    (ax,) = axes_in_a_row(ax and [ax], 1, (6, 3.4))
    shown = (harm.freqs >= 1) & (harm.freqs <= BANDS["gamma"][1])
    freqs, where = harm.freqs[shown], dict(ha="center", va="bottom", fontsize="small")
    ax.semilogy(freqs, 1e12 * harm.power_before[shown], label="before", **BEFORE)
    ax.semilogy(freqs, 1e12 * harm.power_after[shown], label="after", **AFTER)
    for name, (low, high) in BANDS.items():
        ax.axvline(low, **GUIDE)
        at = dict(transform=ax.get_xaxis_transform(), **where)
        ax.text(np.sqrt(low * high), 1.0, f"{name}\n{harm.band_power[name]:+z.1%}", **at)
    ax.set_xscale("log")
    ax.set_xticks([1, 4, 8, 13, 30, 45], ["1", "4", "8", "13", "30", "45"])
    ax.minorticks_off()
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="Frequency (Hz)", ylabel="Power (µV²/Hz)")
    bare(ax)
    ax.legend(frameon=False, loc="lower left")
    return finish(ax, show)


def plot_audit(audit: Audit, *, show: bool = True) -> Figure:
    """Plot points with 95 percent intervals, one for each recording; see `Audit.plot`."""
    panels = 3 if audit.effects else 2
    figure, axes = plt.subplots(1, panels, figsize=(4 * panels, 3.2), layout="constrained")
    _points(axes[0], audit.artifacts, ("kind", "condition"), "share", AFTER)
    axes[0].set(ylabel="Trials with an artifact (%)", ylim=(0, 100))
    _points(axes[1], audit.artifacts, ("kind", "condition"), "left", AFTER)
    axes[1].axhline(0, **GUIDE)
    axes[1].set_ylabel("Left of the average artifact (%)")
    if audit.effects:
        _points(axes[2], audit.effects, ("effect",), "before", BEFORE, -0.2)
        _points(axes[2], audit.effects, ("effect",), "after", AFTER, 0.2)
        axes[2].axhline(0, **GUIDE)
        axes[2].set_ylabel("Difference (µV)")
        one_each = dict(zip(*reversed(axes[2].get_legend_handles_labels()), strict=True))
        axes[2].legend(one_each.values(), one_each.keys(), frameon=False)
    for ax in axes:
        bare(ax)
    return finish(axes[0], show)


def _points(
    ax: Axes, rows: Sequence[Row], by: tuple[str, ...], name: str, style: Row, offset: float = 0.0
) -> None:
    """Draw the values of a column with their intervals, side by side at their group."""
    groups = list(dict.fromkeys(tuple(row[key] for key in by) for row in rows))
    scale = 1 if "effect" in by else 100
    for k, group in enumerate(groups):
        own = [row for row in rows if tuple(row[key] for key in by) == group]
        values = [[row[name + end] for end in ("", "_low", "_high")] for row in own]
        values = scale * np.array(values)
        several = np.linspace(-0.15, 0.15, len(own)) if len(own) > 1 else np.zeros(1)
        at = k + offset + several  # several recordings side by side
        size = np.abs(values[:, 1:] - values[:, :1]).T
        color = {"color": style["color"], "marker": "s" if style is BEFORE else "o"}
        ax.errorbar(at, values[:, 0], size, linestyle="none", markersize=4, label=name, **color)
        if np.isnan(values[:, 0]).all():
            ax.text(k + offset, 0, "unsure", ha="center", va="bottom", fontsize="small")
    ax.set_xticks(range(len(groups)), ["\n".join(group) for group in groups], fontsize="small")
    ax.set_xlim(-0.6, len(groups) - 0.4)
