"""Price discovery: estimate the share of each market in the common price.

Markets that trade the same asset share one efficient price. A vector error correction model
leaves residuals u = B ε, with ε the independent innovations of the markets. The share of a market
in the variance of the efficient price is its information share (Hasbrouck 1995). The
covariance Ω = B Bᵀ of the residuals gives B up to a rotation only, and ICA finds the rotation if
the innovations are not Gaussian (Zema 2025).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import sqrtm
from scipy.optimize import linear_sum_assignment

from mne_otica import otica

TRUE_SHARES = np.array([0.12, 0.24, 0.64])
DEGREES_OF_FREEDOM = (5, 6, 7)
LONG_RUN = np.ones(3)  # every market moves one for one with the common price


def simulate_residuals(
    n_observations: int = 5000, seed: int | None = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Simulate the residuals of the three-market model of the paper.

    Parameters
    ----------
    n_observations : int
        Number of observations.
    seed : int | None
        Seed of the innovations.

    Returns
    -------
    residuals : ndarray, shape (3, n_observations)
        The residuals u = B ε, with Student-t innovations of unit sample variance.
    B : ndarray, shape (3, 3)
        The true impact of the innovations on the markets.
    """
    rng = np.random.default_rng(seed)
    innovations = np.array([rng.standard_t(df, n_observations) for df in DEGREES_OF_FREEDOM])
    innovations /= innovations.std(axis=1, keepdims=True)
    B = np.diag(np.sqrt(TRUE_SHARES))
    return B @ innovations, B


def assign_to_markets(B: ArrayLike) -> NDArray[np.float64]:
    """Assign each innovation to the market it explains most, with a positive impact there.

    Parameters
    ----------
    B : array-like, shape (n_markets, n_markets)
        Impacts whose columns have arbitrary order and sign.

    Returns
    -------
    B : ndarray, shape (n_markets, n_markets)
        The same columns: of all orders the one with the largest sum of shares of variance on the
        diagonal (the Hungarian algorithm finds it), and a positive diagonal.
    """
    B = np.asarray(B)
    explained = B**2 / np.sum(B**2, axis=1, keepdims=True)
    _, order = linear_sum_assignment(explained, maximize=True)
    B = B[:, order]
    return B * np.where(np.diag(B) < 0, -1, 1)


def estimate_impacts(residuals: ArrayLike, covariance: ArrayLike) -> NDArray[np.float64]:
    """Estimate B from residuals, without an order among the markets.

    Parameters
    ----------
    residuals : array-like, shape (n_markets, n_observations)
        The residuals of the model.
    covariance : array-like, shape (n_markets, n_markets)
        Their covariance Ω.

    Returns
    -------
    B : ndarray, shape (n_markets, n_markets)
        The impacts S C, with S the symmetric square root of Ω and C the rotation found by OT-ICA
        in S⁻¹ u.
    """
    S = sqrtm(np.asarray(covariance)).real
    white = np.linalg.solve(S, np.asarray(residuals))
    _, W, _ = otica(white, whiten=False, refine="rotation", random_state=0)
    return assign_to_markets(S @ W.T)


def information_shares(B: ArrayLike, long_run: ArrayLike = LONG_RUN) -> NDArray[np.float64]:
    """Return the information share of each market.

    Parameters
    ----------
    B : array-like, shape (n_markets, n_markets)
        The impacts of the innovations.
    long_run : array-like, shape (n_markets,)
        The long-run impact vector ψ.

    Returns
    -------
    shares : ndarray, shape (n_markets,)
        (ψᵀ B)_i² / (ψᵀ B Bᵀ ψ); they sum to 1.
    """
    effect = np.asarray(long_run) @ np.asarray(B)
    return effect**2 / np.sum(effect**2)
