"""The public finders of artifacts: components, and times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import mne
import numpy as np
from mne import BaseEpochs, Info
from mne.io import BaseRaw
from mne.preprocessing import ICA
from mne.utils import logger, verbose

from mne_otica.artifacts import blink as _blink
from mne_otica.artifacts.components import SENSORS, Components
from mne_otica.artifacts.kinds import ACCEPT, ArtifactRow, Kind, judged, kinds
from mne_otica.artifacts.scores import ArtifactScores, as_events, collected, label_of, put_labels
from mne_otica.signals.low_rate import Signals, check_ica, check_names
from mne_otica.utils.arrays import Samples
from mne_otica.utils.checks import _validate_flag, _validate_number, _validate_type, warn
from mne_otica.utils.docs import fill_doc
from mne_otica.utils.progress import step

_BLINK_COMPONENTS = 2  # the lid, and the rotation of the eyes below it
# The artifacts that a type of channel sees.
_SEEN_BY = {"eog": ("blink", "eye movement"), "ecg": ("heartbeat",), "emg": ("muscle",)}
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
    artifacts: str | Sequence[str] | None = None,
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
    artifacts : str | sequence of str | None
        The kinds to look for: ``"blink"``, ``"eye movement"``, ``"heartbeat"``, ``"muscle"``
        and ``"electrode"``; None or ``"all"`` means all.
    threshold : float
        The least probability of an answer ``"yes"``; of eye movements without positions, names
        and EOG, at least 0.9. Below it, down to ``1 - threshold``, the answer is ``"unsure"``.
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
    find_bads_blink : Blinks only.
    find_artifact_events : When they happen.

    Notes
    -----
    Each kind has a gate and several figures. A piecewise linear function of each figure, fitted to
    recordings with known sources, is its contribution to the log odds of the kind. The functions
    are in ``model.json``, and the contributions in the rows of the scores.

    Blinks are judged together. The eyes rotate while the lid is closed, so blinks can need two
    components. The second one is judged by its height and consistency at the blinks of the first,
    by the share of its large deflections that occur there, and by whether eye rotations explain
    its topography. Rotations too small to be seen at single blinks are found in the average over
    blinks: it needs more power than the component has between the blinks.

    Heartbeat-evoked potentials are brain activity. A component that holds the field of the heart
    may hold some of them; to study them, do not remove it.
    """
    names = check_kinds(artifacts)
    _validate_number(threshold, "threshold")
    _validate_type(max_components, ("int-like", None), "max_components")
    if not 0 < threshold < 1:
        raise ValueError(f"threshold must be between 0 and 1, got {threshold}.")
    if max_components is not None:
        _validate_number(max_components, "max_components", at_least=1)
    most = dict.fromkeys(names, max_components)
    if "blink" in names:
        most["blink"] = max_components or _BLINK_COMPONENTS
    scores = _Known.of(ica, inst, ch_name, reject_by_annotation).judge(most, names, threshold)
    logger.info(f"Artifacts: {scores._summary()}.")
    return scores.found, scores


