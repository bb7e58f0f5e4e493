"""Clean many recordings, resume interrupted runs, and summarise the study on one page."""

from mne_otica.study.study import Study, clean_study

__all__ = ["Study", "clean_study"]
