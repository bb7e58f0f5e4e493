"""The public finders of blinks: their times, and the components that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import mne
import numpy as np
from mne.utils import logger, verbose
from numpy.typing import NDArray

from mne_otica.artifacts.blink import Rule, by_evidence, by_kurtosis
from mne_otica.artifacts.components import Components
from mne_otica.artifacts.model import ACCEPT
from mne_otica.artifacts.tables import BlinkScores, BlinkTimes
from mne_otica.artifacts.times import (
    Times,
    best_group,
    blink_sources,
    with_confirmed,
    with_one_map,
)
from mne_otica.signals.low_rate import (
    Signals,
    channels_to_search,
    check_ica,
    check_names,
    eog_names,
)
from mne_otica.utils.checks import _check_option, _validate_number, _validate_type
from mne_otica.utils.docs import fill_doc

if TYPE_CHECKING:
    from mne import BaseEpochs
    from mne.io import BaseRaw
    from mne.preprocessing import ICA

BLINK_ID = 998  # the third column of blink events, as in MNE


@verbose
@fill_doc
def find_blink_events(
    inst: BaseRaw,
    *,
    ica: ICA | None = None,
    ch_name: str | Sequence[str] | None = None,
    event_id: int = BLINK_ID,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> NDArray[np.int64]:
    """Find the times of eye blinks.

    EOG channels are used if there are any, else frontal channels, known by position or by
    name, else the blink component. If there is none of these, every EEG channel is
    tried. The scale is robust, so that one large artifact does not hide the blinks.

    Parameters
    ----------
    %(inst_raw)s
    ica : instance of ICA | None
        A fitted ICA of the recording, used when no channel shows blinks: the components in
        ``ica.labels_["blink"]``, else those that :func:`find_bads_blink` picks.
    %(event_channels)s
    %(reject_spans)s
    %(verbose)s

    Returns
    -------
    events : ndarray, shape (n_blinks, 3)
        The peak of each blink, with ``inst.first_samp`` included. Without blinks, its shape
        is (0, 3).

    See Also
    --------
    locate_blinks : The same with the source of the times.
    mne.preprocessing.find_eog_events
    """
    return locate_blinks(
        inst,
        ica=ica,
        ch_name=ch_name,
        event_id=event_id,
        reject_by_annotation=reject_by_annotation,
    ).events


@verbose
@fill_doc
def locate_blinks(
    inst: BaseRaw,
    *,
    ica: ICA | None = None,
    ch_name: str | Sequence[str] | None = None,
    event_id: int = BLINK_ID,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> BlinkTimes:
    """Find the times of eye blinks and their source.

    Parameters
    ----------
    %(inst_raw)s
    ica : instance of ICA | None
        As in :func:`find_blink_events`.
    %(event_channels)s
    %(reject_spans)s
    %(verbose)s

    Returns
    -------
    times : instance of BlinkTimes
        Events, source, channels, polarity and score.
    """
    _validate_type(inst, mne.io.BaseRaw, "inst", "a Raw instance")
    _validate_type(ica, (mne.preprocessing.ICA, None), "ica", "an ICA instance or None")
    _validate_type(event_id, "int-like", "event_id")
    names = channels_to_search(inst.info, ch_name)
    searched, components = names, None
    if ica is not None and ch_name is None:
        check_ica(ica, inst)
        searched = list(dict.fromkeys([*names, *ica.ch_names]))
    signals = Signals.of_channels(inst, searched, reject_by_annotation)
    if ica is not None and ch_name is None:
        components = Components.of(ica, inst.info, signals, {"eog": eog_names(inst.info)})
    return locate(inst, signals.pick(names), ch_name, ica, components, event_id)


@verbose
@fill_doc
def find_bads_blink(
    ica: ICA,
    inst: BaseRaw | BaseEpochs,
    *,
    strategy: str = "blink",
    max_components: int = 2,
    threshold: float = ACCEPT,
    ch_name: str | Sequence[str] | None = None,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> tuple[list[int], BlinkScores]:
    """Find the components that hold eye blinks; no EOG channel is needed.

    Parameters
    ----------
    ica : instance of ICA
        Any fitted :class:`mne.preprocessing.ICA`. Its ``labels_["blink"]`` is set; its
        ``exclude`` is left alone.
    inst : instance of Raw | instance of Epochs
        The recording, with the channels that the ICA was fitted on. It may be the
        unfiltered one. It is not changed.
    strategy : "blink" | "max_kurtosis"
        ``"blink"`` combines all the evidence. ``"max_kurtosis"`` always returns the component
        with the highest kurtosis.
    max_components : int
        The maximum number of components. A second one is returned only if it is large at the
        blinks of the first one and at no other time.
    threshold : float
        The minimum score of a blink component, between 0 and 1.
    ch_name : str | sequence of str | None
        EOG channels, or channels to use as such. By default the EOG channels that
        are not marked bad, if there are any.
    %(reject_spans)s
    %(verbose)s

    Returns
    -------
    indices : list of int
        The blink components, best first; empty if there is no blink or the evidence is not
        sufficient.
    scores : instance of BlinkScores
        One score per component, as an array, and the table of components with the reason
        for each decision; ``scores.verdict`` is ``"blink"``, ``"none present"`` or
        ``"unsure"``.

    Notes
    -----
    Kurtosis only selects candidates. Several figures are then evidence for or against blinks: the
    height of the events relative to the rest of the component, their similarity, width,
    amplitude, number and recurrence, whether they have one sign and a gradual onset, whether the
    topography is that of the eyes (from positions, or else from channel names) and not limited to
    one electrode, and the correlation with an EOG channel, if there is one.

    The eyes rotate while the lid is closed, so blinks can need two components. The second one is
    judged by its height and consistency at the blinks of the first, by the share of its large
    deflections that occur there, and by whether eye rotations explain its topography. Rotations
    too small to be seen at single blinks are found in the average over blinks: it needs more power
    than the component has between the blinks.
    """
    _validate_type(ica, mne.preprocessing.ICA, "ica", "an ICA instance")
    _validate_type(inst, (mne.io.BaseRaw, mne.BaseEpochs), "inst", "Raw or Epochs")
    _check_option("strategy", strategy, ("blink", "max_kurtosis"))
    _validate_type(max_components, "int-like", "max_components")
    _validate_number(max_components, "max_components", at_least=1)
    _validate_number(threshold, "threshold")
    if not 0 < threshold < 1:
        raise ValueError(f"threshold must be between 0 and 1, got {threshold}.")
    check_ica(ica, inst)
    eog = eog_names(inst.info) if ch_name is None else check_names(ch_name, inst.ch_names)
    names = list(dict.fromkeys([*ica.ch_names, *eog]))
    signals = Signals.of_channels(inst, names, reject_by_annotation)
    components = Components.of(ica, inst.info, signals, {"eog": eog})
    if strategy == "max_kurtosis":
        scores = by_kurtosis(components, ica, inst)
    else:
        scores = by_evidence(components, Rule(int(max_components), threshold))
    return label_blinks(ica, scores), scores


def search(
    ica: ICA, inst: BaseRaw, *, max_components: int, reject_by_annotation: bool
) -> tuple[BlinkScores, BlinkTimes]:
    """Combine `find_bads_blink` and `locate_blinks`, and read the recording only once."""
    names = channels_to_search(inst.info, None)
    searched = list(dict.fromkeys([*names, *ica.ch_names]))
    signals = Signals.of_channels(inst, searched, reject_by_annotation)
    components = Components.of(ica, inst.info, signals, {"eog": eog_names(inst.info)})
    scores = by_evidence(components, Rule(max_components))
    label_blinks(ica, scores)
    return scores, locate(inst, signals.pick(names), None, ica, components, BLINK_ID)


def component_peaks(
    ica: ICA, inst: BaseRaw | BaseEpochs, component: int, reject: bool
) -> NDArray[np.int64]:
    """Return the samples, from 0, of the large deflections of a component that are alike."""
    signals = Signals.of_channels(inst, ica.ch_names, reject)
    found = Components.of(ica, inst.info, signals, {}).blinks[component]
    return signals.prepared.to_input(found.typical_peaks)


def blink_events(samples: NDArray[np.int64], event_id: int = BLINK_ID) -> NDArray[np.int64]:
    """Return an MNE events array of these samples."""
    events = np.zeros((len(samples), 3), dtype=np.int64)
    events[:, 0], events[:, 2] = samples, event_id
    return events


def label_blinks(ica: ICA, scores: BlinkScores) -> list[int]:
    """Put the blink components into the labels of the ICA, and return them."""
    indices = [row.component for row in scores.rows if row.decision == "blink"]
    ica.labels_["blink"] = list(indices)
    best = scores.rows[0].reason if scores.rows else "none has sparse events"
    logger.info(f"Blinks: {scores.verdict}; components {indices}. Best candidate: {best}.")
    return indices


def locate(
    inst: BaseRaw,
    signals: Signals,
    ch_name: str | Sequence[str] | None,
    ica: ICA | None,
    components: Components | None,
    event_id: int,
) -> BlinkTimes:
    """Return the times from the first source that shows blinks."""
    sources = blink_sources(inst.info, signals, ch_name)
    if components is not None:
        # After the channels that are known to see the eyes, before any channel at all.
        sources["component"] = []
        if "channel" in sources:
            sources["channel"] = sources.pop("channel")
    for source, groups in sources.items():
        if source == "component":
            found = _from_component(ica, components, signals)
        else:
            found = best_group(inst.info, signals, groups)
        if found.score >= 0.5:
            break
    else:
        logger.info(f"No blinks found; looked at: {', '.join(sources)}.")
        return BlinkTimes(blink_events(np.array([], dtype=np.int64), event_id))
    peaks = found.peaks
    picked = [] if ica is None or source == "component" else ica.labels_.get("blink", [])
    if components is not None and len(picked):
        peaks = with_confirmed(signals, found, components.blinks[picked[0]].typical_peaks)
    samples = np.unique(signals.prepared.to_input(peaks)) + inst.first_samp
    events = blink_events(samples, event_id)
    logger.info(f"{len(events)} blinks found from {source}: {', '.join(found.names)}.")
    return BlinkTimes(events, source, found.names, found.polarity, found.score)


def _from_component(ica: ICA, components: Components, channels: Signals) -> Times:
    """Return the times of the component that holds the blinks."""
    scores = by_evidence(components, Rule())
    picked = ica.labels_.get("blink")
    if picked is None:
        picked = [row.component for row in scores.rows if row.decision == "blink"]
    if not len(picked) or not components.blinks[picked[0]].n_events:
        return Times(0.0, [], 1, np.array([]))
    one = components.blinks[picked[0]]
    peaks = with_one_map(channels, one.typical_peaks)
    # A component that someone has labelled is believed, whatever its score.
    score = max(0.5, float(scores.values[picked[0]]))
    return Times(score, [f"ICA{picked[0]:03d}"], one.polarity, peaks)
