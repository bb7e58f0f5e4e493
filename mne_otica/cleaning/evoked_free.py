"""Fit an ICA on a copy without the evoked responses, which artifacts of the same stimuli share."""

from collections.abc import Callable, Sequence
from typing import Any

import mne
import numpy as np
from mne.io import BaseRaw
from mne.utils import logger
from numpy.typing import NDArray
from scipy.linalg import solve
from scipy.sparse import csr_array

from mne_otica.artifacts import blink_times, search
from mne_otica.evaluation.sentences import evoked_line
from mne_otica.ica import ICA
from mne_otica.signals.recording import annotated_bad, quiet
from mne_otica.signals.unmixing import maps_in_volts, unmixing_in_volts
from mne_otica.signals.windows import whole_windows
from mne_otica.utils.arrays import Array, Samples

_EYES = ("blink", "eye movement")  # the artifacts that follow stimuli
RESPONSE = (-0.2, 1.0)  # s after a stimulus; epochs of ERP studies rarely are longer
_BLINK = (-0.4, 0.6)  # s around a blink, with the undershoot of a high-pass filter at 1 Hz


def fit_evoked_free(
    fit: Callable[[BaseRaw], ICA],
    filtered: BaseRaw,
    inst: BaseRaw | mne.BaseEpochs,
    conditions: dict[str, Samples],
    *,
    reject: bool = True,
    window: tuple[float, float] = RESPONSE,
) -> tuple[ICA, dict[str, Any] | None]:
    """Fit an ICA, without the responses to the trials of each condition if there are any."""
    # The responses are estimated twice: from the samples without blinks, and, after removing the
    # components of the eyes that the first fit found, from all trials.
    if not conditions:
        return fit(filtered), None
    sfreq = filtered.info["sfreq"]
    bounds = tuple(int(round(limit * sfreq)) for limit in window)
    rate = sfreq / inst.info["sfreq"]
    facts = {"onsets": onsets_of(conditions, inst.info["sfreq"])}
    conditions = {name: np.round(some * rate).astype(int) for name, some in conditions.items()}
    alone = isinstance(inst, mne.BaseEpochs)  # their joints are bad for the search only
    bad = annotated_bad(filtered, reject and not alone)
    avoid = bad | _near_blinks(filtered, filtered if alone else inst, reject)
    clean = {
        name: len(whole_windows(samples, avoid, bounds)[0]) for name, samples in conditions.items()
    }
    # benchmarks.inference: with four of 10 trials the bias is a fifth of that without.
    used = {name: n for name, n in clean.items() if n >= 4}
    facts |= {
        "trials": {name: len(samples) for name, samples in conditions.items()},
        "clean_trials": clean,
        "left_out": [name for name in clean if name not in used],
        "n_fits": 1,
        "window": list(window),
    }
    logger.info(f"Fit: {evoked_line(facts)}.")
    if not used:
        return fit(filtered), facts
    samples = [conditions[name] for name in used]
    ica = fit(_without(filtered, responses(filtered._data, samples, bounds, avoid)))
    with quiet():
        scores = search(ica, inst, artifacts=_EYES, reject_by_annotation=reject)
    found = sorted({row.component for row in scores.rows if row.remove and row.kind in _EYES})
    if not found:
        return ica, facts
    facts["n_fits"] = 2
    maps, weights = maps_in_volts(ica)[:, found], unmixing_in_volts(ica)[found]
    rest = filtered._data - maps @ (weights @ filtered._data)
    return fit(_without(filtered, responses(rest, samples, bounds, bad))), facts


def onsets_of(conditions: dict[str, Samples], sfreq: float) -> dict[str, list[float]]:
    """Return the trials of each condition in seconds from the start of the recording."""
    return {name: (samples / sfreq).round(6).tolist() for name, samples in conditions.items()}


def responses(
    data: Array, conditions: Sequence[Samples], bounds: tuple[int, int], avoid: NDArray[np.bool_]
) -> Array:
    """Return the average responses at all trials, by regression, as they may overlap."""
    lags = np.arange(*bounds)
    rows = np.concatenate([samples[:, np.newaxis] + lags for samples in conditions])
    condition = np.repeat(np.arange(len(conditions)), [len(samples) for samples in conditions])
    columns = condition[:, np.newaxis] * lags.size + np.arange(lags.size)
    inside = (rows >= 0) & (rows < data.shape[1])
    rows, columns = rows[inside], columns[inside]
    shape = data.shape[1], lags.size * len(conditions)
    model = csr_array((np.ones(rows.size), (rows, columns)), shape=shape)
    used = np.unique(rows[~avoid[rows]])
    known = model[used]
    products = (known.T @ known).toarray()
    # A lag without samples, or two conditions that always come together, have no unique solution.
    products[np.diag_indices_from(products)] += 1e-3
    return (model @ solve(products, known.T @ data[:, used].T, assume_a="pos")).T


def _without(filtered: BaseRaw, response: Array) -> BaseRaw:
    copy = filtered.copy()
    copy._data -= response
    return copy


def _near_blinks(filtered: BaseRaw, raw: BaseRaw, reject: bool) -> NDArray[np.bool_]:
    """Return which samples of the filtered copy are near a blink."""
    with quiet():
        samples, _ = blink_times(raw, reject_by_annotation=reject)
    seconds = (samples - raw.first_samp) / raw.info["sfreq"]
    near = np.zeros(filtered.n_times, bool)
    for start, stop in np.round(np.add.outer(seconds, _BLINK) * filtered.info["sfreq"]).astype(int):
        near[max(0, start) : max(0, stop)] = True
    return near
