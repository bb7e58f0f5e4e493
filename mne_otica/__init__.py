"""Artifact removal from EEG for MNE-Python, with ICA by optimal transport."""

import lazy_loader

__version__ = "0.2.0"

# The public names are in __init__.pyi. Each is imported when it is first used, as in MNE, so
# that nobody who draws no figures waits for Matplotlib.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
