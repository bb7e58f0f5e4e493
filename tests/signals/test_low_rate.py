"""Arithmetic on signals that is written for speed, beside that of SciPy and MNE."""

import numpy as np
import pytest
from scipy.ndimage import binary_dilation, maximum_filter1d
from scipy.stats import kurtosis, skew

from mne_otica.artifacts.rhythm import _REFRACTORY, _candidates
from mne_otica.signals.low_rate import Moments, near
from tests.preparing import prepare


@pytest.mark.parametrize("reach", [0, 1, 7, 300])
def test_near_is_a_dilation(reach):
    chosen = np.random.default_rng(0).random(200) < 0.03
    chosen[[0, -1]] = True
    expected = binary_dilation(chosen, iterations=reach) if reach else chosen
    np.testing.assert_array_equal(near(chosen, reach), expected)
    assert not near(np.zeros(200, bool), reach).any()


def test_moments_are_those_of_scipy():
    x = np.random.default_rng(0).exponential(size=(3, 500)) * [[1e-6], [1.0], [1e3]]
    found = Moments.of(x)
    np.testing.assert_allclose(found.deviation, x.std(axis=1))
    np.testing.assert_allclose(found.skewness, skew(x, axis=1))
    np.testing.assert_allclose(found.kurtosis, kurtosis(x, axis=1))


def test_bad_spans_count_for_nothing():
    x = np.random.default_rng(0).standard_normal((2, 5000))
    bad = np.zeros(5000, bool)
    bad[1000:2000] = True
    prepared = prepare(x, 100.0, bad)
    np.testing.assert_array_equal(prepared.outside_bad(prepared.slow), prepared.slow[:, ~bad])
    np.testing.assert_allclose(
        prepared.moments.deviation, prepared.band[:, ~bad].std(axis=1, dtype=float)
    )


def test_candidates_are_the_highest_within_the_refractory_time():
    """Ends of the signal and plateaus included."""
    x = np.random.default_rng(0).standard_normal(2000).cumsum() % 3
    x[[0, -1]] = 9.0
    x[50:55] = 8.0
    length = 2 * int(_REFRACTORY * 100) + 1
    expected = np.flatnonzero((x == maximum_filter1d(x, length)) & (x > 0.5))
    np.testing.assert_array_equal(_candidates(x, 100.0), expected)
