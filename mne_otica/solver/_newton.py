"""OT-ICA by a preconditioned quasi-Newton method on the orthogonal group.

On whitened data the total contrast of W in O(d) is ``2 d - 2 sum_i C_i``, so the sum of the
C_i is minimised. A step is a rotation: W becomes R(E) W with E skew. The optimal coupling
need not be differentiated (envelope theorem), which gives the gradient
``G - Gᵀ, G = P Yᵀ / N`` with P the Gaussian targets in the order of Y = W X. Near
independence a rotation in the plane (i, j) has the curvature
``(k_i - C_i) + (k_j - C_j)`` with k the mean slope of the transport map. It is never negative and
vanishes only for two Gaussians, so no switching between sub- and super-Gaussian
sources is needed. Limited-memory BFGS starts from this curvature.

Far from the sources that curvature is not informative: there `_leaps` goes first.

The optimum of the contrast is then refined: see `_refinement`.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mne_otica.solver._lbfgs import Memory
from mne_otica.solver._leaps import allowed_coarseness, leap, worthwhile_gain
from mne_otica.solver._objective import Objective
from mne_otica.solver._optima import WORTHWHILE, escape
from mne_otica.solver._refinement import negligible_drop, refine_fully, refine_rotation
from mne_otica.solver._rotations import rotation
from mne_otica.solver._solution import Solution

# Pairs of nearly Gaussian components have next to no curvature, and steps that are mostly noise. A
# floor keeps that noise, an angle of sqrt(2 / N) over the curvature, below this many radians.
MAX_NOISE = 0.28
MAX_CURVATURE_FLOOR = 0.05
LONGEST_STEP = 0.7  # radians; rotations by more than 45 degrees only relabel components
SUFFICIENT_DECREASE = 1e-4
MAX_HALVINGS = 6
# Nearly Gaussian components can be turned for ever by angles that change nothing: stop when so many
# iterations gain less than is worth one each.
PLATEAU_ITER = 5
MAX_SEARCH_ITER = 200
# Where there are this many times more samples than a scout needs, a scout goes first.
SCOUTED_FROM = 3
MIN_SCOUT_SAMPLES = 10_000
SCOUT_SAMPLES_PER_COMPONENT = 50
MIN_VARIANCE = 0.1  # of a direction among the samples of a scout, to be made one
# Where there are this many times more samples again, and a refinement follows on all of them, the
# optimum is sought on a part of that many times the samples of the scout.
MIDDLE_FACTOR = 6
MIDDLE_FROM = 2
# What is polished later, on all samples and components or by a refinement, need not be found
# exactly: how many times less so. The part stands for all samples, which tell more than itself.
SCOUT_COARSENESS = 10
PART_COARSENESS = 2
REFINED_COARSENESS = 5
SEARCH_COARSENESS = 3


def minimise(
    objective: Objective,
    W: NDArray[np.float64],
    *,
    tol: float,
    max_iter: int,
    coarseness: float = 1,
    on_step: Callable[[], None] = lambda: None,
) -> Solution:
    """Descend from W until the rotation steps, or what they gain, are negligible.

    The larger the coarseness, the larger the gains that are negligible: see `worthwhile_gain`.

    The gradient does not tell convergence: a random rotation of many sources looks Gaussian
    everywhere, and its gradient is tiny far from any optimum. The size of the
    preconditioned step does.
    """
    planes = np.triu_indices(len(W), 1)
    W, here, values = leap(objective, W, coarseness, max_iter=max_iter, on_step=on_step)
    n_iter = len(values) - 1
    memory = Memory()
    floor = min(np.sqrt(2 / objective.X.shape[1]) / MAX_NOISE, MAX_CURVATURE_FLOOR)
    size, converged = np.pi / 2, len(W) == 1  # leaps may turn as far
    while n_iter < max_iter and not converged:
        gradient = here.gradient[planes]
        excess = here.slope - here.correlation
        curvature = np.maximum(excess[planes[0]] + excess[planes[1]], floor)
        step = memory.direction(gradient, partial(np.multiply, 1 / curvature))
        if step @ gradient >= 0:
            memory, step = Memory(), -gradient / curvature
        step *= min(1, LONGEST_STEP / np.abs(step).max(initial=1e-300))
        for _ in range(MAX_HALVINGS):
            size = np.abs(step).max()
            W_next = rotation(step, planes) @ W
            there = objective(W_next)
            if there.value <= here.value + SUFFICIENT_DECREASE * (step @ gradient):
                break
            step = step / 2
        else:
            # The empirical objective is piecewise smooth: where even a short step along the
            # preconditioned gradient gains nothing, the optimum is found to its grain.
            converged = not memory.pairs
            memory = Memory()
            continue
        n_iter += 1
        memory.add(step, there.gradient[planes] - gradient)
        W, here = W_next, there
        values = [*values[-PLATEAU_ITER:], here.value]
        gain = (values[0] - values[-1]) / PLATEAU_ITER
        allowed = allowed_coarseness(objective, here, coarseness)
        on_plateau = len(values) > PLATEAU_ITER and gain < worthwhile_gain(objective, allowed)
        converged = size < tol or on_plateau
        on_step()
    return Solution(W, here.correlation, n_iter, objective.n_evaluations, size, converged)


def solve(
    X: NDArray,
    W: NDArray[np.float64],
    *,
    tol: float,
    max_iter: int,
    refinement: str,
    rng: np.random.Generator,
    on_step: Callable[[], None],
) -> Solution:
    """Find the rotation that unmixes whitened data.

    With many samples, a scout descends on a few of them first, and the optimum is sought on some.
    """
    fit = _Fit(tol, max_iter, on_step, rng)
    X = np.asarray(X, dtype=np.float32)
    n_scout = max(MIN_SCOUT_SAMPLES, SCOUT_SAMPLES_PER_COMPONENT * len(X))
    n_middle = MIDDLE_FACTOR * n_scout
    refined = refinement != "none" and len(X) > 1
    nearly = REFINED_COARSENESS if refined else 1
    if X.shape[1] >= SCOUTED_FROM * n_scout:
        W = fit.descend(_some(X, n_scout, rng), W, SCOUT_COARSENESS).W
    if X.shape[1] >= MIDDLE_FROM * n_middle and refined:
        W = fit.descend_and_escape(_some(X, n_middle, rng), W, PART_COARSENESS).W
        # What is rare may be missing among them.
        solution = fit.descend(X, W, SCOUT_COARSENESS)
    else:
        solution = fit.descend_and_escape(X, W, nearly)
    if refined:
        W, correlation = fit.refine(X, solution.W, refinement)
        solution = replace(solution, W=W, correlation=correlation)
    return replace(solution, n_iter=fit.n_iter, n_evaluations=fit.n_evaluations)


def _some(X: NDArray[np.float32], n_samples: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Draw samples and make them white, as they are only as part of all.

    Correlations that a few samples have by chance would drown what is not Gaussian in them. One is
    drawn from each of as many spans of time: neighbours tell almost the same, gaps are a loss.
    """
    spans = np.arange(n_samples) + rng.random(n_samples)
    X = X[:, (spans * (X.shape[1] / n_samples)).astype(int)]
    covariance = np.atleast_2d(np.cov(X, dtype=np.float64, bias=True))
    values, vectors = np.linalg.eigh(covariance)
    # What is rare can be missing among few samples: its noise is not blown up to its size.
    half = ((vectors / np.sqrt(np.maximum(values, MIN_VARIANCE))) @ vectors.T).astype(X.dtype)
    return half @ (X - X.mean(axis=1, keepdims=True))


