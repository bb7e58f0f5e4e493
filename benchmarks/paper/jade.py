"""JADE: independent components by joint diagonalisation of fourth-order cumulant matrices.

No maintained Python package offers it (the maintained ones are for R), so it is written here from
its definition (Cardoso & Souloumiac 1993): after whitening, each cumulant matrix of
independent sources is diagonal in their basis, so the rotation sought is the one that makes all of
them as diagonal as possible. Jacobi sweeps find it, with the optimal angle of each plane in closed
form (Cardoso & Souloumiac 1996).
"""

import numpy as np
from numpy.typing import NDArray

MAX_SWEEPS = 100


def cumulant_matrices(X: NDArray) -> NDArray[np.float64]:
    """Return the fourth-order cumulant matrices of white signals.

    Parameters
    ----------
    X : ndarray, shape (d, n_samples)
        White signals with zero mean.

    Returns
    -------
    matrices : ndarray, shape (d * (d + 1) / 2, d, d)
        For each i <= j the matrix with entries cum(x_i, x_j, x_k, x_l). Those with i < j are
        multiplied by the square root of 2, since they stand for (j, i) as well.
    """
    d, n_samples = X.shape
    matrices = []
    for i in range(d):
        for j in range(i + 1):
            moment = (X * (X[i] * X[j])) @ X.T / n_samples
            if i == j:
                moment -= np.eye(d)
            moment[i, j] -= 1
            moment[j, i] -= 1
            matrices.append(moment if i == j else np.sqrt(2) * moment)
    return np.array(matrices)


def jacobi_angle(M: NDArray, p: int, q: int) -> float:
    """Return the angle in the plane (p, q) that makes symmetric matrices most diagonal."""
    difference, coupling = M[:, p, p] - M[:, q, q], 2 * M[:, p, q]
    on = difference @ difference - coupling @ coupling
    off = 2 * difference @ coupling
    return 0.5 * np.arctan2(off, on + np.hypot(on, off))


def joint_diagonaliser(matrices: NDArray, tol: float) -> NDArray[np.float64]:
    """Return the rotation V for which the matrices ``V @ M @ V.T`` are most diagonal.

    Parameters
    ----------
    matrices : ndarray, shape (n_matrices, d, d)
        Symmetric matrices.
    tol : float
        A sweep with no angle above it is the last.

    Returns
    -------
    V : ndarray, shape (d, d)
        The rotation.
    """
    M = matrices.copy()
    d = M.shape[1]
    V = np.eye(d)
    for _ in range(MAX_SWEEPS):
        largest = 0.0
        for p in range(d - 1):
            for q in range(p + 1, d):
                angle = jacobi_angle(M, p, q)
                largest = max(largest, abs(angle))
                if abs(angle) <= tol:
                    continue
                cos, sin = np.cos(angle), np.sin(angle)
                rotation = np.array([[cos, sin], [-sin, cos]])
                pair = [p, q]
                V[pair] = rotation @ V[pair]
                M[:, pair] = rotation @ M[:, pair]
                M[:, :, pair] = M[:, :, pair] @ rotation.T
        if largest <= tol:
            break
    return V


def jade(X: NDArray) -> NDArray[np.float64]:
    """Return the rotation that separates white signals of shape (d, n_samples)."""
    # Cardoso's tolerance: a hundredth of the statistical error.
    return joint_diagonaliser(cumulant_matrices(X), tol=0.01 / np.sqrt(X.shape[1]))
