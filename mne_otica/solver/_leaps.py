"""Iterations of a fixed point, which go from anywhere to the vicinity of the sources.

At an optimum ``diag(k) - G`` is symmetric, so W is multiplied by its orthogonal part (see
`_newton` for G and k). From a random start, where every direction looks Gaussian, these are large
steps as in FastICA, with the transport maps as nonlinearities, and a dozen of them get close to
hundreds of sources. For a small rotation they are Newton steps.

Some sources take longer than others. What is found already would not move any more, so the rest is
then sought in the space that is left, where a pass costs a fraction.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mne_otica.solver._objective import Evaluation, Objective
from mne_otica.solver._rotations import nearest_rotation
from mne_otica.solver.transport import gaussian_floor

# Cosines of the angle by which a leap turns a component: leaps go on while any is below the first,
# and a component is not found yet while it is below the second.
FAR = 0.76
FOUND = 0.9
# Up to this share of the components is sought separately, but only if there are so many components
# that passes take long: what the others have taken of a source by mistake is out of reach there.
MAX_LOST = 0.5
MIN_COMPONENTS = 100
WORTH_A_LEAP = 1e-3  # gain
# Gains of an iteration that are worth it: more than this, and more than this share of what turning
# d (d - 1) / 2 planes gains on N samples by chance, about d² / 4 N.
MIN_GAIN = 5e-5
MIN_SHARE = 2e-3


def allowed_coarseness(objective: Objective, here: Evaluation, coarseness: float) -> float:
    """Return the coarseness, or 1 as long as all components look Gaussian.

    From such a start, gains grow from next to nothing, and none of them is negligible.

    Parameters
    ----------
    objective : Objective
        Holds the whitened data.
    here : Evaluation
        The objective where it is now.
    coarseness : float
        A factor of angles that are negligible.
    """
    n_components, n_samples = objective.X.shape
    noise = n_components * gaussian_floor(n_samples) / 2 + 2 * _chance(objective)
    return coarseness if n_components - here.value > noise else 1


def worthwhile_gain(objective: Objective, coarseness: float) -> float:
    """Return the least drop of the objective that is worth an iteration.

    It goes with the square of angles, and so of the coarseness.
    """
    return max(MIN_GAIN, MIN_SHARE * coarseness**2 * _chance(objective))


def _chance(objective: Objective) -> float:
    """Return what turning all planes gains by chance."""
    n_components, n_samples = objective.X.shape
    return n_components**2 / (4 * n_samples)


def leap(
    objective: Objective,
    W: NDArray[np.float64],
    coarseness: float = 1,
    *,
    max_iter: int,
    on_step: Callable[[], None],
) -> tuple[NDArray[np.float64], Evaluation, list[float]]:
    """Iterate the fixed point for as long as it turns far and lowers the objective.

    Parameters
    ----------
    objective : Objective
        Holds the whitened data.
    W : ndarray, shape (n_components, n_components)
        The rotation to start from.
    coarseness : float
        See `allowed_coarseness`.
    max_iter : int
        The largest number of leaps.
    on_step : callable
        Called after each.

    Returns
    -------
    W : ndarray, shape (n_components, n_components)
        The rotation.
    here : Evaluation
        The objective at W.
    values : list of float
        The value of the objective at the start and after each leap.
    """
    here, gain = objective(W), 0.0
    values, among_lost, worthwhile = [here.value], False, True
    while len(values) <= max_iter:
        turn = nearest_rotation(np.diag(here.slope) - here.moments)
        # The sign of a component means nothing, so none is turned by more than 90 degrees.
        turn[np.diag(turn) < 0] *= -1
        if np.diag(turn).min() > FAR:
            break
        lost = np.flatnonzero(np.diag(turn) < FOUND)
        # What was found among the lost has an effect on the others: leaps of all come in between.
        few = len(W) >= MIN_COMPONENTS and len(lost) <= MAX_LOST * len(W)
        among_lost = few and worthwhile and not among_lost
        if among_lost:
            part = Objective(W[lost].astype(np.float32) @ objective.X)
            left = max_iter - len(values)
            found, _, path = leap(
                part, np.eye(len(lost)), coarseness, max_iter=left, on_step=on_step
            )
            objective.n_evaluations += part.n_evaluations
            values += [here.value + value - path[0] for value in path[1:]]
            worthwhile = path[0] - path[-1] > max(gain, WORTH_A_LEAP)
            W = W.copy()
            W[lost] = found @ W[lost]
            here = objective(W)
            continue
        W_next = turn @ W
        there = objective(W_next)
        gain = here.value - there.value
        allowed = allowed_coarseness(objective, there, coarseness)
        if gain < max(WORTH_A_LEAP, worthwhile_gain(objective, allowed)):
            break
        W, here = W_next, there
        values.append(here.value)
        on_step()
    return W, here, values
