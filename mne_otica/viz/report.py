"""A result on one page: as a figure, and as an :class:`mne.Report`."""

from collections.abc import Iterator
from functools import partial

import matplotlib.pyplot as plt
import mne
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mne.viz.utils import plt_show

from mne_otica.cleaning.overview import parts
from mne_otica.cleaning.result import Cleaned
from mne_otica.utils.checks import _validate_flag, _validate_type
from mne_otica.utils.docs import fill_doc
from mne_otica.viz import html as _html
from mne_otica.viz.component_figures import plot_component
from mne_otica.viz.drawing import at_events, sentences
from mne_otica.viz.event_figures import plot_events, plot_removal, plot_traces
from mne_otica.viz.measure_figures import plot_band_power, plot_benefit_and_harm
from mne_otica.viz.stability_figures import plot_stability

_VIEWPORT = """document.head.insertAdjacentHTML("beforeend",
'<meta name="viewport" content="width=device-width, initial-scale=1">');"""


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
    removed, seen = parts(result), at_events(result)
    if not removed:
        figure = plot_component(result, show=False)
    else:
        rows = [(plot_component, [1, 3]), (_plot_measures, [1, 1, 1.6] if seen else [1, 1.6])]
        if seen:
            n_channels = min(3, len(seen[0].benefit.ch_names))
            draw_events = partial(plot_events, n_channels=n_channels)
            rows = [(draw_events, n_channels * [1]), rows[0], (plot_removal, [1, 1]), rows[1]]
        figure = plt.figure(figsize=(11, 3 * len(rows)), layout="constrained")
        panels = figure.subfigures(len(rows), 1)
        for (draw, widths), panel in zip(rows, panels, strict=True):
            grid = dict(width_ratios=widths, squeeze=False, sharey=len(set(widths)) == 1)
            draw(result, axes=list(panel.subplots(1, len(widths), **grid)[0]), show=False)
    figure.suptitle("\n".join(sentences(result)))
    plt_show(show)
    return figure


def _plot_measures(result: Cleaned, *, axes: list[Axes], show: bool) -> None:
    """Plot benefit, harm and spectrum of the first kind, preferably one with events."""
    kind = (at_events(result) or parts(result))[0].kind
    plot_benefit_and_harm(result, kind=kind, axes=axes[:-1], show=show)
    plot_band_power(result, kind=kind, ax=axes[-1], show=show)


@fill_doc
def add_artifact_report(
    report: mne.Report, result: Cleaned, *, section: str = "Artifacts", replace: bool = False
) -> mne.Report:
    """Add the result of cleaning to a report.

    Parameters
    ----------
    report : instance of Report
        The report; it is changed in place.
    %(result)s
    section : str
        The section to add to.
    replace : bool
        Whether to replace content with the same titles.

    Returns
    -------
    report : instance of Report
        The same report. If nothing was removed, it shows the components, the best candidate and
        the reasons.
    """
    _validate_type(report, mne.Report, "report", "Report")
    _validate_type(result, Cleaned, "result", "Cleaned")
    _validate_type(section, str, "section")
    _validate_flag(replace, "replace")
    options = dict(section=section, tags=("artifact",), replace=replace)
    report.add_html(_html.head(result), "Summary", **options)
    report.add_html(_html.components(result), "All components", **options)
    for title, figure in _figures(result):
        # WebP, which MNE takes by default, compresses slowly.
        report.add_figure(figure, title, image_format="png", **options)
        plt.close(figure)
    return report


def new_report(result: Cleaned, title: str) -> mne.Report:
    """Return a new report of a result, readable on a phone."""
    report = mne.Report(title=title, verbose="error")
    report.add_custom_css(_html.page_file("report.css"))
    report.add_custom_js(_VIEWPORT)
    return add_artifact_report(report, result)


def _figures(result: Cleaned) -> Iterator[tuple[str, Figure]]:
    """Yield the figures with their titles; each is drawn when needed."""
    removed = parts(result)
    if not removed:
        yield "Best candidate", plot_component(result, show=False)
    for part in removed:
        name, chosen = part.kind.capitalize(), dict(kind=part.kind, show=False)
        if part.benefit is not None:
            yield f"{name}: before and after", plot_events(result, **chosen)
            yield f"{name}: removed and kept", plot_removal(result, **chosen)
        yield f"{name}: benefit and harm", plot_benefit_and_harm(result, **chosen)
        if part.benefit is None:
            yield f"{name}: spectrum", plot_band_power(result, **chosen)
    if at_events(result):
        yield "Ten seconds of the most affected channel", plot_traces(result, show=False)
        yield "Spectrum away from artifacts", plot_band_power(result, show=False)
    if result.stability is not None:
        yield "Stability of the components", plot_stability(result.stability, show=False)
