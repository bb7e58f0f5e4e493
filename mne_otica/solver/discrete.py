"""Discrete sources: local optima, lattices and edges, Equations (15) and (16) of docs/method.

Two discrete sources can be mixed at 45 degrees in a plane: uncorrelated but dependent, so the
cross-moments of their Gaussian scores select the pairs for which a grid of rotations is tried. For
lattices, directions to start from maximise the fourth cumulants of what looks Gaussian.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from mne_otica.solver._linalg import in_threads, nearest_rotation
from mne_otica.solver.contrast import (
    bin_counts,
    bin_edges,
    bin_index,
    target_correlation,
    transport_map,
)
from mne_otica.solver.score_functions import MERGE, merged_counts, on_lattice
from mne_otica.utils.arrays import Array, Single

WORTHWHILE = 2e-3  # drop of the objective: more than chance, a tenth of that of a lattice found
N_SAMPLES = 10_000  # of a subsample, to search in
N_ANGLES = 8  # of a grid over 90 degrees, fine enough for the descent that follows
# Lattice search: components with a W2² below LOOKS_GAUSSIAN (noise has 0.001, the sum of two
# binomial sources 0.013, one of them 0.034) are searched, MAX_BLOCK at a time, as the cumulant
# tensor holds MAX_BLOCK**4 numbers.
LOOKS_GAUSSIAN, MAX_BLOCK = 0.02, 20
# Initial lengths of v; peaks have a width of about one. Shorter vectors would lead to the peak at
# the origin, and a finer lattice cannot be distinguished from a continuous density.
LENGTHS = np.arange(5, 16, 2)
# Support edges: the outermost samples are counted in two successive windows. If the density ends
# abruptly, their widths differ by less than MAX_RATIO. In the tail of a Gaussian the outer window
# is three times as wide, and 1.8 times if the density falls to zero linearly.
INFORMATION = 0.9032  # of Φ in units of its width: the integral of φ² / Φ
MAX_RATIO = 1.4
MAX_WEIGHTS = 64  # the time grows with their fourth power
# The fit starts at least MIN_BLUR times as blurred as the sharpest edge that can be reached, as
# scores that overfit underestimate the blur. It ends sharper by LAST_WIDTH: samples are farther
# inside of an edge that was fitted to them than others.
MIN_BLUR, LAST_WIDTH = 3.0, 0.6
MAX_HALVINGS = 6  # of a step
FAR = 6.0  # in units of the width: samples farther inside have no influence
REACH = 2.0  # the largest change of the weights, in units of the blur that the scores leave


def escape(X: Single, W: Array, correlation: Array, rng: np.random.Generator) -> Array | None:
    """Return a rotation with a lower objective than a local optimum W; None if none was found."""
    some = _subsampled(X)
    better = _rotate_pairs(some, W)
    if better is not None:
        return better
    counts = bin_counts(bin_index(W.astype(np.float32) @ some))
    return _find_lattices(X, W, correlation, on_lattice(merged_counts(counts)).any(), rng)


def _subsampled(X: Single, half: int = 0) -> Single:
    """Return equally spaced samples; the other half lies between them, if there are enough."""
    spacing = max(1, X.shape[1] // N_SAMPLES)
    return X[:, half * (spacing // 2) :: spacing]


def _rotated(a: NDArray, b: NDArray, angle: float) -> NDArray:
    cos, sin = np.array([np.cos(angle), np.sin(angle)], dtype=a.dtype)
    return np.stack([cos * a + sin * b, cos * b - sin * a])


def _rotate_pairs(X: Single, W: Array) -> Array | None:
    """Apply plane rotations of disjoint pairs that lower the objective."""
    Y = W.astype(np.float32) @ X
    # The pairs whose Gaussian scores have the largest cross-moments
    scores = transport_map(Y).astype(np.float32)
    powers = (scores**2 - 1) / np.float32(np.sqrt(2))
    skewed, joint = scores @ powers.T, powers @ powers.T
    dependence = skewed**2 + skewed.T**2 + joint**2
    i, j = np.triu_indices(len(Y), 1)
    leading = np.argsort(dependence[i, j])[::-1][: 3 * len(Y)]
    i, j = i[leading], j[leading]
    grid = Y[:, :: max(1, Y.shape[1] // 1000)]  # enough to propose, more samples confirm
    angles = np.arange(N_ANGLES) * (np.pi / 2 / N_ANGLES)

    def value(angle: float) -> Single:
        return target_correlation(_rotated(grid[i], grid[j], angle)).sum(axis=0)

    values = np.array(in_threads(value, angles))
    drops, best = values[0] - values.min(axis=0), angles[values.argmin(axis=0)]
    better, free = W.copy(), np.ones(len(W), dtype=bool)
    for pair in np.argsort(drops)[::-1]:
        rows = [i[pair], j[pair]]
        if drops[pair] < WORTHWHILE or not free[rows].all():
            continue
        rotated = _rotated(*Y[rows], best[pair])
        if np.sum(target_correlation(Y[rows]) - target_correlation(rotated)) > WORTHWHILE:
            better[rows] = _rotated(*W[rows], best[pair])
            free[rows] = False
    return None if free.all() else better


def _find_lattices(
    X: Single, W: Array, correlation: Array, expected: bool, rng: np.random.Generator
) -> Array | None:
    """Search for lattices among the components that look Gaussian, of which each leaves fewer."""
    # Where no component is discrete, all that are may be mixed with each other and hence look
    # Gaussian, but a recording seldom has any: a short search shows whether there is one.
    limit = LOOKS_GAUSSIAN if expected else LOOKS_GAUSSIAN / 4
    W, correlation = W.copy(), correlation.copy()
    X, others = _subsampled(X), _subsampled(X, half=1)  # what is found must hold for both
    found = False
    while True:
        block = np.flatnonzero(2 - 2 * correlation < limit)
        if len(block) < 2:
            return W if found else None
        if len(block) > MAX_BLOCK:
            block = rng.choice(block, MAX_BLOCK, replace=False)
        Z = W[block].astype(np.float32) @ X
        before = W[block].astype(np.float32) @ others
        tensor = _fourth_cumulants(Z)
        # The probability that a random start succeeds halves with each component beyond 12.
        for _ in range(min(12 * 2 ** max(0, len(block) - 12), 48) if expected else 2):
            rotation = search_lattices(Z, _cumulant_rotation(tensor, len(block), rng))
            if rotation is None:
                continue
            after = rotation.astype(np.float32) @ before
            if np.sum(target_correlation(before) - target_correlation(after)) > WORTHWHILE:
                W[block] = rotation @ W[block]
                correlation[block] = target_correlation(W[block].astype(np.float32) @ X)
                found = True
                break
        else:
            return W if found else None


def _cumulant_rotation(tensor: Array, size: int, rng: np.random.Generator) -> Array:
    """Maximise the sum of the absolute fourth cumulants of the rows, from a random start."""
    first, second = np.triu_indices(size)
    twice = np.where(first == second, 1, 2)  # a pair stands for both of its orders
    pair = np.empty((size, size), dtype=int)
    pair[first, second] = pair[second, first] = np.arange(len(first))
    Q = nearest_rotation(rng.standard_normal((size, size)))
    for _ in range(400):  # converges before, but for flat cumulants
        products = (Q[:, first] * Q[:, second] * twice) @ tensor
        gradient = np.matmul(products[:, pair], Q[:, :, np.newaxis])[:, :, 0]
        cumulants = np.sum(gradient * Q, axis=1, keepdims=True)
        # Without the damping the steps would oscillate where cumulants are small.
        Q, previous = nearest_rotation(np.sign(cumulants) * gradient + 0.5 * Q), Q
        if np.sum(Q * previous, axis=1).min() > 1 - 1e-5:
            break
    return Q


def _fourth_cumulants(Z: Single) -> Array:
    """Return the fourth cross-cumulants of white rows, for pairs of pairs of rows."""
    first, second = np.triu_indices(len(Z))
    products = Z[first] * Z[second]
    same = np.eye(len(Z))
    gaussian = np.multiply.outer(same[first, second], same[first, second])
    gaussian += same[np.ix_(first, first)] * same[np.ix_(second, second)]
    gaussian += same[np.ix_(first, second)] * same[np.ix_(second, first)]
    return products @ products.T / Z.shape[1] - gaussian


def search_lattices(Z: Single, start: Array) -> Array | None:
    """Climb by Equation (15) of docs/method to lattice directions, the first rows of the result."""
    vectors, heights = _peaks(Z, np.concatenate([length * start for length in LENGTHS]))
    # In N Gaussian samples the highest peak is about 6 / √N.
    least = max(0.3, 10 / np.sqrt(Z.shape[1]))
    found = np.empty((0, len(Z)))
    for k in np.argsort(heights)[::-1]:
        if heights[k] < least:
            break
        direction = vectors[k] / np.linalg.norm(vectors[k])
        across = direction - found.T @ (found @ direction)
        length = np.linalg.norm(across)
        if length > 0.9:  # most of it is new
            found = np.vstack([found, across / length])
    return np.linalg.qr(found.T, mode="complete")[0].T if len(found) else None


def _peaks(Z: Single, vectors: Array) -> tuple[Array, Array]:
    """Maximise |φ| from many vectors at once; return the maxima and their heights."""
    n_samples = Z.shape[1]
    for _ in range(12):
        phases = vectors.astype(np.float32) @ Z
        cosines, sines = np.cos(phases), np.sin(phases)
        real, imaginary = cosines.mean(axis=1), sines.mean(axis=1)
        heights = np.maximum(np.hypot(real, imaginary), 1e-9)
        slopes = imaginary[:, np.newaxis] * (cosines @ Z.T) - real[:, np.newaxis] * (sines @ Z.T)
        slopes = slopes.astype(np.float64) / (n_samples * heights**2)[:, np.newaxis]
        lengths = np.linalg.norm(slopes, axis=1, keepdims=True)
        # A step is at most a little longer than the width of a peak.
        vectors = vectors + slopes * (1.5 / np.maximum(lengths, 1.5))
    heights[np.linalg.norm(vectors, axis=1) < LENGTHS[0] / 2] = 0  # the peak at the origin
    return vectors, heights


def fit_lattices(X: Single, W: Array, counts: NDArray[np.int64]) -> Array:
    """Fit the weights of components on a lattice to its points; the others stay."""
    # For white x the best weights are E[v x], with v the mean of the samples at a point.
    merged, result = merged_counts(counts), W.copy()
    for i in np.flatnonzero(on_lattice(merged)):
        y = W[i].astype(np.float32) @ X
        # Empty bins separate the points.
        starts = np.diff(merged[i] > 0, prepend=False) & (merged[i] > 0)
        point = np.cumsum(starts)[bin_index(y) // MERGE] - 1
        means = np.bincount(point, y) / np.bincount(point)
        values = means[point]
        least_gap = np.diff(means).min(initial=np.inf)
        # Few samples of a continuous density have gaps between them, too.
        if 20 * len(means) < len(y) and least_gap > 10 * np.std(y - values):
            row = X @ values.astype(np.float32)
            result[i] = row / np.linalg.norm(row)
    return result


class Edge(NamedTuple):
    """An end of a density."""

    side: int  # 1 for the lower end, -1 for the upper
    place: float  # times the side
    density: float


def find_edges(counts: NDArray[np.int64]) -> list[list[Edge]]:
    """Find the abrupt ends of the densities of components, from their counts."""
    n_weights, n_samples = len(counts) - 1, int(counts[0].sum())
    window = max(200, 0.02 * n_samples, 10 * n_weights)
    if n_weights > MAX_WEIGHTS or 2 * window + n_weights > n_samples / 4:
        return [[] for _ in counts]
    # About as many samples as weights are blurred out of the density.
    ranks = n_weights + window * np.arange(3)
    inner = bin_edges()[1:-1]
    found = []
    for row, lattice in zip(counts, on_lattice(merged_counts(counts)), strict=True):
        found.append([])
        if lattice:
            continue
        below = np.cumsum(row)[:-1]
        for side in (1, -1):
            number = below if side > 0 else (n_samples - below)[::-1]
            start, middle, end = np.interp(ranks, number, inner)
            width = end - start
            if max(middle - start, end - middle) < MAX_RATIO * min(middle - start, end - middle):
                density = 2 * window / (width * n_samples)
                place = start - n_weights / (density * n_samples)
                found[-1].append(Edge(side, place, density))
    return found


def fit_edges(X: Single, W: Array, edges: list[list[Edge]], information: Array) -> Array:
    """Fit components with edges by Equation (16); ``information`` is that of the scores of W."""
    n_weights, n_samples = len(W) - 1, X.shape[1]
    result, lengths = W.copy(), None
    for i, ends in enumerate(edges):
        density = sum(end.density for end in ends)
        blur = np.sqrt(n_weights / (n_samples * information[i]))
        if n_weights >= INFORMATION * n_samples * density * blur:
            continue  # no edge, or one with less information than the scores
        sharpest = n_weights / (INFORMATION * n_samples * density)
        blur = max(blur, MIN_BLUR * sharpest)
        if lengths is None:
            lengths = np.sqrt(np.einsum("ij,ij->j", X, X))  # without a copy of X
        problem = _EdgeProblem(X, W, i, ends, blur * (FAR + REACH * lengths))
        last = LAST_WIDTH * sharpest
        for width in np.geomspace(blur, last, 2 + int(np.log2(blur / last))):
            problem.minimise(width)
        weights = problem.solution[:n_weights]
        if np.linalg.norm(weights) < REACH * blur:
            row = W[i] + weights @ np.delete(W, i, axis=0)
            result[i] = row / np.linalg.norm(row)
    return result


class _EdgeProblem:
    """Equation (16) for one component, with the samples within a margin of its edges."""

    def __init__(self, X: Single, W: Array, row: int, edges: list[Edge], margin: Single) -> None:
        n_weights = len(W) - 1
        # The weights of the other components, then the places of the edges.
        self.solution = np.concatenate([np.zeros(n_weights), [edge.place for edge in edges]])
        self.linear = np.zeros(len(self.solution))
        values, factors = [], []
        y = W[row].astype(np.float32) @ X
        for unknown, edge in enumerate(edges, n_weights):
            Y = edge.side * (W @ X[:, edge.side * y - edge.place < margin])
            factor = np.zeros((len(self.solution), Y.shape[1]))
            factor[:n_weights] = np.delete(Y, row, axis=0)
            factor[unknown] = -1
            values.append(Y[row])
            factors.append(factor)
            self.linear[unknown] = -edge.density * X.shape[1]
        self.values, self.factors = np.concatenate(values), np.concatenate(factors, axis=1)

    def _value(self, solution: Array, width: float) -> float:
        inside = (self.values + solution @ self.factors) / width
        return float(self.linear @ solution - log_ndtr(inside).sum())

    def minimise(self, width: float) -> None:
        """Take Newton steps for an edge of this width."""
        value = self._value(self.solution, width)
        for _ in range(10):
            t = (self.values + self.solution @ self.factors) / width
            near = t < FAR
            if np.count_nonzero(near) < len(self.solution):
                return  # the density has no such edge
            t, factors = t[near], self.factors[:, near]
            mills = np.exp(-0.5 * t**2 - log_ndtr(t)) / np.sqrt(2 * np.pi)
            gradient = self.linear - factors @ mills / width
            hessian = (factors * (mills * (mills + t) / width**2)) @ factors.T
            hessian[np.diag_indices_from(hessian)] += 1e-9 * np.trace(hessian)
            step = -np.linalg.solve(hessian, gradient)
            for _ in range(MAX_HALVINGS):
                value_next = self._value(self.solution + step, width)
                if value_next < value:
                    break
                step = step / 2
            else:
                return
            self.solution, value = self.solution + step, value_next
            if np.linalg.norm(step) < 0.01 * width:
                return
