"""Functions that the score functions are sums of, and their moments.

Most are cubic splines over the range of the samples, equally spaced in asinh(y), where heavy tails
are short, but for more of them at the ends, where a density may have an edge. Where there are few
samples, the knots are farther apart. Otherwise a function could be steep at each of a few samples
in a tail, and zero there, which no sample contradicts.

One is a step at the mode, as wide as the samples are blurred. Many densities have a peak there,
such as that of a Laplacian, whose score is nothing but a step: splines that are steep enough for it
would follow the noise everywhere else.

Bins of the transport map are merged here. Arrays have one row for each component.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.special import erf

from mne_otica.solver.transport import KNEE, N_BINS, bin_centres, bin_edges

N_SPLINES = 48
N_FUNCTIONS = N_SPLINES + 1
SPLINE_DEGREE = 3
N_INTERVALS = N_SPLINES - SPLINE_DEGREE  # between the knots of a component
SAMPLES_PER_INTERVAL = 10
# Of few samples, that many are counted together for it: knots that followed each of them would
# follow the last bit of the data.
SAMPLES_AROUND = 50
MIN_DENSITY = 0.5  # of knots where there are fewer samples, relative to the usual one
# A density that ends abruptly tells most by its edge: within so many standard deviations of either
# end of the samples there are more knots, as many as for so much of asinh(y).
END = 0.15
MORE_AT_ENDS = 0.5
MAX_GAPS = 0.1  # of the bins between: a lattice has more, and all of its steps are edges
# The mode is where there are most samples within this distance, near ones counting more.
AROUND_MODE = 0.5
FARTHEST_MODE = 2.5
# Third differences weigh more where a spline has fewer than the mean number of samples, up to that
# share of it, by this power.
MIN_SHARE, SHARE_POWER = 0.03, 1.5
RIDGE = 1e-9  # of functions whose power is of the order of one, where they have any
MERGE = 4  # bins of the transport map that make one bin here
N_MERGED = N_BINS // MERGE

Lines = tuple[NDArray[np.float64], NDArray[np.float64]]  # levels and tilts


class Basis(NamedTuple):
    """The functions of each component in merged bins, where all splines but four are zero."""

    first: NDArray[np.intp]  # number of the first of the four, shape (n_components, N_MERGED)
    values: NDArray[np.float64]  # shape (4, n_components, N_MERGED)
    slopes: NDArray[np.float64]
    step: NDArray[np.float64]  # the last function, shape (n_components, N_MERGED)
    step_slopes: NDArray[np.float64]

    def combine(
        self, coefficients: NDArray[np.float64], lines: Lines
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return sums of the functions less straight lines, and the slopes of these sums.

        Parameters
        ----------
        coefficients : ndarray, shape (..., n_components, N_FUNCTIONS)
            The coefficients of the sums.
        lines : tuple of ndarray, shape (n_components, N_FUNCTIONS)
            Level and tilt of the line to be taken off each function.
        """
        level, tilt = (np.sum(coefficients * part, axis=-1, keepdims=True) for part in lines)
        of_step = coefficients[..., -1:]
        sums = of_step * self.step - level - tilt * merged_centres()
        slopes = of_step * self.step_slopes - tilt
        start = self.first + N_SPLINES * np.arange(len(self.first))[:, np.newaxis]
        flat = coefficients[..., :-1].reshape(*coefficients.shape[:-2], -1)
        for k in range(SPLINE_DEGREE + 1):
            one = flat.take(start + k, axis=-1)
            sums += one * self.values[k]
            slopes += one * self.slopes[k]
        return sums, slopes


def _share_of_gaps(counts: NDArray) -> NDArray[np.float64]:
    """Return which share of the merged bins of each component is empty, but for its tails."""
    cumulated = np.cumsum(counts, axis=1)
    share = cumulated / cumulated[:, -1:]
    between = (share > 0.1) & (share < 0.9)
    seen = np.count_nonzero(between & (counts > 0), axis=1)
    return 1 - seen / np.maximum(np.count_nonzero(between, axis=1), 1)


def merged_counts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Go from the counts of all bins to those of merged bins."""
    # A sum over a short last axis would take ten times as long.
    return np.sum([counts[:, k::MERGE] for k in range(MERGE)], axis=0)


def on_lattice(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell from merged counts which components have values on a lattice."""
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


def make_basis(counts: NDArray[np.float64], width: NDArray[np.float64]) -> Basis:
    """Make the functions for counts that were blurred by a width for each component."""
    y = merged_centres()
    knots = _knots(counts)
    place = np.stack([np.interp(y, row, np.arange(N_INTERVALS + 1)) for row in knots])
    first = np.minimum(place.astype(np.intp), N_INTERVALS - 1)
    t = place - first
    inside = (y >= knots[:, :1]) & (y <= knots[:, -1:])
    steepness = inside / np.take_along_axis(np.diff(knots, axis=1), first, axis=1)
    u = 1 - t
    t_2, u_2 = t * t, u * u  # a power of three takes ten times as long
    values = np.stack([u_2 * u, 4 - 3 * t_2 * (2 - t), 4 - 3 * u_2 * (2 - u), t_2 * t]) / 6
    slopes = np.stack([-u_2, t * (3 * t - 4), u * (4 - 3 * u), t_2]) / 2
    return Basis(first, values, slopes * steepness, *_step(counts, width))


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
        width = SAMPLES_AROUND * (inside[1] - inside[0]) / row.sum()
        gaussian_filter1d(row[slice(*inside)], width, output=smooth[slice(*inside)], mode="nearest")
    enough = np.maximum(around / SAMPLES_PER_INTERVAL, MIN_DENSITY * scale * usual)
    number = np.zeros((len(counts), N_MERGED + 1))
    np.cumsum(np.minimum(scale * density, enough), axis=1, out=number[:, 1:])
    wanted = number[:, -1:] * np.linspace(0, 1, N_INTERVALS + 1)
    knots = [np.interp(*row, edges) for row in zip(wanted, number, strict=True)]
    return np.clip(knots, low, high)  # beyond the last sample there are as many


