"""Clean many recordings, resume interrupted runs, and go on to averages of the cleaned ones."""

import lazy_loader

_NAMES = {"results": ["Study", "read_study"], "study": ["clean_study"]}
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs=_NAMES)
