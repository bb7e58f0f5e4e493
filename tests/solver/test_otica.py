import logging
from inspect import signature

import mne
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ortho_group, skew

from mne_otica import OTICAConvergenceWarning, datasets, otica, simulation
from mne_otica.metrics import amari_index

# Mean Amari index at the optimum of the contrast for d = 10, 20, 30 and N = 10 000, from three
# mixtures each; for ten continuous sources from a hundred, as three gave 0.045 by chance.
OPTIMUM = {
    "continuous": (0.050, 0.106, 0.158),
    "super_gaussian": (0.062, 0.111, 0.170),
    "zero_gaussian": (0.044, 0.095, 0.143),
    "hybrid": (0.046, 0.095, 0.140),
    "laplace": (0.069, 0.157, 0.243),
    "uniform": (0.039, 0.080, 0.127),
    "student_t": (0.066, 0.141, 0.219),
    "chi_square": (0.042, 0.082, 0.126),
    "exponential": (0.042, 0.082, 0.126),
}
TOL = signature(otica).parameters["tol"].default
PAPER_MIXING = np.array(
    [
        [1.058, 1.520, -0.249, 1.012],
        [0.042, -0.486, 0.388, -0.523],
        [-0.154, -1.572, -0.304, -1.234],
        [-0.006, 0.503, 0.053, 0.928],
    ]
)


def laplace_mixture(n_sources=4, n_samples=5000, seed=0):
    return simulation.mixture("laplace", n_sources, n_samples, seed)


def mean_error(regime, n_sources, seeds):
    errors = []
    for seed in seeds:
        X, mixing, _ = simulation.mixture(regime, n_sources, 10_000, seed)
        K, W, _ = otica(X)
        errors.append(min(amari_index(W @ K, mixing), 1.5))
    return np.mean(errors)


def error_at_the_truth(regime, n_sources, seeds):
    """Mean error of the optimum of the contrast that is nearest to the truth."""
    errors = []
    for seed in seeds:
        X, mixing, _ = simulation.mixture(regime, n_sources, 10_000, seed)
        K = otica(X, max_iter=1_000, tol=3)[0]
        K, W, _ = otica(X, w_init=np.linalg.inv(K @ mixing))
        errors.append(amari_index(W @ K, mixing))
    return np.mean(errors)


@pytest.mark.parametrize("regime", OPTIMUM)
def test_error_is_that_of_the_contrast_itself(regime):
    """Ten sources: where the truth is not the start, the solver still finds it."""
    seeds = range(3)
    assert mean_error(regime, 10, seeds) < 1.05 * error_at_the_truth(regime, 10, seeds)
    assert mean_error(regime, 10, seeds) < 1.4 * OPTIMUM[regime][0]  # three mixtures only


@pytest.mark.slow
@pytest.mark.parametrize(("column", "n_sources"), list(enumerate([10, 20, 30])))
@pytest.mark.parametrize("regime", OPTIMUM)
def test_error_is_within_a_tenth_of_the_optimum(regime, column, n_sources):
    assert mean_error(regime, n_sources, range(10)) < 1.1 * OPTIMUM[regime][column]


def test_discrete_sources_are_separated():
    assert mean_error("discrete", 10, range(4)) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(("n_sources", "limit"), [(10, 0.1), (20, 0.5), (30, 0.5)])
def test_many_discrete_sources_are_separated(n_sources, limit):
    assert mean_error("discrete", n_sources, range(10)) < limit


@pytest.mark.parametrize("regime", ["zero_negentropy", "vanishing_curvature"])
def test_no_proxy_no_failure_mode(regime):
    assert mean_error(regime, 10, range(2)) < 0.1


def test_validation_mixture_of_the_paper():
    """Four continuous sources, the paper's mixing matrix: OT-ICA 0.0155, FastICA 0.0188."""
    errors = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        sources = np.stack(
            [
                rng.laplace(size=10_000),
                rng.uniform(-1, 1, 10_000),
                rng.standard_t(3, 10_000),
                rng.beta(0.5, 0.5, 10_000),
            ]
        )
        sources -= sources.mean(axis=1, keepdims=True)
        sources /= sources.std(axis=1, keepdims=True)
        K, W, _ = otica(PAPER_MIXING @ sources)
        errors.append(amari_index(W @ K, PAPER_MIXING))
    assert np.mean(errors) <= 0.016


@pytest.mark.parametrize("refine", ["none", "rotation", "full"])
def test_shapes_and_identities(refine):
    X = laplace_mixture().X + 3
    K, W, Y, n_iter = otica(X, refine=refine, return_n_iter=True)
    centred = X - X.mean(axis=1, keepdims=True)
    assert_allclose(np.cov(K @ X, bias=True), np.eye(4), atol=1e-10)
    assert_allclose(Y.var(axis=1), 1, atol=1e-10)
    assert_allclose(np.linalg.norm(W, axis=1), 1, atol=1e-10)
    assert np.allclose(W @ W.T, np.eye(4), atol=1e-10) == (refine != "full")
    assert_allclose(Y, W @ K @ centred, atol=1e-10)
    assert W.dtype == Y.dtype == np.float64
    assert n_iter >= 1


def test_white_data_is_used_as_it_is():
    X = laplace_mixture().X
    K, _, _ = otica(X)
    white = K @ (X - X.mean(axis=1, keepdims=True)) + 0.1
    K, W, Y = otica(white, whiten=False)
    assert K is None
    assert_array_equal(Y, W @ white)


