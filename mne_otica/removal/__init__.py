"""Removal of the artifact from a component, instead of the whole component."""

from mne_otica.removal.remove import remove_artifacts

__all__ = ["remove_artifacts"]
