"""The mathematics of the quasi-Newton solver, and the local optima it has to avoid."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import block_diag, expm
from scipy.stats import ortho_group

from mne_otica import otica, simulation
from mne_otica.metrics import amari_index
from mne_otica.solver import algorithm, contrast, refit, unmix
from mne_otica.solver.algorithm import iterate_fixed_point
from mne_otica.solver.contrast import Objective, target_correlation
from mne_otica.solver.otica import contrast_of


def whitened(regime, n_sources, n_samples, seed=0):
    """Return white data and the rotation that unmixes it."""
    sources = simulation.mixture(regime, n_sources, n_samples, seed).sources
    values, vectors = np.linalg.eigh(np.cov(sources, bias=True))
    sources = (vectors / np.sqrt(values)) @ vectors.T @ (sources - sources.mean(1, keepdims=True))
    rotation = ortho_group.rvs(n_sources, random_state=seed)
    return (rotation.T @ sources).astype(np.float32), rotation


def test_objective_is_the_sum_of_exact_correlations():
    X, _ = whitened("continuous", 6, 20_000)
    W = ortho_group.rvs(6, random_state=1)
    evaluation = Objective(X)(W)
    assert_allclose(evaluation.correlation, target_correlation(W @ X), atol=2e-5)
    assert_allclose(evaluation.value, evaluation.correlation.sum())


def test_objective_does_not_depend_on_the_chunks(monkeypatch):
    X, W = whitened("continuous", 6, 5000)
    whole = Objective(X)(W)
    monkeypatch.setattr(contrast, "CHUNK_SIZE", 6 * 700)
    pieces = Objective(X)(W)
    assert_allclose(pieces.gradient, whole.gradient, atol=1e-6)
    assert_allclose(pieces.slope, whole.slope)


def test_gradient_is_the_derivative_of_the_exact_objective():
    X, _ = whitened("laplace", 4, 50_000)
    W = ortho_group.rvs(4, random_state=2)
    gradient = Objective(X)(W).gradient
    for i, j in [(0, 1), (1, 3)]:
        skew = np.zeros((4, 4))
        skew[i, j], skew[j, i] = 1e-3, -1e-3
        ahead, behind = (target_correlation(expm(s * skew) @ W @ X).sum() for s in (1, -1))
        assert_allclose(gradient[i, j], (ahead - behind) / 2e-3, atol=1e-4)


def test_curvature_is_the_second_derivative_at_independence():
    X, W = whitened("laplace", 2, 400_000)
    objective = Objective(X)
    at = objective(W)
    curvature = (at.slope - at.correlation).sum()
    skew = np.array([[0, 0.2], [-0.2, 0]])
    ahead, behind = (objective(expm(s * skew) @ W).value for s in (1, -1))
    assert_allclose(curvature, (ahead + behind - 2 * at.value) / 0.04, rtol=0.3)


@pytest.mark.parametrize("regime", ["laplace", "uniform", "exponential", "discrete", "student_t"])
def test_curvature_is_never_negative(regime):
    X, W = whitened(regime, 5, 10_000)
    for rotation in (W, ortho_group.rvs(5, random_state=0)):
        at = Objective(X)(rotation)
        assert np.all(at.slope > at.correlation)


def test_trap_tiny_gradient_far_from_the_optimum():
    """A random rotation of many sources looks Gaussian: only the step tells convergence."""
    X, W = whitened("laplace", 64, 20_000)
    start = ortho_group.rvs(64, random_state=5)
    evaluation = Objective(X)(start)
    at_truth = Objective(X)(W)
    assert np.abs(evaluation.gradient).max() < 0.06
    assert evaluation.value > at_truth.value + 0.5
    unmixing = unmix(X, w_init=start)
    assert unmixing.converged
    assert amari_index(unmixing.W, W.T) < 0.5


def test_trap_ties_do_not_blow_up_the_slope():
    X = np.random.default_rng(0).choice([-1, 1], (3, 2000)).astype(np.float32)
    assert np.all(Objective(X)(np.eye(3)).slope < 100)


def test_trap_a_line_search_that_cannot_gain_is_convergence():
    """The empirical objective is piecewise smooth: the tightest tolerance still ends."""
    X, _ = whitened("laplace", 3, 500)
    unmixing = unmix(X, tol=1e-12)
    assert unmixing.converged
    assert unmixing.n_iter < 500


def test_trap_noise_is_not_reported_as_structure():
    X = np.random.default_rng(0).standard_normal((5, 20_000))
    noise, _ = whitened("laplace", 5, 20_000)
    K, W, _ = otica(X)
    gaussian = unmix(K @ (X - X.mean(1, keepdims=True)), w_init=W)
    assert np.all(np.abs(contrast_of(gaussian, 20_000)) < 2e-3)
    assert np.all(contrast_of(unmix(noise), 20_000) > 0.02)


def test_trap_two_sources_rotated_by_45_degrees():
    """Half-way between two binary sources lies an optimum of its own, with half the contrast."""
    X = np.random.default_rng(0).choice([-1.0, 1.0], (2, 10_000)).astype(np.float32)
    turn = np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
    descent = algorithm.minimise(Objective(X), turn, tol=1e-3, max_iter=100, on_step=lambda: None)
    assert amari_index(descent.W, np.eye(2)) > 0.5
    assert amari_index(unmix(X, w_init=turn).W, np.eye(2)) < 0.05


def test_a_few_fixed_point_iterations_lead_from_noise_to_dozens_of_sources():
    """Where every direction looks Gaussian, the fixed point takes larger steps than L-BFGS."""
    X, W = whitened("laplace", 64, 20_000)
    objective = Objective(X)
    start = ortho_group.rvs(64, random_state=5)
    near, here, values = iterate_fixed_point(objective, start, max_iter=100, on_step=lambda: None)
    assert amari_index(near, W.T) < 0.1 * amari_index(start, W.T)
    assert here.value < objective(start).value
    assert len(values) < 25


def test_a_start_where_all_looks_gaussian_is_not_taken_for_an_optimum():
    """There gains grow from next to nothing, so that none is negligible."""
    X, _ = whitened("uniform", 30, 10_000)
    objective = Objective(X)
    for seed in range(5):
        start = ortho_group.rvs(30, random_state=seed)
        descent = algorithm.minimise(objective, start, tol=3e-3, max_iter=500)
        found = 2 - 2 * descent.correlation  # W2² of a uniform density is 0.045
        assert np.mean(found > 0.02) > 0.8


def test_fixed_point_iterations_end_at_an_optimum():
    """At an optimum the fixed point stays where it is, and leaves it to smaller steps."""
    X, W = whitened("continuous", 8, 20_000)
    near, _, values = iterate_fixed_point(Objective(X), W, max_iter=100, on_step=lambda: None)
    assert len(values) == 1
    np.testing.assert_array_equal(near, W)


def test_a_subsample_is_whitened_again():
    X, _ = whitened("laplace", 20, 20_000)
    X = X.astype(np.float32)
    part = X[:, ::40]
    assert np.abs(np.cov(part, bias=True) - np.eye(20)).max() > 0.1
    white = algorithm.subsample(X, 500, np.random.default_rng(0))
    assert white.shape == (20, 500)
    assert white.dtype == np.float32
    assert_allclose(np.cov(white, bias=True), np.eye(20), atol=1e-5)
    assert_allclose(white.mean(axis=1), 0, atol=1e-6)


def test_a_subsample_is_stratified_in_time():
    """However slow a signal is, no stretch of it is left out, and none counts twice."""
    time = np.linspace(-np.sqrt(3), np.sqrt(3), 1001, dtype=np.float32)[np.newaxis]
    drawn = algorithm.subsample(time, 100, np.random.default_rng(0))[0]
    assert np.all(np.diff(drawn) > 0)
    scale = np.polyfit(np.arange(100), drawn, 1)[0]
    assert np.abs(np.diff(drawn)).max() < 2.1 * scale  # two spans at most


def test_trap_a_component_that_a_subsample_misses():
    """An electrode pops once in a hundred thousand samples, and is flat in all the others."""
    X, rotation = whitened("laplace", 4, 100_000)
    pop = np.zeros((1, 100_000))
    pop[0, 5000] = 1
    K, W, Y = otica(np.vstack([X, pop]))
    assert np.abs(Y[0]).argmax() == 5000  # the least Gaussian of all
    pop_size = 1 / np.sqrt(100_000)  # of unit variance
    assert amari_index(W @ K, block_diag(rotation.T, pop_size)) < 0.05


def test_a_fit_that_begins_on_subsamples_is_as_precise():
    X, W = whitened("laplace", 8, 200_000)
    assert amari_index(unmix(X).W, W.T) < 0.03


def test_a_refit_is_the_local_optimisation_from_a_start():
    """No subsample and no search: from the truth it stays there, from a local optimum too."""
    X, W = whitened("laplace", 6, 40_000)
    again = refit(X, W, refine="none")
    assert again.converged
    assert amari_index(again.W, W.T) < 0.05
    binary = np.random.default_rng(0).choice([-1.0, 1.0], (2, 10_000)).astype(np.float32)
    rotated = np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
    assert amari_index(refit(binary, rotated, refine="none").W, np.eye(2)) > 0.5


@pytest.mark.parametrize(("d", "seed"), [(10, 4478), (20, 4109)])
def test_trap_all_counts_can_hide(d, seed):
    """Where they are mixed with each other and a Gaussian source, no component looks discrete."""
    X, mixing, _ = simulation.mixture("hybrid", d, 10_000, seed)
    K, W, _ = otica(X)
    assert amari_index(W @ K, mixing) < 0.1


def test_trap_the_sum_of_two_counts_is_a_count():
    """It is farther from a Gaussian than their difference, which hides behind a Gaussian source."""
    X, mixing, _ = simulation.mixture("hybrid", 20, 10_000, 2501)
    values, vectors = np.linalg.eigh(np.cov(X, bias=True))
    K = (vectors / np.sqrt(values)).T[::-1]  # a start that leads there
    assert amari_index(unmix(K @ (X - X.mean(axis=1, keepdims=True))).W @ K, mixing) < 0.1


@pytest.mark.parametrize("kind", ["laplace", "exponential", "uniform"])
@pytest.mark.parametrize("refine", ["none", "rotation", "full"])
def test_trap_a_start_at_45_degrees_is_a_saddle(kind, refine):
    """By symmetry the gradient is zero half-way between two sources of one kind."""
    X, W = whitened(kind, 2, 1500)
    start = np.array([[1, 1], [-1, 1]]) / np.sqrt(2) @ W
    assert amari_index(unmix(X, w_init=start, refine=refine).W, W.T) < 0.1


def test_seed_decides_and_default_is_fixed():
    X, _ = whitened("hybrid", 8, 30_000)
    first = unmix(X, random_state=1).W
    np.testing.assert_array_equal(first, unmix(X, random_state=1).W)
    np.testing.assert_array_equal(unmix(X).W, unmix(X).W)


@pytest.mark.slow
def test_hundreds_of_sources_are_found():
    """Their mixture looks Gaussian in all directions, and the first steps are tiny."""
    X, mixing, _ = simulation.mixture("laplace", 200, 60_000, seed=0)
    K, W, _ = otica(X)
    assert amari_index(W @ K, mixing) < 1.0  # of 199 at worst
