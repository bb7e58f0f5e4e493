"""Shared by all figures: line styles, checks of arguments, windows around events."""

from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import mne
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mne.viz.utils import plt_show

from mne_otica.cleaning.overview import parts
from mne_otica.cleaning.result import Cleaned
from mne_otica.evaluation.measures import KindResult
from mne_otica.signals.unmixing import unmixing_in_volts
from mne_otica.signals.windows import HALF_WINDOW
from mne_otica.utils.arrays import Array
from mne_otica.utils.checks import _check_option, _validate_type
from mne_otica.viz.colours import AFTER, BEFORE

HALF = 2 * HALF_WINDOW  # seconds on either side of an event that are drawn


def checked_part(result: Cleaned, kind: str | None = None, by_events: bool = False) -> KindResult:
    """Return the result for a kind that was removed, by default the first."""
    _validate_type(result, Cleaned, "result", "Cleaned")
    removed = {part.kind: part for part in (at_events if by_events else parts)(result)}
    if not removed:
        raise ValueError(
            f"Nothing was removed{' at events' if by_events else ''} ({result.verdict}), so there "
            "is no before and after to draw; plot_component shows the best candidate."
        )
    kind = next(iter(removed)) if kind is None else kind
    _check_option("kind", kind, tuple(removed))
    return removed[kind]


def at_events(result: Cleaned) -> list[KindResult]:
    """Return the kinds that were removed at their events."""
    return [part for part in parts(result) if part.benefit is not None]


def sentences(result: Cleaned) -> list[str]:
    """Return the sentences of the verdict, capitalised."""
    return [text[:1].upper() + text[1:] for text in result.verdict.split(". ")]


def axes_in_a_row(
    axes: list[Axes] | None, n_axes: int, size: tuple[float, float], **options: Any
) -> list[Axes]:
    """Return the axes passed, or new ones in a figure of this size."""
    if axes is None:
        _, made = plt.subplots(
            1, n_axes, figsize=size, layout="constrained", squeeze=False, **options
        )
        return list(made[0])
    _validate_type(axes, (list, tuple, np.ndarray), "axes", "a list of Axes")
    for ax in axes:
        _validate_type(ax, plt.Axes, "ax", "Axes")
    if len(axes) != n_axes:
        raise ValueError(f"There are {len(axes)} axes for {n_axes} panels; pass one for each.")
    return list(axes)


def before_and_after(result: Cleaned, name: str) -> Iterator[tuple[Array, dict[str, Any], str]]:
    """Yield a channel in the band of the fit, before and after, with line style and label."""
    before, after = result.before_and_after([name])
    yield before[0], BEFORE, "before"
    yield after[0], AFTER, "after"


def course(result: Cleaned, component: int) -> Array:
    """Return the time course of a component in the band of the fit."""
    return unmixing_in_volts(result.ica)[component] @ result._filtered.get_data()


def info_of(result: Cleaned, names: list[str]) -> mne.Info:
    """Return the info of some channels."""
    info = result._filtered.info
    return mne.pick_info(info, [info.ch_names.index(name) for name in names])


def event_times(result: Cleaned, part: KindResult) -> Array:
    """Return the times of the events of a kind, in seconds from the start."""
    raw = result._filtered
    return (part.events[:, 0] - raw.origin) / raw.sfreq


def cut(result: Cleaned, data: Array, part: KindResult) -> tuple[Array, Array]:
    """Return times and windows around the events that lie inside the recording, in µV."""
    raw, sfreq = result._filtered, result._filtered.info["sfreq"]
    half = int(HALF * sfreq)
    padded = np.pad(1e6 * data, half, constant_values=np.nan)
    samples = raw.samples(part.benefit.samples[:, np.newaxis])
    windows = np.array([padded[k : k + 2 * half + 1] for k in samples])
    windows *= np.sign(part.benefit.weights)[:, np.newaxis]
    keep = np.isfinite(windows).all(axis=1)
    times = np.arange(-half, half + 1) / sfreq
    return times, windows[keep] if keep.any() else windows  # or what there is of them


def bare(ax: Axes) -> None:
    """Hide the upper and the right spine."""
    ax.spines[["top", "right"]].set_visible(False)


def finish(ax: Axes, show: bool) -> Figure:
    """Show the figure of the axes if asked to, and return it."""
    plt_show(show)
    return ax.get_figure()
