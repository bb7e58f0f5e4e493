"""A figure of artifacts and effects by condition."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mne_otica.evaluation.audit import Audit
from mne_otica.evaluation.shares import Row
from mne_otica.viz.colours import AFTER, BEFORE, GUIDE
from mne_otica.viz.drawing import bare, finish


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
