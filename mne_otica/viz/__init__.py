"""Figures of artifacts and their removal, in the style of MNE and readable without colour."""

from mne_otica.viz.component_figures import plot_component
from mne_otica.viz.event_figures import plot_events, plot_removal, plot_traces
from mne_otica.viz.measure_figures import plot_band_power, plot_benefit_and_harm
from mne_otica.viz.report import plot_cleaned
from mne_otica.viz.stability_figures import plot_stability

__all__ = [
    "plot_band_power",
    "plot_benefit_and_harm",
    "plot_cleaned",
    "plot_component",
    "plot_events",
    "plot_removal",
    "plot_stability",
    "plot_traces",
]
