"""Score functions of the components, from counts of their samples.

Equations (11) and (12) of docs/method: score matching among cubic splines, which needs no density
and stays finite where it has an edge. Arrays have one row for each component.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.sparse import csr_array

from mne_otica.solver.contrast import (
    KNEE,
    N_BINS,
    Objective,
    bin_centres,
    bin_edges,
    gaussian_floor,
    gaussian_targets,
    targets_and_slopes,
)
from mne_otica.utils.arrays import Array

MERGE = 4  # bins of the transport map that make one bin here
N_MERGED = N_BINS // MERGE
N_SPLINES = 48  # many: the penalty decides how smooth their sum is
N_INTERVALS = N_SPLINES - 3  # between the knots of a component
# Additional knots within END standard deviations of the ends, as many as for MORE_AT_ENDS of
# asinh(y): without them exponential sources have errors 1.05 times as large (benchmarks.unseen),
# and the information of a uniform density hardly grows with the samples.
END = 0.15
MORE_AT_ENDS = 0.5
PENALTIES = 10.0 ** np.arange(6, -1, -1.5)  # from nearly quadratic to hardly any, for one sample
N_BLOCKS = 16  # of a recording in cross-validation: longer than what successive samples share


class Scores(NamedTuple):
    """Score functions ψ of the components."""

    tables: Array  # ψ in each bin, shape (n_components, N_BINS)
    potentials: Array  # minus the log density up to a constant, ψ its slope
    information: Array  # E[ψ'] of each component, at least 1


class Smoothness(NamedTuple):
    """The regularisation of the score functions of the components."""

    penalties: Array
    weights: Array  # of f, from 0 for what looks Gaussian to 1


def merged_counts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum the counts of all bins to those of merged bins."""
    return counts.reshape(len(counts), N_MERGED, MERGE).sum(axis=2)


