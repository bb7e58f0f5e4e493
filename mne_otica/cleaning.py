"""Remove artifacts from a recording, and measure benefit and harm."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
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
from mne_otica._cleaned import Cleaned, KindResult
from mne_otica._found import (
    DEFAULT,
    PLURALS,
    Decision,
    Found,
    check_artifacts,
    component_names,
    find,
)
from mne_otica._recording import band_pass, filtered_copy, quiet
from mne_otica._taken import Part, Taken, take_out
from mne_otica._windows import Pair
from mne_otica.artifacts import kinds
from mne_otica.ica import ICA, SAMPLES_PER_SQUARED_COMPONENT, maps_in_volts
from mne_otica.removal import REMOVALS, sham_events, sham_part

if TYPE_CHECKING:
    from mne import BaseEpochs
    from mne.io import BaseRaw

__all__ = [
    "Cleaned",
    "Decision",
    "Found",
    "KindResult",
    "Taken",
    "clean_raw",
    "component_names",
    "find",
    "take_out",
]

_FEWEST_COMPONENTS = 4
# Beats and steps leave little time between them: what is not near any of them counts.
_FREQUENT = dict(limits=(-0.1, 0.1), margins=(0.0,))
_BESIDE = 0.1  # s before and after a step, where the eyes rest


@verbose
def clean_raw(
    raw: BaseRaw,
    *,
    artifacts: str | Sequence[str] = DEFAULT,
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
    """Remove blinks and other artifacts; no EOG or ECG channel is needed.

    An ICA is fitted on a filtered copy of the EEG channels, and the components that hold
    artifacts are found. In a copy of the recording as it was passed, the part of these
    components that is the artifacts' is taken out, and the rest of them stays. Where no artifact
    is found, or the evidence is not enough, the copy is untouched.

    Parameters
    ----------
    raw : instance of Raw
        The recording. It is not changed.
    artifacts : str | sequence of str
        The kinds of artifacts to remove: ``"blink"``, ``"eye movement"``, ``"heartbeat"``,
        ``"muscle"`` and ``"electrode"``, or ``"all"`` of them. The default is blinks;
        :doc:`/artifacts` says why, and how well the others are removed. All kinds are looked for,
        whatever is removed: ``cleaned.artifacts``.
    removal : "events" | "component"
        ``"events"`` takes out the artifacts only, see :func:`mne_otica.remove_artifacts`;
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
        The most components that blinks may take. The other kinds have no limit.
    reject_by_annotation : bool
        Whether to leave spans annotated as bad out of the fit, the search and the
        evaluation. Artifacts in them stay in, unless whole components go.
    stability : bool
        Whether to fit again on other seconds of the recording, see
        :func:`mne_otica.stability`, to tell how far the components can be trusted.
    %(verbose)s

    Returns
    -------
    cleaned : instance of Cleaned
        The cleaned recording (``cleaned.raw``) with the ICA, the times of the artifacts, the
        evidence, and for each kind what was removed, the benefit and the harm
        (``cleaned.kinds``). ``cleaned.status`` is ``"ok"`` where anything was removed,
        ``"unsure"`` where nothing was as the evidence for some kind is not enough, and
        ``"no-blink"`` where nothing was found; ``cleaned.verdict`` is one line for a reader;
        ``cleaned.plot()``,
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

    A component is removed if it is nine times as probable that it holds an artifact as that it
    does not. Bad electrodes are better marked as bad and interpolated, so ``"electrode"``
    is not among the default. The brain answers heartbeats: who studies that should leave
    ``"heartbeat"`` out.

    Benefit and harm are measured between ``l_freq`` and ``h_freq``: the benefit in windows of
    250 ms on either side of each event, the harm in all samples that are away from them.
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
    artifacts = check_artifacts(artifacts)
    _check_option("removal", removal, REMOVALS)
    _validate_flag(reject_by_annotation, "reject_by_annotation")
    _validate_flag(stability, "stability")
    _validate_type(max_components, "int-like", "max_components")
    _validate_number(max_components, "max_components", at_least=1)
    cleaned = raw.copy().load_data(verbose="error")  # the only time that a file is read
    filtered = filtered_copy(cleaned, l_freq, h_freq)
    ica = fit_ica(filtered, n_components, random_state, reject_by_annotation)
    found = find(cleaned, ica, artifacts, max_components, reject_by_annotation)
    settings = settings_of(
        ica,
        raw,
        artifacts=list(artifacts),
        removal=removal,
        n_components=n_components,
        l_freq=l_freq,
        h_freq=h_freq,
        random_state=random_state,
        max_components=max_components,
        reject_by_annotation=reject_by_annotation,
    )
    taken = take_out(cleaned, ica, found.decisions, settings)
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


def conclude(
    cleaned: BaseRaw,
    filtered: BaseRaw,
    ica: ICA,
    found: Found,
    taken: Taken,
    settings: dict[str, Any],
    in_band: Sequence[NDArray[np.float64]] | None = None,
    brief: bool = False,
) -> Cleaned:
    """Measure what the removal did; return all that is known about it.

    ``in_band`` is what each part has taken out in the band of the fit; None filters it. ``brief``
    measures only what the verdict says, for people who wait.
    """
    if in_band is None:
        in_band = [_in_band(part.courses, filtered, settings) for part in taken.parts]
    total = np.zeros_like(taken.courses)
    for part, courses in zip(taken.parts, in_band, strict=True):
        total[[ica.exclude.index(k) for k in part.components]] += courses
    results = {
        kind: _measured(kind, found, taken, in_band, filtered, ica, settings, brief)
        for kind in found.decisions
    }
    seen = next((one for one in results.values() if one.benefit is not None), None)
    lines = [line for line in map(evaluation.kind_line, results.values()) if line]
    verdict = f"removed {'; '.join(lines)}" if lines else found.verdict
    logger.info(f"Clean: {verdict}.")
    return Cleaned(
        raw=cleaned,
        ica=ica,
        events=_all_events(found, results),
        blinks=found.blinks,
        scores=found.scores,
        artifacts=found.artifacts,
        kinds=results,
        benefit=None if seen is None else seen.benefit,
        harm=None if seen is None else seen.harm,
        removed=taken.courses,
        settings=evaluation.plain(settings),
        versions=versions(),
        verdict=verdict,
        status=found.status,
        _filtered=filtered,
        _taken=total,
    )


