"""The most precise estimate near an optimum of the contrast.

Near independence every method solves an equation of one kind: for all pairs, the skew part of
the mean of f_i(y_i) y_j vanishes. The contrast takes the transport maps for f. They find the
sources, but any other f has its zero at the same place, and differs in the scatter that a finite
sample leaves. With f orthogonal to y and scaled such that E[f²] = E[f'], the angle of two
components has the variance 1 / (N (e_i + e_j)), where

    e = E[f'(y)]² / E[f(y)²].

The largest e belongs to the score function of the density, and no estimate on the orthogonal group
is more precise. Among the sums of given smooth functions b the largest e is that of
``f = c·b, c = E[b bᵀ]⁻¹ E[b']``, which needs no density and no derivative of one, and stays
finite where the density has an edge. The functions are cubic splines, and their means come from
the counts of the samples in bins, so a step costs one pass over the data.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from mne_otica._objective import Objective
from mne_otica._rotations import rotation
from mne_otica.transport import N_BINS, bin_centres, bin_density, bin_positions

N_STEPS = 3  # each with the functions of the components that the last one found
# Two nearly Gaussian components do not tell their angle: do not turn them by noise.
MIN_EFFICIENCY = 0.05
LONGEST_STEP = 0.1  # radians: this is not a search
SPLINE_DEGREE = 3


def refine(objective: Objective, W: NDArray[np.float64]) -> NDArray[np.float64]:
    """Take Newton steps with the most efficient functions, from an optimum of the contrast.

    Parameters
    ----------
    objective : Objective
        Holds the whitened data.
    W : ndarray, shape (n_components, n_components)
        The rotation at the optimum.

    Returns
    -------
    W : ndarray, shape (n_components, n_components)
        The refined rotation.
    """
    planes = np.triu_indices(len(W), 1)
    for _ in range(N_STEPS):
        tables, efficiency = efficient_functions(objective.counts(W))
        moments = objective.cross_moments(tables.astype(np.float32))
        information = efficiency[planes[0]] + efficiency[planes[1]]
        angles = (moments.T - moments)[planes] / np.maximum(information, MIN_EFFICIENCY)
        angles *= min(1, LONGEST_STEP / np.abs(angles).max(initial=1e-300))
        W = rotation(angles, planes) @ W
    return W


def efficient_functions(
    counts: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the function of each component that tells rotations most precisely.

    Parameters
    ----------
    counts : ndarray, shape (n_components, N_BINS)
        Samples of each component in each bin, of about unit variance.

    Returns
    -------
    tables : ndarray, shape (n_components, N_BINS)
        The function in each bin, orthogonal to a constant and to the component itself.
    efficiency : ndarray, shape (n_components,)
        Its e; the Fisher information less one, were the splines rich enough.
    """
    n_samples = int(counts[0].sum())
    splines, slopes = _splines(_n_splines(n_samples))
    trivial = np.stack([np.ones(N_BINS), bin_centres()])
    tables, efficiency = np.empty(counts.shape), np.empty(len(counts))
    for row, weights in enumerate(counts / n_samples):
        gram = (trivial * weights) @ trivial.T
        trend = np.linalg.solve(gram, (trivial * weights) @ splines.T)
        functions = splines - trend.T @ trivial
        mean_slopes = slopes @ weights - trend[1]
        products = (functions * weights) @ functions.T
        # Splines where there is no sample, and their sum, which is constant, have no weight.
        coefficients = np.linalg.pinv(products, rcond=1e-8, hermitian=True) @ mean_slopes
        tables[row] = coefficients @ functions
        efficiency[row] = coefficients @ mean_slopes
    return tables, efficiency


def _n_splines(n_samples: int) -> int:
    """Return how many splines the samples can tell apart: 24 for 10 000, 60 for a million."""
    return max(8, round(24 * (n_samples / 10_000) ** 0.2))


@lru_cache(maxsize=4)
def _splines(n_splines: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return splines, equally spaced over the bins, and their slopes in units of the signal."""
    edge = [-1.0] * SPLINE_DEGREE
    knots = np.linspace(-1, 1, n_splines - SPLINE_DEGREE + 1)
    knots = np.concatenate([edge, knots, np.negative(edge)])
    spline = BSpline(knots, np.eye(n_splines), SPLINE_DEGREE)
    u = bin_positions()
    return spline(u).T, spline.derivative()(u).T * bin_density()
