"""Remove artifacts from epochs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import mne
import numpy as np
from mne.io import BaseRaw
from mne.utils import logger, verbose
from numpy.typing import NDArray
from scipy.signal import detrend

from mne_otica.artifacts import search
from mne_otica.cleaning.clean import cleaned_raw, fit_ica, settings_of
from mne_otica.cleaning.conclude import conclude_useful
from mne_otica.cleaning.cross_check import cross_checked
from mne_otica.cleaning.decide import DEFAULT, check_options, judged
from mne_otica.cleaning.epochs_in_raw import EpochsInRaw
from mne_otica.cleaning.evoked_free import fit_evoked_free
from mne_otica.cleaning.result import Cleaned
from mne_otica.cleaning.suspects import find_suspects
from mne_otica.ica import ICA
from mne_otica.removal.layout import Layout
from mne_otica.removal.remove import Part, Taken, parts_of, subtract
from mne_otica.signals.reading import EPOCH_EDGE, LowRateRaw
from mne_otica.signals.recording import quiet
from mne_otica.signals.unmixing import maps_in_volts
from mne_otica.signals.windows import conditions_of
from mne_otica.utils.checks import RandomState, _validate_flag, _validate_type


@verbose
def clean_epochs(
    epochs: mne.BaseEpochs,
    raw: BaseRaw | None = None,
    *,
    artifacts: str | Sequence[str] = DEFAULT,
    removal: str = "events",
    evoked_free: bool = False,
    n_components: int | float | None = None,
    l_freq: float | None = 1.0,
    h_freq: float | None = 40.0,
    random_state: RandomState = 0,
    max_components: int = 2,
    find_bad_channels: bool = True,
    verbose: bool | str | int | None = None,
) -> Cleaned:
    """Remove blinks and other artifacts from epochs.

    Parameters
    ----------
    epochs : instance of Epochs
        The epochs. They are not changed.
    raw : instance of Raw | None
        The recording that the epochs were cut from, with the same filters and reference. If
        passed, what is removed is estimated in it, and cut from it as the epochs were: with
        their decimation, detrending, baseline and projectors. Epochs of another recording are
        refused. None uses the epochs alone, which is worse, see Notes.
    artifacts : str | sequence of str
        The kinds of artifacts to remove. This and the following parameters are those of
        :func:`mne_otica.clean_raw`.
    removal : "events" | "component"
        Whether to remove only the artifacts, or whole components.
    evoked_free : bool
        Whether to fit the ICA on a copy without the average response of each condition in
        ``epochs.event_id``, so that a response that comes with the artifacts is not removed with
        them. This fits twice.
    n_components : int | float | None
        How many components to fit.
    l_freq, h_freq : float | None
        The band that the ICA is fitted on, in Hz. It is used with ``raw`` only: epochs are too
        short for a high-pass filter, so each of them is linearly detrended instead.
    random_state : int | instance of RandomState | instance of Generator | None
        The seed.
    max_components : int
        The maximum number of blink components.
    find_bad_channels : bool
        Whether to look for bad channels that are not marked.
    %(verbose)s

    Returns
    -------
    cleaned : instance of Cleaned
        The cleaned epochs (``cleaned.epochs``), with the ICA, the evidence, benefit and harm.
        With ``raw``, ``cleaned.raw`` is the cleaned recording, and benefit and harm are measured
        in those of its samples that are in the epochs; else it is None, and they are measured in
        the epochs, each of them linearly detrended.

    See Also
    --------
    clean_raw : The same for recordings.
    remove_artifacts : For epochs and an ICA of your own.

    Notes
    -----
    Pass ``raw`` if you have it. Epochs alone hold fewer blinks to learn from, cut some of them in
    two, and are too short for a high-pass filter, so that drifts take up components. A blink whose
    peak is outside an epoch is not removed from it, and where a baseline was subtracted that holds
    a blink, the offset that it caused in the whole epoch remains.

    Epochs with NaN or infinite values in a good EEG channel are left as they are, and not used.
    """
    _validate_type(epochs, mne.BaseEpochs, "epochs", "Epochs")
    _validate_type(raw, (mne.io.BaseRaw, None), "raw", "Raw or None")
    fit = dict(n_components=n_components, l_freq=l_freq, h_freq=h_freq, random_state=random_state)
    find = dict(artifacts=artifacts, removal=removal, max_components=max_components)
    options = fit | find | dict(reject_by_annotation=True, find_bad_channels=find_bad_channels)
    options["artifacts"] = check_options(options)
    _validate_flag(evoked_free, "evoked_free")
    with quiet():
        epochs = epochs.copy().load_data()  # drops bad epochs
    if not len(epochs):
        raise ValueError("There are no epochs left to clean: all were dropped.")
    event_id = epochs.event_id if evoked_free else {}
    if raw is None:
        return _alone(epochs, event_id, **options)
    return _in_recording(epochs, event_id, raw, **options)


def _in_recording(
    epochs: mne.BaseEpochs, event_id: Mapping[str, int], raw: BaseRaw, **options: Any
) -> Cleaned:
    """Remove from loaded epochs, in place, what is estimated in their recording."""
    cut = EpochsInRaw.of(epochs, raw)
    conditions = conditions_of(raw, epochs.events, event_id) if event_id else {}
    result = cleaned_raw(raw, conditions, cut.inside, **options)
    if result.removed.any():
        maps = maps_in_volts(result.ica)[:, result.ica.exclude]
        epochs._data -= cut.removed(maps, result.ica.ch_names, result.removed)
    known = raw.info["bads"] + epochs.info["bads"]
    more = [name for name in result.raw.info["bads"] if name not in known]
    epochs.info["bads"] = epochs.info["bads"] + more
    return replace(result, epochs=epochs)


def _alone(cleaned: mne.BaseEpochs, event_id: Mapping[str, int], **options: Any) -> Cleaned:
    """Fit, find and measure on loaded epochs without their recording, and clean them in place."""
    options |= {"l_freq": None, "h_freq": None}
    epochs = cleaned[_finite(cleaned)]
    ready = epochs.copy().pick("eeg", exclude="bads")
    as_given = _joined(ready)
    ready._data = detrend(ready._data, axis=2)
    joined, suspects = _joined(ready), {}
    if options["find_bad_channels"]:
        suspects, left_out = find_suspects(as_given, joined, False)
        ready.drop_channels(left_out)
        for inst in (epochs, cleaned):
            inst.info["bads"] = inst.info["bads"] + left_out
    # Detrending has the effect of a high-pass filter; without this MNE warns that there was none.
    with ready.info._unlock():
        ready.info["highpass"] = max(ready.info["highpass"], 1.0)
    ready.baseline = None  # which detrending has replaced; MNE would warn of it
    joined, length = _joined(ready), len(ready.times)

    def fit(copy: BaseRaw) -> ICA:
        ready._data = copy.get_data().reshape(-1, len(ready), length).swapaxes(0, 1)
        return fit_ica(ready, options["n_components"], options["random_state"], True)

    starts, codes = length * np.arange(len(ready)), ready.events[:, 2]
    conditions = {name: starts[codes == code] for name, code in event_id.items()}
    window = (0.0, length / ready.info["sfreq"])
    ica, options["evoked_free"] = fit_evoked_free(fit, joined, epochs, conditions, window=window)
    artifacts, layout = options["artifacts"], Layout.of(epochs)
    with quiet():
        scores = search(ica, epochs, artifacts=artifacts, max_components=options["max_components"])
    found = judged(joined, ica, scores, artifacts, True)
    wanted = {kind: (one.components, None) for kind, one in found.decisions.items()}
    every = parts_of(epochs, ica, wanted, removal=options["removal"], reject=True)
    parts = [_side_by_side(part, layout) for part in every.parts]
    taken = Taken.of_parts(parts, ica.exclude, joined.n_times)

    def in_band(courses: NDArray[np.float64]) -> NDArray[np.float64]:
        return detrend(courses.reshape(len(courses), len(epochs), -1)).reshape(courses.shape)

    if parts:
        found = cross_checked(found, taken, ica, joined, True, in_band)
    settings = settings_of(ica, joined, joined.info["sfreq"], **options)
    result, taken = conclude_useful(joined, joined, ica, found, settings, suspects)
    subtract(epochs, ica, ica.exclude, layout.spread(taken.courses))
    cleaned._data[_finite(cleaned)] = epochs._data
    return replace(result, raw=None, epochs=cleaned)


def _finite(epochs: mne.BaseEpochs) -> NDArray[np.bool_]:
    """Return which epochs have finite values only; raise if there is none."""
    picks = mne.pick_types(epochs.info, eeg=True, exclude="bads")
    if len(picks) < 2:
        raise ValueError(f"Of {len(picks)} good EEG channels at least 2 are needed.")
    broken = ~np.isfinite(epochs._data[:, picks]).all(axis=2)
    if broken.any(axis=1).all():
        worst = epochs.ch_names[picks[broken.sum(axis=0).argmax()]]
        told = f"All epochs have NaN or infinite values, most in {worst}"
        raise ValueError(f"{told}: mark it as bad, or leave these spans out.")
    if broken.any():
        logger.info(f"Epochs: {broken.any(axis=1).sum()} with NaN or infinite values left as is.")
    return ~broken.any(axis=1)


def _side_by_side(part: Part, layout: Layout) -> Part:
    """Return a part without the gaps between epochs; there are no sham events for epochs."""
    courses, estimate = layout.cut(part.courses), part.estimate
    if estimate is not None:
        events = layout.without_gaps(estimate.events)
        estimate = replace(estimate, part=courses, events=events, model=None)
    return replace(part, courses=courses, estimate=estimate)


def _joined(epochs: mne.BaseEpochs) -> LowRateRaw:
    """Return concatenated epochs as a recording in which the joints are marked as bad."""
    data, length = np.concatenate(list(epochs.get_data()), axis=1), len(epochs.times)
    joined = LowRateRaw(data, epochs.info, verbose="error")
    sfreq = epochs.info["sfreq"]
    joints = np.arange(len(epochs) + 1) * length / sfreq
    onsets, ends = np.clip([joints - EPOCH_EDGE, joints + EPOCH_EDGE], 0, joints[-1])
    spans = mne.Annotations(onsets, ends - onsets, "BAD_joint", orig_time=joined.info["meas_date"])
    return joined.set_annotations(spans, verbose="error")
