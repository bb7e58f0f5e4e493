"""The public finders of artifacts of all kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import mne
import numpy as np
from mne.utils import logger, verbose
from numpy.typing import NDArray

from mne_otica.artifacts.blink import Rule, by_evidence
from mne_otica.artifacts.components import SENSORS, Components
from mne_otica.artifacts.find_blinks import BLINK_ID, find_blink_events, label_blinks, locate
from mne_otica.artifacts.judge import as_events, judge
from mne_otica.artifacts.kinds import kinds as all_kinds
from mne_otica.artifacts.labels import put_labels
from mne_otica.artifacts.model import ACCEPT, probability, weigh
from mne_otica.artifacts.scores import ArtifactScores
from mne_otica.artifacts.tables import BlinkScores, BlinkTimes
from mne_otica.signals.low_rate import Signals, channels_to_search, check_ica, check_names
from mne_otica.utils.checks import _validate_flag, _validate_number, _validate_type
from mne_otica.utils.docs import fill_doc

if TYPE_CHECKING:
    from mne import BaseEpochs, Info
    from mne.io import BaseRaw
    from mne.preprocessing import ICA

_LEAST = 0.5  # the least probability of a channel whose events are taken
# Seconds before and after an event that an annotation covers.
_SPANS = {
    "blink": (0.25, 0.35),
    "eye movement": (0.1, 0.2),
    "heartbeat": (0.1, 0.4),
    "muscle": (0.0, 1.0),
    "electrode": (0.1, 1.0),
}


@verbose
@fill_doc
def find_bads_artifacts(
    ica: ICA,
    inst: BaseRaw | BaseEpochs,
    *,
    kinds: str | Sequence[str] | None = None,
    threshold: float = ACCEPT,
    max_components: int | None = None,
    ch_name: Mapping[str, str | Sequence[str]] | None = None,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> tuple[dict[str, list[int]], ArtifactScores]:
    """Find the components that hold artifacts of each kind; no extra channel is needed.

    Parameters
    ----------
    ica : instance of ICA
        Any :class:`mne.preprocessing.ICA` that was fitted on EEG channels. Its ``labels_`` are
        set, under the names of the kinds and MNE's own; its ``exclude`` is left alone.
    inst : instance of Raw | instance of Epochs
        The recording, with the channels that the ICA was fitted on. It may be the
        unfiltered one. It is not changed.
    kinds : str | sequence of str | None
        The kinds to look for: ``"blink"``, ``"eye movement"``, ``"heartbeat"``, ``"muscle"``
        and ``"electrode"``; None means all.
    threshold : float
        The least probability of an answer ``"yes"``. Below it, down to its counterpart
        ``1 - threshold``, the answer is ``"unsure"``.
    max_components : int | None
        The maximum number of components of each kind; None sets no limit, except for
        blinks, which are limited to two.
    ch_name : dict | None
        Channels that see an artifact directly, under ``"eog"``, ``"ecg"`` and ``"emg"``. None
        means the channels of these types that are not marked bad, if there are any.
    %(reject_spans)s
    %(verbose)s

    Returns
    -------
    found : dict
        The indices of the components of each kind, the most probable first.
    scores : instance of ArtifactScores
        For each component and kind a probability, an answer, the reason in words, the
        figures, the events and which part of the component is the artifact.

    See Also
    --------
    find_bads_blink : Blinks only, as an array of scores.
    find_artifact_events : When they happen.

    Notes
    -----
    Each kind has a gate and several figures. A piecewise linear function of each figure, fitted to
    recordings with known sources, is its contribution to the log odds of the kind. The functions
    are in ``model.json``, and the contributions in the rows of the scores.

    Heartbeat-evoked potentials are brain activity. A component that holds the field of the heart
    may hold some of them; to study them, do not remove it.
    """
    _validate_type(ica, mne.preprocessing.ICA, "ica", "an ICA instance")
    _validate_type(inst, (mne.io.BaseRaw, mne.BaseEpochs), "inst", "Raw or Epochs")
    names = check_kinds(kinds)
    _validate_number(threshold, "threshold")
    _validate_type(max_components, ("int-like", None), "max_components")
    if not 0 < threshold < 1 or (max_components is not None and max_components < 1):
        raise ValueError(
            f"threshold ({threshold}) must be between 0 and 1 and max_components "
            f"({max_components}) at least 1, or None."
        )
    check_ica(ica, inst)
    sensors = sensor_names(inst.info, ch_name)
    read = list(dict.fromkeys([*ica.ch_names, *sum(sensors.values(), [])]))
    signals = Signals.of_channels(inst, read, reject_by_annotation)
    components = Components.of(ica, inst.info, signals, sensors)
    first_samp = getattr(inst, "first_samp", 0)
    scores = judge(components, names, threshold, max_components, first_samp)
    put_labels(ica, scores)
    logger.info(f"Artifacts: {scores._summary()}.")
    return scores.found, scores


def search_artifacts(
    ica: ICA,
    inst: BaseRaw,
    *,
    kinds: Sequence[str] | None = None,
    max_components: int = 2,
    reject_by_annotation: bool,
) -> tuple[ArtifactScores, BlinkScores, BlinkTimes]:
    """Like `search`, but for artifacts of all kinds; the recording is read once."""
    kinds = check_kinds(kinds)
    names, sensors = channels_to_search(inst.info, None), sensor_names(inst.info, None)
    searched = list(dict.fromkeys([*names, *ica.ch_names, *sum(sensors.values(), [])]))
    signals = Signals.of_channels(inst, searched, reject_by_annotation)
    components = Components.of(ica, inst.info, signals, sensors)
    blinks = by_evidence(components, Rule(max_components))
    scores = judge(components, kinds, ACCEPT, None, inst.first_samp, blinks)
    put_labels(ica, scores)
    label_blinks(ica, blinks)
    times = locate(inst, signals.pick(names), None, ica, components, BLINK_ID)
    return scores, blinks, times


def component_events(
    ica: ICA, inst: BaseRaw | BaseEpochs, components: Sequence[int], kind: str, reject: bool
) -> NDArray[np.int64]:
    """Return the samples, from 0, at which components show artifacts of a kind, if of any."""
    signals = Signals.of_channels(inst, ica.ch_names, reject)
    known = Components.of(ica, inst.info, signals, {})
    samples = [all_kinds()[kind].events(known, k) for k in components]
    return np.unique(np.concatenate([np.zeros(0, np.int64), *samples]))


def check_kinds(kinds: str | Sequence[str] | None, name: str = "kinds") -> list[str]:
    """Return the kinds as a list, or refuse those that do not exist."""
    known = list(all_kinds())
    if kinds is None:
        return known
    _validate_type(kinds, (str, list, tuple), name, "a kind, or a list of kinds")
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    unknown = [kind for kind in kinds if kind not in known]
    if unknown or not kinds:
        raise ValueError(
            f"{name} {kinds} must name kinds of artifacts; {unknown or 'nothing'} is not among "
            f"{known}."
        )
    return kinds


def sensor_names(
    info: Info, ch_name: Mapping[str, str | Sequence[str]] | None
) -> dict[str, list[str]]:
    """Return the EOG, ECG and EMG channels: those asked for, or all that are not bad."""
    _validate_type(ch_name, (Mapping, None), "ch_name", 'a dict such as {"ecg": "EKG"}, or None')
    if ch_name is None:
        none = dict.fromkeys(SENSORS, False)
        picks = {one: mne.pick_types(info, meg=False, **none | {one: True}) for one in SENSORS}
        return {one: [info["ch_names"][k] for k in some] for one, some in picks.items()}
    unknown = sorted(set(ch_name) - set(SENSORS))
    if unknown:
        raise ValueError(f"ch_name has {unknown}, but only {list(SENSORS)} are known.")
    return {one: check_names(some, info["ch_names"]) for one, some in ch_name.items()}


@verbose
@fill_doc
def find_artifact_events(
    inst: BaseRaw,
    kind: str,
    *,
    ica: ICA | None = None,
    ch_name: str | Sequence[str] | None = None,
    event_id: int | None = None,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> NDArray[np.int64]:
    """Find the times of artifacts of one kind.

    Parameters
    ----------
    %(inst_raw)s
    kind : str
        The kind: ``"blink"``, ``"eye movement"``, ``"heartbeat"``, ``"muscle"`` or
        ``"electrode"``.
    ica : instance of ICA | None
        A fitted ICA of the recording. The events are those of its components of this kind.
        Without one, the channel that shows the artifact best is used: EOG channels for eye
        movements, ECG channels for heartbeats, EMG channels for muscle, or else the EEG
        channels. Blinks are found as in :func:`find_blink_events`.
    ch_name : str | sequence of str | None
        Channels to use instead of those found automatically.
    event_id : int | None
        The third column of the events; None takes that of the kind: 998 for blinks and 999 for
        heartbeats, as in MNE, 997 for eye movements, 996 for muscle and 995 for electrodes.
    %(reject_spans)s
    %(verbose)s

    Returns
    -------
    events : ndarray, shape (n_events, 3)
        The peaks of blinks and heartbeats, the middle of the steps of eye movements, the first
        sample of each second in which a muscle is unusually tense, pops and jumps of
        electrodes. If there are none, or no channel shows them well enough, the shape is
        (0, 3).

    See Also
    --------
    annotate_artifacts : The same as annotations.
    """
    _validate_type(inst, mne.io.BaseRaw, "inst", "a Raw instance")
    _validate_type(kind, str, "kind")
    _validate_type(event_id, ("int-like", None), "event_id")
    _validate_flag(reject_by_annotation, "reject_by_annotation")
    one = all_kinds()[check_kinds(kind)[0]]
    event_id = one.event_id if event_id is None else int(event_id)
    if kind == "blink":
        # The finders of blinks are in the package itself, which imports this module.
        options = dict(ica=ica, ch_name=ch_name, event_id=event_id)
        return find_blink_events(inst, reject_by_annotation=reject_by_annotation, **options)
    if ica is not None and ch_name is None:
        found, scores = find_bads_artifacts(
            ica, inst, kinds=kind, reject_by_annotation=reject_by_annotation
        )
        rows = [scores.row(k, kind).events[:, 0] for k in found[kind]]
        return as_events(np.concatenate([np.zeros(0, int), *rows]), event_id)
    signals = Signals.of_channels(inst, _channels(inst.info, kind, ch_name), reject_by_annotation)
    components = Components.of_channels(signals, signals.names)
    chances = [
        0.0 if one.gate(components, k) else probability(weigh(kind, one.figures(components, k)))
        for k in range(len(components))
    ]
    best = int(np.argmax(chances))
    if chances[best] < _LEAST and ch_name is None:
        logger.info(f"No channel shows a {kind} clearly ({chances[best]:.2f} at best).")
        return as_events(np.zeros(0, int), event_id)
    logger.info(f"Events from {signals.names[best]}, probability {chances[best]:.2f}.")
    return as_events(one.events(components, best) + inst.first_samp, event_id)


def _channels(info: Info, kind: str, ch_name: str | Sequence[str] | None) -> list[str]:
    """Return the channels that may show an artifact of this kind."""
    if ch_name is not None:
        return check_names(ch_name, info["ch_names"])
    sensor = {"eye movement": "eog", "heartbeat": "ecg", "muscle": "emg"}.get(kind)
    names = sensor_names(info, None).get(sensor, [])
    if not names:
        picks = mne.pick_types(info, meg=False, eeg=True)
        names = [info["ch_names"][k] for k in picks]
    if not names:
        types = sorted(set(info.get_channel_types()))
        raise ValueError(
            f"No EEG channel is left to find artifacts in: the channels are of type {types} and "
            f"{len(info['bads'])} are marked bad. Set the channel types, or unmark some."
        )
    return names


@verbose
@fill_doc
def annotate_artifacts(
    inst: BaseRaw,
    kind: str | Sequence[str],
    *,
    ica: ICA | None = None,
    bad: bool = False,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> mne.Annotations:
    """Return annotations of the times of artifacts.

    Parameters
    ----------
    %(inst_raw)s
    kind : str | sequence of str
        The kinds, as in :func:`find_artifact_events`.
    ica : instance of ICA | None
        As in :func:`find_artifact_events`.
    bad : bool
        Whether descriptions begin with ``"BAD_"``, so that MNE leaves these times out.
    %(reject_spans)s
    %(verbose)s

    Returns
    -------
    annotations : instance of Annotations
        One for each event, described by its kind; add them by
        ``raw.set_annotations(raw.annotations + annotations)``.
    """
    _validate_flag(bad, "bad")
    onsets, durations, words = [], [], []
    for name in check_kinds(kind):
        events = find_artifact_events(
            inst, name, ica=ica, reject_by_annotation=reject_by_annotation
        )
        before, after = _SPANS[name]
        seconds = (events[:, 0] - inst.first_samp) / inst.info["sfreq"]
        starts = np.clip(seconds - before, 0, None)
        onsets.extend(starts)
        durations.extend(np.clip(seconds + after, None, inst.times[-1]) - starts)
        words.extend(["BAD_" * bad + name] * len(starts))
    annotations = mne.Annotations(onsets, durations, words)
    if inst.annotations.orig_time is None:
        return annotations
    start = inst.first_samp / inst.info["sfreq"]
    return mne.Annotations(
        annotations.onset + start, annotations.duration, words, inst.annotations.orig_time
    )
