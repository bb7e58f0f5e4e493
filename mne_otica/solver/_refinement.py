"""The most precise estimate near an optimum of the contrast.

Near independence every method solves an equation of one kind: for all pairs, the skew part of
the mean of f_i(y_i) y_j vanishes. The contrast takes the transport maps for f. They find the
sources, but any other f has its zero at the same place, and differs in the scatter that a finite
sample leaves. With f orthogonal to y and scaled such that E[f²] = E[f'], the angle of two
components has the variance 1 / (N (e_i + e_j)), where

    e = E[f'(y)]² / E[f(y)²]

is the efficiency of f. The largest e belongs to the score function of the density, and no estimate
on the orthogonal group is more precise. Among the sums of given smooth functions b the largest e
is that of ``f = c·b, c = E[b bᵀ]⁻¹ E[b']``, which needs no density and no derivative of one, and
stays finite where the density has an edge.

The functions are cubic splines. Splines that follow the noise of a sample look more efficient
than they are, by an amount that can be told from the sample. So they are made as smooth as is best
after taking it off, and a component for which they are not better than its transport map by as
much again keeps the map. All means come from the counts of the samples in bins: a step costs
one pass over the data.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from mne_otica.solver._objective import Objective
from mne_otica.solver._rotations import rotation
from mne_otica.solver.transport import (
    N_BINS,
    bin_centres,
    bin_density,
    bin_positions,
    targets_and_slopes,
)

# Each step has the functions of the components that the last one found. Independent sources take
# two or three; recordings are not so simple, and each step leaves them a little less dependent.
MAX_STEPS = 6
# Two nearly Gaussian components do not tell their angle: do not turn them by noise.
MIN_EFFICIENCY = 0.05
LONGEST_STEP = 0.1  # radians: this is not a search
SPLINE_DEGREE = 3
# Weights of the squared third differences of the coefficients, for one sample. The largest
# leave a function like tanh and its square.
PENALTIES = (0, 1, 10, 1e2, 1e3, 1e4, 1e5)
RIDGE = 1e-9  # of functions whose power is of the order of one, where they have any
MIN_POWER = 1e-3  # of what a map has beside a straight line; samples of noise show as much


def refine(objective: Objective, W: NDArray[np.float64], tol: float) -> NDArray[np.float64]:
    """Take Newton steps with the most efficient functions, from an optimum of the contrast.

    Parameters
    ----------
    objective : Objective
        Holds the whitened data.
    W : ndarray, shape (n_components, n_components)
        The rotation at the optimum.
    tol : float
        Stop when no plane is turned by more than this, in radians.

    Returns
    -------
    W : ndarray, shape (n_components, n_components)
        The refined rotation.
    """
    planes = np.triu_indices(len(W), 1)
    for _ in range(MAX_STEPS):
        tables, efficiency = efficient_functions(objective.counts(W))
        moments = objective.cross_moments(tables.astype(np.float32))
        curvature = efficiency[planes[0]] + efficiency[planes[1]]
        curvature = np.maximum(curvature, MIN_EFFICIENCY)
        angles = (moments.T - moments)[planes] / curvature
        size = np.abs(angles).max(initial=1e-300)
        W = rotation(min(1, LONGEST_STEP / size) * angles, planes) @ W
        if size < tol:
            break
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
        Its efficiency, which is also its power and its mean slope.
    """
    n_samples = int(counts[0].sum())
    maps, map_slopes = targets_and_slopes(counts)
    y = bin_centres()
    tables, efficiency = np.empty(counts.shape), np.empty(len(counts))
    for row, weights in enumerate(counts / n_samples):
        correlation = (maps[row] * y) @ weights
        table, slope = maps[row] - correlation * y, map_slopes[row] - correlation
        scale = slope / max(table**2 @ weights, MIN_POWER)
        tables[row], efficiency[row] = scale * table, scale * slope
        spline, gain, doubt = _efficient_spline(weights, n_samples)
        if gain - doubt > efficiency[row]:
            tables[row], efficiency[row] = spline, gain
    return tables, efficiency


def _efficient_spline(
    weights: NDArray[np.float64], n_samples: int
) -> tuple[NDArray[np.float64], float, float]:
    """Return the spline that tells rotations best, its efficiency, and what noise feigned of it."""
    seen = weights > 0
    splines, slopes, roughness = _splines(_n_splines(n_samples))
    splines, slopes, weights = splines[:, seen], slopes[:, seen], weights[seen]
    y = bin_centres()[seen]
    trivial = np.stack([np.ones(len(y)), y])
    trend = np.linalg.solve((trivial * weights) @ trivial.T, (trivial * weights) @ splines.T)
    functions = splines - trend.T @ trivial
    deviations = slopes - functions * y  # a sample's part in the mean slopes
    mean_slopes = slopes @ weights - trend[1]
    deviations -= (deviations @ weights)[:, np.newaxis]
    noise = (deviations * weights) @ deviations.T / n_samples
    products = (functions * weights) @ functions.T
    penalised = products + np.multiply.outer(np.divide(PENALTIES, n_samples), roughness)
    # Splines where there is no sample, and their sum, which is constant, get no weight.
    inverses = np.linalg.inv(penalised + RIDGE * np.eye(len(products)))
    coefficients = inverses @ mean_slopes
    doubts = np.sum(inverses * noise, axis=(1, 2))
    gains = np.maximum(0, coefficients @ mean_slopes - doubts)
    powers = np.sum(coefficients @ products * coefficients, axis=1)
    scales = gains / np.maximum(powers, 1e-300)  # two values leave no function but a line
    best = np.argmax(scales * gains)
    spline = np.zeros(N_BINS)
    spline[seen] = scales[best] * coefficients[best] @ functions
    return spline, scales[best] * gains[best], doubts[best]


def _n_splines(n_samples: int) -> int:
    """Return how many splines the samples can tell apart: 24 for 10 000, 60 for a million."""
    return max(8, round(24 * (n_samples / 10_000) ** 0.2))


@lru_cache(maxsize=4)
def _splines(n_splines: int) -> tuple[NDArray[np.float64], ...]:
    """Return splines that are equally spaced over the bins, their slopes, and a penalty."""
    edge = [-1.0] * SPLINE_DEGREE
    knots = np.linspace(-1, 1, n_splines - SPLINE_DEGREE + 1)
    knots = np.concatenate([edge, knots, np.negative(edge)])
    spline = BSpline(knots, np.eye(n_splines), SPLINE_DEGREE)
    u = bin_positions()
    differences = np.diff(np.eye(n_splines), 3, axis=0)
    return spline(u).T, spline.derivative()(u).T * bin_density(), differences.T @ differences
