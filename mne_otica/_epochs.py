"""Remove blinks from epochs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import mne
import numpy as np
from mne.utils import verbose
from numpy.typing import NDArray
from scipy.signal import detrend

from mne_otica._checks import RandomState, _check_option, _validate_number, _validate_type
from mne_otica._cleaned import Cleaned
from mne_otica._recording import quiet
from mne_otica.artifacts import BlinkTimes, blink_events, component_peaks, find_bads_blink
from mne_otica.cleaning import (
    Taken,
    clean_raw,
    component_names,
    conclude,
    fit_ica,
    judged,
    settings_of,
)
from mne_otica.ica import ICA, unmixing_in_volts
from mne_otica.removal import REMOVALS, remove_artifacts

if TYPE_CHECKING:
    from mne import BaseEpochs
    from mne.io import BaseRaw

_EDGE = 0.05  # s at either end of an epoch that say nothing of events


@verbose
def clean_epochs(
    epochs: BaseEpochs,
    raw: BaseRaw | None = None,
    *,
    removal: str = "events",
    n_components: int | float | None = None,
    l_freq: float | None = 1.0,
    h_freq: float | None = 40.0,
    random_state: RandomState = 0,
    max_components: int = 2,
    verbose: bool | str | int | None = None,
) -> Cleaned:
    """Remove eye blinks from epochs.

    Parameters
    ----------
    epochs : instance of Epochs
        The epochs. They are not changed.
    raw : instance of Raw | None
        The recording that they were cut from. The ICA is then fitted on it, and benefit and
        harm are measured in it; this is the better way, as blinks are rarer in epochs. None
        takes the epochs alone.
    removal : "events" | "component"
        As in :func:`mne_otica.clean_raw`, as are the parameters after it.
    n_components : int | float | None
        How many components to fit.
    l_freq, h_freq : float | None
        The band that the ICA is fitted on, in Hz. It is used with ``raw`` only: epochs are too
        short for a high-pass filter, and a linear trend is taken off each of them instead.
    random_state : int | instance of RandomState | instance of Generator | None
        The seed.
    max_components : int
        The most components to remove.
    %(verbose)s

    Returns
    -------
    cleaned : instance of Cleaned
        The cleaned epochs (``cleaned.epochs``) and all that is known about them. With ``raw``,
        ``cleaned.raw`` is the cleaned recording, else None.

    See Also
    --------
    clean_raw : The same for recordings.
    remove_artifacts : For epochs and an ICA of your own.
    """
    _validate_type(epochs, mne.BaseEpochs, "epochs", "Epochs")
    _validate_type(raw, (mne.io.BaseRaw, None), "raw", "Raw or None")
    epochs = epochs if epochs.preload else epochs.copy().load_data(verbose="error")
    _check_option("removal", removal, REMOVALS)
    _validate_type(max_components, "int-like", "max_components")
    _validate_number(max_components, "max_components", at_least=1)
    options = dict(
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
    with quiet():
        cleaned = remove_artifacts(epochs, result.ica, events=result.events, removal=removal)
    return replace(result, epochs=cleaned)


def _alone(epochs: BaseEpochs, **options: Any) -> Cleaned:
    """Fit, find and measure on epochs without their recording."""
    options |= {"l_freq": None, "h_freq": None, "reject_by_annotation": True}
    with quiet():
        ready = epochs.copy().load_data().pick("eeg", exclude="bads")
    ready._data = detrend(ready._data, axis=2)
    # What a high-pass filter would do to a recording: MNE need not warn that there was none.
    with ready.info._unlock():
        ready.info["highpass"] = max(ready.info["highpass"], 1.0)
    ica = fit_ica(ready, options["n_components"], options["random_state"], True)
    with quiet():
        exclude, scores = find_bads_blink(ica, epochs, max_components=options["max_components"])
        samples = component_peaks(ica, epochs, exclude[0], True) if exclude else np.zeros(0, int)
    names = component_names(exclude[:1])
    blinks = BlinkTimes(blink_events(samples), "component" if exclude else "none", names)
    joined = _joined(ready)
    found = judged(joined, ica, scores, blinks, True)
    with quiet():
        cleaned = remove_artifacts(epochs, ica, removal=options["removal"])
    taken = _taken(epochs, cleaned, ica)
    settings = settings_of(ica, joined, **options)
    side_by_side, level = (
        _side_by_side(x) for x in (taken, detrend(taken) if taken.size else taken)
    )
    result = conclude(joined, joined, ica, found, Taken(side_by_side), settings, level)
    return replace(result, raw=None, epochs=cleaned)


def _taken(epochs: BaseEpochs, cleaned: BaseEpochs, ica: ICA) -> NDArray[np.float64]:
    """Return what was taken out of the excluded components of each epoch."""
    before, after = (one.get_data(picks=ica.ch_names) for one in (epochs, cleaned))
    return unmixing_in_volts(ica)[ica.exclude] @ (before - after)


def _side_by_side(data: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return epochs as one long array of signals."""
    return np.concatenate(list(data), axis=1)


def _joined(epochs: BaseEpochs) -> BaseRaw:
    """Return epochs as a recording in which the joints are marked as bad."""
    data, length = _side_by_side(epochs.get_data()), len(epochs.times)
    joined = mne.io.RawArray(data, epochs.info, verbose="error")
    sfreq = epochs.info["sfreq"]
    joints = np.arange(len(epochs) + 1) * length / sfreq
    onsets = np.maximum(joints - _EDGE, 0)
    ends = np.minimum(joints + _EDGE, data.shape[1] / sfreq)
    spans = mne.Annotations(onsets, ends - onsets, "BAD_joint", orig_time=joined.info["meas_date"])
    return joined.set_annotations(spans, verbose="error")
