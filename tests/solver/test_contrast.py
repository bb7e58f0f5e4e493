import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import gennorm, laplace, norm

from mne_otica.solver import contrast

SAMPLERS = {
    "gaussian": lambda rng, n: rng.standard_normal(n),
    "laplace": lambda rng, n: rng.laplace(size=n),
    "uniform": lambda rng, n: rng.uniform(-1, 1, n),
    "heavy tail": lambda rng, n: rng.standard_t(2.1, n),
    "skewed": lambda rng, n: rng.exponential(size=n),
    "ties": lambda rng, n: rng.poisson(3, n).astype(float),
    "two values": lambda rng, n: rng.choice([-1.0, 1.0], n),
}


def standardised(name, n_samples, seed=0):
    y = SAMPLERS[name](np.random.default_rng(seed), n_samples)
    return ((y - y.mean()) / y.std())[np.newaxis]


def binned_transport_map(y):
    """Map every sample to the mean Gaussian target of its bin."""
    index = contrast.bin_index(y)
    targets, _ = contrast.targets_and_slopes(contrast.bin_counts(index))
    return np.take_along_axis(targets, index.astype(np.intp), axis=1)


def mean_slope(y):
    return contrast.targets_and_slopes(contrast.bin_counts(contrast.bin_index(y)))[1]


def binning_error_bound(y):
    """Bound how much binning lowers C.

    Within a bin the exact map pairs sorted targets with sorted samples, the binned map pairs their
    means, and the covariance of two sets is at most a quarter of the product of their ranges.
    """
    ordered, targets = np.sort(y[0]), contrast.gaussian_targets(y.shape[1])
    counts = contrast.bin_counts(contrast.bin_index(ordered[np.newaxis]))[0]
    last = np.cumsum(counts)[counts > 0] - 1
    first = np.concatenate([[0], last[:-1] + 1])
    ranges = (ordered[last] - ordered[first]) * (targets[last] - targets[first])
    return np.sum(counts[counts > 0] * ranges) / 4 / len(ordered)


@pytest.mark.parametrize("n_samples", [1, 2, 5, 1000, 10_001])
def test_targets_are_bin_means_of_the_gaussian(n_samples):
    targets = contrast.gaussian_targets(n_samples)
    assert targets.shape == (n_samples,)
    assert np.all(np.diff(targets) > 0)
    assert_array_equal(targets, -targets[::-1])
    edges = norm.ppf([0.0, 1 / n_samples])
    first = n_samples * quad(lambda x: x * norm.pdf(x), *edges)[0]
    assert_allclose(targets[0], first, atol=1e-7)


def test_targets_are_cached_and_cannot_be_spoilt():
    targets = contrast.gaussian_targets(100)
    assert contrast.gaussian_targets(100) is targets
    with pytest.raises(ValueError, match="read-only"):
        targets[0] = 0


def test_targets_approach_unit_variance():
    power = [np.mean(contrast.gaussian_targets(n) ** 2) for n in (10, 100, 10_000)]
    assert np.all(np.diff(power) > 0)
    assert_allclose(power[-1], 1, atol=1e-3)


@pytest.mark.parametrize("name", SAMPLERS)
def test_map_is_monotone_and_onto_the_targets(name):
    y = standardised(name, 2000)
    mapped = contrast.transport_map(y)
    order = np.argsort(y[0], kind="stable")
    assert_allclose(np.sort(mapped[0]), contrast.gaussian_targets(2000))
    distinct = np.diff(y[0][order]) > 0
    assert np.all(np.diff(mapped[0][order])[distinct] > 0)


@pytest.mark.parametrize("name", SAMPLERS)
def test_distance_and_correlation_are_two_faces_of_one_thing(name):
    y = standardised(name, 3000)
    power = 1 + np.mean(contrast.gaussian_targets(3000) ** 2)
    correlation = contrast.target_correlation(y)
    assert_allclose(contrast.w2_squared(y), power - 2 * correlation, atol=1e-12)
    assert_allclose(correlation, np.mean(y * contrast.transport_map(y)), atol=1e-12)


# The values of the paper's sensitivity table are single draws; N = 10 000 is the sample size
# of its experiments.
@pytest.mark.parametrize(
    ("sampler", "paper"),
    [
        pytest.param(lambda rng, size: rng.laplace(size=size), 0.0398, id="laplace"),
        pytest.param(lambda rng, size: rng.binomial(10, 0.5, size), 0.0344, id="binomial-10"),
        pytest.param(lambda rng, size: rng.poisson(3, size), 0.0513, id="poisson-3"),
        pytest.param(lambda rng, size: rng.binomial(2, 0.5, size), 0.2022, id="binomial-2"),
        pytest.param(lambda rng, size: rng.poisson(0.5, size), 0.3384, id="poisson-0.5"),
    ],
)
def test_sensitivity_table_of_the_paper(sampler, paper):
    y = sampler(np.random.default_rng(0), (100, 10_000)).astype(float)
    y = (y - y.mean(axis=1, keepdims=True)) / y.std(axis=1, keepdims=True)
    distances = contrast.w2_squared(y)
    assert abs(paper - distances.mean()) < 2.5 * distances.std()
    assert_allclose(distances.mean(), paper, rtol=0.08)


