"""Simulated data with known sources."""

from mne_otica.simulation.mixtures import REGIMES, Mixture, mixture
from mne_otica.simulation.recordings import SimulatedRecording, simulate_raw

__all__ = ["REGIMES", "Mixture", "SimulatedRecording", "mixture", "simulate_raw"]
