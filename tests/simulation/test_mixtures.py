import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kurtosis

from mne_otica.simulation import REGIMES, mixture


@pytest.mark.parametrize("regime", REGIMES)
def test_sources_are_standardised_and_mixed(regime):
    X, mixing, sources = mixture(regime, 6, 20_000, seed=3)
    assert_allclose(X, mixing @ sources)
    assert np.linalg.cond(mixing) <= 100
    assert_allclose(sources.mean(axis=1), 0, atol=0.05)
    assert_allclose(sources.std(axis=1), 1, atol=0.05)


def test_seed_decides():
    assert_array_equal(mixture("hybrid", 4, 100, 7).X, mixture("hybrid", 4, 100, 7).X)
    assert not np.array_equal(mixture("hybrid", 4, 100, 7).X, mixture("hybrid", 4, 100, 8).X)


@pytest.mark.parametrize("regime", ["continuous", "super_gaussian", "hybrid", "discrete"])
def test_last_source_is_gaussian(regime):
    gaussian = mixture(regime, 3, 100_000).sources[-1]
    assert abs(kurtosis(gaussian)) < 0.1
    assert len(np.unique(gaussian)) == 100_000


def test_many_sources_are_mixed_in_no_time():
    _, mixing, _ = mixture("uniform", 256, 10)
    assert np.linalg.cond(mixing) <= 4 * 256


def test_pools():
    discrete = mixture("discrete", 12, 1000).sources[:-1]
    assert max(len(np.unique(source)) for source in discrete) < 20
    super_gaussian = mixture("super_gaussian", 12, 10_000).sources[:-1]
    assert np.all(kurtosis(super_gaussian, axis=1) > 1)


def test_failure_modes_blind_the_proxies():
    rng = np.random.default_rng(0)
    gaussian = np.log(np.cosh(rng.standard_normal(1_000_000))).mean()
    source = mixture("zero_negentropy", 1, 1_000_000).sources[0]
    assert abs(np.log(np.cosh(source)).mean() - gaussian) < 2e-3
    source = mixture("vanishing_curvature", 1, 1_000_000).sources[0]
    assert abs(np.mean(source * np.tanh(source) - 1 + np.tanh(source) ** 2)) < 2e-3
