import numpy as np
from numpy.testing import assert_allclose

from mne_otica.metrics import amari_index, residual_dependence


def test_amari_is_zero_for_scaled_permutations_only():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((5, 5))
    scaled = np.diag([1, -2, 3, -0.1, 5])[rng.permutation(5)]
    assert_allclose(amari_index(scaled @ np.linalg.inv(A), A), 0, atol=1e-12)
    assert amari_index(np.eye(5), A) > 0.3


def test_amari_of_a_known_matrix():
    # rows: 0.5 and 0.25; columns: 0.25 and 0.5
    P = np.array([[1, 0.5], [0.25, 1]])
    assert_allclose(amari_index(P, np.eye(2)), (0.5 + 0.25 + 0.25 + 0.5) / 4)


def test_dependence_is_lowest_for_the_true_sources():
    rng = np.random.default_rng(0)
    Y = rng.laplace(size=(2, 20_000)) / np.sqrt(2)
    turn = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
    assert residual_dependence(Y, np.eye(2)) < residual_dependence(turn @ Y, turn) - 0.05


def test_dependence_does_not_depend_on_scale():
    rng = np.random.default_rng(0)
    Y, scale = rng.laplace(size=(3, 5000)), np.diag([1e-3, 2, 50])
    assert_allclose(residual_dependence(scale @ Y, scale), residual_dependence(Y, np.eye(3)))
