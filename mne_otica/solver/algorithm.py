"""The algorithm on one page: scout, descend, escape, refine; see docs/method.

Far from the sources every direction looks Gaussian, and the curvature is not informative: there a
fixed-point iteration takes large steps. Limited-memory BFGS then starts from the curvature at
independence. `discrete` has the escape, `likelihood` the refinement.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mne_otica.solver._linalg import (
    SUFFICIENT_DECREASE,
    Memory,
    limited,
    nearest_rotation,
    rotation,
    sphering,
)
from mne_otica.solver.contrast import Evaluation, Objective, Solution, gaussian_floor
from mne_otica.solver.discrete import MAX_HALVINGS, N_SAMPLES, WORTHWHILE, escape
from mne_otica.solver.likelihood import NEGLIGIBLE_SHARE, refine_fully, refine_rotation
from mne_otica.utils.arrays import Array, Single

# Nearly Gaussian components can be rotated for ever without effect. So the descent ends if the mean
# gain of PLATEAU_ITER iterations is below MIN_GAIN, about what bins resolve, or below
# NEGLIGIBLE_SHARE of what d (d - 1) / 2 angles gain on N samples by chance, about d² / 4 N.
PLATEAU_ITER = 5
MIN_GAIN = 5e-5


def solve(
    X: NDArray,
    W: Array,
    tol: float,
    max_iter: int,
    refinement: str,
    rng: np.random.Generator | None = None,
    on_step: Callable[[], None] = lambda: None,
) -> Solution:
    """Unmix whitened data from a rotation W, by a local optimisation if there is no generator."""
    X = np.asarray(X, dtype=np.float32)
    n_iter = 0

    def descend(X: Single, W: Array) -> Solution:
        """Descend with the iterations that are left."""
        nonlocal n_iter
        solution = minimise(Objective(X), W, tol, max_iter - n_iter, on_step)
        n_iter += solution.n_iter
        return solution

    scouting = rng is not None and X.shape[1] >= 2 * N_SAMPLES
    part = subsample(X, N_SAMPLES, rng) if scouting else X
    best = descend(part, W)
    while rng is not None and n_iter < max_iter:
        start = escape(part, best.W, best.correlation, rng)
        if start is None:
            break
        solution = descend(part, start)
        drop = best.value - solution.value
        best = min(best, solution, key=lambda one: one.value)
        if drop < WORTHWHILE:
            break
    if scouting:  # what is rare may be missing in a subsample
        best = descend(X, best.W)
    if refinement != "none" and len(X) > 1:
        objective = Objective(X)
        W = (refine_fully if refinement == "full" else refine_rotation)(objective, best.W, tol)
        best = best._replace(W=W, correlation=objective(W).correlation)
    return best._replace(n_iter=n_iter)


def subsample(X: Single, n_samples: int, rng: np.random.Generator) -> Single:
    """Draw a subsample and whiten it again; neighbouring samples are correlated."""
    spans = np.arange(n_samples) + rng.random(n_samples)
    X = X[:, (spans * (X.shape[1] / n_samples)).astype(int)]
    return sphering(X).astype(X.dtype) @ (X - X.mean(axis=1, keepdims=True))


def iterate_fixed_point(
    objective: Objective, W: Array, max_iter: int, on_step: Callable[[], None]
) -> tuple[Array, Evaluation, list[float]]:
    """Iterate Equation (7) of docs/method while it rotates far and lowers the objective."""
    here = objective(W)
    values = [here.value]  # at the start and after each iteration
    while len(values) <= max_iter:
        turn = nearest_rotation(np.diag(here.slope) - here.moments)
        # The sign of a component is arbitrary, so none is rotated by more than 90 degrees.
        turn[np.diag(turn) < 0] *= -1
        if np.diag(turn).min() > 0.76:  # all by less than 40 degrees
            break
        W_next = turn @ W
        there = objective(W_next)
        if here.value - there.value < max(1e-3, worthwhile_gain(objective, there)):
            break
        W, here = W_next, there
        values.append(here.value)
        on_step()
    return W, here, values


def minimise(
    objective: Objective, W: Array, tol: float, max_iter: int, on_step: Callable = lambda: None
) -> Solution:
    """Descend from W by Equation (8) of docs/method until steps or gains are negligible."""
    # A small gradient does not mean convergence, since it is tiny far from any optimum, too.
    planes = np.triu_indices(len(W), 1)
    W, here, values = iterate_fixed_point(objective, W, max_iter, on_step)
    n_iter = len(values) - 1
    memory, converged = Memory(), len(W) == 1
    size = np.pi / 2  # fixed-point iterations may rotate by 90 degrees
    while n_iter < max_iter and not converged:
        gradient = here.gradient[planes]
        # The floor keeps steps in planes of nearly Gaussian components from being noise.
        curvature = np.maximum(here.curvature(planes), 0.05)
        step = memory.direction(gradient, partial(np.multiply, 1 / curvature))
        if step @ gradient >= 0:
            memory, step = Memory(), -gradient / curvature
        step = limited(step)
        for _ in range(MAX_HALVINGS):
            size = np.abs(step).max()
            W_next = rotation(step, planes) @ W
            there = objective(W_next)
            if there.value <= here.value + SUFFICIENT_DECREASE * (step @ gradient):
                break
            step = step / 2
        else:
            converged = not memory.pairs  # to the resolution of the bins
            memory = Memory()
            continue
        memory.add(step, there.gradient[planes] - gradient)
        n_iter, W, here = n_iter + 1, W_next, there
        values = [*values[-PLATEAU_ITER:], here.value]
        gain = (values[0] - values[-1]) / PLATEAU_ITER
        worthwhile = worthwhile_gain(objective, here)
        converged = size < tol or (len(values) > PLATEAU_ITER and gain < worthwhile)
        on_step()
    return Solution(W, here.correlation, n_iter, size, converged)


def worthwhile_gain(objective: Objective, here: Evaluation) -> float:
    """Return the smallest drop worth an iteration, Equation (9) of docs/method."""
    n_components, n_samples = objective.X.shape
    chance = n_components**2 / (4 * n_samples)
    noise = n_components * gaussian_floor(n_samples) / 2 + 2 * chance
    found = n_components - here.value > noise  # before, gains grow from next to nothing
    return max(MIN_GAIN, NEGLIGIBLE_SHARE * chance) if found else MIN_GAIN
