"""Fit, find, remove and measure: the cleaning of a recording or of epochs."""

from mne_otica.cleaning.clean import clean_raw
from mne_otica.cleaning.epochs import clean_epochs
from mne_otica.cleaning.result import Cleaned

__all__ = ["Cleaned", "clean_epochs", "clean_raw"]
