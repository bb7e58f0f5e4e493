"""The most precise estimate near an optimum of the contrast.

Near independence every method solves estimating equations of one form: the mean of ψ_i(y_i) y_j
is zero for all pairs. With the transport maps as ψ this is the optimum of the contrast. Other ψ
have the same solution, but another variance in finite samples. The variance is smallest for the
score functions of the components, which `_scores` estimates.

Among rotations, one equation is left for each pair, and with the scores the angle of two components
has the variance 1 / (N (e_i + e_j)), where 1 + e = E[ψ²].

Whitening with the sample covariance inherits its error, however, which no rotation can remove.
Optimising over all invertible matrices avoids it. For components with the
densities f_i, the mean negative log-likelihood of a sample is

    L(W) = Σ_i E[-log f_i(y_i)] - log|det W|,    y = W x,

and for W → (I + S) W with zeros on the diagonal of S, rows scaled back to unit length, it has the
gradient E[ψ_i(y_i) y_j]. Near independence its Hessian joins S_ij and S_ji only, by
[[1 + e_i, 1], [1, 1 + e_j]]. Newton steps with this Hessian are shortened until L falls. But for
the determinant, L is a sum over the rows of W, so each row has its own length of step. The scores
are fitted again after each step: more steps with the same scores gain less than the next fit. In
recordings the scale of components changes in time, which tells more about those that are nearly
Gaussian than their densities do: see `_modulation`. Last, `_edges` takes over for components whose
density ends abruptly, `_lattices` for those on a lattice, and the others follow.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from mne_otica.solver._edges import find_edges, sharpen
from mne_otica.solver._lattices import settle
from mne_otica.solver._modulation import Modulation, find_modulation
from mne_otica.solver._objective import Objective
from mne_otica.solver._rotations import rotation
from mne_otica.solver._scores import Scores, choose_smoothness, fit_scores

# Independent sources take two or three fits of the scores; recordings are not so simple, and each
# fit leaves them a little less dependent.
MAX_ROTATIONS = 6
MAX_FITS = 20
# Where scales change in time, they are fitted with the scores, which takes another pass. So several
# steps are taken with the same ones, and together must gain so many times what one step must.
MODULATED_STEPS = 2
NEW_SCALES = 5
MAX_SHORTENINGS, SHORTENING = 4, 0.25  # of a step, the last to nothing
SUFFICIENT_DECREASE = 1e-4
LONGEST_ROTATION = 0.1  # radians: this is not a search
LONGEST_STEP = 0.3
# Fitting d² weights to N samples lowers L by d² / 2 N by chance, about as much as a step by their
# standard errors. Steps of less than a fifth of that, which gain this share of it, end the fit.
NEGLIGIBLE_SHARE = 0.04
# Two nearly Gaussian components do not tell their angle, nor more of their correlation than the
# covariance of the sample: pairs whose angle has a larger standard error are left alone. Whatever
# it is, those with a larger e_i + e_j are not.
MAX_ERROR = 0.05  # radians
NOT_GAUSSIAN = 0.2


def refine_rotation(
    objective: Objective, W: NDArray[np.float64], tol: float
) -> NDArray[np.float64]:
    """Take Newton steps with the scores of the components, from an optimum of the contrast.

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
    floor = _least_excess(objective)
    counts, information = objective.counts(W), np.ones(len(W))
    smoothness = choose_smoothness(counts, objective.block_counts(), information)
    for _ in range(MAX_ROTATIONS):
        scores = fit_scores(counts, smoothness, information)
        information = scores.information
        moments = objective.cross_moments(scores.tables.astype(np.float32))
        curvature = np.maximum(_excess(scores)[planes], floor)
        angles = (moments.T - moments)[planes] / curvature
        size = np.abs(angles).max(initial=1e-300)
        W = rotation(min(1, LONGEST_ROTATION / size) * angles, planes) @ W
        if size < tol:
            break
        counts = objective.counts(W)
    return W


def negligible_drop(n_components: int, n_samples: int) -> float:
    """Return the drop of L that is not worth a pass over the data."""
    return NEGLIGIBLE_SHARE * n_components**2 / (2 * n_samples)


def refine_fully(
    objective: Objective, W: NDArray[np.float64], tol: float, negligible: float
) -> NDArray[np.float64]:
    """Maximise the likelihood over invertible matrices, starting from a rotation.

    Parameters
    ----------
    objective : Objective
        Holds the whitened data.
    W : ndarray, shape (n_components, n_components)
        The rotation.
    tol : float
        Stop when no component gets more of another than this.
    negligible : float
        Stop when the likelihood gains no more than this.

    Returns
    -------
    W : ndarray, shape (n_components, n_components)
        The matrix, with rows of unit length.
    """
    counts, information, smoothness = objective.counts(W), np.ones(len(W)), None
    modulation = find_modulation(objective)
    n_steps, worthwhile = 1, negligible
    if modulation is not None:
        n_steps, worthwhile = MODULATED_STEPS, NEW_SCALES * negligible
    for number in range(MAX_FITS):
        if modulation is not None:
            if number > 0:  # the components have moved
                modulation = find_modulation(objective) or modulation
            objective.rescale(modulation.scales)
            counts = objective.counts(W)
        if smoothness is None:
            smoothness = choose_smoothness(counts, objective.block_counts(), information)
        scores = fit_scores(counts, smoothness, information)
        information = scores.information
        longest = gain = 0.0
        for _ in range(n_steps):
            step, W, counts, drop = _step(objective, W, counts, scores, modulation)
            longest, gain = max(longest, np.abs(step).max()), gain + drop
        if longest < tol or gain < worthwhile:
            break
    if modulation is not None:  # edges and lattices are those of the components themselves
        objective.rescale(None)
        counts = objective.counts(W)
        scores = fit_scores(counts, smoothness, information)
    sharp = settle(objective.X, W, counts)
    sharp = sharpen(objective.X, sharp, find_edges(counts), scores.information)
    return _follow(objective, sharp, np.any(sharp != W, axis=1), scores)


