"""A figure of artifacts and effects by condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mne_otica.evaluation.audit import Audit
from mne_otica.viz.colours import AFTER, BEFORE, GUIDE
from mne_otica.viz.drawing import bare, finish


def plot_audit(audit: Audit, *, show: bool = True) -> Figure:
    """Plot the share of trials with artifacts, what is left of them, and the effects.

    Parameters
    ----------
    audit : instance of Audit
        What :func:`mne_otica.audit` returned.
    show : bool
        Whether to show the figure.

    Returns
    -------
    figure : instance of Figure
        Points with 95 percent intervals, one for each recording.
    """
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
        axes[2].legend(*_legend(axes[2]), frameon=False)
    for ax in axes:
        bare(ax)
    return finish(axes[0], show)


def _points(
    ax: Axes,
    rows: Sequence[dict[str, Any]],
    by: tuple[str, ...],
    name: str,
    style: dict[str, Any],
    offset: float = 0.0,
) -> None:
    """Draw the values of a column with their intervals, side by side at their group."""
    groups = list(dict.fromkeys(tuple(row[key] for key in by) for row in rows))
    scale = 1 if "effect" in by else 100
    for k, group in enumerate(groups):
        own = [row for row in rows if tuple(row[key] for key in by) == group]
        values = scale * np.array(
            [[row[name + end] for end in ("", "_low", "_high")] for row in own]
        )
        several = np.linspace(-0.15, 0.15, len(own)) if len(own) > 1 else np.zeros(1)
        at = k + offset + several  # several recordings side by side
        size = np.abs(values[:, 1:] - values[:, :1]).T
        color = {"color": style["color"], "marker": "s" if style is BEFORE else "o"}
        ax.errorbar(at, values[:, 0], size, linestyle="none", markersize=4, label=name, **color)
        if np.isnan(values[:, 0]).all():
            ax.text(k + offset, 0, "unsure", ha="center", va="bottom", fontsize="small")
    ax.set_xticks(range(len(groups)), ["\n".join(group) for group in groups], fontsize="small")
    ax.set_xlim(-0.6, len(groups) - 0.4)


def _legend(ax: Axes) -> tuple[list, list]:
    """Return one handle for each label."""
    known = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    return list(known.values()), list(known)
