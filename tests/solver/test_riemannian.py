import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ortho_group

from mne_otica import otica, simulation
from mne_otica.metrics import amari_index
from mne_otica.solver import riemannian
from mne_otica.solver._linalg import nearest_rotation
from mne_otica.solver.contrast import w2_squared


def test_gradient_is_the_derivative_of_the_distance():
    rng = np.random.default_rng(0)
    batch = rng.laplace(size=(3, 4000))
    W = ortho_group.rvs(3, random_state=0)
    gradient = riemannian._gradient(W, batch, rng)
    step = np.zeros((3, 3))
    step[1, 2] = 1e-4
    change = w2_squared((W + step) @ batch).sum() - w2_squared((W - step) @ batch).sum()
    assert_allclose(gradient[1, 2], change / 2e-4, atol=0.01)  # dither of 0.01


def test_tangent_vectors_are_skew_and_retraction_is_orthogonal():
    rng = np.random.default_rng(0)
    W = ortho_group.rvs(5, random_state=0)
    tangent = riemannian._tangent(rng.standard_normal((5, 5)), W)
    assert_allclose(tangent @ W.T, -(tangent @ W.T).T, atol=1e-12)
    retracted = nearest_rotation(W + 0.3 * tangent)
    assert_allclose(retracted @ retracted.T, np.eye(5), atol=1e-12)


def test_deflation_finds_orthogonal_directions():
    X = simulation.mixture("uniform", 4, 3000).sources
    W = riemannian._deflate(X, riemannian.BUDGETS["low"], np.random.default_rng(0))
    assert_allclose(W @ W.T, np.eye(4), atol=1e-12)
    assert amari_index(W, np.eye(4)) < 0.2


@pytest.mark.parametrize("regime", ["laplace", "uniform", "hybrid"])
def test_separates(regime):
    X, mixing, _ = simulation.mixture(regime, 5, 5000)
    K, W, Y, n_iter = otica(X, algorithm="riemannian", return_n_iter=True)
    assert n_iter == 200
    assert_allclose(W @ W.T, np.eye(5), atol=1e-9)
    assert amari_index(W @ K, mixing) < 0.1


def test_budgets_are_those_of_the_paper():
    assert riemannian.BUDGETS["low"] == (4, 150, 150, 200)
    assert riemannian.BUDGETS["high"] == (15, 600, 300, 500)


def test_start_and_seed_are_used():
    X = simulation.mixture("laplace", 4, 2000).X
    options = dict(algorithm="riemannian", w_init=np.eye(4), max_iter=5)
    W = [otica(X, random_state=seed, **options)[1] for seed in (1, 1, 2)]
    np.testing.assert_array_equal(W[0], W[1])
    assert np.abs(W[0] - W[2]).max() > 0
    assert np.abs(W[0]).max(axis=1).min() > 0.5  # five steps do not go far
