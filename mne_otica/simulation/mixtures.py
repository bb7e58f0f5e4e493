"""Linear mixtures of independent sources, as in the paper's experiments."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from mne_otica.utils.arrays import Array
from mne_otica.utils.checks import _check_option, _validate_number, _validate_type, as_generator

# Three Gaussian bumps, of which the outer ones are where E[log cosh s] is that of a Gaussian, or
# E[s tanh s - 1 + tanh² s], an entry of FastICA's Hessian, is zero.
BUMP_WIDTH = 0.15
ZERO_NEGENTROPY, VANISHING_CURVATURE = 1.5434012034351605, 1.4444254159609342


class Mixture(NamedTuple):
    """A mixture and its truth: ``X = mixing @ sources``."""

    X: Array
    mixing: Array
    sources: Array


def _standardised(samples: NDArray) -> Array:
    return (samples - samples.mean()) / samples.std()


def _student_t(rng: Generator, n: int) -> Array:
    samples = rng.standard_t(3, n)
    return samples / samples.std()


def _bumps(rng: Generator, n: int, position: float) -> Array:
    weight = (1 - BUMP_WIDTH**2) / (2 * position**2)  # of each outer bump, for variance 1
    centres = rng.choice([-position, 0, position], n, p=[weight, 1 - 2 * weight, weight])
    return centres + BUMP_WIDTH * rng.standard_normal(n)


_SOURCES: dict[str, Callable[[Generator, int], Array]] = {
    "laplace": lambda rng, n: rng.laplace(scale=np.sqrt(0.5), size=n),
    "bernoulli": lambda rng, n: rng.choice([-1.0, 1.0], n),
    "uniform": lambda rng, n: rng.uniform(-np.sqrt(3), np.sqrt(3), n),
    "student_t": _student_t,
    "poisson": lambda rng, n: _standardised(rng.poisson(3, n)),
    "binomial": lambda rng, n: _standardised(rng.binomial(10, 0.5, n)),
    "chi_square": lambda rng, n: _standardised(rng.chisquare(2, n)),
    "exponential": lambda rng, n: _standardised(rng.exponential(1, n)),
    "zero_negentropy": lambda rng, n: _bumps(rng, n, ZERO_NEGENTROPY),
    "vanishing_curvature": lambda rng, n: _bumps(rng, n, VANISHING_CURVATURE),
}
_SUPER_GAUSSIAN = ("laplace", "student_t", "chi_square", "exponential")
_DISCRETE = ("bernoulli", "poisson", "binomial")
_ALL = (*_SUPER_GAUSSIAN, "uniform", *_DISCRETE)


_SINGLE = "laplace uniform student_t chi_square exponential zero_negentropy vanishing_curvature"
# What the distribution of each source is drawn from, and whether the last source is Gaussian
_REGIMES: dict[str, tuple[tuple[str, ...], bool]] = {
    "continuous": ((*_SUPER_GAUSSIAN, "uniform"), True),
    "super_gaussian": (_SUPER_GAUSSIAN, True),
    "zero_gaussian": (_ALL, False),
    "hybrid": (_ALL, True),
    "discrete": (_DISCRETE, True),
} | {name: ((name,), False) for name in _SINGLE.split()}
#: Names of the source regimes: the ten of the paper's benchmark, then its two failure modes.
REGIMES = tuple(_REGIMES)


def mixture(regime: str, n_sources: int, n_samples: int = 10_000, seed: int | None = 0) -> Mixture:
    """Mix independent sources of unit variance with a random matrix.

    Parameters
    ----------
    regime : str
        The kind of sources, one of :data:`REGIMES`. ``"continuous"``, ``"super_gaussian"``,
        ``"zero_gaussian"``, ``"hybrid"`` and ``"discrete"`` draw each source from a pool of
        distributions, and all but ``"zero_gaussian"`` make the last source Gaussian. The
        others use a single distribution.
    n_sources : int
        Number of sources, and of channels.
    n_samples : int
        Number of samples.
    seed : int | None
        The seed.

    Returns
    -------
    mixture : Mixture
        Named tuple of ``X``, ``mixing`` and ``sources``. The mixing matrix has standard normal
        entries and is drawn again until its condition number is at most 100, or at most
        four times the number of sources if that is larger.
    """
    _check_option("regime", regime, REGIMES)
    for name, size, least in (("n_sources", n_sources, 1), ("n_samples", n_samples, 2)):
        _validate_type(size, "int-like", name)
        _validate_number(size, name, at_least=least)
    rng = as_generator(seed, "seed")
    pool, gaussian = _REGIMES[regime]
    kinds = rng.choice(pool, n_sources - gaussian)
    sources = np.array([_SOURCES[kind](rng, n_samples) for kind in kinds])
    if gaussian:
        sources = np.vstack([sources.reshape(-1, n_samples), rng.standard_normal(n_samples)])
    mixing = rng.standard_normal((n_sources, n_sources))
    # The limit of the paper is 100. Condition numbers of random matrices grow with their size:
    # with many sources hardly any is below it, and rejection sampling would not end.
    while np.linalg.cond(mixing) > max(100, 4 * n_sources):
        mixing = rng.standard_normal((n_sources, n_sources))
    return Mixture(mixing @ sources, mixing, sources)