def _step(
    objective: Objective,
    W: NDArray[np.float64],
    counts: NDArray[np.int64],
    scores: Scores,
    modulation: Modulation | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], float]:
    """Take a step that lowers L for given scores; W is what was counted last.

    Returns the step, W after it, its counts, and by how much L fell.
    """
    ratios = np.ones(W.shape) if modulation is None else modulation.ratios
    curvature = scores.information[:, np.newaxis] * ratios
    excess, least = curvature - 1, _least_excess(objective)
    told = (excess + excess.T >= least) & (curvature * curvature.T - 1 >= least)
    np.fill_diagonal(told, False)
    gradient = told * _gradient(objective, W, scores.tables.astype(np.float32))
    values = _values(counts, scores)
    value = _likelihood(values, W)
    step = -_precondition(gradient, curvature)
    step *= min(1, LONGEST_STEP / np.abs(step).max(initial=1e-300))
    for remaining in reversed(range(MAX_SHORTENINGS + 1)):
        # Scales turn many components that look Gaussian far at once, which no straight line does.
        W_next = unit_rows(W + step @ W if modulation is None else expm(step) @ W)
        counts_next = objective.counts(W_next)
        values_next = _values(counts_next, scores)
        value_next = _likelihood(values_next, W_next)
        slopes = np.sum(step * gradient, axis=1)
        if value_next <= value + SUFFICIENT_DECREASE * slopes.sum():
            return step, W_next, counts_next, value - value_next
        # Only rows that do not gain go less far: steps and needles of a few densities would
        # hold up all others.
        failed = values_next - values > SUFFICIENT_DECREASE * slopes
        shorter = SHORTENING if remaining > 1 else 0
        step = step * np.where(failed | ~failed.any(), shorter, 1)[:, np.newaxis]
    return np.zeros_like(W), W, objective.counts(W), 0.0  # the optimum to the grain of the bins


def _follow(
    objective: Objective, W: NDArray[np.float64], sharpened: NDArray[np.bool_], scores: Scores
) -> NDArray[np.float64]:
    """Take from the other components what they still have of those with edges.

    The two entries of a pair have correlated errors. Once an edge has told one of them, the other
    is known better, too: with S_ji = 0 the step is S_ij = -gradient / (1 + e_i).
    """
    if not sharpened.any() or sharpened.all():
        return W
    objective.counts(W)
    gradient = _gradient(objective, W, scores.tables.astype(np.float32))
    step = -gradient / scores.information[:, np.newaxis] * np.outer(~sharpened, sharpened)
    return unit_rows(W + step @ W)


def _least_excess(objective: Objective) -> float:
    """Return the e_i + e_j from which on the samples tell the angle of a pair."""
    return min(1 / (MAX_ERROR**2 * objective.X.shape[1]), NOT_GAUSSIAN)


def _excess(scores: Scores) -> NDArray[np.float64]:
    """Return e_i + e_j of each pair."""
    excess = scores.information - 1
    return excess + excess[:, np.newaxis]


def _values(counts: NDArray[np.int64], scores: Scores) -> NDArray[np.float64]:
    """Return the mean potential of each component."""
    return np.einsum("ij,ij->i", counts, scores.potentials) / counts[0].sum()


def _likelihood(values: NDArray[np.float64], W: NDArray[np.float64]) -> float:
    """Return L."""
    return float(values.sum() - np.linalg.slogdet(W).logabsdet)


def _gradient(
    objective: Objective, W: NDArray[np.float64], tables: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the gradient of L at the matrix that was counted last."""
    moments = objective.cross_moments(tables)
    # Rows are scaled back to unit length, which takes part of the step away again.
    return moments - (np.diag(moments) - 1)[:, np.newaxis] * (W @ W.T)


def _precondition(
    gradient: NDArray[np.float64], curvature: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Multiply by the inverse of the Hessian at independence, pair by pair."""
    determinants = curvature * curvature.T - 1
    step = np.zeros(gradient.shape)  # pairs that are left alone have no gradient
    numerators = curvature.T * gradient - gradient.T
    return np.divide(numerators, determinants, out=step, where=numerators != 0)


def unit_rows(W: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale the rows of a matrix to unit length."""
    return W / np.linalg.norm(W, axis=1, keepdims=True)
