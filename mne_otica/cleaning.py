"""Remove blinks from a recording, and know what that did."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import mne
import numpy as np
from mne.utils import logger, verbose
from numpy.typing import NDArray

from mne_otica import __version__, evaluation
from mne_otica._checks import RandomState, _validate_flag, _validate_number, _validate_type
from mne_otica._cleaned import Cleaned
from mne_otica._recording import annotated_bad, band_pass, filtered_copy, quiet
from mne_otica._windows import HALF_WINDOW, Pair, whole_windows, window_bounds
from mne_otica.artifacts import BlinkScores, BlinkTimes, search
from mne_otica.evaluation import Preservation, RMSReduction
from mne_otica.ica import ICA, SAMPLES_PER_SQUARED_COMPONENT, maps_in_volts, unmixing_in_volts
from mne_otica.solver._whitening import chunks

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
    >>> result.status, len(result.events)
    ('ok', 4)
    """
    _validate_type(raw, mne.io.BaseRaw, "raw", "Raw")
    _validate_flag(reject_by_annotation, "reject_by_annotation")
    _validate_type(max_components, "int-like", "max_components")
    _validate_number(max_components, "max_components", at_least=1)
    cleaned = raw.copy().load_data(verbose="error")  # the only time that a file is read
    filtered = filtered_copy(cleaned, l_freq, h_freq)
    ica = fit_ica(filtered, n_components, random_state, reject_by_annotation)
    found = find(cleaned, ica, max_components, reject_by_annotation)
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
    removed = remove(cleaned, ica)
    return conclude(cleaned, filtered, ica, found, removed, settings)


def fit_ica(
    filtered: BaseRaw, n_components: int | float | None, random_state: RandomState, reject: bool
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
        f"Fit: {ica.n_components_} components in {ica.n_iter_} iterations on {ica.n_samples_} of "
        f"{filtered.n_times} samples; {ica.n_samples_ / ica.n_components_**2:.0f} for each "
        f"squared component, {SAMPLES_PER_SQUARED_COMPONENT} are enough."
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


def remove(raw: BaseRaw, ica: ICA) -> NDArray[np.float64]:
    """Take the excluded components out of a loaded recording, in place; return their courses."""
    unmixing, maps = unmixing_in_volts(ica)[ica.exclude], maps_in_volts(ica)[:, ica.exclude]
    offset = ica.unmixing_matrix_[ica.exclude] @ ica.pca_components_[: ica.n_components_]
    offset = (offset @ ica.pca_mean_)[:, np.newaxis]
    removed = np.zeros((len(ica.exclude), raw.n_times))
    picks = [raw.ch_names.index(name) for name in ica.ch_names]
    for chunk in chunks(raw._data) if len(removed) else ():
        data = raw._data[picks, chunk]
        courses = unmixing @ data - offset
        # Where one channel is not finite no component is known, and nothing is taken out.
        courses[:, ~np.isfinite(courses.sum(axis=0))] = 0
        removed[:, chunk] = courses
        raw._data[picks, chunk] = data - maps @ courses
    return removed


def conclude(
    cleaned: BaseRaw,
    filtered: BaseRaw,
    ica: ICA,
    found: Found,
    removed: NDArray[np.float64],
    settings: dict[str, Any],
) -> Cleaned:
    """Measure what the removal did; return all that is known about it."""
    taken = _in_band(removed, filtered, settings)
    benefit, harm = measure(filtered, ica, taken, found.blinks, settings["reject_by_annotation"])
    verdict = found.verdict if benefit is None else evaluation.verdict(benefit, harm)
    logger.info(f"Clean: {verdict}.")
    return Cleaned(
        raw=cleaned,
        ica=ica,
        events=found.blinks.events,
        blinks=found.blinks,
        scores=found.scores,
        benefit=benefit,
        harm=harm,
        removed=removed,
        settings=evaluation.plain(settings),
        versions=versions(),
        verdict=verdict,
        status=found.status,
        _filtered=filtered,
        _taken=taken,
    )


def measure(
    filtered: BaseRaw, ica: ICA, taken: NDArray[np.float64], blinks: BlinkTimes, reject: bool
) -> tuple[RMSReduction | None, Preservation | None]:
    """Return benefit and harm, both None where there is nothing to measure."""
    if not len(taken) or not len(blinks.events):
        return None, None
    before = filtered.get_data()
    after = before - maps_in_volts(ica)[:, ica.exclude] @ taken
    pair = Pair.of_arrays(filtered, before, after, range(len(before)), reject)
    with quiet():
        try:
            benefit = evaluation.benefit_of(pair, blinks.events)
        except ValueError:  # the edges or bad spans cut every window
            return None, None
        harm = evaluation.harm_of(pair, blinks.events)
    logger.info(f"Evaluate: {benefit.n_events} blinks, and {harm.seconds:.0f} s away from them.")
    return benefit, harm


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