@pytest.mark.parametrize("n_samples", [300, 3000, 30_000])
def test_gaussian_floor_is_what_noise_shows(n_samples):
    y = np.random.default_rng(0).standard_normal((200, n_samples))
    y = (y - y.mean(axis=1, keepdims=True)) / y.std(axis=1, keepdims=True)
    assert_allclose(contrast.gaussian_floor(n_samples), contrast.w2_squared(y).mean(), rtol=0.2)


@pytest.mark.parametrize("n_samples", [50, 3000, 50_000])
@pytest.mark.parametrize("name", SAMPLERS)
def test_binning_error_is_within_its_bound(name, n_samples):
    y = standardised(name, n_samples)
    exact = contrast.target_correlation(y)
    binned = np.mean(binned_transport_map(y) * y, axis=1)
    bound = binning_error_bound(y)
    rounding = 1e-6  # the binned targets are in single precision
    assert exact - binned >= -rounding
    assert exact - binned <= bound + rounding
    assert bound < 1e-4


def test_binned_map_is_monotone_and_centred():
    y = standardised("heavy tail", 5000)
    mapped = binned_transport_map(y)
    assert np.all(np.diff(mapped[0][np.argsort(y[0])]) >= 0)
    assert_allclose(mapped.mean(), 0, atol=1e-6)


def test_huge_samples_stay_in_the_last_bins():
    y = np.array([[-1e30, -1e4, 0, 1e4, 1e30]], dtype=np.float32)
    index = contrast.bin_index(y)
    assert index[0, 0] == 0
    assert index[0, -1] == contrast.N_BINS - 1


def test_samples_lie_between_the_edges_of_their_bins():
    y = standardised("heavy tail", 10_000)
    index = contrast.bin_index(y)
    edges = contrast.bin_edges()
    assert np.all(edges[index] <= y + 1e-9)
    assert np.all(y <= edges[index + np.uint16(1)] + 1e-9)


@pytest.mark.parametrize("distribution", [norm(), laplace(scale=0.5**0.5), gennorm(4, scale=1.72)])
def test_mean_slope_matches_its_integral(distribution):
    # E[T'] with T' = f / phi(T), over the bulk that 200 000 samples resolve
    low, high = distribution.ppf([1e-5, 1 - 1e-5])
    expected = quad(
        lambda x: distribution.pdf(x) ** 2 / norm.pdf(norm.ppf(distribution.cdf(x))),
        low,
        high,
        limit=200,
    )[0]
    y = distribution.rvs((1, 200_000), random_state=0)
    assert_allclose(mean_slope(y), expected, rtol=0.05)


@pytest.mark.parametrize("name", ["laplace", "skewed"])
def test_few_samples_show_the_slope_of_many_on_average(name):
    rng = np.random.default_rng(0)
    many = mean_slope(SAMPLERS[name](rng, (1, 1_000_000)))
    few = mean_slope(SAMPLERS[name](rng, (400, 1000)))
    assert_allclose(few.mean(), many, rtol=0.01)


@pytest.mark.parametrize("name", SAMPLERS)
def test_slope_exceeds_one_and_one_exceeds_correlation(name):
    y = standardised(name, 20_000)
    slope = mean_slope(y)[0]
    assert slope >= 0.99  # k >= 1 >= C by Jensen, up to sampling
    assert slope < 100  # ties would make it infinite
    assert contrast.target_correlation(y) <= 1


def test_bins_are_where_they_are_said_to_be():
    edges, centres = contrast.bin_edges(), contrast.bin_centres()
    assert (edges[0], edges[-1]) == (-np.inf, np.inf)
    assert np.all((edges[:-1] < centres) & (centres < edges[1:]))
    assert_array_equal(contrast.bin_index(centres), np.arange(contrast.N_BINS))
    assert_allclose(centres, -centres[::-1])


def test_mean_slope_does_not_depend_on_the_sign():
    y = np.where(np.arange(1000) % 10, np.linspace(-1, 1, 1000), -300.0)[np.newaxis]
    slope = mean_slope(y)
    assert_allclose(mean_slope(-y), slope)
    assert 0 < slope[0] < np.inf


@pytest.mark.parametrize(
    "function", [contrast.transport_map, contrast.target_correlation, contrast.w2_squared]
)
def test_rows_may_have_any_number_of_dimensions_before(function):
    y = np.random.default_rng(0).laplace(size=(2, 3, 50))
    together = function(y)
    for i, j in np.ndindex(2, 3):
        assert_allclose(together[i, j], function(y[i, j]))