class _Fit:
    """The stages of a fit, which share a budget of iterations."""

    def __init__(
        self, tol: float, max_iter: int, on_step: Callable[[], None], rng: np.random.Generator
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.on_step = on_step
        self.rng = rng
        self.n_iter = 0
        self.n_evaluations = 0

    def descend(
        self, X: NDArray[np.float32], W: NDArray[np.float64], coarseness: float
    ) -> Solution:
        """Descend with the iterations that are left."""
        limit = self.max_iter - self.n_iter
        solution = minimise(
            Objective(X),
            W,
            tol=self.tol,
            max_iter=limit,
            coarseness=coarseness,
            on_step=self.on_step,
        )
        self.n_iter += solution.n_iter
        self.n_evaluations += solution.n_evaluations
        return solution

    def descend_and_escape(
        self, X: NDArray[np.float32], W: NDArray[np.float64], coarseness: float
    ) -> Solution:
        """Descend, and go on from better starts for as long as they lead lower."""
        best = self.descend(X, W, coarseness)
        while self.n_iter < self.max_iter:
            start = escape(X, best.W, best.correlation, partial(self._search, coarseness), self.rng)
            if start is None:
                break
            solution = self.descend(X, start, coarseness)
            drop = best.correlation.sum() - solution.correlation.sum()
            if drop > 0:
                best = solution
            if drop < WORTHWHILE:
                break
        return best

    def refine(
        self, X: NDArray[np.float32], W: NDArray[np.float64], refinement: str
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Go from the optimum to the most precise estimate near to it; return it and its C."""
        objective = Objective(X)
        if refinement == "full":
            W = refine_fully(objective, W, self.tol, negligible_drop(*X.shape))
        else:
            W = refine_rotation(objective, W, self.tol)
        correlation = objective(W).correlation
        self.n_evaluations += objective.n_evaluations
        return W, correlation

    def _search(
        self, coarseness: float, Z: NDArray[np.float32], Q: NDArray
    ) -> tuple[NDArray, NDArray]:
        """Descend on a few components; a search like this is not part of the budget."""
        solution = minimise(
            Objective(Z),
            Q,
            tol=self.tol,
            max_iter=MAX_SEARCH_ITER,
            coarseness=SEARCH_COARSENESS * coarseness,
        )
        self.n_evaluations += solution.n_evaluations
        return solution.W, solution.correlation
