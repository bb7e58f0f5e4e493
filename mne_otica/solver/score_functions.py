"""Score functions of the components, from counts of their samples.

These are Equations (11) and (12) of docs/method.

A score is fitted by score matching among cubic splines over the range of the samples, which needs
no density and stays finite where the density has an edge. Knots are equally spaced in asinh(y),
where heavy tails are short, but closer at the ends, where a density may have an edge, and farther
apart where there are few samples.

Smoothness. The penalty on third differences of the coefficients is chosen for each component by
cross-validation: functions are fitted to every other block of the recording and evaluated on the
blocks between. Penalties that are at least as large as the best are averaged, weighted by how well
they do in units of their standard error, so that rounding does not select one. For components that
are no farther from a Gaussian than chance takes them, the score is that of a Gaussian.

Blur. The d weights of a component were fitted to the same samples, which makes the sample density
sharper than the true one, as by the inverse of a Gaussian filter of variance 2 d / (N (1 + e)). So
counts are blurred by that filter first.

Arrays have one row for each component. Bins of the transport map are merged here.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

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

MERGE = 4  # bins of the transport map that make one bin here
N_MERGED = N_BINS // MERGE
N_SPLINES = 48  # many: the penalty decides how smooth their sum is
SPLINE_DEGREE = 3
N_INTERVALS = N_SPLINES - SPLINE_DEGREE  # between the knots of a component
# Samples in an interval between knots, at least: otherwise a function could be steep at each of a
# few samples in a tail. They are counted in a neighbourhood of SMOOTHED samples, and knots are
# farther apart than usual by at most a factor of 2.
SAMPLES_PER_INTERVAL = 10
SMOOTHED = 50
# Additional knots within END standard deviations of the ends, as many as for MORE_AT_ENDS of
# asinh(y): without them exponential sources have errors 1.05 times as large (benchmarks.unseen),
# and the information of a uniform density hardly grows with the samples.
END = 0.15
MORE_AT_ENDS = 0.5
MAX_GAPS = 0.1  # share of empty bins in the bulk, above which values lie on a lattice
# Penalty weight of a third difference: max(relative count, MIN_SHARE) ** -SHARE_POWER. Without it
# the score of a Laplacian oscillates in the tails.
MIN_SHARE = 0.03
SHARE_POWER = 1.5
PENALTIES = 10.0 ** np.arange(6, -1, -1.5)  # from nearly quadratic to hardly any, for one sample
RIDGE = 1e-9  # of functions whose power is of the order of one
N_BLOCKS = 16  # of a recording in cross-validation: enough for a standard error
# Twice the 2 of the theory: too sharp a density raises the information, and so sharpens the next.
BLUR = 4
# Nodes and weights of a quadrature that stands for a standard Gaussian.
BLUR_NODES, BLUR_WEIGHTS = np.array([-np.sqrt(3), 0, np.sqrt(3)]), np.array([1, 4, 1]) / 6
# Contrast relative to that expected of Gaussian samples, which hardly any component that an ICA
# finds in Gaussian noise exceeds.
MAX_CHANCE = 2.0

Lines = tuple[NDArray[np.float64], NDArray[np.float64]]  # levels and tilts


class Basis(NamedTuple):
    """The functions of each component in merged bins, where all splines but four are zero."""

    first: NDArray[np.intp]  # number of the first of the four, shape (n_components, N_MERGED)
    values: NDArray[np.float64]  # shape (4, n_components, N_MERGED)
    slopes: NDArray[np.float64]

    def combine(
        self, coefficients: NDArray[np.float64], lines: Lines
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return sums of the functions less straight lines, and the slopes of these sums."""
        level, tilt = (np.sum(coefficients * part, axis=-1, keepdims=True) for part in lines)
        sums = -level - tilt * merged_centres()
        slopes = np.broadcast_to(-tilt, sums.shape).copy()
        start = self.first + N_SPLINES * np.arange(len(self.first))[:, np.newaxis]
        flat = coefficients.reshape(*coefficients.shape[:-2], -1)
        for k in range(SPLINE_DEGREE + 1):
            weights = flat.take(start + k, axis=-1)
            sums += weights * self.values[k]
            slopes += weights * self.slopes[k]
        return sums, slopes


def _share_of_gaps(counts: NDArray) -> NDArray[np.float64]:
    """Return the share of the bins that is empty, between the 10th and 90th percentile."""
    cumulated = np.cumsum(counts, axis=1)
    share = cumulated / cumulated[:, -1:]
    between = (share > 0.1) & (share < 0.9)
    seen = np.count_nonzero(between & (counts > 0), axis=1)
    return 1 - seen / np.maximum(np.count_nonzero(between, axis=1), 1)


