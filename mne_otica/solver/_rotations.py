"""Orthogonal matrices."""

import numpy as np
from numpy.typing import NDArray


def rotation(angles: NDArray, planes: tuple[NDArray, NDArray]) -> NDArray[np.float64]:
    """Return the Cayley transform of the skew matrix that has these entries above its diagonal.

    For small angles it turns each plane (i, j) by its angle.
    """
    size = planes[1][-1] + 1
    half = np.zeros((size, size))
    half[planes] = angles / 2
    half -= half.T
    identity = np.eye(size)
    return np.linalg.solve(identity - half, identity + half)


def nearest_rotation(matrix: NDArray) -> NDArray[np.float64]:
    """Return the orthogonal matrix that is nearest to a square one."""
    left, _, right = np.linalg.svd(matrix)
    return left @ right
