"""The likelihood: the most precise estimate near an optimum of the contrast; see docs/method."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.ndimage import gaussian_filter1d

from mne_otica.solver._linalg import SUFFICIENT_DECREASE, limited, rotation, unit_rows
from mne_otica.solver.contrast import Objective
from mne_otica.solver.discrete import find_edges, fit_edges, fit_lattices
from mne_otica.solver.score_functions import Scores, choose_smoothness, fit_scores
from mne_otica.utils.arrays import Array

MAX_FITS = 20  # of the scores: independent sources take two or three, recordings more
# Gains below this share of what free weights gain by chance end a descent. With twice as much
# recordings of 64 channels and few samples lose up to .1 nats held out (benchmarks.solver).
NEGLIGIBLE_SHARE = 0.02
# Scales that change in time, chosen by the held-out dependence (benchmarks.solver --part halves)
N_SPANS, MIN_SPANS, MIN_SPAN = 512, 64, 4  # the last in samples
SHARE = 0.6  # shrinks the changes of power, which are overestimated
# Correlation of the power in successive spans, in standard errors: from chance to certain
CHANCE, CERTAIN = 3.5, 5.5


class Modulation(NamedTuple):
    """The scales of components that change in time."""

    scales: Array  # in each span, shape (n_components, n_spans)
    ratios: Array  # r_ij, shape (n_components, n_components)


def find_modulation(objective: Objective) -> Modulation | None:
    """Estimate the scales of the components counted last, Equation (14); None if constant."""
    n_spans = min(N_SPANS, objective.X.shape[1] // MIN_SPAN)
    if n_spans < MIN_SPANS:
        return None
    powers = objective.powers(n_spans)
    powers /= powers.mean(axis=1, keepdims=True)
    weights = _evidence(powers)
    if not weights.any():
        return None
    around = gaussian_filter1d(powers, 2, axis=1, mode="nearest")
    squares = 1 + SHARE * weights[:, np.newaxis] * (around - 1)
    squares *= np.mean(powers / squares, axis=1, keepdims=True)  # z has unit variance
    squares[weights == 0] = 1
    return Modulation(np.sqrt(squares), (1 / squares) @ powers.T / n_spans)


def _evidence(powers: Array) -> Array:
    """Return the evidence that the power of components changes slowly, from 0 to 1."""
    levels = np.log(np.maximum(powers, 1e-6))  # robust against a few large samples
    levels -= levels.mean(axis=1, keepdims=True)
    variance = np.maximum(np.mean(levels**2, axis=1), 1e-300)
    correlation = np.mean(levels[:, 1:] * levels[:, :-1], axis=1) / variance
    excess = correlation * np.sqrt(powers.shape[1]) - CHANCE
    return np.clip(excess / (CERTAIN - CHANCE), 0, 1)


def refine_rotation(objective: Objective, W: Array, tol: float) -> Array:
    """Maximise the likelihood over rotations, until no plane is rotated by more than ``tol``."""
    planes = np.triu_indices(len(W), 1)
    counts, information = objective.counts(W), np.ones(len(W))
    smoothness = choose_smoothness(objective, counts)
    for _ in range(MAX_FITS):
        scores = fit_scores(counts, smoothness, information)
        information = scores.information
        moments = objective.cross_moments(scores.tables)
        excess = information - 1
        curvature = np.maximum(excess[planes[0]] + excess[planes[1]], _least_excess(objective))
        angles = (moments.T - moments)[planes] / curvature
        W = rotation(limited(angles), planes) @ W
        if np.abs(angles).max() < tol:
            break
        counts = objective.counts(W)
    return W


def refine_fully(objective: Objective, W: Array, tol: float) -> Array:
    """Maximise the likelihood over invertible matrices with unit rows, starting from a rotation."""
    # Fitting d² weights to N samples lowers L by d² / 2 N by chance.
    negligible = NEGLIGIBLE_SHARE * W.size / (2 * objective.X.shape[1])
    counts, information, smoothness = objective.counts(W), np.ones(len(W)), None
    modulation = find_modulation(objective)
    for number in range(MAX_FITS):
        if modulation is not None:
            if number > 0:  # the components have moved
                modulation = find_modulation(objective) or modulation
            objective.rescale(modulation.scales)
            counts = objective.counts(W)
        if smoothness is None:
            smoothness = choose_smoothness(objective, counts)
        scores = fit_scores(counts, smoothness, information)
        information = scores.information
        step, W, counts, gain = _step(objective, W, counts, scores, modulation)
        if np.abs(step).max() < tol or gain < negligible:
            break
    if modulation is not None:  # edges and lattices are those of the unscaled components
        objective.rescale(None)
        counts = objective.counts(W)
        scores = fit_scores(counts, smoothness, information)
    on_points = fit_lattices(objective.X, W, counts)
    return fit_edges(objective.X, on_points, find_edges(counts), scores.information)


def _step(
    objective: Objective,
    W: Array,
    counts: NDArray[np.int64],
    scores: Scores,
    modulation: Modulation | None = None,
) -> tuple[Array, Array, NDArray[np.int64], float]:
    """Lower L; return the step from W, which was counted last, W after it, its counts, the drop."""
    ratios = np.ones(W.shape) if modulation is None else modulation.ratios
    curvature = scores.information[:, np.newaxis] * ratios
    excess, least = curvature - 1, _least_excess(objective)
    separable = (excess + excess.T >= least) & (curvature * curvature.T - 1 >= least)
    np.fill_diagonal(separable, False)
    gradient = separable * _gradient(objective, W, scores.tables)
    values = _values(counts, scores)
    value = negative_likelihood(values, W)
    step = limited(newton_step(gradient, curvature))
    for remaining in (4, 3, 2, 1, 0):  # shortenings, the last to zero
        W_next = unit_rows(expm(step) @ W)
        counts_next = objective.counts(W_next)
        values_next = _values(counts_next, scores)
        value_next = negative_likelihood(values_next, W_next)
        slopes = np.sum(step * gradient, axis=1)
        if value_next <= value + SUFFICIENT_DECREASE * slopes.sum():
            return step, W_next, counts_next, value - value_next
        # Shorten only the rows whose likelihood fell.
        failed = values_next - values > SUFFICIENT_DECREASE * slopes
        shorter = 0.25 if remaining > 1 else 0
        step = step * np.where(failed | ~failed.any(), shorter, 1)[:, np.newaxis]
    return np.zeros_like(W), W, objective.counts(W), 0.0  # converged to the resolution of the bins


def _least_excess(objective: Objective) -> float:
    """Return the smallest e_i + e_j of a pair to fit: its angle has an error below 0.1 radians."""
    # The variance of an angle among rotations is 1 / (N (e_i + e_j)).
    return 1 / (0.1**2 * objective.X.shape[1])


def _values(counts: NDArray[np.int64], scores: Scores) -> Array:
    """Return the mean potential of each component."""
    return np.einsum("ij,ij->i", counts, scores.potentials) / counts[0].sum()


def negative_likelihood(values: Array, W: Array) -> float:
    """Return L, Equation (10) of docs/method, from the mean potentials of the components."""
    return float(values.sum() - np.linalg.slogdet(W).logabsdet)


def _gradient(objective: Objective, W: Array, tables: Array) -> Array:
    """Return the gradient of L at the matrix that was counted last."""
    moments = objective.cross_moments(tables)
    # The second term projects out the change of the lengths of rows, which are scaled back.
    return moments - (np.diag(moments) - 1)[:, np.newaxis] * (W @ W.T)


def newton_step(gradient: Array, curvature: Array) -> Array:
    """Solve Equation (13) of docs/method, pair by pair; the curvature is (1 + e_i) r_ij."""
    determinants = curvature * curvature.T - 1
    step = np.zeros(gradient.shape)  # also for pairs that are not separable
    numerators = gradient.T - curvature.T * gradient
    return np.divide(numerators, determinants, out=step, where=numerators != 0)
