"""Components whose density ends abruptly, such as that of a uniform source.

Such an edge determines the weights of a component with an error of order 1 / N instead of its root.
Only the few samples close to it matter, on a scale finer than the bins of the score functions. If
the density is c up to its edge, errors of the d - 1 weights blur it to c Φ((y - a) / s). The Fisher
information of the blurred edge is κ = 0.903 c / s, so each weight has the variance 1 / (N κ), and
together they blur the edge by s² = (d - 1) / (N κ). The sharpest edge that can be reached therefore
has s = (d - 1) / (0.903 N c). With two edges, c is the sum of both densities.

With y the component and z the others, the weights e of z minimise

    Σ_k -log Φ((y_k + e·z_k - a) / s) - N c a,

a convex function of e and of the position a of the edge. Where the density is smooth, its
information is negligible in comparison.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from mne_otica.solver._basis import merged_counts, on_lattice
from mne_otica.solver.transport import bin_edges

INFORMATION = 0.9032  # of Φ in units of its width: the integral of φ² / Φ
# The outermost samples are counted in two successive windows. If the density ends abruptly, their
# widths differ by less than MAX_RATIO. In the tail of a Gaussian the outer window is three times as
# wide, and 1.8 times as wide if the density falls to zero linearly.
WINDOW_PER_WEIGHT = 10
MIN_WINDOW = 200
MIN_WINDOW_SHARE = 0.02
MAX_RATIO = 1.4
MAX_SHARE = 0.25  # of the samples, in both windows
# The time grows with the fourth power of the number of components, that of a pass over the data
# with the second: for 128 of them it would be three times that of the rest of the fit.
MAX_WEIGHTS = 64
# The fit starts at least this blurred, in units of the sharpest edge that can be reached: scores
# that overfit underestimate the blur.
MIN_BLUR = 3.0
# It ends with an edge that is sharper than what can be reached by this factor. Samples are farther
# inside of an edge that was fitted to them than others would be: an edge that is right for others
# is too blunt for them.
LAST_WIDTH = 0.6
N_STEPS = 10
MAX_HALVINGS = 6
TOLERANCE = 0.01  # in units of the width of the edge
FAR = 6.0  # in units of the width: samples farther inside have no influence
REACH = 2.0  # the largest change of the weights, in units of the blur that the scores leave


class Edge(NamedTuple):
    """An end of a density."""

    side: int  # 1 for the lower end, -1 for the upper
    place: float  # times the side
    density: float


def find_edges(counts: NDArray[np.int64]) -> list[list[Edge]]:
    """Find the abrupt ends of the densities of components.

    Parameters
    ----------
    counts : ndarray, shape (n_components, N_BINS)
        Samples of each component in each bin.
    """
    n_weights, n_samples = len(counts) - 1, int(counts[0].sum())
    window = max(MIN_WINDOW, MIN_WINDOW_SHARE * n_samples, WINDOW_PER_WEIGHT * n_weights)
    if n_weights > MAX_WEIGHTS or 2 * window + n_weights > MAX_SHARE * n_samples:
        return [[] for _ in counts]
    # The outermost samples may be blurred out of the density.
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


def sharpen(
    X: NDArray[np.float32],
    W: NDArray[np.float64],
    edges: list[list[Edge]],
    information: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Fit the weights of components with edges to the samples near the edges.

    Parameters
    ----------
    X : ndarray of float32, shape (n_components, n_samples)
        The whitened data.
    W : ndarray, shape (n_components, n_components)
        The unmixing matrix, as precise as the scores make it, with rows of unit length.
    edges : list of list of Edge
        The edges of each component.
    information : ndarray, shape (n_components,)
        That of the scores.

    Returns
    -------
    W : ndarray, shape (n_components, n_components)
        With more precise rows for components with edges.
    """
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
        problem = _Problem(X, W, i, ends, blur * (FAR + REACH * lengths))
        last = LAST_WIDTH * sharpest
        for width in np.geomspace(blur, last, 2 + int(np.log2(blur / last))):
            problem.minimise(width)
        if np.linalg.norm(problem.weights) < REACH * blur:
            row = W[i] + problem.weights @ np.delete(W, i, axis=0)
            result[i] = row / np.linalg.norm(row)
    return result


class _Problem:
    """The function to minimise for one component.

    Parameters
    ----------
    X : ndarray of float32, shape (n_components, n_samples)
        The whitened data.
    W : ndarray, shape (n_components, n_components)
        The unmixing matrix.
    row : int
        The number of the component.
    edges : list of Edge
        Its edges.
    margin : ndarray, shape (n_samples,)
        Distance from an edge within which a sample has influence.
    """

    def __init__(
        self,
        X: NDArray[np.float32],
        W: NDArray[np.float64],
        row: int,
        edges: list[Edge],
        margin: NDArray[np.float32],
    ) -> None:
        self.n_weights = len(W) - 1
        # The weights of the other components, then the places of the edges.
        self.solution = np.concatenate([np.zeros(self.n_weights), [e.place for e in edges]])
        self.linear = np.zeros(len(self.solution))
        values, factors = [], []
        y = W[row].astype(np.float32) @ X
        for unknown, edge in enumerate(edges, self.n_weights):
            Y = edge.side * (W @ X[:, edge.side * y - edge.place < margin])
            factor = np.zeros((len(self.solution), Y.shape[1]))
            factor[: self.n_weights] = np.delete(Y, row, axis=0)
            factor[unknown] = -1
            values.append(Y[row])
            factors.append(factor)
            self.linear[unknown] = -edge.density * X.shape[1]
        self.values, self.factors = np.concatenate(values), np.concatenate(factors, axis=1)

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of the other components."""
        return self.solution[: self.n_weights]

    def _value(self, solution: NDArray[np.float64], width: float) -> float:
        """Return the function at a solution."""
        inside = (self.values + solution @ self.factors) / width
        return float(self.linear @ solution - log_ndtr(inside).sum())

    def minimise(self, width: float) -> None:
        """Take Newton steps for an edge of this width."""
        value = self._value(self.solution, width)
        for _ in range(N_STEPS):
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
            if np.linalg.norm(step) < TOLERANCE * width:
                return
