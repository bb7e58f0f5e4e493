"""Clean many recordings, resume interrupted runs, and go on to averages of the cleaned ones."""

from mne_otica.study.results import Study, read_study
from mne_otica.study.study import clean_study

__all__ = ["Study", "clean_study", "read_study"]
