from . import datasets, metrics, simulation, viz
from .artifacts import (
    annotate_artifacts,
    find_artifact_events,
    find_bads_artifacts,
    find_bads_blink,
)
from .cleaning import clean_epochs, clean_raw
from .eeglab import export_ica_eeglab, read_ica_eeglab
from .evaluation import audit, preservation, rms_reduction
from .ica import ICA, register, unregister
from .removal import remove_artifacts
from .solver import OTICAConvergenceWarning, otica
from .study import clean_study, read_study
from .trust import stability
from .viz.report import add_artifact_report

__version__: str

__all__ = [
    "ICA",
    "OTICAConvergenceWarning",
    "add_artifact_report",
    "annotate_artifacts",
    "audit",
    "clean_epochs",
    "clean_raw",
    "clean_study",
    "datasets",
    "export_ica_eeglab",
    "find_artifact_events",
    "find_bads_artifacts",
    "find_bads_blink",
    "metrics",
    "otica",
    "preservation",
    "read_ica_eeglab",
    "read_study",
    "register",
    "remove_artifacts",
    "rms_reduction",
    "simulation",
    "stability",
    "unregister",
    "viz",
]
