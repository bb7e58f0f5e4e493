"""The smallest Amari index that any estimator can be expected to reach.

Write P = W A = I + E near the truth, for sources of unit variance. To first order the Amari index
is the sum of the |E_ij| over i ≠ j, divided by d. The log-likelihood has the derivative
-φ_i(s_i) s_j with respect to E_ij, with φ = -f'/f the score of a source, so each pair (E_ij, E_ji)
has the Fisher information

    N [[κ_i, 1], [1, κ_j]],    κ = E[φ²] ≥ 1, equal to 1 for the Gaussian only,

and all other entries are orthogonal to it, the unknown densities included: not knowing them costs
nothing in first order. Its inverse gives the variances κ_j / (κ_i κ_j - 1) / N of E_ij, the
Cramér-Rao bound, and a centred Gaussian with it has the smallest mean absolute value among the
limits of regular estimators (Hájek, Le Cam): E|E_ij| = sqrt(2/π) times its standard deviation.

Whitening with the covariance of the sample sets E_ij + E_ji to minus the sample covariance C_ij of
the sources. That is the efficient estimate of this sum plus an independent error of variance
q = (κ_i - 1)(κ_j - 1) / (κ_i κ_j - 1) / N, which a rotation can only share out between the two
entries. The best share makes the sum of their standard deviations sqrt((a + b)² + q), with a and b
the two of the Cramér-Rao bound. Where a density has edges or is discrete, κ is infinite: the
general bound falls to zero for E_ij, and with whitening the sum is 1 / sqrt(N) for any partner.
"""

import numpy as np
from scipy.integrate import quad

from mne_otica.simulation.mixtures import _REGIMES

#: Fisher information of location κ of each source of the benchmark, at unit variance.
INFORMATION = {
    "gaussian": 1.0,
    "laplace": 2.0,
    "student_t": 2.0,  # ν (ν + 1) / ((ν + 3) (ν - 2)) at ν = 3
    "uniform": np.inf,
    "chi_square": np.inf,
    "exponential": np.inf,
    "bernoulli": np.inf,
    "poisson": np.inf,
    "binomial": np.inf,
}


def student_information(degrees: float) -> float:
    """Return κ of Student's t at unit variance."""
    return degrees * (degrees + 1) / ((degrees + 3) * (degrees - 2))


def information(log_density, low: float, high: float) -> float:
    """Return κ of a smooth density of unit variance by quadrature of its squared score."""
    step = 1e-5

    def integrand(x: float) -> float:
        score = (log_density(x + step) - log_density(x - step)) / (2 * step)
        return score**2 * np.exp(log_density(x))

    return quad(integrand, low, high, limit=200)[0]


def deviations(one: float, other: float) -> tuple[float, float]:
    """Return sqrt(N) times the smallest standard deviations of E_ij and E_ji."""
    if np.isinf(one) and np.isinf(other):
        return 0.0, 0.0
    if np.isinf(one):
        return 0.0, 1 / np.sqrt(other)
    if np.isinf(other):
        return 1 / np.sqrt(one), 0.0
    determinant = one * other - 1
    return np.sqrt(other / determinant), np.sqrt(one / determinant)


def whitening_variance(one: float, other: float) -> float:
    """Return N times the variance q that whitening adds to the sum of a pair."""
    if np.isinf(one) and np.isinf(other):
        return 1.0
    if np.isinf(one) or np.isinf(other):
        return 1 - 1 / min(one, other)
    return (one - 1) * (other - 1) / (one * other - 1)


def pair_sum(one: float, other: float, whitened: bool) -> float:
    """Return sqrt(N) times the smallest sum of the two standard deviations of a pair."""
    total = sum(deviations(one, other))
    return np.sqrt(total**2 + whitening_variance(one, other)) if whitened else total


def expected_amari(regime: str, d: int, n_samples: int, *, whitened: bool) -> float:
    """Return the smallest expected Amari index of a regime of `mne_otica.simulation.mixture`.

    Parameters
    ----------
    regime : str
        One of the ten of the benchmark.
    d : int
        Number of sources.
    n_samples : int
        Number of samples.
    whitened : bool
        Whether the estimator whitens with the covariance of the sample.

    Returns
    -------
    bound : float
        The expectation over what the regime draws.
    """
    pool, gaussian = _REGIMES[regime]
    known = [INFORMATION[kind] for kind in pool]
    among = np.mean([pair_sum(a, b, whitened) for a in known for b in known])
    drawn = d - gaussian
    total = drawn * (drawn - 1) / 2 * among
    if gaussian:
        total += drawn * np.mean([pair_sum(a, 1.0, whitened) for a in known])
    return np.sqrt(2 / np.pi / n_samples) * total / d