@verbose
def find_bads_blink(
    ica: ICA,
    inst: BaseRaw | BaseEpochs,
    *,
    threshold: float = ACCEPT,
    max_components: int = _BLINK_COMPONENTS,
    ch_name: str | Sequence[str] | None = None,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> tuple[list[int], ArtifactScores]:
    """Find the components that hold eye blinks; no EOG channel is needed.

    Parameters
    ----------
    ica : instance of ICA
        This and the following parameters are those of :func:`find_bads_artifacts`.
    inst : instance of Raw | instance of Epochs
        The recording.
    threshold : float
        The least probability of a blink component.
    max_components : int
        The maximum number of components. A second one is returned only if it is large at the
        blinks of the first one and at no other time.
    ch_name : str | sequence of str | None
        EOG channels; None means those that are not marked bad, if there are any.
    reject_by_annotation : bool
        Whether to leave out spans annotated as bad.
    %(verbose)s

    Returns
    -------
    indices : list of int
        The blink components, best first.
    scores : instance of ArtifactScores
        The scores, as of :func:`find_bads_artifacts`.
    """
    _validate_type(max_components, "int-like", "max_components")
    channels = None if ch_name is None else {"eog": ch_name}
    options = dict(threshold=threshold, max_components=max_components, ch_name=channels)
    options["reject_by_annotation"] = reject_by_annotation
    found, scores = find_bads_artifacts(ica, inst, artifacts="blink", **options)
    return found["blink"], scores


def search(
    ica: ICA,
    inst: BaseRaw | BaseEpochs,
    *,
    artifacts: Sequence[str] | None = None,
    max_components: int = _BLINK_COMPONENTS,  # of blinks
    reject_by_annotation: bool = True,
    ch_name: Mapping[str, str | Sequence[str]] | None = None,
    channels: Signals | None = None,  # of the recording, if it was read
) -> ArtifactScores:
    """Judge all components for all kinds, and warn of broken sensors of those in ``artifacts``."""
    known = _Known.of(ica, inst, ch_name, reject_by_annotation, channels)
    most = dict.fromkeys(kinds()) | {"blink": max_components}
    return known.judge(most, check_kinds(artifacts), None)


@dataclass(frozen=True)
class _Known:
    """A recording and its components as signals, read once."""

    ica: ICA
    inst: BaseRaw | BaseEpochs
    signals: Signals
    components: Components

    @classmethod
    def of(
        cls,
        ica: ICA,
        inst: BaseRaw | BaseEpochs,
        ch_name: Mapping[str, str | Sequence[str]] | None,
        reject_by_annotation: bool,
        channels: Signals | None = None,
    ) -> _Known:
        check_ica(ica, inst)
        sensors = sensor_names(inst.info, ch_name)
        names = [*_eye_channels(inst), *ica.ch_names, *sum(sensors.values(), [])]
        if channels is None or not set(names) <= set(channels.names):
            channels = Signals.of_channels(inst, list(dict.fromkeys(names)), reject_by_annotation)
        else:
            channels.checked()
        return cls(ica, inst, channels, Components.of(ica, inst.info, channels, sensors))

    def judge(
        self, most: Mapping[str, int | None], asked: Sequence[str], threshold: float | None
    ) -> ArtifactScores:
        """Return the scores of kinds, each with a limit of components, and label the ICA's."""
        components, rows = self.components, []
        every = range(len(components))
        for name, limit in most.items():
            step(1 / 4)
            if name == "blink":
                own = _blink.judge_together(components, threshold or ACCEPT)
            else:
                own = [judged(components, kinds()[name], k, threshold) for k in every]
                own.sort(key=lambda row: -row.probability)
            rows += [self._with_events(row) for row in _limited(own, limit)]
        labels = [label_of(components, k, rows) for k in every]
        scores = collected(rows, list(most), labels, components.geometry)
        scores = replace(scores, sensors=self._sensors(asked))
        put_labels(self.ica, scores)
        told = self._witnesses(scores)
        return self._with_blinks(scores, told) if "blink" in most else scores._with_times({}, told)

    def _sensors(self, asked: Sequence[str]) -> dict[str, str]:
        """Return what is made of each sensor; warn of broken ones of artifacts asked for."""
        sensors = self.components.sensors.values()
        told = {name: "used" for one in sensors for name in one.names}
        for name, reason in self.components.unusable.items():
            told[name] = f"not used: {reason}"
            seen = _SEEN_BY.get(self.inst.get_channel_types([name])[0], asked)
            if set(seen) & set(asked):
                warn(f"{name} is not used to find artifacts, as {reason}.")
        return told

    def _witnesses(self, scores: ArtifactScores) -> dict[str, str]:
        """Return the channels that tell the times of the kinds that were found."""
        sensors, told = self.components.sensors, {}
        for kind, sensor in (("eye movement", "eog"), ("heartbeat", "ecg")):
            if kind in scores.kinds and sensor in sensors and len(scores.events(kind)):
                told[kind] = ", ".join(sensors[sensor].names)
        return told

    def _with_events(self, row: ArtifactRow) -> ArtifactRow:
        """Return a row with the events of its component."""
        if row.answer == "no":
            return row
        kind, first = kinds()[row.kind], getattr(self.inst, "first_samp", 0)
        samples = kind.events(self.components, row.component) + first
        return replace(row, events=as_events(samples, kind.event_id))

    def _with_blinks(self, scores: ArtifactScores, told: dict[str, str]) -> ArtifactScores:
        """Return the scores with the recording's blinks in all rows of blink components."""
        names, found = _eye_channels(self.inst), scores.found["blink"]
        if names:
            samples, source = _locate(self.inst, self.signals.pick(names), None, self)
        else:  # as in epochs, where the times come from the component
            samples = scores.row(found[0], "blink").events[:, 0] if found else np.zeros(0, int)
            source = f"component ICA{found[0]:03d}" if found else "none"
        events = as_events(samples, kinds()["blink"].event_id)
        rows = tuple(
            replace(row, events=events) if (row.kind, row.answer) == ("blink", "yes") else row
            for row in scores.rows
        )
        return replace(scores, rows=rows)._with_times({"blink": events}, told | {"blink": source})


def _eye_channels(inst: BaseRaw | BaseEpochs) -> list[str]:
    """Return the EEG and EOG channels of a continuous recording that are not marked bad."""
    if isinstance(inst, BaseEpochs):
        return []
    picks = mne.pick_types(inst.info, meg=False, eeg=True, eog=True)
    return [inst.ch_names[k] for k in picks]


def _limited(rows: list[ArtifactRow], most: int | None) -> list[ArtifactRow]:
    """Set the answers beyond the maximum number of components to no; the best rows come first."""
    found = [row for row in rows if row.answer == "yes"]
    beyond = [] if most is None else found[most:]
    reason = f"max_components ({most}) is reached"
    return [replace(row, answer="no", reason=reason) if row in beyond else row for row in rows]


def blink_times(
    inst: BaseRaw,
    *,
    ica: ICA | None = None,
    ch_name: str | Sequence[str] | None = None,
    reject_by_annotation: bool = True,
) -> tuple[Samples, str]:
    """Return the samples of blinks, ``first_samp`` included, and where they come from."""
    names = _channels(inst.info, "blink", ch_name)
    if ica is None or ch_name is not None:
        signals = Signals.of_channels(inst, names, reject_by_annotation)
        return _locate(inst, signals, ch_name, None)
    known = _Known.of(ica, inst, None, reject_by_annotation)
    return _locate(inst, known.signals.pick(names), None, known)


def _locate(
    inst: BaseRaw, signals: Signals, ch_name: str | Sequence[str] | None, known: _Known | None
) -> tuple[Samples, str]:
    """Return the samples of blinks from the first source that shows them, and its name."""
    sources = _blink.blink_sources(inst.info, signals, ch_name)
    if known is not None:
        # After the channels that are known to see the eyes, before any channel at all.
        sources["component"] = []
        if "channel" in sources:
            sources["channel"] = sources.pop("channel")
    picked = [] if known is None else known.ica.labels_.get("blink")
    for source, groups in sources.items():
        if source != "component":
            found = _blink.best_group(inst.info, signals, groups)
        else:
            if picked is None:
                rows = _blink.judge_together(known.components, ACCEPT)
                picked = [row.component for row in rows if row.answer == "yes"]
            found = _from_component(known.components, picked, signals)
        if found.score >= 0.5:
            break
    else:
        logger.info(f"No blinks found; looked at: {', '.join(sources)}.")
        return np.zeros(0, np.int64), "none"
    peaks = found.peaks
    if source != "component" and known is not None and picked:
        candidates = known.components.blinks[picked[0]].typical_peaks
        peaks = _blink.with_confirmed(signals, found, candidates)
    prefix = {"eog": "", "component": "component "}.get(source, "channels ")
    told = prefix + ", ".join(found.names)
    samples = np.unique(signals.prepared.to_input(peaks)) + inst.first_samp
    logger.info(f"{len(samples)} blinks found from {told}.")
    return samples, told


def _from_component(components: Components, picked: list[int], channels: Signals) -> _blink.Times:
    """Return the times of a component, which is trusted even if a person has labelled it."""
    if not len(picked) or not components.blinks[picked[0]].n_events:
        return _blink.Times(0.0, [], 1, np.array([]))
    one = components.blinks[picked[0]]
    peaks = _blink.with_one_map(channels, one.typical_peaks)
    return _blink.Times(1.0, [f"ICA{picked[0]:03d}"], one.polarity, peaks)


def component_events(
    ica: ICA, inst: BaseRaw | BaseEpochs, components: Sequence[int], kind: str, reject: bool
) -> Samples:
    """Return the samples, from 0, at which components show artifacts of a kind, if of any."""
    known = _Known.of(ica, inst, None, reject).components
    samples = [kinds()[kind].events(known, k) for k in components]
    return np.unique(np.concatenate([np.zeros(0, np.int64), *samples]))


def check_kinds(artifacts: str | Sequence[str] | None, name: str = "artifacts") -> list[str]:
    """Return the kinds as a list, all for None and "all"; raise if one does not exist."""
    known = list(kinds())
    if artifacts is None or (isinstance(artifacts, str) and artifacts == "all"):
        return known
    _validate_type(artifacts, (str, list, tuple), name, 'a kind, a list of kinds, or "all"')
    asked = [artifacts] if isinstance(artifacts, str) else list(artifacts)
    unknown = [kind for kind in asked if kind not in known]
    if unknown or not asked:
        raise ValueError(
            f"{name} {asked} must name kinds of artifacts; {unknown or 'nothing'} is not among "
            f"{known}."
        )
    return asked


def sensor_names(
    info: Info, ch_name: Mapping[str, str | Sequence[str]] | None
) -> dict[str, list[str]]:
    """Return the EOG, ECG and EMG channels: those asked for, or all that are not bad."""
    _validate_type(ch_name, (Mapping, None), "ch_name", 'a dict such as {"ecg": "EKG"}, or None')
    if ch_name is None:
        none = dict.fromkeys(SENSORS, False)
        picks = {name: mne.pick_types(info, meg=False, **none | {name: True}) for name in SENSORS}
        return {name: [info["ch_names"][k] for k in some] for name, some in picks.items()}
    if unknown := sorted(set(ch_name) - set(SENSORS)):
        raise ValueError(f"ch_name has {unknown}, but only {list(SENSORS)} are known.")
    return {name: check_names(some, info["ch_names"]) for name, some in ch_name.items()}


@verbose
@fill_doc
def find_artifact_events(
    inst: BaseRaw,
    artifacts: str = "blink",
    *,
    ica: ICA | None = None,
    ch_name: str | Sequence[str] | None = None,
    event_id: int | None = None,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> Samples:
    """Find the times of artifacts of one kind.

    Parameters
    ----------
    %(inst_raw)s
    artifacts : str
        The kind: ``"blink"``, ``"eye movement"``, ``"heartbeat"``, ``"muscle"`` or
        ``"electrode"``.
    ica : instance of ICA | None
        A fitted ICA of the recording. The events are those of its components of this kind.
        Without one, the channel that shows the artifact best is used: EOG channels for eye
        movements, ECG channels for heartbeats, EMG channels for muscle, or else the EEG
        channels. Blinks come from EOG channels, else frontal channels, known by position or by
        name, else the blink component: the first in ``ica.labels_["blink"]``, or else the best.
        If there is none of these, every EEG channel is tried.
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
    _validate_type(inst, BaseRaw, "inst", "a Raw instance")
    _validate_type(artifacts, str, "artifacts")
    _validate_type(ica, (ICA, None), "ica", "an ICA instance or None")
    _validate_type(event_id, ("int-like", None), "event_id")
    _validate_flag(reject_by_annotation, "reject_by_annotation")
    kind = kinds()[check_kinds([artifacts])[0]]
    event_id = kind.event_id if event_id is None else int(event_id)
    options = dict(reject_by_annotation=reject_by_annotation)
    if kind.name == "blink":
        samples, _ = blink_times(inst, ica=ica, ch_name=ch_name, **options)
    elif ica is not None and ch_name is None:
        found, scores = find_bads_artifacts(ica, inst, artifacts=kind.name, **options)
        rows = [scores.row(k, kind.name).events[:, 0] for k in found[kind.name]]
        samples = np.concatenate([np.zeros(0, int), *rows])
    else:
        names = _channels(inst.info, kind.name, ch_name)
        samples = _of_best_channel(inst, kind, names, ch_name is not None, reject_by_annotation)
    return as_events(samples, event_id)


def _of_best_channel(
    inst: BaseRaw, kind: Kind, names: list[str], trusted: bool, reject: bool
) -> Samples:
    """Return the events of the channel that shows a kind best, if one does or is ``trusted``."""
    signals = Signals.of_channels(inst, names, reject)
    components = Components.of_channels(signals, signals.names)
    chances = [judged(components, kind, k, ACCEPT).probability for k in range(len(components))]
    best = int(np.argmax(chances))
    if chances[best] < 0.5 and not trusted:
        logger.info(f"No channel shows a {kind.name} clearly ({chances[best]:.2f} at best).")
        return np.zeros(0, np.int64)
    logger.info(f"Events from {signals.names[best]}, probability {chances[best]:.2f}.")
    return kind.events(components, best) + inst.first_samp


def _channels(info: Info, kind: str, ch_name: str | Sequence[str] | None) -> list[str]:
    """Return the channels that may show an artifact of this kind."""
    if ch_name is not None:
        return check_names(ch_name, info["ch_names"])
    sensor = {"eye movement": "eog", "heartbeat": "ecg", "muscle": "emg"}.get(kind)
    names = sensor_names(info, None).get(sensor, [])
    picks = mne.pick_types(info, meg=False, eeg=True, eog=kind == "blink")
    names = names or [info["ch_names"][k] for k in picks]
    if not names:
        types = sorted(set(info.get_channel_types()))
        raise ValueError(
            f"No EEG or EOG channel is left to find artifacts in: the channels are of type {types} "
            f"and {len(info['bads'])} are marked bad. Set the channel types, or unmark some."
        )
    return names


@verbose
@fill_doc
def annotate_artifacts(
    inst: BaseRaw,
    artifacts: str | Sequence[str],
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
    artifacts : str | sequence of str
        The kinds, as in :func:`find_artifact_events`, or ``"all"``.
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
    options = dict(reject_by_annotation=reject_by_annotation)
    onsets, durations, words = [], [], []
    for name in check_kinds(artifacts):
        events = find_artifact_events(inst, name, ica=ica, **options)
        before, after = _SPANS[name]
        seconds = (events[:, 0] - inst.first_samp) / inst.info["sfreq"]
        starts = np.clip(seconds - before, 0, None)
        onsets.extend(starts)
        durations.extend(np.clip(seconds + after, None, inst.times[-1]) - starts)
        words.extend(["BAD_" * bad + name] * len(starts))
    orig_time = inst.annotations.orig_time
    start = 0.0 if orig_time is None else inst.first_samp / inst.info["sfreq"]
    return mne.Annotations(np.array(onsets) + start, durations, words, orig_time)
