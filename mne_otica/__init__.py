"""Eye-blink removal for MNE-Python with ICA by optimal transport."""

__version__ = "0.1.0.dev0"

from mne_otica import datasets, metrics, simulation, viz
from mne_otica.blinks import find_bads_blink, find_blink_events, locate_blinks
from mne_otica.cleaning import clean_raw
from mne_otica.evaluation import preservation, rms_reduction, verdict
from mne_otica.ica import ICA, register, unregister
from mne_otica.report import add_blink_report
from mne_otica.solver import OTICAConvergenceWarning, otica

__all__ = [
    "ICA",
    "OTICAConvergenceWarning",
    "add_blink_report",
    "clean_raw",
    "datasets",
    "find_bads_blink",
    "find_blink_events",
    "locate_blinks",
    "metrics",
    "otica",
    "preservation",
    "register",
    "rms_reduction",
    "simulation",
    "unregister",
    "verdict",
    "viz",
]