def _all_events(found: Found, results: dict[str, KindResult]) -> NDArray[np.int64]:
    """Return the events of all kinds that are removed by events, and those of blinks anyway."""
    chosen = [
        one.events
        for kind, one in results.items()
        if kind == "blink" or one.how in ("events", "component")
    ]
    events = np.concatenate([np.zeros((0, 3), np.int64), *chosen])
    return events[np.argsort(events[:, 0], kind="stable")]


def _measured(
    kind: str,
    found: Found,
    taken: Taken,
    in_band: Sequence[NDArray[np.float64]],
    filtered: BaseRaw,
    ica: ICA,
    settings: dict[str, Any],
    brief: bool,
) -> KindResult:
    """Return what became of one kind: what was decided, and what the removal did."""
    decision, part = found.decisions[kind], taken.of(kind)
    # What a person has chosen counts with the first kind.
    accounts = (kind, None) if kind == next(iter(found.decisions)) else (kind,)
    own = [k for k, one in enumerate(taken.parts) if one.kind in accounts]
    result = KindResult(
        kind=kind,
        answer=decision.answer,
        components=[] if part is None else list(part.components),
        events=decision.events,
        how="none" if part is None else part.how,
        reason=decision.reason,
        whole=part is not None and part.how == "events" and part.estimate.whole,
        left_in=[] if part is None else part.left_in,
    )
    if not own:
        return result
    maps = maps_in_volts(ica)
    components = [component for k in own for component in taken.parts[k].components]
    gone = maps[:, components] @ np.concatenate([in_band[k] for k in own])
    # The recording is large, and people wait: no copy of it is made, and none of what is gone.
    before = filtered._data
    after = np.subtract(before, gone, out=gone)
    reject = settings["reject_by_annotation"]
    pair = Pair.of_arrays(filtered, before, after, range(len(before)), reject)
    if result.how == "band":
        measures = _band_measures(pair, kinds()[kind].removal.l_freq, brief)
    else:
        signs = None
        if kinds()[kind].removal.shape == "step" and part is not None:
            at = decision.events[:, 0] - filtered.first_samp
            signs = directions(part.courses[0], at, pair.sfreq)
        sham = None if brief else _sham(part, maps, filtered, settings)
        near = {} if kinds()[kind].removal.shape == "bump" else _FREQUENT
        measures = _event_measures(pair, decision.events, sham, signs, brief=brief, **near)
    if "harm" in measures:
        away = f"{measures['harm'].seconds:.0f} s away from them"
        logger.info(f"Evaluate: {len(decision.events)} {PLURALS[kind]}, and {away}.")
    return replace(result, **measures)


def _event_measures(
    pair: Pair,
    events: NDArray[np.int64],
    sham: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    signs: NDArray[np.float64] | None,
    **options: Any,
) -> dict[str, Any]:
    """Return what went at events and elsewhere; nothing where no whole event is left."""
    with quiet():
        try:
            benefit = evaluation.benefit_of(pair, events, signs=signs)
        except ValueError:  # there are none, or the edges or bad spans cut every window
            return {}
        harm = evaluation.harm_of(pair, events, sham=sham, **options)
    return dict(gone=benefit.average, benefit=benefit, harm=harm)


def _band_measures(pair: Pair, l_freq: float, brief: bool) -> dict[str, Any]:
    """Return what went above a frequency, at the channels that lost most, and altogether."""
    power = [
        np.sum(mne.filter.filter_data(x, pair.sfreq, l_freq, None, verbose="error") ** 2, axis=1)
        for x in (pair.before, pair.after)
    ]
    most = np.argsort(power[1] - power[0])[: evaluation.MOST_AFFECTED]
    gone = evaluation.reduction(power[0][most].sum(), power[1][most].sum())
    with quiet():
        return dict(gone=gone, harm=evaluation.harm_of(pair, np.zeros((0, 3), int), brief=brief))


def directions(
    course: NDArray[np.float64], samples: NDArray[np.int64], sfreq: float
) -> NDArray[np.float64]:
    """Return which way each step goes: 1 or -1."""
    away = max(1, round(_BESIDE * sfreq))
    after, before = ((samples + k).clip(0, len(course) - 1) for k in (away, -away))
    return np.where(course[after] >= course[before], 1.0, -1.0)


def _sham(
    part: Part | None, maps: NDArray[np.float64], like: BaseRaw, settings: dict[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return maps and courses of what would be taken out for events that are not there."""
    if part is None or part.estimate is None or part.estimate.model is None:
        return None
    samples = sham_events(part.estimate, like.info["sfreq"], like.n_times)
    courses = _in_band(sham_part(part.estimate, samples), like, settings)
    return maps[:, part.components], courses


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


_version = cache(version)  # which reads a file


def versions() -> dict[str, str]:
    """Return the versions of what the result depends on."""
    found = {"python": platform.python_version(), "mne_otica": __version__}
    return found | {name: _version(name) for name in ("mne", "numpy", "scipy")}
