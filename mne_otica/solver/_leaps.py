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

# Cosines of the angle by which a leap turns a component: leaps go on while any is below the first,
# and a component is not found yet while it is below the second.
FAR = 0.76
FOUND = 0.9
# Up to this share of the components is sought by itself, where there are so many that passes take
# long: a source of which the found have taken a part would be missed.
MAX_LOST = 0.5
MIN_COMPONENTS = 100
MIN_GAIN = 1e-3  # of the objective


def leap(
    objective: Objective,
    W: NDArray[np.float64],
    *,
    min_gain: float,
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
    min_gain : float
        Stop when the objective is lowered by less than this, or less than `MIN_GAIN`.
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
    min_gain = max(min_gain, MIN_GAIN)
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
            found, _, path = leap(
                part,
                np.eye(len(lost)),
                min_gain=min_gain,
                max_iter=max_iter - len(values),
                on_step=on_step,
            )
            objective.n_evaluations += part.n_evaluations
            values += [here.value + value - path[0] for value in path[1:]]
            worthwhile = path[0] - path[-1] > max(gain, min_gain)
            W = W.copy()
            W[lost] = found @ W[lost]
            here = objective(W)
            continue
        there = objective(turn @ W)
        gain = here.value - there.value
        if gain < min_gain:
            break
        W, here = turn @ W, there
        values.append(here.value)
        on_step()
    return W, here, values