def test_order_and_signs_follow_the_rule():
    rng = np.random.default_rng(0)
    sources = [rng.standard_normal(5000), rng.choice([-1, 1], 5000), rng.laplace(size=5000)]
    K, W, Y = otica(ortho_group.rvs(3, random_state=0) @ sources)
    assert_allclose(np.abs(Y[0]), 1, atol=0.1)  # the binary source is the least Gaussian
    # Rounding may turn the sign of what is symmetric, but not of a source that is skewed.
    assert skew(Y, axis=1).min() > -1e-6


@pytest.mark.parametrize("scale", [1, -1])
def test_large_deflections_point_up(scale):
    rng = np.random.default_rng(0)
    sources = scale * np.array([rng.exponential(size=5000), rng.gamma(2, size=5000)])
    _, _, Y = otica([[2, 1], [1, 3]] @ sources)
    assert skew(Y, axis=1).min() > 1


def assert_same_components(Y, others):
    """Check that one set is the other, up to order, signs and where a descent stops.

    The solver stops when it would add less than ``tol`` of one component to another, so of two
    runs on the same data each may be about that far from the optimum.
    """
    shares = np.abs(others @ np.linalg.pinv(Y))
    order = shares.argmax(axis=0)
    assert_allclose(shares[order], np.eye(len(Y)), atol=4 * TOL)


@pytest.mark.parametrize("refine", ["none", "rotation", "full"])
@pytest.mark.parametrize("transform", ["permute", "scale", "rotate"])
def test_equivariance(transform, refine):
    """Other units, another order or another basis of the channels: the same components."""
    X = simulation.mixture("continuous", 5, 5000).X
    matrix = {
        "permute": np.eye(5)[[3, 1, 4, 0, 2]],
        "scale": np.diag([1e-6, 1, 1e6, -3, 1e-12]),
        "rotate": ortho_group.rvs(5, random_state=0),
    }[transform]
    assert_same_components(otica(X, refine=refine)[2], otica(matrix @ X, refine=refine)[2])


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e12])
def test_scale_does_not_matter(scale):
    X = laplace_mixture().X
    assert_same_components(otica(X)[2], otica(scale * X)[2])


def test_offset_does_not_matter():
    """What is left of it after centring is rounding, which turns the descent by a little."""
    X = laplace_mixture().X
    assert_same_components(otica(X)[2], otica(X + 1e4)[2])


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.float16, ">f8"])
def test_other_types_are_taken(dtype):
    X = (100 * laplace_mixture().X).astype(dtype)
    assert_allclose(otica(X)[2], otica(X.astype(float))[2], atol=0.02)
    assert otica(X)[2].dtype == np.float64


def test_input_is_not_changed():
    X = laplace_mixture().X
    w_init = np.eye(4)
    kept = X.copy()
    X.flags.writeable = w_init.flags.writeable = False
    otica(X, w_init=w_init)
    otica(X, algorithm="riemannian", w_init=w_init, max_iter=2)
    assert_array_equal(X, kept)


def test_number_of_components():
    rng = np.random.default_rng(0)
    X = np.diag([10.0, 5, 1, 0.1]) @ rng.laplace(size=(4, 3000))
    assert otica(X, 2)[1].shape == (2, 2)
    assert otica(X, 0.9)[1].shape == (2, 2)  # 100 / 126 is not enough
    assert otica(X)[1].shape == (4, 4)
    assert otica(X, 4)[0].shape == (4, 4)


def test_start_is_used():
    X, mixing, _ = laplace_mixture()
    K, W, _ = otica(X)
    K, again, _, n_iter = otica(X, w_init=W, return_n_iter=True)
    assert n_iter <= 3
    assert_allclose(again, W, atol=0.01)


def test_warns_when_it_did_not_converge():
    X = laplace_mixture(10).X
    with pytest.warns(OTICAConvergenceWarning, match=r"in 1 iterations.*tolerance.*max_iter"):
        n_iter = otica(X, max_iter=1, return_n_iter=True)[3]
    assert n_iter == 1


def test_reports_through_the_logger(caplog):
    with mne.utils.catch_logging() as log:
        otica(laplace_mixture().X, verbose="info")
    assert "OT-ICA: 4 components of 5000 samples" in log.getvalue()
    with mne.utils.catch_logging() as log:
        otica(laplace_mixture().X, verbose=False)
    assert log.getvalue() == ""
    assert logging.getLogger("mne").level == logging.WARNING


def test_real_recording_after_average_reference():
    raw = datasets.sample().pick("eeg", exclude="bads").filter(1, 40)
    X = raw.set_eeg_reference("average").get_data()
    with pytest.warns(RuntimeWarning, match="59 channels but only rank 58"):
        K, W, Y = otica(X)
    assert W.shape == (58, 58)
    assert_allclose(Y.var(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("n_samples", [100, 40_000, 150_000])
def test_one_component_is_returned_with_a_warning(n_samples):
    X = np.random.default_rng(0).laplace(size=(1, n_samples))
    with pytest.warns(RuntimeWarning, match="only one component"):
        K, W, Y = otica(X)
    assert_array_equal(np.abs(W), [[1]])
    assert skew(Y[0]) >= 0


def test_constant_and_duplicated_channels_are_named():
    X = laplace_mixture().X
    X[2] = 7
    with pytest.warns(RuntimeWarning, match=r"of which \[2\] are constant. Estimating 3"):
        assert otica(X)[0].shape == (3, 4)
    X[2] = X[1]
    with pytest.warns(RuntimeWarning, match="only rank 3.*duplicated.*Estimating 3"):
        assert otica(X)[0].shape == (3, 4)


@pytest.mark.parametrize("random_state", [3, np.random.RandomState(3), np.random.default_rng(3)])
def test_any_random_state(random_state):
    assert otica(laplace_mixture(3, 200).X, random_state=random_state)[1].shape == (3, 3)
