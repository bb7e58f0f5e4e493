"""Blinks in an :class:`mne.Report`."""

from __future__ import annotations

import html

import matplotlib.pyplot as plt
import mne

from mne_otica import viz
from mne_otica._checks import _validate_type
from mne_otica.cleaning import Cleaned

__all__ = ["add_blink_report"]

_SECTION = "Eye blinks"


def add_blink_report(
    report: mne.Report, result: Cleaned, *, section: str = _SECTION, replace: bool = False
) -> mne.Report:
    """Add three figures and one table on the removal of blinks to a report.

    Parameters
    ----------
    report : instance of Report
        The report; it is changed in place.
    result : instance of Cleaned
        What :func:`mne_otica.clean_raw` returned.
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
    options = dict(section=section, tags=("blink",), replace=replace)
    report.add_html(_table(result), "Blinks: summary", **options)
    for title, draw in _figures(result).items():
        figure = draw(result, show=False)
        report.add_figure(figure, f"Blinks: {title}", **options)
        plt.close(figure)
    return report


def _figures(result):
    if result.benefit is None:
        return {"best candidate": viz.plot_component}
    return {
        "before and after": viz.plot_blinks,
        "component removed": viz.plot_component,
        "benefit and harm": viz.plot_benefit_and_harm,
    }


def _table(result):
    """Return verdict, key figures and candidates in the style of the report."""
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
        for name, value in result.summary()
    )
    return (
        f"<p><b>{html.escape(result.status)}</b>: {html.escape(result.verdict)}</p>"
        f"<table class='table table-sm'>{rows}</table>"
        f"<details><summary>Candidates</summary>{result.scores._repr_html_()}</details>"
    )
