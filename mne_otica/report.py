"""Blinks in an :class:`mne.Report`."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib.pyplot as plt
import mne

from mne_otica import viz
from mne_otica._checks import _validate_flag, _validate_type
from mne_otica._docs import fill_doc
from mne_otica.cleaning import Cleaned

__all__ = ["add_blink_report"]

_SECTION = "Eye blinks"


@fill_doc
def add_blink_report(
    report: mne.Report, result: Cleaned, *, section: str = _SECTION, replace: bool = False
) -> mne.Report:
    """Add figures and a table on the removal of blinks to a report.

    Parameters
    ----------
    report : instance of Report
        The report; it is changed in place.
    %(result)s
    section : str
        The section to add to.
    replace : bool
        Whether to replace what has the same titles.

    Returns
    -------
    report : instance of Report
        The same report. Where nothing was removed, it has one figure: the best candidate.
    """
    _validate_type(report, mne.Report, "report", "Report")
    _validate_type(result, Cleaned, "result", "Cleaned")
    _validate_type(section, str, "section")
    _validate_flag(replace, "replace")
    options = dict(section=section, tags=("blink",), replace=replace)
    report.add_html(result._repr_html_(), "Blinks: summary", **options)
    for title, draw in _figures(result).items():
        figure = draw(result, show=False)
        report.add_figure(figure, f"Blinks: {title}", **options)
        plt.close(figure)
    if result.stability is not None:
        figure = viz.plot_stability(result.stability, show=False)
        report.add_figure(figure, "Blinks: stability of the components", **options)
        plt.close(figure)
    return report


def _figures(result: Cleaned) -> dict[str, Callable]:
    if result.benefit is None:
        return {"best candidate": viz.plot_component}
    return {
        "before and after": viz.plot_blinks,
        "component": viz.plot_component,
        "taken out and left in": viz.plot_removal,
        "benefit and harm": viz.plot_benefit_and_harm,
    }
