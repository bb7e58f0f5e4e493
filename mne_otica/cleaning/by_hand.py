"""Cleaning with components that a person chose."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mne_otica.artifacts import check_kinds
from mne_otica.cleaning.conclude import conclude
from mne_otica.cleaning.found import Decision, Found, add_choice, blinks_of_choice
from mne_otica.cleaning.result import Cleaned
from mne_otica.evaluation.methods_section import mark_cleaned
from mne_otica.removal.remove import put_back, take_out
from mne_otica.utils.checks import _validate_type


def rechosen(result: Cleaned, components: Sequence[int], kind: str | None = None) -> Cleaned:
    """Return what a result would be with other components; see `Cleaned.with_components`."""
    _validate_type(components, (list, tuple, range, np.ndarray), "components", "a list of int")
    _validate_type(kind, (str, None), "kind", "a kind or None")
    n = result.ica.n_components_
    if wrong := [k for k in components if not 0 <= k < n]:
        told = f"components {wrong} do not exist; choose from the {n} fitted, 0 to {n - 1}."
        raise ValueError(told)
    if result.epochs is not None:
        raise ValueError(
            "This result is of epochs, which are not cleaned again; set result.ica.exclude to the "
            "components that you chose, and call mne_otica.remove_artifacts(epochs, result.ica)."
        )
    ica = result.ica.copy()
    ica.exclude = sorted({int(k) for k in components})
    raw = put_back(result.raw.copy().load_data(verbose="error"), result.ica, result.removed)
    reject = result.settings["reject_by_annotation"]
    blinks = blinks_of_choice(raw, ica, result.artifacts, result.ica.exclude, reject)
    decisions = {}
    for name, one in result.kinds.items():
        events = blinks if name == "blink" and not one.components else one.events
        kept = events[events[:, 1] == 0]
        decisions[name] = Decision(one.answer, one.components, kept, one.reason, one.not_removed)
    if kind is not None:
        kind = check_kinds(kind, "kind")[0]
        add_choice(decisions, kind, ica.exclude, raw, ica, reject)
    taken = take_out(raw, ica, decisions, result.settings)
    mark_cleaned(raw.info, taken)
    found = Found(result.artifacts, decisions)
    chosen = conclude(raw, result._filtered, ica, found, taken, result.settings, result.suspects)
    return replace(chosen, stability=result.stability)