def _step(
    counts: NDArray[np.float64], width: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a step at the mode of each component, zero for lattices, and its slopes."""
    places, nearness = _around_modes()
    mode = places[(counts @ nearness).argmax(axis=1)]
    bin_width = (np.abs(mode) + KNEE) ** 2 * (2 / (KNEE * N_MERGED))
    width = np.sqrt(2) * np.maximum(width, bin_width)[:, np.newaxis]
    t = (merged_centres() - mode[:, np.newaxis]) / width
    height = ~on_lattice(counts)[:, np.newaxis]
    return height * erf(t), height * np.exp(-(t**2)) * (2 / np.sqrt(np.pi) / width)


@cache
def _around_modes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where a mode can be, and how much each merged bin counts for each such place."""
    y = merged_centres()
    places = y[np.abs(y) < FARTHEST_MODE]
    return places, np.maximum(AROUND_MODE - np.abs(y[:, np.newaxis] - places), 0)


def roughness(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the penalty on third differences, a matrix for each component.

    Where there are few samples, the functions are noisier, and their differences weigh more.
    """
    around = (shares[:, 1:-3] + shares[:, 2:-2]) / 2  # of the four splines of a difference
    weights = np.maximum(N_SPLINES * around, MIN_SHARE) ** -SHARE_POWER
    differences = np.diff(np.eye(N_SPLINES), 3, axis=0)
    of_splines = (differences.T * weights[:, np.newaxis]) @ differences
    return np.pad(of_splines, ((0, 0), (0, 1), (0, 1)))  # the step is as steep as it is


class Moments(NamedTuple):
    """Moments of the functions less a straight line, for each component."""

    power: NDArray[np.float64]  # E[b bᵀ]
    slope: NDArray[np.float64]  # E[b' - b y]
    shares: NDArray[np.float64]  # E[b] before the line is taken off
    lines: Lines


def find_moments(
    counts: NDArray[np.float64],
    basis: Basis,
    lines: Lines | None = None,
) -> Moments:
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

    def means(parts: NDArray[np.float64], of_step: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up what each bin contributes to all functions."""
        return np.column_stack([gathered(parts), of_step.sum(axis=1)])

    weighted, step = weights * basis.values, weights * basis.step
    power = np.zeros((n_rows, N_FUNCTIONS, N_FUNCTIONS))
    every = np.arange(N_SPLINES)
    for k in range(SPLINE_DEGREE + 1):
        products = gathered(weighted[: 4 - k] * basis.values[k:])[:, : N_SPLINES - k]
        first, second = every[: N_SPLINES - k], every[k:]
        power[:, first, second] = power[:, second, first] = products
    power[:, -1] = power[..., -1] = means(weighted * basis.step, step * basis.step)
    values, moments = means(weighted, step), means(weighted * y, step * y)
    mean, square = (weights @ y)[:, np.newaxis], (weights @ y**2)[:, np.newaxis]
    if lines is None:
        tilt = (moments - mean * values) / np.maximum(square - mean**2, 1e-300)
        lines = values - tilt * mean, tilt
    level, tilt = lines
    # Terms with the straight line, which leave the rest orthogonal to it if it is their own.
    others = values - level / 2 - tilt * mean, moments - tilt * square / 2
    products = np.stack([level, tilt], axis=2) @ np.stack(others, axis=1)
    power -= products + products.transpose(0, 2, 1)
    slope = means(weights * basis.slopes, weights * basis.step_slopes)
    slope -= tilt + moments - level * mean - tilt * square
    return Moments(power, slope, values, lines)


class Solution(NamedTuple):
    """Coefficients of the functions that solve linear systems."""

    coefficients: NDArray[np.float64]
    response: NDArray[np.float64]  # their change with the right-hand side of the step

    def keeping(self, share: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the solution with only a share of the coefficient of the step."""
        lost = (1 - share) * self.coefficients[..., -1:]
        return self.coefficients - lost / self.response[..., -1:] * self.response


def solve(matrices: NDArray[np.float64], vectors: NDArray[np.float64]) -> Solution:
    """Solve symmetric systems; functions that are zero where the samples are get no weight."""
    every = np.arange(N_FUNCTIONS)
    # Of few samples a large penalty is all there is, and it does not tell quadratic functions: the
    # ridge has to be more than its rounding.
    largest = matrices[..., every, every].max(axis=-1, keepdims=True)
    matrices[..., every, every] += RIDGE + N_FUNCTIONS * np.finfo(float).eps * largest
    sides = np.zeros((*matrices.shape[:-1], 2))
    sides[..., 0] = vectors
    sides[..., -1, 1] = 1
    solved = np.linalg.solve(matrices, sides)
    return Solution(solved[..., 0], solved[..., 1])
