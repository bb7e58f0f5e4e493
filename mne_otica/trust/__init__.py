"""How reproducible the components of a recording are."""

from mne_otica.trust.stability import Stability, stability

__all__ = ["Stability", "stability"]
