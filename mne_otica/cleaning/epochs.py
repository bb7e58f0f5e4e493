"""Remove artifacts from epochs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import mne
import numpy as np
from mne.utils import verbose
from numpy.typing import NDArray
from scipy.signal import detrend

from mne_otica.artifacts import search
from mne_otica.cleaning.clean import clean_raw, conclude, fit_ica, settings_of
from mne_otica.cleaning.decide import DEFAULT, check_artifacts, earned, judged
from mne_otica.cleaning.result import Cleaned
from mne_otica.removal.layout import Layout
from mne_otica.removal.remove import REMOVALS, Part, Taken, parts_of, remove_artifacts, subtract
from mne_otica.signals.reading import LowRateRaw
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
    with quiet():
        epochs = epochs if epochs.preload else epochs.copy().load_data()
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
                    artifacts=kind,
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
            ica, epochs, artifacts=options["artifacts"], max_components=options["max_components"]
        )
    joined = _joined(ready)
    found = judged(joined, ica, scores, options["artifacts"], True)
    layout, in_band = Layout.of(epochs), partial(_detrended, n_epochs=len(epochs))
    wanted = {kind: (one.components, None) for kind, one in found.decisions.items()}
    every = parts_of(epochs, ica, wanted, removal=options["removal"], reject=True)
    parts = [_side_by_side(part, layout) for part in every.parts]
    taken = Taken.of_parts(parts, ica.exclude, joined.n_times)
    if parts:
        found = earned(found, taken, ica, joined, True, in_band)
        taken = found.taken
    cleaned = epochs.copy()
    subtract(cleaned, ica, ica.exclude, layout.spread(taken.courses))
    settings = settings_of(ica, joined, joined.info["sfreq"], **options)
    level = [in_band(part.courses) for part in taken.parts]
    result = conclude(joined, joined, ica, found, taken, settings, level)
    return replace(result, raw=None, epochs=cleaned)


def _side_by_side(part: Part, layout: Layout) -> Part:
    """Return a part without the gaps between epochs; there are no sham events for epochs."""
    courses = layout.cut(part.courses)
    if part.estimate is None:
        return replace(part, courses=courses)
    events = layout.without_gaps(part.estimate.events)
    estimate = replace(part.estimate, part=courses, events=events, model=None)
    return replace(part, courses=courses, estimate=estimate)


def _detrended(courses: NDArray[np.float64], n_epochs: int) -> NDArray[np.float64]:
    """Return epochs side by side, each without its linear trend."""
    return detrend(courses.reshape(len(courses), n_epochs, -1)).reshape(courses.shape)


def _joined(epochs: BaseEpochs) -> LowRateRaw:
    """Return concatenated epochs as a recording in which the joints are marked as bad."""
    data, length = np.concatenate(list(epochs.get_data()), axis=1), len(epochs.times)
    joined = LowRateRaw(data, epochs.info, verbose="error")
    sfreq = epochs.info["sfreq"]
    joints = np.arange(len(epochs) + 1) * length / sfreq
    onsets = np.maximum(joints - _EDGE, 0)
    ends = np.minimum(joints + _EDGE, data.shape[1] / sfreq)
    spans = mne.Annotations(onsets, ends - onsets, "BAD_joint", orig_time=joined.info["meas_date"])
    return joined.set_annotations(spans, verbose="error")
