"""Benefit and harm of a cleaning."""

from mne_otica.evaluation.audit import Audit, audit
from mne_otica.evaluation.benefit import rms_reduction
from mne_otica.evaluation.harm import preservation
from mne_otica.evaluation.measures import KindResult, Preservation, RMSReduction

__all__ = [
    "Audit",
    "KindResult",
    "Preservation",
    "RMSReduction",
    "audit",
    "preservation",
    "rms_reduction",
]
