"""Quality of a separation, with or without a known mixing matrix."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import differential_entropy

from mne_otica.utils.checks import _validate_matrix


def amari_index(W: ArrayLike, A: ArrayLike) -> float:
    r"""Return the Amari index of an unmixing matrix given the true mixing matrix.

    Parameters
    ----------
    W : array-like, shape (n_components, n_channels)
        The unmixing matrix, whitening included: ``W @ K`` for the matrices of
        :func:`mne_otica.otica`.
    A : array-like, shape (n_channels, n_components)
        The true mixing matrix.

    Returns
    -------
    index : float
        0 for perfect separation up to order, sign and scale; below 0.1 is near-perfect,
        0.5 and above a failure.

    Notes
    -----
    With :math:`P = W A`, the index is

    .. math:: E = \frac{1}{2d} \sum_i \left(\sum_j \frac{|p_{ij}|}{\max_k |p_{ik}|} - 1\right)
              + \frac{1}{2d} \sum_j \left(\sum_i \frac{|p_{ij}|}{\max_k |p_{kj}|} - 1\right)
    """
    W, A = _validate_matrix(W, "W"), _validate_matrix(A, "A")
    if W.shape != A.shape[::-1]:
        told = "pass the whole unmixing (W @ K of otica) and the mixing it should undo."
        shapes = f"W has shape {W.shape} and A has shape {A.shape}"
        raise ValueError(f"W @ A must be square, but {shapes}; {told}")
    P = np.abs(W @ A)
    rows = P.sum(axis=1) / P.max(axis=1) - 1
    columns = P.sum(axis=0) / P.max(axis=0) - 1
    return float((rows.sum() + columns.sum()) / (2 * len(P)))


def residual_dependence(Y: ArrayLike, W: ArrayLike) -> float:
    """Return the mutual information of components, up to a constant of the data.

    The mutual information is the sum of the entropies of the components, minus the log
    determinant of the unmixing matrix, minus the entropy of the data. The last term is the
    same for all unmixing matrices of the same data and is left out, so the value can only
    rank methods: lower means more independent. Use the same number of components for all.

    Parameters
    ----------
    Y : array-like, shape (n_components, n_samples)
        The components.
    W : array-like, shape (n_components, n_components)
        The unmixing matrix, applied to the (whitened) data.

    Returns
    -------
    dependence : float
        Sum of Vasicek entropies minus ``log|det W|``, in nats.
    """
    Y, W = _validate_matrix(Y, "Y"), _validate_matrix(W, "W")
    if W.shape != (len(Y), len(Y)):
        told = f"got shape {W.shape}; pass the matrix that acts on the whitened data."
        raise ValueError(f"W must be square with a row per component ({len(Y)}), {told}")
    entropies = differential_entropy(Y, axis=1, method="vasicek")
    return float(np.sum(entropies) - np.linalg.slogdet(W).logabsdet)
