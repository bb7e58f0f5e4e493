"""The most likely unmixing among all invertible matrices, near a rotation.

Whitening with the covariance of a sample takes over its error, and a rotation can only share it out.
All matrices together have no such price. For components with the densities f_i, the mean negative
log-likelihood of a sample is

    L(W) = Σ_i E[-log f_i(y_i)] - log|det W|,    y = W x,

and for W → (I + S) W with S zero on its diagonal, rows scaled back to unit length, it has the
gradient ``E[ψ_i(y_i) y_j]`` with ψ the score functions, which `_scores` fits to the components. Near
independence the Hessian joins S_ij and S_ji only, by ``[[E ψ_i², 1], [1, E ψ_j²]]``. Limited-memory
BFGS starts from it and back-tracks on L itself, so no step makes L larger. When it has
converged, the scores are fitted again, a few times.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mne_otica.solver._lbfgs import Memory
from mne_otica.solver._objective import Objective
from mne_otica.solver._scores import Scores, choose_penalties, fit_scores

MAX_FITS = 10  # of the scores
MAX_STEPS = 10  # with the same scores
MAX_HALVINGS = 6
SUFFICIENT_DECREASE = 1e-4
LONGEST_STEP = 0.3  # this is not a search
# Two nearly Gaussian components do not tell their angle: do not turn them by noise.
MIN_EXCESS = 0.025  # of the information over that of a Gaussian


class _Place(NamedTuple):
    """An unmixing matrix, and what one pass over the data tells about it."""

    W: NDArray[np.float64]
    counts: NDArray[np.int64]
    value: float  # of L
    gradient: NDArray[np.float64]


def refine_fully(
    objective: Objective, W: NDArray[np.float64], tol: float
) -> NDArray[np.float64]:
    """Go from a rotation to the most likely matrix near to it.

    Parameters
    ----------
    objective : Objective
        Holds the whitened data.
    W : ndarray, shape (n_components, n_components)
        The rotation.
    tol : float
        Stop when no entry of S is larger than this.

    Returns
    -------
    W : ndarray, shape (n_components, n_components)
        The matrix, with rows of unit length.
    """
    counts = objective.counts(W)
    information = np.ones(len(W))
    penalties = choose_penalties(objective.block_counts(), information)
    for _ in range(MAX_FITS):
        scores = fit_scores(counts, penalties, information)
        information = scores.information
        before = W
        W, counts = _descend(objective, W, counts, scores, tol)
        if np.abs(np.linalg.solve(before.T, W.T) - np.eye(len(W))).max() < tol:
            break
    return W


def _descend(
    objective: Objective,
    W: NDArray[np.float64],
    counts: NDArray[np.int64],
    scores: Scores,
    tol: float,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Minimise L for given scores; W is what was counted last."""
    tables = scores.tables.astype(np.float32)
    value, gradient = _value(W, counts, scores), _gradient(objective, W, tables)
    memory = Memory()
    for _ in range(MAX_STEPS):
        step = memory.direction(gradient, lambda g: _precondition(g, scores.information))
        if np.vdot(step, gradient) >= 0:
            memory, step = Memory(), -_precondition(gradient, scores.information)
        step *= min(1, LONGEST_STEP / np.abs(step).max(initial=1e-300))
        for _ in range(MAX_HALVINGS):
            W_next = _unit_rows(W + step @ W)
            counts_next = objective.counts(W_next)
            value_next = _value(W_next, counts_next, scores)
            if value_next <= value + SUFFICIENT_DECREASE * np.vdot(step, gradient):
                break
            step = step / 2
        else:  # the optimum is found to the grain of the bins
            return W, objective.counts(W)
        gradient_next = _gradient(objective, W_next, tables)
        memory.add(step, gradient_next - gradient)
        W, counts, value, gradient = W_next, counts_next, value_next, gradient_next
        if np.abs(step).max() < tol:
            break
    return W, counts


def _value(W: NDArray[np.float64], counts: NDArray[np.int64], scores: Scores) -> float:
    mean = np.vdot(counts, scores.potentials) / counts[0].sum()
    return float(mean - np.linalg.slogdet(W).logabsdet)


def _gradient(
    objective: Objective, W: NDArray[np.float64], tables: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the gradient of L at the matrix that was counted last."""
    gradient = objective.cross_moments(tables)
    # Rows are scaled back to unit length, which takes part of the step away again.
    gradient -= (np.diag(gradient) - 1)[:, np.newaxis] * (W @ W.T)
    np.fill_diagonal(gradient, 0)
    return gradient


def _precondition(
    gradient: NDArray[np.float64], information: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Multiply by the inverse of the Hessian at independence, pair by pair."""
    information = np.maximum(information, 1 + MIN_EXCESS)
    determinants = np.outer(information, information) - 1
    step = (information * gradient - gradient.T) / determinants
    np.fill_diagonal(step, 0)
    return step


def _unit_rows(W: NDArray[np.float64]) -> NDArray[np.float64]:
    return W / np.linalg.norm(W, axis=1, keepdims=True)
