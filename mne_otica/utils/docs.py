"""Descriptions of parameters that several functions share, as in MNE."""

from collections.abc import Callable
from inspect import cleandoc

_SHARED = {
    "inst_raw": """
inst : instance of Raw
    The recording. It is not changed.""",
    "reject_spans": """
reject_by_annotation : bool
    Whether to leave out spans annotated as bad.""",
    "before_after": """
before, after : instance of Raw
    The recording before and after cleaning. They are not changed.""",
    "picks_eeg": """
picks : str | sequence of str | sequence of int | None
    The channels; None uses the EEG channels that are not marked bad.""",
    "result": """
result : instance of Cleaned
    What :func:`mne_otica.clean_raw` returned.""",
    "kind": """
kind : str | None
    The kind of artifact; None uses the first that was removed.""",
    "ax": """
ax : instance of Axes | None
    Where to draw; None makes a figure.""",
    "show": """
show : bool
    Whether to show the figure.""",
}


class _Entries(dict):  # keeps MNE's keys, such as ``verbose``, for MNE's own decorators
    def __missing__(self, name: str) -> str:
        return f"%({name})s"


_ENTRIES = _Entries((name, text.strip()) for name, text in _SHARED.items())


def fill_doc(function: Callable) -> Callable:
    """Fill the shared descriptions into a docstring; place it below ``@verbose``, if used."""
    function.__doc__ = cleandoc(function.__doc__) % _ENTRIES
    return function
