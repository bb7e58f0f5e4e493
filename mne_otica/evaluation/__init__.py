"""Benefit and harm of a cleaning."""

from mne_otica.evaluation.evaluate import preservation, rms_reduction, verdict
from mne_otica.evaluation.measures import KindResult, Preservation, RMSReduction

__all__ = [
    "KindResult",
    "Preservation",
    "RMSReduction",
    "preservation",
    "rms_reduction",
    "verdict",
]