def on_lattice(merged: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which components have values on a lattice: bins in their bulk are empty."""
    share = np.cumsum(merged, axis=1) / merged.sum(axis=1, keepdims=True)
    bulk = (share > 0.1) & (share < 0.9)
    empty = np.count_nonzero(bulk & (merged == 0), axis=1)
    return empty > 0.1 * np.count_nonzero(bulk, axis=1)


class Basis(NamedTuple):
    """Cubic B-splines of each component in merged bins (block-diagonal), less a straight line."""

    values: csr_array
    slopes: csr_array
    levels: Array  # of the lines, shape (n_components, N_SPLINES)
    tilts: Array
    power: Array  # E[b bᵀ], shape (n_components, N_SPLINES, N_SPLINES)
    slope: Array  # E[b' - b y]
    rough: Array  # the penalty

    def combine(self, c: Array) -> tuple[Array, Array]:
        """Return sums of the functions in merged bins, and the slopes of these sums."""
        flat, shape = c.reshape(*c.shape[:-2], -1).T, (*c.shape[:-1], N_MERGED)
        sums, slopes = ((part @ flat).T.reshape(shape) for part in (self.values, self.slopes))
        level, tilt = (np.sum(c * x, axis=-1, keepdims=True) for x in (self.levels, self.tilts))
        return sums - level - tilt * bin_centres(N_MERGED), slopes - tilt


def make_splines(merged: NDArray[np.int64]) -> tuple[csr_array, csr_array]:
    """Return the splines of each component and their slopes, as block-diagonal matrices."""
    y, knots, n_rows = bin_centres(N_MERGED), _knots(merged), len(merged)
    place = np.stack([np.interp(y, row, np.arange(N_INTERVALS + 1)) for row in knots])
    first = np.minimum(place.astype(np.intp), N_INTERVALS - 1)
    t = place - first
    inside = (y >= knots[:, :1]) & (y <= knots[:, -1:])
    steepness = inside / np.take_along_axis(np.diff(knots, axis=1), first, axis=1)
    u = 1 - t
    values = [u**3, 4 - 3 * t**2 * (2 - t), 4 - 3 * u**2 * (2 - u), t**3]
    slopes = [-(u**2) * steepness, t * (3 * t - 4) * steepness]
    slopes += [u * (4 - 3 * u) * steepness, t**2 * steepness]
    column = (first + N_SPLINES * np.arange(n_rows)[:, np.newaxis])[..., np.newaxis] + np.arange(4)
    ends, shape = np.arange(0, column.size + 1, 4), (n_rows * N_MERGED, n_rows * N_SPLINES)
    return tuple(
        csr_array((np.stack(part, axis=-1).ravel() / scale, column.ravel(), ends), shape=shape)
        for part, scale in ((values, 6), (slopes, 2))
    )


def _knots(merged: NDArray[np.int64]) -> Array:
    """Place the knots of each component between the ends of its samples."""
    edges, seen = bin_edges(N_MERGED), merged > 0
    edges[[0, -1]] = bin_centres()[[0, -1]]
    low = edges[seen.argmax(axis=1), np.newaxis]
    high = edges[N_MERGED - seen[:, ::-1].argmax(axis=1), np.newaxis]
    inside = np.clip(edges, low, high)
    near_ends = np.exp((inside - high) / END) - np.exp((low - inside) / END)
    number = np.arcsinh(inside)
    number += MORE_AT_ENDS * ~on_lattice(merged)[:, np.newaxis] * near_ends
    wanted = np.linspace(number[:, 0], number[:, -1], N_INTERVALS + 1, axis=1)
    return np.clip([np.interp(*row, edges) for row in zip(wanted, number, strict=True)], low, high)


def find_basis(
    merged: NDArray[np.int64], splines: tuple[csr_array, csr_array], information: Array
) -> Basis:
    """Take off the straight line that is nearest to each spline, and return the moments."""
    values, slopes = splines
    y, n_rows = bin_centres(N_MERGED), len(merged)
    # Fitting the d weights of a component sharpens its density, as by the inverse of a Gaussian
    # filter of variance 2 d / (N (1 + e)). This is twice as much, as the next would be sharper
    # still, in bins at one standard deviation; half a bin keeps the information of points finite.
    widths = np.sqrt(4 * n_rows / (information * merged[0].sum()))
    widths = np.hypot(widths * N_MERGED * KNEE / (2 * (KNEE + 1) ** 2), 0.5)
    weights = np.empty(merged.shape)
    for row, width, blurred in zip(merged, widths, weights, strict=True):
        gaussian_filter1d(row, width, output=blurred, mode="nearest")
    weights /= weights.sum(axis=1, keepdims=True)
    products = ((values.T * weights.ravel()) @ values).tocoo()
    power = np.zeros((n_rows, N_SPLINES, N_SPLINES))
    i, j = products.coords
    power[i // N_SPLINES, i % N_SPLINES, j % N_SPLINES] = products.data

    def mean(matrix: csr_array, factors: Array) -> Array:
        return (matrix.T @ factors.ravel()).reshape(n_rows, N_SPLINES)

    centre = (weights @ y)[:, np.newaxis]
    z = weights * (y - centre)
    variance = np.maximum((z @ y)[:, np.newaxis], 1e-300)
    means, covariances = mean(values, weights), mean(values, z)
    tilts = covariances / variance
    power -= means[:, :, np.newaxis] * means[:, np.newaxis]
    power -= covariances[:, :, np.newaxis] * tilts[:, np.newaxis]
    # Third differences weigh more where there are few samples: tails would oscillate.
    share = np.maximum(N_SPLINES * (means[:, 1:-2] + means[:, 2:-1]) / 2, 0.03)
    differences = np.diff(np.eye(N_SPLINES), 3, axis=0)
    rough = (differences.T * share[:, np.newaxis] ** -1.5) @ differences
    # What is left of b is orthogonal to y.
    slope = mean(slopes, weights) - tilts
    return Basis(values, slopes, means - tilts * centre, tilts, power, slope, rough)


def solve(basis: Basis, penalties: Array) -> Array:
    """Return the coefficients of the scores less y, Equation (11), for each row of penalties."""
    matrices = basis.power + penalties[..., np.newaxis, np.newaxis] * basis.rough
    # The penalty is zero for quadratic functions: the ridge has to exceed its rounding error.
    diagonal = np.arange(N_SPLINES)
    largest = matrices[..., diagonal, diagonal].max(axis=-1, keepdims=True)
    matrices[..., diagonal, diagonal] += 1e-9 + N_SPLINES * np.finfo(float).eps * largest
    sides = np.broadcast_to(basis.slope[..., np.newaxis], (*matrices.shape[:-1], 1))
    return np.linalg.solve(matrices, sides)[..., 0]


def evidence(counts: NDArray[np.int64]) -> Array:
    """Return the evidence that components are not Gaussian, from 0 to 1."""
    n_samples = int(counts[0].sum())
    targets, _ = targets_and_slopes(counts)
    y = bin_centres()
    distance = (counts @ y**2 - 2 * (counts * targets) @ y) / n_samples
    contrast = distance + np.mean(gaussian_targets(n_samples) ** 2)
    # Gaussian samples have a positive contrast, and fitting d weights raises it by d / 2 N.
    chance = gaussian_floor(n_samples) + len(counts) / (2 * n_samples)
    # Hardly any component that an ICA finds in Gaussian noise has twice the contrast of chance.
    return np.clip(contrast / chance - 2, 0, 1)


def choose_smoothness(objective: Objective, counts: NDArray[np.int64]) -> Smoothness:
    """Choose the smoothness of each score by cross-validation, for the components counted last."""
    blocks = objective.block_counts(N_BLOCKS, MERGE)
    n_samples, weights = blocks[:, 0].sum(), evidence(counts)
    if n_samples < 2 * N_BLOCKS:  # too few for cross-validation
        return Smoothness(np.full(len(counts), PENALTIES[0]), weights)
    splines, losses = make_splines(blocks.sum(axis=0)), []
    shares = blocks / np.maximum(blocks.sum(axis=2, keepdims=True), 1)
    for half in (0, 1):
        fitted = blocks[half::2].sum(axis=0)
        basis = find_basis(fitted, splines, np.ones(len(counts)))
        penalties = (PENALTIES / fitted[0].sum())[:, np.newaxis] * np.ones(len(counts))
        f, slopes = basis.combine(solve(basis, penalties))
        loss = f * (f / 2 + bin_centres(N_MERGED)) - slopes
        losses.append(loss.transpose(1, 0, 2) @ shares[1 - half :: 2].transpose(1, 2, 0))
    return Smoothness(_best_penalties(np.concatenate(losses, axis=2)), weights)


def _best_penalties(losses: Array) -> Array:
    """Average the best penalty and larger ones; axes are components, penalties and blocks."""
    best = losses.mean(axis=2).argmin(axis=1)[:, np.newaxis]
    excess = losses - np.take_along_axis(losses, best[..., np.newaxis], axis=1)
    error = excess.std(axis=2) / np.sqrt(losses.shape[2])
    distance = excess.mean(axis=2) / np.maximum(error, 1e-300)
    # Penalties fall, so those before the best are larger.
    weights = np.exp(-(distance**2) / 2) * (np.arange(len(PENALTIES)) <= best)
    return 10 ** (weights @ np.log10(PENALTIES) / weights.sum(axis=1))


def fit_scores(counts: NDArray[np.int64], smoothness: Smoothness, information: Array) -> Scores:
    """Fit the score functions, Equation (12); the information is that of an earlier fit or ones."""
    merged = merged_counts(counts)
    basis = find_basis(merged, make_splines(merged), information)
    c = solve(basis, smoothness.penalties / counts[0].sum())
    mean_slope = np.maximum(np.sum(c * basis.slope, axis=1), 0)
    mean_square = np.einsum("ij,ijk,ik->i", c, basis.power, c)
    scale = mean_slope / np.maximum(mean_square, 1e-300) * smoothness.weights
    f, _ = basis.combine(c * scale[:, np.newaxis])
    # Undefined between lattice points; zero, so that the integral ignores gaps.
    between = (merged == 0) & on_lattice(merged)[:, np.newaxis]
    y = bin_centres()
    tables = np.stack([y + np.interp(y, bin_centres(N_MERGED), row) for row in f])
    tables[np.repeat(between, MERGE, axis=1)] = 0
    for row, seen in zip(tables, counts > 0, strict=True):
        first, last = seen.argmax(), N_BINS - 1 - seen[::-1].argmax()
        row[:first], row[last + 1 :] = row[first], row[last]
    potentials = np.zeros(tables.shape)
    np.cumsum((tables[:, 1:] + tables[:, :-1]) / 2 * np.diff(y), axis=1, out=potentials[:, 1:])
    potentials -= potentials[:, N_BINS // 2, np.newaxis]
    return Scores(tables, potentials, 1 + scale * mean_slope)
