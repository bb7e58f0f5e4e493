"""Data with known truth."""

from mne_otica.simulation.mixtures import REGIMES, Mixture, mixture

__all__ = ["REGIMES", "Mixture", "mixture"]
