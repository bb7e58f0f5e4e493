"""Remove artifacts from a recording, and measure benefit and harm."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import mne
import numpy as np
from mne.io import BaseRaw
from mne.utils import logger, verbose
from numpy.typing import NDArray

from mne_otica.cleaning.conclude import conclude_useful
from mne_otica.cleaning.decide import DEFAULT, check_options, find
from mne_otica.cleaning.evoked_free import fit_evoked_free
from mne_otica.cleaning.result import Cleaned
from mne_otica.cleaning.suspects import find_suspects
from mne_otica.evaluation.methods_section import mark_cleaned
from mne_otica.ica import ICA, SAMPLES_PER_SQUARED_COMPONENT
from mne_otica.removal.remove import without
from mne_otica.signals.low_rate import Signals
from mne_otica.signals.reading import HIGHEST, LowRate, check_band, fitted_names, of_steps
from mne_otica.signals.recording import mark_bad, quiet, with_bads
from mne_otica.signals.windows import Events, conditions_of
from mne_otica.trust.stability import stability as find_stability
from mne_otica.utils.checks import RandomState, _validate_flag, _validate_type
from mne_otica.utils.progress import stage, stages

# The stages' shares of the time, for the progress bar; about those of benchmarks.hours.
TIMES = {"filter": 0.2, "fit": 0.35, "find": 0.25, "remove": 0.12, "measure": 0.08}


@verbose
def clean_raw(
    raw: BaseRaw,
    *,
    artifacts: str | Sequence[str] = DEFAULT,
    removal: str = "events",
    events: Events | None = None,
    event_id: Mapping[str, int] | None = None,
    n_components: int | float | None = None,
    l_freq: float | None = 1.0,
    h_freq: float | None = 40.0,
    random_state: RandomState = 0,
    max_components: int = 2,
    reject_by_annotation: bool = True,
    find_bad_channels: bool = True,
    stability: bool = False,
    verbose: bool | str | int | None = None,
) -> Cleaned:
    """Remove blinks and other artifacts; no EOG or ECG channel is needed.

    An ICA is fitted on a filtered copy of the EEG channels, and the components that hold
    artifacts are found. In a copy of the unfiltered recording, only the part of these
    components that belongs to the artifacts is removed. If no artifact is found, or the
    evidence is not sufficient, this copy is returned unchanged.

    Parameters
    ----------
    raw : instance of Raw
        The recording. It is not changed. If it is not loaded, it is read piece by piece, and the
        cleaned one is not loaded either.
    artifacts : str | sequence of str
        The kinds of artifacts to remove: ``"blink"``, ``"eye movement"``, ``"heartbeat"``,
        ``"muscle"`` and ``"electrode"``, or ``"all"`` of them. The default is blinks;
        :doc:`/artifacts` explains why, and how well the others are removed. All kinds are
        searched for, also those not removed; see ``cleaned.artifacts``.
    removal : "events" | "component"
        ``"events"`` removes only the artifacts, see :func:`mne_otica.remove_artifacts`, but of
        electrodes the whole component; ``"component"`` removes whole components, as
        :meth:`mne.preprocessing.ICA.apply` does.
    events : ndarray, shape (n_events, 3) | str | sequence of str | None
        The stimuli, as MNE events or as names of annotations. If passed, the ICA is fitted on a
        copy without the average response of each condition, so that a response that comes with
        the artifacts is not removed with them. This fits twice.
    event_id : dict | None
        The conditions in ``events``; None uses all that occur.
    n_components : int | float | None
        The number of components, or the share of the variance they explain, as for
        :class:`mne.preprocessing.ICA`. None uses the rank of the data, or fewer if the recording
        is too short for that many.
    l_freq, h_freq : float | None
        The band of the copy that the ICA is fitted on, in Hz; None leaves that side open. The
        recording that is cleaned keeps its own band.
    random_state : int | instance of RandomState | instance of Generator | None
        The seed. The default is fixed, so that the same call gives the same result.
    max_components : int
        The maximum number of blink components. The other kinds have no limit.
    reject_by_annotation : bool
        Whether to leave spans annotated as bad out of the fit, the search and the
        evaluation. Blinks in these spans are removed all the same, as
        :meth:`mne.preprocessing.ICA.apply` does; of other artifacts, only whole components are.
    find_bad_channels : bool
        Whether to look for bad channels that are not marked: 4.5 times as large as the median
        channel, flat, or clipped. They are named in the verdict and ``cleaned.suspects``, added to
        ``cleaned.raw.info["bads"]``, and left as they are, since they would distort the ICA.
    stability : bool
        Whether to refit the ICA on resampled data to see which components are
        reproducible, see :func:`mne_otica.stability`.
    %(verbose)s

    Returns
    -------
    cleaned : instance of Cleaned
        The cleaned recording (``cleaned.raw``) with the ICA, the times of the artifacts, the
        evidence, and for each kind what was removed, the benefit and the harm
        (``cleaned.kinds``). ``cleaned.status`` and ``cleaned.verdict`` say in words how it went;
        ``cleaned.plot()``, ``cleaned.report()`` and ``cleaned.save(folder)`` plot, report and
        save the result.

    See Also
    --------
    clean_epochs : The same for epochs.
    find_bads_blink : Only find the components, of any fitted MNE ICA.
    remove_artifacts : Only remove the artifacts, with any fitted MNE ICA.
    rms_reduction : The benefit of any cleaning.
    preservation : The harm of any cleaning.

    Notes
    -----
    The EEG channels that are not marked bad are cleaned. All other channels and all annotations
    are kept, and no samples are dropped. EEG must be in volts. Electrode positions, 10-20 names
    and EOG, ECG and EMG channels are used as evidence if available, but none of them is required.

    A component is removed from probability 0.9, as removing brain activity is considered nine
    times as costly as leaving an artifact in; eye movements from 0.8, from where they were right
    as often in recordings left out of the training; blinks, for which all components are judged
    together, from 0.7. It is better to mark bad electrodes as bad and interpolate them, so
    ``"electrode"`` is not in the default. To study heartbeat-evoked potentials, leave
    ``"heartbeat"`` out.

    A component is only removed if this reduces the artifact at the channels: the average of what
    would be removed at half of the events is subtracted from the average of the channels at the
    other half, which has to gain more than at sham events. If not, the verdict says so.

    Benefit and harm are measured between ``l_freq`` and ``h_freq``. The benefit of a kind is the
    reduction of the average in windows of 250 ms (heartbeats: 150 ms, the QRS complex) on either
    side of its events, at the five channels where it is largest: the recording, compared with the
    cleaned one. The harm ("elsewhere") is what was removed for this kind, relative to the
    recording, in all samples further than 1.25 s from the events. Muscle and heartbeats are
    everywhere: what was removed for them is given as a share of the whole signal, and so it is if
    less than 2 s are that far from events. A sample that was not changed has no harm.

    Trustworthy components need about 20 samples per squared number of components; with
    ``n_components=None`` fewer components are fitted to a short recording.

    Examples
    --------
    >>> import mne_otica
    >>> raw = mne_otica.datasets.sample(verbose="error")
    >>> result = mne_otica.clean_raw(raw, verbose="error")
    >>> result.status, len(result.events)
    ('cleaned', 4)
    """
    if isinstance(raw, mne.BaseEpochs):
        raise TypeError("raw must be an instance of Raw, got Epochs; use clean_epochs(epochs).")
    _validate_type(raw, mne.io.BaseRaw, "raw", "Raw")
    _validate_flag(reject_by_annotation, "reject_by_annotation")
    _validate_flag(stability, "stability")
    fit = dict(n_components=n_components, l_freq=l_freq, h_freq=h_freq, random_state=random_state)
    find = dict(artifacts=artifacts, removal=removal, max_components=max_components)
    leave = dict(reject_by_annotation=reject_by_annotation, find_bad_channels=find_bad_channels)
    result = cleaned_raw(raw, conditions_of(raw, events, event_id), **fit, **find, **leave)
    if not stability:
        return result
    trusted = find_stability(result.ica, result.filtered(), random_state=random_state)
    return replace(result, stability=trusted)


@stages(TIMES)
def cleaned_raw(
    raw: BaseRaw,
    conditions: dict[str, NDArray[np.int64]],
    inside: NDArray[np.bool_] | None = None,
    **options: Any,
) -> Cleaned:
    """Clean, measuring benefit and harm in the samples ``inside``; the recording is copied last."""
    artifacts = check_options(options)
    band, reject = (options["l_freq"], options["h_freq"]), options["reject_by_annotation"]
    check_band(*band)
    sensors = mne.pick_types(raw.info, meg=False, eog=True, ecg=True, emg=True)
    names = fitted_names(raw) + [raw.ch_names[k] for k in sensors]
    stage("filter")
    low = LowRate.of(raw, names, reject, band[1])
    filtered, suspects, step = low.filtered(*band), {}, low.step
    if band[1] is None or band[1] > HIGHEST:  # the search needs another rate than the fit
        low = LowRate.of(raw, names, reject)
    channels = Signals.of(low)
    del low  # for memory
    if options["find_bad_channels"]:
        suspects, left_out = find_suspects(raw, filtered, reject)
        raw = with_bads(raw, left_out)
        if left_out:  # else MNE would keep two copies
            filtered.drop_channels(left_out)
    fixed = dict(random_state=options["random_state"], reject=reject, step=step)
    fit = partial(fit_ica, n_components=options["n_components"], **fixed)
    stage("fit")
    ica, free = fit_evoked_free(fit, filtered, raw, conditions, reject=reject)
    how = dict(removal=options["removal"], filtered=filtered, channels=channels)
    stage("find")
    found = find(raw, ica, artifacts, options["max_components"], reject, **how)
    del how, channels  # for memory, too
    options |= {"artifacts": list(artifacts), "evoked_free": free}
    settings = settings_of(ica, raw, filtered.info["sfreq"], **options)
    stage("measure")
    if inside is not None:
        mark_bad(filtered, of_steps(~inside, step), "BAD_no_epoch")
    result, taken = conclude_useful(raw, filtered, ica, found, settings, suspects)
    result = replace(result, raw=without(raw, ica, taken.courses))
    mark_cleaned(result.raw.info, taken)
    return result


def settings_of(ica: ICA, raw: BaseRaw, sfreq_fitted: float, **parameters: Any) -> dict[str, Any]:
    """Return the parameters of a call, with the values used for the automatic ones."""
    seed = parameters["random_state"]
    return parameters | {
        "random_state": seed if seed is None or np.isscalar(seed) else type(seed).__name__,
        "n_components_used": int(ica.n_components_),
        "rank": int(ica.rank_),
        "converged": ica.converged_,
        "seconds": raw.n_times / raw.info["sfreq"],
        "seconds_fitted": ica.n_samples_ / sfreq_fitted,
    }


def fit_ica(
    filtered: BaseRaw | mne.BaseEpochs,
    n_components: int | float | None,
    random_state: RandomState,
    reject: bool,
    step: int = 1,
) -> ICA:
    """Fit on a filtered copy, of which each sample is one of ``step`` of the recording."""

    def affordable(rank: int, n_samples: int) -> int:
        """Return the rank, or fewer components if the recording is too short for that many."""
        enough = int(np.sqrt(step * n_samples / SAMPLES_PER_SQUARED_COMPONENT))
        return min(rank, max(enough, 2))

    # Blinks are rare and large. The transport contrast weighs them by their amplitude, whereas the
    # score functions of the refinement mostly see the samples between them.
    with quiet():
        ica = ICA(n_components, random_state=random_state, fit_params=dict(refine="none"))
        if n_components is None:
            ica.n_components_for = affordable
        ica.fit(filtered, reject_by_annotation=reject)
    if ica.n_components_ < 2:  # of which MNE cannot read the file
        told = "so there is nothing to separate; more channels are needed."
        raise ValueError(f"The EEG has rank {ica.rank_}, {told}")
    logger.info(
        f"Fit: {ica.n_components_} components in {ica.n_iter_} iterations; the recording has "
        f"{step * ica.n_samples_ / ica.n_components_**2:.0f} samples per squared number of "
        f"components (at least {SAMPLES_PER_SQUARED_COMPONENT} are recommended)."
    )
    return ica
