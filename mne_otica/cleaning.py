"""Remove blinks from a recording, and know what that did."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

import mne
import numpy as np
from mne.utils import logger, verbose

from mne_otica import __version__, evaluation
from mne_otica._checks import RandomState, _validate_flag, _validate_type
from mne_otica._cleaned import Cleaned
from mne_otica._recording import filtered_copy, quiet
from mne_otica.artifacts import BlinkScores, BlinkTimes, find_bads_blink, locate_blinks
from mne_otica.evaluation import Preservation, RMSReduction, preservation, rms_reduction
from mne_otica.ica import ICA, SAMPLES_PER_SQUARED_COMPONENT
from mne_otica.solver._whitening import Channels

if TYPE_CHECKING:
    from mne.io import BaseRaw

__all__ = ["Cleaned", "clean_raw"]

_STATUS = {"blink": "ok", "none present": "no-blink", "unsure": "unsure"}
_FEWEST_COMPONENTS = 4


@verbose
def clean_raw(
    raw: BaseRaw,
    *,
    n_components: int | float | None = None,
    l_freq: float | None = 1.0,
    h_freq: float | None = 40.0,
    random_state: RandomState = 0,
    max_components: int = 2,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> Cleaned:
    """Remove eye blinks; no EOG channel is needed.

    An ICA is fitted on a filtered copy of the EEG channels, the components that hold blinks
    are found, and a copy of the recording as it was passed is cleaned of them. Where no
    blink is found, or the evidence is not enough, the copy is untouched.

    Parameters
    ----------
    raw : instance of Raw
        The recording. It is not changed.
    n_components : int | float | None
        How many components to fit: a number, or the share of the variance they explain, as
        for :class:`mne.preprocessing.ICA`. None takes the rank of the data, or as many as
        their length allows to be found well.
    l_freq, h_freq : float | None
        The band of the copy that the ICA is fitted on, in Hz; None leaves that side open. The
        recording that is cleaned keeps its own band.
    random_state : int | instance of RandomState | instance of Generator | None
        The seed. It is fixed, so that the same call gives the same answer.
    max_components : int
        The most components to remove.
    reject_by_annotation : bool
        Whether to leave spans annotated as bad out of the fit, the search for blinks and
        the evaluation. They are cleaned all the same.
    %(verbose)s

    Returns
    -------
    cleaned : instance of Cleaned
        The cleaned recording (``cleaned.raw``) with the ICA, the blink times, the evidence,
        the benefit and the harm. ``cleaned.status`` is ``"ok"``, ``"no-blink"`` or
        ``"unsure"``, ``cleaned.verdict`` one line for a reader; ``cleaned.plot()``,
        ``cleaned.report()`` and ``cleaned.save(folder)`` show and keep it.

    See Also
    --------
    find_bads_blink : Only find the components, of any fitted MNE ICA.
    rms_reduction : The benefit of any cleaning.
    preservation : The harm of any cleaning.

    Notes
    -----
    The EEG channels that are not marked bad are cleaned; all others, every annotation and
    every sample are kept. EEG must be in volts. Electrode positions, 10-20 names and EOG
    channels are used as evidence where there are any, and none of them is needed.

    Benefit and harm are measured between ``l_freq`` and ``h_freq``: the benefit in windows of
    250 ms on either side of each blink, the harm in windows that keep away from all blinks.
    Blink times come from EOG or frontal channels where there are any, not from the
    component that is removed, which would flatter the result.

    Some 20 samples for each squared component are needed for trustworthy components; with
    ``n_components=None`` a short recording gets fewer components.

    Examples
    --------
    >>> import mne_otica
    >>> raw = mne_otica.datasets.sample(verbose="error")
    >>> result = mne_otica.clean_raw(raw, verbose="error")
    >>> result.status, len(result.events.events)
    ('ok', 4)
    """
    _validate_type(raw, mne.io.BaseRaw, "raw", "Raw")
    _validate_flag(reject_by_annotation, "reject_by_annotation")
    filtered = filtered_copy(raw, l_freq, h_freq)
    ica = fit_ica(filtered, n_components, random_state, reject_by_annotation)
    found = find_blinks(raw, filtered, ica, max_components, reject_by_annotation)
    settings = {
        "n_components": n_components,
        "n_components_used": int(ica.n_components_),
        "l_freq": l_freq,
        "h_freq": h_freq,
        "random_state": _seed(random_state),
        "max_components": max_components,
        "reject_by_annotation": reject_by_annotation,
        "converged": ica.converged_,
        "seconds": raw.n_times / raw.info["sfreq"],
        "seconds_fitted": ica.n_samples_ / raw.info["sfreq"],
    }
    return conclude(raw, ica, found, settings)


@dataclass(frozen=True)
class Found:
    """What was found in a recording, before anything is removed from it."""

    scores: BlinkScores
    events: BlinkTimes
    benefit: RMSReduction | None
    harm: Preservation | None
    status: str
    verdict: str


def find_blinks(raw, filtered, ica, max_components, reject):
    """Find the blinks and their components, which become ``ica.exclude``, and weigh them."""
    with quiet():
        indices, scores = find_bads_blink(
            ica, raw, max_components=max_components, reject_by_annotation=reject
        )
        events = locate_blinks(raw, ica=ica, reject_by_annotation=reject)
    logger.info(
        f"Find: {scores.verdict}, components {indices}; {len(events.events)} blinks from "
        f"{events.source}."
    )
    ica.exclude = [int(k) for k in indices]
    benefit, harm = evaluate(filtered, ica, events, reject)
    status = _STATUS[scores.verdict]
    if status == "ok" and benefit is None:
        # Blinks that cannot be timed cannot be checked, so nothing is removed on their account.
        status, ica.exclude = "unsure", []
    return Found(scores, events, benefit, harm, status, _verdict(status, scores, benefit, harm))


def conclude(raw, ica, found, settings):
    """Remove what was found; return all that is known about it."""
    cleaned, removed = remove(raw, ica)
    logger.info(f"Clean: {found.verdict}.")
    return Cleaned(
        cleaned,
        ica,
        found.events,
        found.scores,
        found.benefit,
        found.harm,
        removed,
        evaluation.plain(settings),
        versions(),
        found.verdict,
        found.status,
    )


def fit_ica(filtered, n_components, random_state, reject):
    """Fit on a filtered copy."""
    with quiet():
        if n_components is None:
            n_components = _affordable(filtered, reject)
        # Blinks are rare and high. The transport maps weigh them by their height, where the
        # functions of a refinement look at the many samples between them.
        options = dict(random_state=random_state, fit_params=dict(refine=False))
        ica = ICA(n_components=n_components, **options)
        ica.fit(filtered, reject_by_annotation=reject)
    logger.info(
        f"Fit: {ica.n_components_} components in {ica.n_iter_} iterations on {ica.n_samples_} of "
        f"{filtered.n_times} samples; {ica.n_samples_ / ica.n_components_**2:.0f} for each "
        f"squared component, {SAMPLES_PER_SQUARED_COMPONENT} are enough."
    )
    return ica


def _affordable(filtered, reject):
    """Return the rank, or as many components as the length of the recording allows."""
    data = filtered.get_data(reject_by_annotation="omit" if reject else None)
    n_samples = data.shape[1]
    rank = Channels(data).rank if n_samples else 0
    if rank == 0:
        return None  # the fit says what is wrong
    enough = int(np.sqrt(n_samples / SAMPLES_PER_SQUARED_COMPONENT))
    return min(rank, max(enough, _FEWEST_COMPONENTS))


def evaluate(filtered, ica, events, reject):
    """Return benefit and harm, both None where there is nothing to measure."""
    if not ica.exclude or not len(events.events):
        return None, None
    with quiet():
        # Cleaning and filtering are linear, so this is the cleaned recording, filtered.
        after = ica.apply(filtered.copy())
        try:
            benefit = rms_reduction(filtered, after, events.events, reject_by_annotation=reject)
        except ValueError:  # the edges or bad spans cut every window
            return None, None
        harm = preservation(filtered, after, events.events, reject_by_annotation=reject)
    logger.info(f"Evaluate: {benefit.n_events} blinks and {harm.n_windows} windows without.")
    return benefit, harm


def _verdict(status, scores, benefit, harm):
    if status == "ok":
        return evaluation.verdict(benefit, harm)
    if status == "no-blink":
        return "no blink found, nothing removed"
    best = scores.rows[0]
    if best.decision == "blink":
        return "unsure, nothing removed: no whole blink was found to check the result by"
    return f"unsure, nothing removed: component {best.component}, {best.reason}"


def remove(raw, ica):
    """Return a copy without the excluded components, and the time courses of these."""
    copy = raw.copy().load_data(verbose="error")
    if not ica.exclude:
        return copy, np.zeros((0, copy.n_times))
    picks = [copy.ch_names.index(name) for name in ica.ch_names]
    broken = ~np.isfinite(copy.get_data(picks).sum(axis=0))
    with quiet():
        removed = ica.get_sources(copy).get_data(ica.exclude)
        ica.apply(copy)
    if broken.any():
        # There, one channel that is no number would make all of them none.
        removed[:, broken] = 0
        for pick in picks:
            copy._data[pick, broken] = raw.get_data([pick])[0, broken]
    return copy, removed


def _seed(random_state):
    """Return a seed as it is, and the kind of anything else."""
    if random_state is None or np.isscalar(random_state):
        return random_state
    return type(random_state).__name__


def versions():
    """Return the versions of what the result depends on."""
    found = {"python": platform.python_version(), "mne_otica": __version__}
    return found | {name: version(name) for name in ("mne", "numpy", "scipy")}
