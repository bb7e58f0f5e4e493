"""Figures of artifacts and their removal, in the style of MNE and readable without colour."""

import lazy_loader

_NAMES = {
    "component_figures": ["plot_component"],
    "event_figures": ["plot_events", "plot_removal", "plot_traces"],
    "measure_figures": ["plot_band_power", "plot_benefit_and_harm"],
    "report": ["plot_cleaned"],
    "stability_figures": ["plot_stability"],
}
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs=_NAMES)
