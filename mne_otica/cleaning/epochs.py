"""Remove artifacts from epochs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import mne
import numpy as np
from mne.utils import verbose
from numpy.typing import NDArray
from scipy.signal import detrend

from mne_otica.artifacts import search
from mne_otica.cleaning.blink_tables import blinks_of
from mne_otica.cleaning.clean import clean_raw, conclude, fit_ica, settings_of
from mne_otica.cleaning.decide import DEFAULT, check_artifacts, judged
from mne_otica.cleaning.result import Cleaned
from mne_otica.cleaning.taken import Part, Taken
from mne_otica.ica import ICA, unmixing_in_volts
from mne_otica.removal.remove import REMOVALS, estimate, remove_artifacts, subtract
from mne_otica.signals.recording import quiet
from mne_otica.utils.checks import RandomState, _check_option, _validate_number, _validate_type

if TYPE_CHECKING:
    from mne import BaseEpochs
    from mne.io import BaseRaw

_EDGE = 0.05  # s at either end of an epoch that are not searched for events


@verbose
def clean_epochs(
    epochs: BaseEpochs,
    raw: BaseRaw | None = None,
    *,
    artifacts: str | Sequence[str] = DEFAULT,
    removal: str = "events",
    n_components: int | float | None = None,
    l_freq: float | None = 1.0,
    h_freq: float | None = 40.0,
    random_state: RandomState = 0,
    max_components: int = 2,
    verbose: bool | str | int | None = None,
) -> Cleaned:
    """Remove blinks and other artifacts from epochs.

    Parameters
    ----------
    epochs : instance of Epochs
        The epochs. They are not changed.
    raw : instance of Raw | None
        The recording that the epochs were cut from. If passed, the ICA is fitted on it, and
        benefit and harm are measured in it. This is preferable, as it usually has more blinks
        than the epochs. None uses the epochs alone.
    artifacts : str | sequence of str
        The kinds of artifacts to remove. This and the following parameters are those of
        :func:`mne_otica.clean_raw`.
    removal : "events" | "component"
        Whether to remove only the artifacts, or whole components.
    n_components : int | float | None
        How many components to fit.
    l_freq, h_freq : float | None
        The band that the ICA is fitted on, in Hz. It is used with ``raw`` only: epochs are too
        short for a high-pass filter, so each of them is linearly detrended instead.
    random_state : int | instance of RandomState | instance of Generator | None
        The seed.
    max_components : int
        The maximum number of blink components.
    %(verbose)s

    Returns
    -------
    cleaned : instance of Cleaned
        The cleaned epochs (``cleaned.epochs``), with the ICA, the evidence, benefit and harm.
        With ``raw``, ``cleaned.raw`` is the cleaned recording, else None.

    See Also
    --------
    clean_raw : The same for recordings.
    remove_artifacts : For epochs and an ICA of your own.
    """
    _validate_type(epochs, mne.BaseEpochs, "epochs", "Epochs")
    _validate_type(raw, (mne.io.BaseRaw, None), "raw", "Raw or None")
    epochs = epochs if epochs.preload else epochs.copy().load_data(verbose="error")
    artifacts = check_artifacts(artifacts)
    _check_option("removal", removal, REMOVALS)
    _validate_type(max_components, "int-like", "max_components")
    _validate_number(max_components, "max_components", at_least=1)
    options = dict(
        artifacts=artifacts,
        removal=removal,
        n_components=n_components,
        l_freq=l_freq,
        h_freq=h_freq,
        random_state=random_state,
        max_components=max_components,
    )
    if raw is None:
        return _alone(epochs, **options)
    result = clean_raw(raw, **options)
    cleaned = epochs.copy()
    with quiet():
        for kind, one in result.kinds.items():
            if one.components:
                cleaned = remove_artifacts(
                    cleaned,
                    result.ica,
                    kind=kind,
                    events=one.events,
                    removal=removal,
                    exclude=one.components,
                )
    return replace(result, epochs=cleaned)


def _alone(epochs: BaseEpochs, **options: Any) -> Cleaned:
    """Fit, find and measure on epochs without their recording."""
    options |= {"l_freq": None, "h_freq": None, "reject_by_annotation": True}
    with quiet():
        ready = epochs.copy().load_data().pick("eeg", exclude="bads")
    ready._data = detrend(ready._data, axis=2)
    # Detrending has the effect of a high-pass filter; without this MNE warns that there was none.
    with ready.info._unlock():
        ready.info["highpass"] = max(ready.info["highpass"], 1.0)
    ica = fit_ica(ready, options["n_components"], options["random_state"], True)
    with quiet():
        scores = search(
            ica,
            epochs,
            artifacts=options["artifacts"],
            max_components=options["max_components"],
        )
    blink_scores, blinks = blinks_of(scores)
    joined = _joined(ready)
    found = judged(joined, ica, scores, blink_scores, blinks, options["artifacts"], True)
    cleaned, parts = epochs, []
    for kind, one in found.decisions.items():
        if one.components:
            before = cleaned
            cleaned, part = _without(cleaned, ica, kind, one.components, options["removal"])
            parts.append((part, _taken(before, cleaned, ica, one.components)))
    courses = np.zeros((len(ica.exclude), joined.n_times))
    for part, taken in parts:
        part.courses[:] = _side_by_side(taken)
        courses[[ica.exclude.index(k) for k in part.components]] += part.courses
    level = [_side_by_side(detrend(taken)) for _, taken in parts]
    settings = settings_of(ica, joined, **options)
    all_taken = Taken(courses, tuple(part for part, _ in parts))
    result = conclude(joined, joined, ica, found, all_taken, settings, level)
    return replace(result, raw=None, epochs=epochs.copy() if cleaned is epochs else cleaned)


def _without(
    epochs: BaseEpochs, ica: ICA, kind: str, components: list[int], removal: str
) -> tuple[BaseEpochs, Part]:
    """Return epochs without artifacts of one kind, and a `Part` whose courses are still zero."""
    unset = np.zeros((len(components), len(epochs) * len(epochs.times)))
    if removal == "component":
        with quiet():
            cleaned = remove_artifacts(epochs, ica, removal=removal, exclude=components)
        return cleaned, Part(kind, components, unset)
    estimated = estimate(epochs, ica, components, None, True, kind)
    # There are no sham events for epochs, which are put side by side.
    part = Part(kind, components, unset, replace(estimated, model=None))
    return subtract(epochs, ica, components, estimated), part


def _taken(
    epochs: BaseEpochs, cleaned: BaseEpochs, ica: ICA, components: list[int]
) -> NDArray[np.float64]:
    """Return what was removed from the components in each epoch."""
    before, after = (one.get_data(picks=ica.ch_names) for one in (epochs, cleaned))
    return unmixing_in_volts(ica)[components] @ (before - after)


def _side_by_side(data: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return epochs as one long array of signals."""
    return np.concatenate(list(data), axis=1)


def _joined(epochs: BaseEpochs) -> BaseRaw:
    """Return concatenated epochs as a recording in which the joints are marked as bad."""
    data, length = _side_by_side(epochs.get_data()), len(epochs.times)
    joined = mne.io.RawArray(data, epochs.info, verbose="error")
    sfreq = epochs.info["sfreq"]
    joints = np.arange(len(epochs) + 1) * length / sfreq
    onsets = np.maximum(joints - _EDGE, 0)
    ends = np.minimum(joints + _EDGE, data.shape[1] / sfreq)
    spans = mne.Annotations(onsets, ends - onsets, "BAD_joint", orig_time=joined.info["meas_date"])
    return joined.set_annotations(spans, verbose="error")
