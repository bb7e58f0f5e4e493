"""Search directions of limited-memory BFGS."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

MEMORY = 10  # pairs of steps and gradient changes that are kept


class Memory:
    """Recent steps and gradients, and the search direction computed from them.

    Steps and gradients are arrays of the same, arbitrary shape.
    """

    def __init__(self) -> None:
        self.pairs: list[tuple[NDArray, NDArray, float]] = []

    def add(self, step: NDArray, change: NDArray) -> None:
        """Add a step and the change of the gradient along it."""
        curvature = np.vdot(step, change)
        if curvature > 1e-10 * np.linalg.norm(step) * np.linalg.norm(change):
            self.pairs = [*self.pairs[1 - MEMORY :], (step, change, 1 / curvature)]

    def direction(
        self, gradient: NDArray, precondition: Callable[[NDArray], NDArray]
    ) -> NDArray[np.float64]:
        """Return minus the approximate inverse Hessian times the gradient.

        Parameters
        ----------
        gradient : ndarray
            The gradient.
        precondition : callable
            Multiplies by an initial approximation of the inverse Hessian.
        """
        q = gradient.copy()
        weights = []
        for step, change, rho in reversed(self.pairs):
            weights.append(rho * np.vdot(step, q))
            q -= weights[-1] * change
        q = precondition(q)
        for (step, change, rho), weight in zip(self.pairs, reversed(weights), strict=True):
            q += (weight - rho * np.vdot(change, q)) * step
        return -q
