"""The calibrated index of stability, from the correlations of refits.

The model was fitted to simulated recordings by `benchmarks/stability.py`, which keeps it in a data
file with its seeds and its figures.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mne_otica.trust.refits import Matches

SMALLEST_ERROR = 1e-3  # 1 - r², below which a better match makes no difference


@cache
def calibration() -> dict[str, Any]:
    """Return the model behind the index, and how well it did in simulations.

    Returns
    -------
    calibration : dict
        The coefficients, the threshold, the seeds, and the calibration curve.
    """
    return json.loads(files("mne_otica.trust").joinpath("stability.json").read_text("utf-8"))


def features(
    matches: NDArray, map_matches: NDArray, longer: float = 1.0
) -> dict[str, NDArray[np.float64]]:
    """Return the features of each component that the index is computed from.

    A feature is the mean of -log(1 - r²) over the refits, r being the correlation. Unlike a
    median, it takes account of single refits that miss the component or match it exactly.

    Parameters
    ----------
    matches, map_matches : ndarray, shape (n_fits, n_components)
        Correlations of the components and of their maps with those of the refits.
    longer : float
        How many times longer the recording is than the data of the refits. The squared tangent
        of the angle between an estimate and the truth is inversely proportional to the length.
    """
    values = {}
    for name, correlations in (("component", matches), ("map", map_matches)):
        shared = np.minimum(correlations**2, 1)
        error = (1 - shared) / (1 + (longer - 1) * shared)
        values[name] = -np.log(np.maximum(error, SMALLEST_ERROR)).mean(axis=0)
    return values


def calibrated(
    values: dict[str, NDArray[np.float64]], model: dict[str, Any]
) -> NDArray[np.float64]:
    """Return the share of components with such features that had the map of a true source."""
    weighted = (weight * values[name] for name, weight in model["weights"].items())
    return 1 / (1 + np.exp(-model["intercept"] - sum(weighted)))


def index_of(found: Matches, longer: float = 1.0) -> NDArray[np.float64]:
    """Return the calibrated index of each component."""
    values = features(found.correlations, found.map_correlations, longer)
    return calibrated(values, calibration())
