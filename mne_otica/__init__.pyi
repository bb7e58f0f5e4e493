from . import datasets, metrics, simulation, viz
from .artifacts import (
    annotate_artifacts,
    find_artifact_events,
    find_bads_artifacts,
    find_bads_blink,
    find_blink_events,
    locate_blinks,
)
from .cleaning import clean_raw
from .evaluation import preservation, rms_reduction, verdict
from .ica import ICA, register, unregister
from .report import add_blink_report
from .solver import OTICAConvergenceWarning, otica
from .study import clean_study

__version__: str

__all__ = [
    "ICA",
    "OTICAConvergenceWarning",
    "add_blink_report",
    "annotate_artifacts",
    "clean_raw",
    "clean_study",
    "datasets",
    "find_artifact_events",
    "find_bads_artifacts",
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
