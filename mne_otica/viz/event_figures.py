"""Figures of artifacts over time: before and after, removed and kept."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from mne_otica.cleaning.result import Cleaned, KindResult
from mne_otica.signals.windows import fullest_window
from mne_otica.utils.checks import _check_option, _validate_number, _validate_type
from mne_otica.utils.docs import fill_doc
from mne_otica.viz import drawing
from mne_otica.viz.colours import EVENT, PARTS, WINDOW


@fill_doc
def plot_events(
    result: Cleaned,
    *,
    kind: str | None = None,
    n_channels: int = 3,
    axes: list[Axes] | None = None,
    show: bool = True,
) -> Figure:
    """Plot an artifact before and after cleaning, at the channels where it is largest.

    Parameters
    ----------
    %(result)s
    %(kind)s
    n_channels : int
        How many channels.
    axes : list of Axes | None
        One per channel; None makes a figure.
    %(show)s

    Returns
    -------
    figure : instance of Figure
        The figure: thin lines are events, thick lines their mean. Eye movements in opposite
        directions are flipped to have the same sign.
    """
    part = drawing.checked_part(result, kind, by_events=True)
    _validate_type(n_channels, "int-like", "n_channels")
    _validate_number(n_channels, "n_channels", at_least=1)
    benefit = part.benefit
    names = benefit.most_affected(n_channels)
    # MNE's report distorts figures whose width is not a whole number of pixels.
    axes = drawing.axes_in_a_row(axes, len(names), (10, 3), sharey=True)
    for name, ax in zip(names, axes, strict=True):
        for data, style, label in drawing.before_and_after(result, name):
            times, windows = drawing.cut(result, data, part)
            # More lines would only hide each other.
            lines = [np.c_[times, window] for window in windows[:30]]
            ax.add_collection(LineCollection(lines, **(style | dict(linewidth=0.5, alpha=0.4))))
            ax.plot(times, windows.mean(axis=0), label=label, **(style | dict(linewidth=2.5)))
        ax.axvspan(-0.25, 0.25, **WINDOW)
        share = benefit.average_per_channel[benefit.ch_names.index(name)]
        ax.set_title(f"{name}: {share:.0%} of the average removed", fontsize="medium")
        _label_windows(ax, part)
    axes[0].set_ylabel("EEG (µV)")
    axes[0].legend(frameon=False, loc="best")
    return drawing.finish(axes[0], show)


@fill_doc
def plot_removal(
    result: Cleaned, *, kind: str | None = None, axes: list[Axes] | None = None, show: bool = True
) -> Figure:
    """Plot the part of a component that was removed, and the part that was kept.

    Parameters
    ----------
    %(result)s
    %(kind)s
    axes : list of Axes | None
        Two, for one event and for the average; None makes a figure.
    %(show)s

    Returns
    -------
    figure : instance of Figure
        The time course of the first component of that kind around an event of median size, and its
        average over events, each with the part removed and the part kept.
    """
    part = drawing.checked_part(result, kind, by_events=True)
    axes = drawing.axes_in_a_row(axes, 2, (10, 3), sharey=True)
    component = (part.components or result.ica.exclude)[0]  # a person may have chosen others
    taken = result._taken[result.ica.exclude.index(component)]
    whole = drawing.course(result, component)
    pieces = {"component": whole, "removed": taken, "kept": whole - taken}
    windows = {}
    for name, piece in pieces.items():
        times, windows[name] = drawing.cut(result, 1e-6 * piece, part)
    heights = np.nanmax(np.abs(windows["removed"]), axis=1)
    median = int(np.argsort(heights)[len(heights) // 2])
    for name, style in PARTS.items():
        axes[0].plot(times, windows[name][median], label=name, **style)
        axes[1].plot(times, np.nanmean(windows[name], axis=0), **style)
    axes[0].set_title(f"One {part.event}")
    axes[1].set_title(f"Average of {len(heights)}")
    axes[0].set_ylabel(f"{result.ica._ica_names[component]} (a.u.)")
    for ax in axes:
        _label_windows(ax, part)
    axes[0].legend(frameon=False, loc="best")
    return drawing.finish(axes[0], show)


@fill_doc
def plot_traces(
    result: Cleaned,
    *,
    ch_name: str | None = None,
    start: float | None = None,
    duration: float = 10.0,
    ax: Axes | None = None,
    show: bool = True,
) -> Figure:
    """Plot some seconds of a channel before and after cleaning.

    Parameters
    ----------
    %(result)s
    ch_name : str | None
        The channel; None uses the one with the largest artifacts.
    start : float | None
        The first second, from the start of the recording; None uses the window with the most
        events.
    duration : float
        The number of seconds.
    %(ax)s
    %(show)s

    Returns
    -------
    figure : instance of Figure
        The figure; ticks are the events that were removed.
    """
    drawing.checked_part(result, by_events=True)
    raw, benefits = result._filtered, [part.benefit for part in drawing.at_events(result)]
    worst = max(benefits, key=lambda benefit: benefit.blink_size.max())
    ch_name = worst.most_affected(1)[0] if ch_name is None else ch_name
    _check_option("ch_name", ch_name, tuple(raw.ch_names))
    _validate_number(duration, "duration", at_least=0.1)
    if start is None:
        sfreq, samples = raw.info["sfreq"], [part.events for part in drawing.at_events(result)]
        length = min(int(duration * sfreq), raw.n_times)
        limits = length, raw.n_times, int(drawing.HALF * sfreq)
        start = fullest_window(raw.samples(np.concatenate(samples)), *limits) / sfreq
    _validate_number(start, "start", at_least=0)
    (ax,) = drawing.axes_in_a_row(ax and [ax], 1, (10, 2.8))
    shown = (raw.times >= start) & (raw.times <= start + duration)
    for data, style, label in drawing.before_and_after(result, ch_name):
        ax.plot(raw.times[shown], 1e6 * data[shown], label=label, **(style | dict(linewidth=1.0)))
    low = ax.get_ylim()[0]
    for k, part in enumerate(drawing.at_events(result)):
        times = drawing.event_times(result, part)
        times = times[(times >= start) & (times <= start + duration)]
        style = EVENT | dict(color=f"C{3 + k}", label=part.event)
        ax.plot(times, np.full(len(times), low), **style)
    ax.set(xlabel="Time (s)", ylabel="EEG (µV)", xlim=(start, start + duration))
    ax.set_title(ch_name, loc="left")
    ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=6)
    ax.locator_params(axis="y", nbins=5)
    drawing.bare(ax)
    return drawing.finish(ax, show)


def _label_windows(ax: Axes, part: KindResult) -> None:
    """Label axes that show windows around events."""
    ax.set_xticks([-drawing.HALF, 0, drawing.HALF])
    ax.set_xlabel(f"Time from {part.event} (s)")
    ax.locator_params(axis="y", nbins=5)
    drawing.bare(ax)