def merged_counts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum the counts of all bins to those of merged bins."""
    return np.sum([counts[:, k::MERGE] for k in range(MERGE)], axis=0)


def on_lattice(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which components have values on a lattice, from merged counts."""
    return _share_of_gaps(counts) > MAX_GAPS


@cache
def merged_centres() -> NDArray[np.float64]:
    """Return the middle of each merged bin as y."""
    u = (np.arange(N_MERGED) + 0.5) * (2 / N_MERGED) - 1
    return KNEE * u / (1 - np.abs(u))


@cache
def merged_edges() -> NDArray[np.float64]:
    """Return the edges of the merged bins, the outermost as far out as bins of the map go."""
    edges = bin_edges(N_MERGED)
    edges[[0, -1]] = bin_centres()[[0, -1]]
    return edges


def make_basis(counts: NDArray[np.float64]) -> Basis:
    """Make the functions for blurred counts."""
    y = merged_centres()
    knots = _knots(counts)
    place = np.stack([np.interp(y, row, np.arange(N_INTERVALS + 1)) for row in knots])
    first = np.minimum(place.astype(np.intp), N_INTERVALS - 1)
    t = place - first
    inside = (y >= knots[:, :1]) & (y <= knots[:, -1:])
    steepness = inside / np.take_along_axis(np.diff(knots, axis=1), first, axis=1)
    u = 1 - t
    t_2, u_2 = t * t, u * u
    values = np.stack([u_2 * u, 4 - 3 * t_2 * (2 - t), 4 - 3 * u_2 * (2 - u), t_2 * t]) / 6
    slopes = np.stack([-u_2, t * (3 * t - 4), u * (4 - 3 * u), t_2]) / 2
    return Basis(first, values, slopes * steepness)


