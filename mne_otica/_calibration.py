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

from mne_otica._refits import Matches

SMALLEST_ERROR = 1e-3  # of a squared correlation: what is better than this makes no difference


@cache
def calibration() -> dict[str, Any]:
    """Return how the index follows from the refits, and what it was worth in simulations.

    Returns
    -------
    calibration : dict
        The coefficients, the threshold, the seeds, and the calibration curve.
    """
    return json.loads(files("mne_otica").joinpath("data", "stability.json").read_text("utf-8"))


def features(
    matches: NDArray, map_matches: NDArray, longer: float = 1.0
) -> dict[str, NDArray[np.float64]]:
    """Return what the index is computed from, for each component.

    Of each correlation r the error 1 - r² is taken, and the mean of -log(error) over the
    refits: refits that miss a component and those that meet it exactly both count, which a median
    would not show.

    Parameters
    ----------
    matches, map_matches : ndarray, shape (n_fits, n_components)
        Correlations of the components and of their maps with those of the refits.
    longer : float
        By which factor the recording is longer than the refits. The square of the tangent
        between an estimate and what it estimates falls as one over the length.
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
