"""Remove blinks from a recording, and know what that did."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import mne
import numpy as np
from mne.utils import logger, verbose
from numpy.typing import NDArray

from mne_otica import __version__, evaluation, trust
from mne_otica._checks import (
    RandomState,
    _check_option,
    _validate_flag,
    _validate_number,
    _validate_type,
)
from mne_otica._cleaned import Cleaned
from mne_otica._recording import annotated_bad, band_pass, filtered_copy, quiet
from mne_otica._windows import HALF_WINDOW, Pair, whole_windows, window_bounds
from mne_otica.artifacts import BlinkScores, BlinkTimes, search
from mne_otica.evaluation import Preservation, RMSReduction
from mne_otica.ica import (
    ICA,
    SAMPLES_PER_SQUARED_COMPONENT,
    maps_in_volts,
    unmixing_in_volts,
    unmixing_offset,
)
from mne_otica.removal import REMOVALS, Estimate, artifact_part, sham_events, sham_part
from mne_otica.solver._whitening import chunks

if TYPE_CHECKING:
    from mne import BaseEpochs
    from mne.io import BaseRaw

__all__ = ["Cleaned", "clean_raw"]

_STATUS = {"blink": "ok", "none present": "no-blink", "unsure": "unsure"}
_FEWEST_COMPONENTS = 4
_PIECE = 2**17  # samples that are changed at a time


@verbose
def clean_raw(
    raw: BaseRaw,
    *,
    removal: str = "events",
    n_components: int | float | None = None,
    l_freq: float | None = 1.0,
    h_freq: float | None = 40.0,
    random_state: RandomState = 0,
    max_components: int = 2,
    reject_by_annotation: bool = True,
    stability: bool = False,
    verbose: bool | str | int | None = None,
) -> Cleaned:
    """Remove eye blinks; no EOG channel is needed.

    An ICA is fitted on a filtered copy of the EEG channels, and the components that hold blinks
    are found. In a copy of the recording as it was passed, the part of these components that
    is the blinks' is taken out; everything outside the windows round blinks stays as it was
    recorded. Where no blink is found, or the evidence is not enough, the copy is untouched.

    Parameters
    ----------
    raw : instance of Raw
        The recording. It is not changed.
    removal : "events" | "component"
        ``"events"`` takes out the blinks only, see :func:`mne_otica.remove_artifacts`;
        ``"component"`` takes out the whole components, as :meth:`mne.preprocessing.ICA.apply`
        does.
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
        the evaluation. Blinks in them stay in, unless whole components go.
    stability : bool
        Whether to fit again on other seconds of the recording, see
        :func:`mne_otica.stability`, to tell how far the components can be trusted.
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
    clean_epochs : The same for epochs.
    find_bads_blink : Only find the components, of any fitted MNE ICA.
    remove_artifacts : Only take out the artifacts, with any fitted MNE ICA.
    rms_reduction : The benefit of any cleaning.
    preservation : The harm of any cleaning.

    Notes
    -----
    The EEG channels that are not marked bad are cleaned; all others, every annotation and
    every sample are kept. EEG must be in volts. Electrode positions, 10-20 names and EOG
    channels are used as evidence where there are any, and none of them is needed.

    Benefit and harm are measured between ``l_freq`` and ``h_freq``: the benefit in windows of
    250 ms on either side of each blink, the harm in all samples that are away from blinks.
    Blink times come from EOG or frontal channels where there are any, not from the
    component that is removed, which would flatter the result.

    Some 20 samples for each squared component are needed for trustworthy components; with
    ``n_components=None`` a short recording gets fewer components.

    Examples
    --------
    >>> import mne_otica
    >>> raw = mne_otica.datasets.sample(verbose="error")
    >>> result = mne_otica.clean_raw(raw, verbose="error")
    >>> result.status, len(result.events)
    ('ok', 4)
    """
    if isinstance(raw, mne.BaseEpochs):
        raise TypeError("raw must be an instance of Raw, got Epochs; use clean_epochs(epochs).")
    _validate_type(raw, mne.io.BaseRaw, "raw", "Raw")
    _check_option("removal", removal, REMOVALS)
    _validate_flag(reject_by_annotation, "reject_by_annotation")
    _validate_flag(stability, "stability")
    _validate_type(max_components, "int-like", "max_components")
    _validate_number(max_components, "max_components", at_least=1)
    cleaned = raw.copy().load_data(verbose="error")  # the only time that a file is read
    filtered = filtered_copy(cleaned, l_freq, h_freq)
    ica = fit_ica(filtered, n_components, random_state, reject_by_annotation)
    found = find(cleaned, ica, max_components, reject_by_annotation)
    settings = settings_of(
        ica,
        raw,
        removal=removal,
        n_components=n_components,
        l_freq=l_freq,
        h_freq=h_freq,
        random_state=random_state,
        max_components=max_components,
        reject_by_annotation=reject_by_annotation,
    )
    taken = take_out(cleaned, ica, found.blinks, settings, ica.exclude)
    result = conclude(cleaned, filtered, ica, found, taken, settings)
    if not stability:
        return result
    return replace(result, stability=trust.stability(ica, filtered, random_state=random_state))


def settings_of(ica: ICA, raw: BaseRaw, **parameters: Any) -> dict[str, Any]:
    """Return the parameters of a call, and what became of them."""
    return parameters | {
        "random_state": _seed(parameters["random_state"]),
        "n_components_used": int(ica.n_components_),
        "converged": ica.converged_,
        "seconds": raw.n_times / raw.info["sfreq"],
        "seconds_fitted": ica.n_samples_ / raw.info["sfreq"],
    }


def fit_ica(
    filtered: BaseRaw | BaseEpochs,
    n_components: int | float | None,
    random_state: RandomState,
    reject: bool,
) -> ICA:
    """Fit on a filtered copy."""
    # Blinks are rare and high. The transport maps weigh them by their height, where the
    # functions of a refinement look at the many samples between them.
    options = dict(random_state=random_state, fit_params=dict(refine=False))
    with quiet():
        ica = ICA(n_components=n_components, **options)
        if n_components is None:
            ica.n_components_for = _affordable
        ica.fit(filtered, reject_by_annotation=reject)
    logger.info(
        f"Fit: {ica.n_components_} components in {ica.n_iter_} iterations on {ica.n_samples_} "
        f"samples; {ica.n_samples_ / ica.n_components_**2:.0f} for each squared component, "
        f"{SAMPLES_PER_SQUARED_COMPONENT} are enough."
    )
    return ica


def _affordable(rank: int, n_samples: int) -> int:
    """Return the rank, or as many components as the length of the recording allows."""
    enough = int(np.sqrt(n_samples / SAMPLES_PER_SQUARED_COMPONENT))
    return min(rank, max(enough, _FEWEST_COMPONENTS))


@dataclass(frozen=True)
class Found:
    """What was found in a recording, and what that comes to."""

    scores: BlinkScores
    blinks: BlinkTimes
    status: str
    verdict: str


def find(raw: BaseRaw, ica: ICA, max_components: int, reject: bool) -> Found:
    """Find the blinks and the components to remove, which become ``ica.exclude``."""
    with quiet():
        scores, blinks = search(
            ica, raw, max_components=max_components, reject_by_annotation=reject
        )
    return judged(raw, ica, scores, blinks, reject)


def judged(raw: BaseRaw, ica: ICA, scores: BlinkScores, blinks: BlinkTimes, reject: bool) -> Found:
    """Decide which components to remove, which become ``ica.exclude``, and say so."""
    status = _STATUS[scores.verdict]
    exclude = [row.component for row in scores.rows if row.decision == "blink"]
    if status == "ok" and not _checkable(raw, blinks, reject):
        # Blinks that cannot be timed cannot be checked, so nothing is removed on their account.
        status, exclude = "unsure", []
    ica.exclude = exclude
    verdict = _verdict(status, scores, ica)
    logger.info(f"Find: {verdict}; {len(blinks.events)} blinks from {blinks.source}.")
    return Found(scores, blinks, status, verdict)


def _checkable(raw: BaseRaw, blinks: BlinkTimes, reject: bool) -> bool:
    """Return whether the benefit can be measured at any of the blinks."""
    bad = annotated_bad(raw) if reject else np.zeros(raw.n_times, bool)
    bounds = window_bounds(-HALF_WINDOW, HALF_WINDOW, raw.info["sfreq"])
    return len(whole_windows(blinks.events[:, 0] - raw.first_samp, bad, bounds).used) > 0


def _verdict(status: str, scores: BlinkScores, ica: ICA) -> str:
    """Say what was found, before anything is measured."""
    if status == "ok":
        return f"blinks in {', '.join(component_names(ica.exclude))}"
    if status == "no-blink":
        return "no blink found, nothing removed"
    best = scores.rows[0]
    if best.decision == "blink":
        return "unsure, nothing removed: no whole blink was found to check the result by"
    return f"unsure, nothing removed: {component_names([best.component])[0]}, {best.reason}"


def component_names(components: list[int]) -> list[str]:
    """Return the names of components as MNE has them: ICA000, ICA001, ..."""
    return [f"ICA{component:03d}" for component in components]


@dataclass(frozen=True)
class Taken:
    """What is taken out of the excluded components.

    ``courses`` has a row for each of them. ``estimate`` tells of the first ``n_by_events``, of
    which only the blinks go; the others go whole.
    """

    courses: NDArray[np.float64]
    estimate: Estimate | None = None
    n_by_events: int = 0

    @property
    def whole(self) -> bool:
        """Whether components went whole because the eyes never rest."""
        return self.estimate is not None and self.estimate.whole


def take_out(
    raw: BaseRaw, ica: ICA, blinks: BlinkTimes, settings: dict[str, Any], of_blinks: Sequence[int]
) -> Taken:
    """Take the blinks out of a loaded recording, in place, and return what was taken.

    Parameters
    ----------
    raw : instance of Raw
        It is changed.
    ica : instance of ICA
        Its ``exclude`` is put in order: components of blinks first.
    blinks : instance of BlinkTimes
        When they are.
    settings : dict
        The parameters of `clean_raw`.
    of_blinks : sequence of int
        The components that were found to hold blinks. Others, which a person has chosen, go
        whole.
    """
    by_events = [k for k in ica.exclude if k in of_blinks and settings["removal"] == "events"]
    ica.exclude = by_events + [k for k in ica.exclude if k not in by_events]
    courses = component_courses(raw, ica)
    broken = ~np.isfinite(courses.sum(axis=0))
    estimate = None
    if by_events:
        bad = broken | annotated_bad(raw) if settings["reject_by_annotation"] else broken
        estimate = artifact_part(
            courses[: len(by_events)],
            raw.info["sfreq"],
            blinks.events[:, 0] - raw.first_samp,
            bad,
            highpass=raw.info["highpass"] or 0.0,
        )
        courses[: len(by_events)] = estimate.part
    # Where one channel is not finite no component is known, and nothing is taken out.
    courses[:, broken] = 0
    _subtract(raw, ica, courses)
    return Taken(courses, estimate, len(by_events))


def component_courses(raw: BaseRaw, ica: ICA) -> NDArray[np.float64]:
    """Return the courses of the excluded components of a loaded recording."""
    unmixing, offset = unmixing_in_volts(ica)[ica.exclude], unmixing_offset(ica)[ica.exclude]
    courses = np.zeros((len(ica.exclude), raw.n_times))
    picks = [raw.ch_names.index(name) for name in ica.ch_names]
    for chunk in chunks(raw._data) if len(courses) else ():
        courses[:, chunk] = unmixing @ raw._data[picks, chunk] - offset
    return courses


def _subtract(raw: BaseRaw, ica: ICA, courses: NDArray[np.float64]) -> None:
    """Take courses out of a recording, in place; samples where all are zero are not touched."""
    maps = maps_in_volts(ica)[:, ica.exclude]
    picks = [raw.ch_names.index(name) for name in ica.ch_names]
    changed = courses.any(axis=0)
    edges = np.flatnonzero(np.diff(np.r_[False, changed, False].astype(int)))
    for start, stop in edges.reshape(-1, 2):
        for begin in range(start, stop, _PIECE):
            span = slice(begin, min(begin + _PIECE, stop))
            raw._data[picks, span] -= maps @ courses[:, span]


def conclude(
    cleaned: BaseRaw,
    filtered: BaseRaw,
    ica: ICA,
    found: Found,
    taken: Taken,
    settings: dict[str, Any],
    in_band: NDArray[np.float64] | None = None,
) -> Cleaned:
    """Measure what the removal did; return all that is known about it.

    ``in_band`` is what was taken out in the band of the fit; None filters it.
    """
    if in_band is None:
        in_band = _in_band(taken.courses, filtered, settings)
    sham = _sham(taken, filtered, settings)
    benefit, harm = measure(
        filtered, ica, in_band, found.blinks, settings["reject_by_annotation"], sham
    )
    verdict = found.verdict if benefit is None else evaluation.verdict(benefit, harm)
    if taken.whole:
        names = ", ".join(component_names(ica.exclude[: taken.n_by_events]))
        verdict += f"; all of {names} went, as the eyes hardly rest between blinks"
    logger.info(f"Clean: {verdict}.")
    return Cleaned(
        raw=cleaned,
        ica=ica,
        events=found.blinks.events,
        blinks=found.blinks,
        scores=found.scores,
        benefit=benefit,
        harm=harm,
        removed=taken.courses,
        settings=evaluation.plain(settings),
        versions=versions(),
        verdict=verdict,
        status=found.status,
        _filtered=filtered,
        _taken=in_band,
    )


def measure(
    filtered: BaseRaw,
    ica: ICA,
    taken: NDArray[np.float64],
    blinks: BlinkTimes,
    reject: bool,
    sham: NDArray[np.float64] | None = None,
) -> tuple[RMSReduction | None, Preservation | None]:
    """Return benefit and harm, both None where there is nothing to measure.

    ``taken`` are the courses that were taken out of the excluded components, ``sham`` those that
    would be for events that are not there, of as many of the first components; both filtered.
    """
    if not len(taken) or not len(blinks.events):
        return None, None
    before, maps = filtered.get_data(), maps_in_volts(ica)[:, ica.exclude]
    pair = Pair.of_arrays(filtered, before, before - maps @ taken, range(len(before)), reject)
    with quiet():
        try:
            benefit = evaluation.benefit_of(pair, blinks.events)
        except ValueError:  # the edges or bad spans cut every window
            return None, None
        told = None if sham is None else (maps[:, : len(sham)], sham)
        harm = evaluation.harm_of(pair, blinks.events, sham=told)
    logger.info(f"Evaluate: {benefit.n_events} blinks, and {harm.seconds:.0f} s away from them.")
    return benefit, harm


def _sham(taken: Taken, like: BaseRaw, settings: dict[str, Any]) -> NDArray[np.float64] | None:
    """Return what would be taken out for as many events that are not there, in the band."""
    if taken.estimate is None:
        return None
    samples = sham_events(taken.estimate, like.info["sfreq"], like.n_times)
    return _in_band(sham_part(taken.estimate, samples), like, settings)


def _in_band(
    courses: NDArray[np.float64], like: BaseRaw, settings: dict[str, Any]
) -> NDArray[np.float64]:
    """Filter time courses as the copy was filtered that the ICA was fitted on."""
    if not len(courses):
        return courses
    info = mne.pick_info(like.info, range(len(courses)))
    raw = mne.io.RawArray(courses.copy(), info, first_samp=like.first_samp, verbose="error")
    raw.set_annotations(like.annotations, verbose="error")
    return band_pass(raw, settings["l_freq"], settings["h_freq"]).get_data()


def _seed(random_state: RandomState) -> int | str | None:
    """Return a seed as it is, and the kind of anything else."""
    if random_state is None or np.isscalar(random_state):
        return random_state
    return type(random_state).__name__


def versions() -> dict[str, str]:
    """Return the versions of what the result depends on."""
    found = {"python": platform.python_version(), "mne_otica": __version__}
    return found | {name: version(name) for name in ("mne", "numpy", "scipy")}
