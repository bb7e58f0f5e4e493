"""Removal of the artifact from a component, instead of the whole component."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

import mne
import numpy as np
from mne.utils import logger, verbose
from numpy.typing import ArrayLike

from mne_otica.artifacts import check_kinds, kinds
from mne_otica.ica import maps_in_volts, others_along_maps
from mne_otica.removal.by_kind import kind_part
from mne_otica.removal.estimate import (
    RATE,
    Estimate,
    artifact_part,
    sham_events,
    sham_part,
)
from mne_otica.removal.layout import Layout
from mne_otica.signals.low_rate import check_ica
from mne_otica.signals.recording import quiet
from mne_otica.utils.checks import _check_option, _validate_flag, _validate_type
from mne_otica.utils.docs import fill_doc

if TYPE_CHECKING:
    from mne import BaseEpochs
    from mne.io import BaseRaw
    from mne.preprocessing import ICA

__all__ = [
    "RATE",
    "Estimate",
    "artifact_part",
    "estimate",
    "kind_part",
    "remove_artifacts",
    "sham_events",
    "sham_part",
    "subtract",
]

REMOVALS = ("events", "component")


@verbose
@fill_doc
def remove_artifacts(
    inst: BaseRaw | BaseEpochs,
    ica: ICA,
    *,
    kind: str = "blink",
    events: ArrayLike | None = None,
    removal: str = "events",
    exclude: Sequence[int] | None = None,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> BaseRaw | BaseEpochs:
    """Remove artifacts from a recording, but keep the brain activity in their components.

    Parameters
    ----------
    inst : instance of Raw | instance of Epochs
        The recording, with the channels that the ICA was fitted on, filtered or not. It is not
        changed.
    ica : instance of ICA
        Any fitted :class:`mne.preprocessing.ICA`.
    kind : str
        The kind of artifact: ``"blink"``, ``"eye movement"``, ``"heartbeat"``,
        ``"muscle"`` or ``"electrode"``. Pops of an electrode are removed by their events; if it
        also crackles, drifts or hums, the whole component is removed.
    events : array-like, shape (n_events, 3) | None
        MNE events at the artifacts, counted as in ``inst``. More blinks and beats are
        searched for in the components; muscle needs no events. None uses the blinks found by
        :func:`mne_otica.find_blink_events`; if these are too few to estimate a blink from, and
        in epochs, the large deflections of the first component. For the other kinds, None
        uses the events found in the components.
    removal : "events" | "component"
        ``"events"`` removes the part of the components that belongs to the events;
        ``"component"`` removes whole components, as :meth:`mne.preprocessing.ICA.apply`
        does.
    exclude : sequence of int | None
        The components that hold the artifacts; None uses ``ica.exclude``. If it is empty, nothing
        is removed.
    %(reject_spans)s
        Events in these spans are not removed.
    %(verbose)s

    Returns
    -------
    cleaned : instance of Raw | instance of Epochs
        A copy. Samples outside the windows around events are unchanged, and the rank is kept.

    See Also
    --------
    clean_raw : Fit the ICA and find the components, too.
    mne.preprocessing.ICA.apply : Remove whole components.

    Notes
    -----
    A blink component is modelled as the sum of the artifact, which is non-zero only around its
    events, and the rest. Mean and covariance of the artifact are estimated from the events, the
    autocovariance of the rest from the quiet stretches. The best linear estimate of the artifact,
    times the topography of the component, is subtracted. Windows reach from 0.5 s before an
    event to 0.7 s after it; if ``inst.info["highpass"]`` names a filter that prolongs events,
    they are extended by its impulse response.

    If the eyes hardly ever rest, nearly all of the component is an artifact, and all of it is
    removed.

    Heartbeats are nearly identical: the template that best explains all of them is removed, scaled
    at each beat. The artifact of eye movements is a step at each event, that of electrode pops a
    jump that decays. Muscle activity above 15 Hz is what exceeds the spectrum expected of
    brain activity, without rhythms; below 15 Hz as much is removed as a muscle of that strength
    has there.

    For all kinds except blinks, whose times come from the channels, the estimate is checked: if the
    channels show clearly less of the artifact along the topography of the component,
    accordingly less is removed; if they show less than half of it, or not significantly any,
    nothing is removed from the component.
    """
    _validate_type(inst, (mne.io.BaseRaw, mne.BaseEpochs), "inst", "Raw or Epochs")
    _validate_type(ica, mne.preprocessing.ICA, "ica", "an ICA instance")
    _validate_type(kind, str, "kind")
    check_kinds([kind], "kind")
    _check_option("removal", removal, REMOVALS)
    _validate_flag(reject_by_annotation, "reject_by_annotation")
    check_ica(ica, inst)
    if isinstance(inst, mne.BaseEpochs) and not inst.preload:
        inst = inst.copy().load_data(verbose="error")  # drops bad epochs
    exclude = _check_exclude(ica, exclude)
    if removal == "component":
        return _without(inst, ica, exclude)
    estimated = estimate(inst, ica, exclude, events, reject_by_annotation, kind)
    logger.info(
        f"{len(estimated.events)} events in {len(exclude)} component(s) taken out"
        + (", and all the rest of the component(s) with them." if estimated.whole else ".")
    )
    return subtract(inst, ica, exclude, estimated)


def estimate(
    inst: BaseRaw | BaseEpochs,
    ica: ICA,
    exclude: Sequence[int],
    events: ArrayLike | None,
    reject: bool,
    kind: str = "blink",
) -> Estimate:
    """Estimate the artifact in the excluded components of a recording.

    The time courses of epochs are put side by side, with gaps between them.
    """
    layout = Layout.of(inst)
    courses, bad = layout.read(inst, ica, exclude, reject)
    if not len(exclude):
        samples = np.zeros(0, np.int64)
    elif events is None:
        samples = layout.find(inst, ica, exclude, reject, kind)
    else:
        samples = layout.place(inst, events)
    highpass = inst.info["highpass"] or 0.0
    others = None
    if kind != "blink" and len(exclude):
        others = layout.project(inst, ica, others_along_maps(ica, exclude))
    return kind_part(
        kinds()[kind].removal,
        courses,
        inst.info["sfreq"],
        samples,
        bad,
        highpass=highpass,
        others=others,
    )


def subtract(
    inst: BaseRaw | BaseEpochs, ica: ICA, exclude: Sequence[int], estimated: Estimate
) -> BaseRaw | BaseEpochs:
    """Return a copy of a recording without the artifact."""
    with quiet():
        cleaned = inst.copy().load_data()
    maps = maps_in_volts(ica)[:, list(exclude)]
    picks = [inst.ch_names.index(name) for name in ica.ch_names]
    layout = Layout.of(inst)
    for epoch, start in enumerate(layout.starts):
        data = cleaned._data[epoch] if isinstance(inst, mne.BaseEpochs) else cleaned._data
        for first, last in estimated.windows:
            begin, end = max(first, start), min(last, start + layout.length)
            if begin < end:
                part = maps @ estimated.part[:, begin:end]
                data[picks, begin - start : end - start] -= part
    return cleaned


def _without(inst: BaseRaw | BaseEpochs, ica: ICA, exclude: Sequence[int]) -> BaseRaw | BaseEpochs:
    """Return a copy of a recording without whole components."""
    ica = copy.copy(ica)
    ica.exclude = list(exclude)  # ICA.apply would add to those that are set
    with quiet():
        before = inst.copy().load_data()
        cleaned = ica.apply(before.copy())
    picks = [inst.ch_names.index(name) for name in ica.ch_names]
    # One NaN in a channel would become NaN in all of them.
    broken = ~np.isfinite(before._data[..., picks, :].sum(axis=-2, keepdims=True))
    if broken.any():
        kept = np.where(broken, before._data[..., picks, :], cleaned._data[..., picks, :])
        cleaned._data[..., picks, :] = kept
    return cleaned


def _check_exclude(ica: ICA, exclude: Sequence[int] | None) -> list[int]:
    """Return the components to clean; raise if any does not exist."""
    chosen = [int(k) for k in (ica.exclude if exclude is None else exclude)]
    wrong = [k for k in chosen if not 0 <= k < ica.n_components_]
    if wrong:
        raise ValueError(
            f"exclude names the components {wrong}, but the ICA has {ica.n_components_}, counted "
            "from 0; pass some of these."
        )
    return list(dict.fromkeys(chosen))
