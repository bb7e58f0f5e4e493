"""The estimates that are more precise than the optimum of the contrast."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ortho_group, zscore

from mne_otica import otica, simulation
from mne_otica.metrics import amari_index
from mne_otica.solver import algorithm
from mne_otica.solver import likelihood as _likelihood
from mne_otica.solver._linalg import unit_rows
from mne_otica.solver.contrast import Objective, bin_centres, bin_counts, bin_index
from mne_otica.solver.score_functions import PENALTIES, Smoothness, choose_smoothness, fit_scores


def score(samples):
    """Return the table, the potential and the information of one component."""
    objective = Objective(samples[np.newaxis].astype(np.float32))
    counts = objective.counts(np.eye(1))
    smoothness = choose_smoothness(objective, counts)
    return [part[0] for part in fit_scores(counts, smoothness, np.ones(1))]


def smooth(n_components):
    ones = np.ones(n_components)
    return Smoothness(PENALTIES[2] * ones, ones)


def likelihood(W, counts, scores):
    return _likelihood.negative_likelihood(_likelihood._values(counts, scores), W)


def white(sources):
    values, vectors = np.linalg.eigh(np.cov(sources, bias=True))
    centred = sources - sources.mean(axis=1, keepdims=True)
    return ((vectors / np.sqrt(values)) @ vectors.T @ centred).astype(np.float32)


def test_gaussian_samples_tell_nothing():
    table, _, information = score(np.random.default_rng(0).standard_normal(200_000))
    assert information == 1
    bulk = np.abs(bin_centres()) < 4
    assert_array_equal(table[bulk], bin_centres()[bulk])  # the score of a Gaussian is y


@pytest.mark.parametrize("n_samples", [4, 33, 40, 100])
def test_scores_of_few_samples_are_finite(n_samples):
    """A penalty does not tell quadratic functions, and few samples tell little else."""
    rng = np.random.default_rng(n_samples)
    for draw in (rng.standard_normal, rng.standard_cauchy, rng.standard_exponential):
        for part in score(zscore(draw(n_samples))):
            assert np.isfinite(part).all()


def test_score_of_a_laplacian():
    samples = np.random.default_rng(0).laplace(scale=np.sqrt(0.5), size=500_000)
    table, _, information = score(samples)
    y = bin_centres()
    # Away from the corner at 0, which splines round off, the score is the square root of 2.
    flank = (np.abs(y) > 0.3) & (np.abs(y) < 3)
    assert_allclose(table[flank], np.sqrt(2) * np.sign(y[flank]), atol=0.3)
    assert 1.85 < information <= 2  # the Fisher information is 2
    assert_allclose(np.mean(table[bin_index(samples)] ** 2), information, rtol=0.01)


def test_potential_has_the_score_as_its_slope():
    table, potential, _ = score(np.random.default_rng(0).standard_t(5, 50_000))
    y = bin_centres()
    inner = np.abs(y) < 5
    slope = np.gradient(potential, y)
    assert_allclose(slope[inner], table[inner], atol=0.05)


def test_smooth_densities_get_smooth_scores():
    rng = np.random.default_rng(0)
    chosen = []
    for samples in (rng.uniform(-1.7, 1.7, 10_000), rng.standard_t(5, 10_000)):
        objective = Objective(samples[np.newaxis].astype(np.float32))
        counts = objective.counts(np.eye(1))
        chosen.append(choose_smoothness(objective, counts).penalties)
    rough, smooth = chosen
    assert PENALTIES.min() <= rough < smooth <= PENALTIES.max()


@pytest.mark.parametrize("values", [[-1.0, 1.0], [0.0, 0.0, 0.0, 0.0, 2.0], [0.0]])
def test_few_values_leave_finite_functions(values):
    for part in score(np.tile(values, 1000)):
        assert np.isfinite(part).all()


def test_gradient_is_the_derivative_of_the_likelihood():
    rng = np.random.default_rng(0)
    X = white(rng.laplace(size=(3, 100_000)))
    W = unit_rows(np.eye(3) + 0.05 * rng.standard_normal((3, 3)))
    objective = Objective(X)
    scores = fit_scores(objective.counts(W), smooth(3), np.ones(3))
    gradient = _likelihood._gradient(objective, W, scores.tables)
    for i, j in [(0, 1), (2, 0)]:
        step = np.zeros((3, 3))
        step[i, j] = 0.02
        ahead, behind = (
            likelihood(moved, objective.counts(moved), scores)
            for moved in (unit_rows(W + sign * step @ W) for sign in (1, -1))
        )
        assert_allclose(gradient[i, j], (ahead - behind) / 0.04, atol=0.01)


def test_likelihood_never_falls(monkeypatch):
    """Whatever the step, what is kept is at least as likely as what was there."""
    X = white(simulation.mixture("hybrid", 6, 5000, 0).sources)
    objective = Objective(X)
    W = ortho_group.rvs(6, random_state=1)
    counts = objective.counts(W)
    scores = fit_scores(counts, smooth(6), np.ones(6))
    before = likelihood(W, counts, scores)
    _, W, counts, drop = _likelihood._step(objective, W, counts, scores)
    assert drop >= 0
    assert_allclose(likelihood(W, counts, scores), before - drop)
    assert_array_equal(counts, objective.counts(W))


def test_a_row_that_cannot_gain_does_not_hold_up_the_others():
    X = white(np.random.default_rng(0).laplace(size=(4, 20_000)))
    objective = Objective(X)
    W = unit_rows(np.eye(4) + 0.1 * ortho_group.rvs(4, random_state=0))
    counts = objective.counts(W)
    scores = fit_scores(counts, smooth(4), np.ones(4))
    scores.tables[0] *= -30  # its steps go the wrong way, and far
    *_, drop = _likelihood._step(objective, W, counts, scores)
    assert drop > 0


@pytest.mark.parametrize("kind", ["uniform", "exponential"])
def test_more_samples_show_sharper_edges(kind):
    """The information of a density that ends abruptly is infinite."""
    draw = getattr(np.random.default_rng(0), kind)
    few, many = (score(zscore(draw(size=n)))[2] for n in (2000, 200_000))
    assert many > 2 * few > 4


def test_information_tells_the_variance_of_the_angle():
    """The angles found in many mixtures of two Laplacians scatter as the information says."""
    rng = np.random.default_rng(0)
    angles = []
    for _ in range(60):
        W = _likelihood.refine_rotation(
            Objective(white(rng.laplace(size=(2, 10_000)))), np.eye(2), 3e-3
        )
        angles.append(np.arctan2(W[0, 1], W[0, 0]))
    expected = 1 / np.sqrt(10_000 * 2)  # e = 1 for each
    # A standard deviation of 60 is known to 9 %, and splines lose a little.
    assert_allclose(np.std(angles), expected, rtol=0.35)


def mean_errors(regime, n_sources, n_samples, refinements, seeds):
    errors = dict.fromkeys(refinements, 0.0)
    for seed in seeds:
        X, mixing, _ = simulation.mixture(regime, n_sources, n_samples, seed)
        for refine in refinements:
            K, W, _ = otica(X, refine=refine)
            errors[refine] += amari_index(W @ K, mixing) / len(seeds)
    return errors


@pytest.mark.parametrize("regime", ["uniform", "exponential", "hybrid", "discrete"])
def test_edges_gain_most_beyond_whitening(regime):
    """The bound of all estimators is zero for such sources, that of whitened ones is not."""
    errors = mean_errors(regime, 8, 10_000, ["none", "full"], range(3))
    assert errors["full"] < 0.7 * errors["none"]


@pytest.mark.parametrize("regime", ["laplace", "student_t"])
def test_smooth_sources_gain_too(regime):
    errors = mean_errors(regime, 8, 10_000, ["none", "rotation", "full"], range(4))
    assert errors["full"] < errors["none"]
    assert errors["rotation"] < errors["none"]


@pytest.mark.parametrize("regime", ["laplace", "student_t", "uniform"])
def test_few_samples_lose_nothing(regime):
    """Five sources of 1000 samples: 40 for each squared source."""
    errors = mean_errors(regime, 5, 1000, ["none", "full"], range(6))
    assert errors["full"] < 1.1 * errors["none"]


@pytest.mark.parametrize("regime", ["continuous", "laplace", "chi_square"])
def test_very_few_samples_lose_nothing(regime):
    """Less than three samples for each squared source, as in a minute of 64 channels."""
    errors = mean_errors(regime, 20, 1000, ["rotation", "full"], range(3))
    assert errors["full"] < errors["rotation"]


def test_beginning_on_a_part_of_the_samples_changes_nothing(monkeypatch):
    """The estimate on all samples does not depend on the subsamples before."""
    X = simulation.mixture("continuous", 5, 100_000, seed=0).X
    _, W, _ = otica(X)
    monkeypatch.setattr(algorithm, "N_SAMPLES", np.inf)
    _, direct, _ = otica(X)
    assert np.abs(W - direct).max() < 3e-3  # the tolerance; less than the standard error


@pytest.mark.parametrize(("n_components", "n_samples"), [(5, 2000), (5, 20_000), (12, 4000)])
@pytest.mark.parametrize("seed", range(3))
def test_gaussian_components_stay_as_the_whitening_has_them(n_components, n_samples, seed):
    noise = np.random.default_rng(seed).standard_normal((n_components, n_samples))
    _, W, _ = otica(white(noise))
    assert_allclose(W @ W.T, np.eye(n_components), atol=1e-10)


def test_known_covariance_leaves_the_rotation():
    """Sources that are white but for chance: their sample covariance would only add noise."""
    sources = np.random.default_rng(0).laplace(scale=np.sqrt(0.5), size=(4, 5000))
    X = ortho_group.rvs(4, random_state=0) @ sources
    _, W, _ = otica(X, whiten=False)
    assert_allclose(W @ W.T, np.eye(4), atol=1e-10)
    assert_array_equal(W, otica(X, whiten=False, refine="rotation")[1])


def test_blocks_are_those_of_the_recording():
    X = np.random.default_rng(0).standard_normal((2, 1000)).astype(np.float32)
    objective = Objective(X)
    counts = objective.counts(np.eye(2))
    assert_array_equal(counts, bin_counts(bin_index(X)))
    blocks = objective.block_counts(16, 4)
    assert blocks.sum(axis=(0, 2)).tolist() == [1000, 1000]
    assert np.ptp(blocks.sum(axis=2)) <= 1
    merged = counts.reshape(2, blocks.shape[2], -1).sum(axis=2)
    assert_array_equal(blocks.sum(axis=0), merged)
