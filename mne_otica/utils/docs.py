"""Descriptions of parameters that several functions share, as in MNE."""

from collections.abc import Callable
from inspect import cleandoc

_SHARED = {  # the line of each, and what it says
    "inst_raw": ("inst : instance of Raw", "The recording. It is not changed."),
    "reject_spans": ("reject_by_annotation : bool", "Whether to leave out spans annotated as bad."),
    "before_after": (
        "before, after : instance of Raw",
        "The recording before and after cleaning. They are not changed.",
    ),
    "picks_eeg": (
        "picks : str | sequence of str | sequence of int | None",
        "The channels; None uses the EEG channels that are not marked bad.",
    ),
    "result": ("result : instance of Cleaned", "What :func:`mne_otica.clean_raw` returned."),
    "kind": ("kind : str | None", "The kind of artifact; None uses the first that was removed."),
    "ax": ("ax : instance of Axes | None", "Where to draw; None makes a figure."),
    "show": ("show : bool", "Whether to show the figure."),
}


def fill_doc(function: Callable) -> Callable:
    """Fill the shared descriptions into a docstring; place it below ``@verbose``, if used."""
    function.__doc__ = cleandoc(function.__doc__)
    for name, lines in _SHARED.items():  # other keys, such as ``verbose``, are MNE's
        function.__doc__ = function.__doc__.replace(f"%({name})s", "\n    ".join(lines))
    return function
