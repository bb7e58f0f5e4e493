"""Two contrasts of one distribution: W2² to the Gaussian, and the log cosh negentropy."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtri

from mne_otica.solver.contrast import w2_squared

N_QUANTILES = 1_000_000


class Values(NamedTuple):
    """The two contrasts."""

    w2: float
    log_cosh: float


def _log_cosh(s: NDArray) -> NDArray[np.float64]:
    return np.logaddexp(s, -s) - np.log(2)


GAUSSIAN_LOG_COSH = stats.norm.expect(_log_cosh)


def negentropy(y: NDArray) -> NDArray[np.float64]:
    """Return the squared excess of the mean log cosh of each row over that of a Gaussian."""
    return (np.mean(_log_cosh(y), axis=-1) - GAUSSIAN_LOG_COSH) ** 2


def of_population(distribution) -> Values:
    """Return the contrasts of a frozen distribution of `scipy.stats`, standardised.

    A discrete one moves the Gaussian in slices, each to one value, so that the mean product of
    the optimal coupling is a sum over the slices; a continuous one is taken at many quantiles.
    """
    mean, std = distribution.mean(), distribution.std()
    if not isinstance(distribution.dist, stats.rv_discrete):
        y = (distribution.ppf((np.arange(N_QUANTILES) + 0.5) / N_QUANTILES) - mean) / std
        return Values(float(w2_squared(y)), float(negentropy(y)))
    low, high = distribution.support()
    values = np.arange(low, high + 1 if np.isfinite(high) else distribution.isf(1e-16) + 1)
    y = (values - mean) / std
    edges = ndtri(np.clip(distribution.cdf(np.append(low - 1, values)), 0, 1))
    density = np.exp(-0.5 * edges**2) / np.sqrt(2 * np.pi)
    product = y @ (density[:-1] - density[1:])
    log_cosh = distribution.pmf(values) @ _log_cosh(y)
    return Values(float(2 - 2 * product), float((log_cosh - GAUSSIAN_LOG_COSH) ** 2))


def of_sample(distribution, n_samples: int, seed: int) -> Values:
    """Return the contrasts of a standardised sample."""
    y = standard_sample(distribution, n_samples, np.random.default_rng(seed))
    return Values(float(w2_squared(y)), float(negentropy(y)))


def standard_sample(distribution, n_samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw samples and standardise them."""
    y = distribution.rvs(n_samples, random_state=rng).astype(float)
    return (y - y.mean()) / y.std()


def over_angles(sources: NDArray, angles: NDArray) -> tuple[NDArray, NDArray]:
    """Return both contrasts, summed over the two components, for each rotation of two sources."""
    w2, log_cosh = [], []
    for angle in angles:
        cos, sin = np.cos(angle), np.sin(angle)
        Y = np.array([[cos, sin], [-sin, cos]]) @ sources
        w2.append(w2_squared(Y).sum())
        log_cosh.append(negentropy(Y).sum())
    return np.array(w2), np.array(log_cosh)