def _knots(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place the knots of each component by its blurred counts."""
    edges, seen = merged_edges(), counts > 0
    first, end = seen.argmax(axis=1), N_MERGED - seen[:, ::-1].argmax(axis=1)
    low, high = edges[first, np.newaxis], edges[end, np.newaxis]
    usual = np.diff(np.clip(np.arcsinh(edges), np.arcsinh(low), np.arcsinh(high)), axis=1)
    from_low, from_high = (np.exp(-np.maximum(y, 0) / END) for y in (edges - low, high - edges))
    more = MORE_AT_ENDS * np.maximum(0, 1 - _share_of_gaps(counts) / MAX_GAPS)
    density = usual + more[:, np.newaxis] * np.diff(from_high - from_low, axis=1)
    scale = N_INTERVALS / usual.sum(axis=1, keepdims=True)
    around = np.zeros(counts.shape)
    for row, smooth, *inside in zip(counts, around, first, end, strict=True):
        width = SMOOTHED * (inside[1] - inside[0]) / row.sum()
        gaussian_filter1d(row[slice(*inside)], width, output=smooth[slice(*inside)], mode="nearest")
    enough = np.maximum(around / SAMPLES_PER_INTERVAL, scale * usual / 2)
    number = np.zeros((len(counts), N_MERGED + 1))
    np.cumsum(np.minimum(scale * density, enough), axis=1, out=number[:, 1:])
    wanted = number[:, -1:] * np.linspace(0, 1, N_INTERVALS + 1)
    knots = [np.interp(*row, edges) for row in zip(wanted, number, strict=True)]
    return np.clip(knots, low, high)


def roughness(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the penalty on third differences, larger where there are few samples."""
    count = (shares[:, 1:-2] + shares[:, 2:-1]) / 2  # of the four splines of a difference
    weights = np.maximum(N_SPLINES * count, MIN_SHARE) ** -SHARE_POWER
    differences = np.diff(np.eye(N_SPLINES), 3, axis=0)
    return (differences.T * weights[:, np.newaxis]) @ differences


class BasisMoments(NamedTuple):
    """Moments of the functions less a straight line, for each component."""

    power: NDArray[np.float64]  # E[b bᵀ]
    slope: NDArray[np.float64]  # E[b' - b y]
    shares: NDArray[np.float64]  # E[b] before the line is taken off
    lines: Lines


def find_moments(
    counts: NDArray[np.float64],
    basis: Basis,
    lines: Lines | None = None,
) -> BasisMoments:
    """Return the moments, by default less the straight line nearest to each function."""
    y, n_rows = merged_centres(), len(counts)
    weights = counts / counts.sum(axis=1, keepdims=True)
    interval = basis.first + N_INTERVALS * np.arange(n_rows)[:, np.newaxis]
    n_bins = np.bincount(interval.ravel(), minlength=n_rows * N_INTERVALS)
    start = np.minimum(np.cumsum(n_bins) - n_bins, interval.size - 1)

    def gathered(parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up what each bin contributes to its four splines, or to fewer of them."""
        sums = np.add.reduceat(parts.reshape(len(parts), -1), start, axis=1)
        sums[:, n_bins == 0] = 0
        total = np.zeros((n_rows, N_SPLINES))
        for k, part in enumerate(sums.reshape(-1, n_rows, N_INTERVALS)):
            total[:, k : k + N_INTERVALS] += part
        return total

    weighted = weights * basis.values
    power = np.zeros((n_rows, N_SPLINES, N_SPLINES))
    every = np.arange(N_SPLINES)
    for k in range(SPLINE_DEGREE + 1):
        products = gathered(weighted[: 4 - k] * basis.values[k:])[:, : N_SPLINES - k]
        first, second = every[: N_SPLINES - k], every[k:]
        power[:, first, second] = power[:, second, first] = products
    values, moments = gathered(weighted), gathered(weighted * y)
    mean, square = (weights @ y)[:, np.newaxis], (weights @ y**2)[:, np.newaxis]
    if lines is None:
        tilt = (moments - mean * values) / np.maximum(square - mean**2, 1e-300)
        lines = values - tilt * mean, tilt
    level, tilt = lines
    # Terms with the straight line, which leave the rest orthogonal to it if it is their own.
    others = values - level / 2 - tilt * mean, moments - tilt * square / 2
    products = np.stack([level, tilt], axis=2) @ np.stack(others, axis=1)
    power -= products + products.transpose(0, 2, 1)
    slope = gathered(weights * basis.slopes)
    slope -= tilt + moments - level * mean - tilt * square
    return BasisMoments(power, slope, values, lines)


def solve(matrices: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve symmetric systems, Equation (11) of docs/method.

    Functions that are zero where the samples are get no weight.
    """
    diagonal = np.arange(N_SPLINES)
    # The penalty is zero for quadratic functions: the ridge has to exceed its rounding error.
    largest = matrices[..., diagonal, diagonal].max(axis=-1, keepdims=True)
    matrices[..., diagonal, diagonal] += RIDGE + N_SPLINES * np.finfo(float).eps * largest
    sides = np.broadcast_to(vectors[..., np.newaxis], (*matrices.shape[:-1], 1))
    return np.linalg.solve(matrices, sides)[..., 0]


class Scores(NamedTuple):
    """Score functions ψ of the components."""

    tables: NDArray[np.float64]  # ψ in each bin, shape (n_components, N_BINS)
    potentials: NDArray[np.float64]  # minus the log density up to a constant, ψ its slope
    information: NDArray[np.float64]  # E[ψ'] of each component, at least 1


class Smoothness(NamedTuple):
    """The regularisation of the score functions of the components."""

    penalties: NDArray[np.float64]
    weights: NDArray[np.float64]  # of f, from 0 for what looks Gaussian to 1


def evidence(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the evidence that components are not Gaussian, from 0 to 1.

    Gaussian samples have a positive contrast, and fitting d weights raises it by d / 2 N.
    """
    n_samples = int(counts[0].sum())
    targets, _ = targets_and_slopes(counts)
    y = bin_centres()
    distance = (counts @ y**2 - 2 * (counts * targets) @ y) / n_samples
    contrast = distance + np.mean(gaussian_targets(n_samples) ** 2)
    chance = gaussian_floor(n_samples) + len(counts) / (2 * n_samples)
    return np.clip(contrast / chance - MAX_CHANCE, 0, 1)


def choose_smoothness(objective: Objective, counts: NDArray[np.int64]) -> Smoothness:
    """Choose the smoothness of each score by cross-validation, for the components counted last."""
    blocks = objective.block_counts(N_BLOCKS, MERGE)
    n_components, information = len(counts), np.ones(len(counts))
    n_samples, weights = blocks[:, 0].sum(), evidence(counts)
    if n_samples < 2 * N_BLOCKS:  # too few for cross-validation
        return Smoothness(np.full(n_components, PENALTIES[0]), weights)
    width = _blur_width(information, n_samples)
    halves = [_blurred(blocks[k::2].sum(axis=0), width) for k in (0, 1)]
    both = halves[0] + halves[1]
    basis = make_basis(both)
    *_, shares, lines = find_moments(both, basis)
    rough = roughness(shares)
    shares = blocks / np.maximum(blocks.sum(axis=2, keepdims=True), 1)
    losses = []
    for fitted, validation in ((halves[0], shares[1::2]), (halves[1], shares[::2])):
        power, slope, *_ = find_moments(fitted, basis, lines)
        penalties = (PENALTIES / fitted[0].sum())[:, np.newaxis, np.newaxis, np.newaxis]
        f, slopes = basis.combine(solve(power + penalties * rough, slope), lines)
        loss = f * (f / 2 + merged_centres()) - slopes
        losses.append(loss.transpose(1, 0, 2) @ validation.transpose(1, 2, 0))
    return Smoothness(_best_penalties(np.concatenate(losses, axis=2)), weights)


def _best_penalties(losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average the best penalty and larger ones; axes are components, penalties and blocks."""
    best = losses.mean(axis=2).argmin(axis=1)[:, np.newaxis]
    excess = losses - np.take_along_axis(losses, best[..., np.newaxis], axis=1)
    error = excess.std(axis=2) / np.sqrt(losses.shape[2])
    distance = excess.mean(axis=2) / np.maximum(error, 1e-300)
    # Penalties fall, so those before the best are larger.
    weights = np.exp(-(distance**2) / 2) * (np.arange(len(PENALTIES)) <= best)
    return 10 ** (weights @ np.log10(PENALTIES) / weights.sum(axis=1))


def fit_scores(
    counts: NDArray[np.int64], smoothness: Smoothness, information: NDArray[np.float64]
) -> Scores:
    """Fit the score function of each component, Equation (12) of docs/method.

    The information is that of an earlier fit.
    """
    n_samples = counts[0].sum()
    merged = merged_counts(counts)
    width = _blur_width(information, n_samples)
    blurred = _blurred(merged, width)
    basis = make_basis(blurred)
    power, slope, shares, lines = find_moments(blurred, basis)
    penalties = (smoothness.penalties / n_samples)[:, np.newaxis, np.newaxis]
    coefficients = solve(power + penalties * roughness(shares), slope)
    mean_slope = np.sum(coefficients * slope, axis=1)
    mean_square = np.sum(coefficients[:, np.newaxis] @ power * coefficients[:, np.newaxis], (1, 2))
    scale = np.maximum(mean_slope, 0) / np.maximum(mean_square, 1e-300) * smoothness.weights
    coefficients *= scale[:, np.newaxis]
    y = bin_centres()
    tables = y + _finer(basis.combine(coefficients, lines)[0])
    # Undefined between lattice points; zero, so that the integral ignores gaps.
    between = (blurred == 0) & on_lattice(merged)[:, np.newaxis]
    tables[np.repeat(between, MERGE, axis=1)] = 0
    for row, seen in zip(tables, counts > 0, strict=True):
        first, last = seen.argmax(), N_BINS - 1 - seen[::-1].argmax()
        row[:first], row[last + 1 :] = row[first], row[last]
    potentials = np.zeros(tables.shape)
    np.cumsum((tables[:, 1:] + tables[:, :-1]) / 2 * np.diff(y), axis=1, out=potentials[:, 1:])
    potentials -= potentials[:, N_BINS // 2, np.newaxis]
    return Scores(tables, potentials, 1 + scale * np.maximum(mean_slope, 0))


def _finer(merged: NDArray[np.float64]) -> NDArray[np.float64]:
    """Interpolate linearly from merged bins to all bins."""
    place = np.clip((np.arange(N_BINS) + 0.5) / MERGE - 0.5, 0, N_MERGED - 1)
    below = np.minimum(place.astype(np.intp), N_MERGED - 2)
    share = place - below
    return merged.take(below, axis=1) * (1 - share) + merged.take(below + 1, axis=1) * share


def _blur_width(information: NDArray[np.float64], n_samples: int) -> NDArray[np.float64]:
    """Return the standard deviation of the filter of each component."""
    return np.sqrt(BLUR * len(information) / (n_samples * information))


def _blurred(counts: NDArray, width: NDArray[np.float64]) -> NDArray[np.float64]:
    """Blur counts in merged bins by a width for each component."""
    n_rows = len(counts)
    rows, columns = np.nonzero(counts)
    y = merged_centres()[columns]
    blurred = np.zeros(n_rows * N_MERGED)
    for node, weight in zip(BLUR_NODES, BLUR_WEIGHTS, strict=True):
        moved = y + node * width[rows]
        place = (moved / (np.abs(moved) + KNEE) + 1) * (N_MERGED / 2) - 0.5
        place = np.clip(place, 0, N_MERGED - 1.001)
        below = place.astype(np.intp)
        share = place - below
        flat, mass = rows * N_MERGED + below, weight * counts[rows, columns]
        blurred += np.bincount(flat, mass * (1 - share), len(blurred))
        blurred += np.bincount(flat + 1, mass * share, len(blurred))
    return blurred.reshape(n_rows, N_MERGED)
