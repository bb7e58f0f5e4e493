"""The solver: from whitened data to the unmixing matrix."""

from mne_otica.solver.otica import OTICAConvergenceWarning, otica, refit, unmix

__all__ = ["OTICAConvergenceWarning", "otica", "refit", "unmix"]
