"""The estimate that is more precise than the optimum of the contrast."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ortho_group

from mne_otica import otica, simulation
from mne_otica.metrics import amari_index
from mne_otica.solver._objective import Objective
from mne_otica.solver._refinement import MIN_EFFICIENCY, efficient_functions, refine
from mne_otica.solver.transport import bin_centres, bin_counts, bin_index


def efficient(samples):
    tables, efficiency = efficient_functions(bin_counts(bin_index(samples[np.newaxis])))
    return tables[0], efficiency[0]


def test_gaussian_samples_tell_nothing_about_rotations():
    _, efficiency = efficient(np.random.default_rng(0).standard_normal(200_000))
    assert 0 <= efficiency < MIN_EFFICIENCY / 2


def test_weak_sources_lose_nothing():
    """Splines that followed the noise of a sample would cost a quarter here."""
    errors = {True: [], False: []}
    for seed in range(6):
        sources = np.random.default_rng(seed).standard_t(7, size=(5, 10_000))
        mixing = ortho_group.rvs(5, random_state=seed)
        for refined in errors:
            K, W, _ = otica(mixing @ sources, refine=refined)
            errors[refined].append(amari_index(W @ K, mixing * sources.std(axis=1)))
    assert np.mean(errors[True]) < 1.05 * np.mean(errors[False])


def test_function_of_a_laplacian_is_its_score():
    samples = np.random.default_rng(0).laplace(scale=np.sqrt(0.5), size=500_000)
    table, efficiency = efficient(samples)
    y = bin_centres()
    # Away from the corner at 0, which splines round off, the score is the square root of 2.
    flank = (np.abs(y) > 0.3) & (np.abs(y) < 3)
    error = table[flank] + y[flank] - np.sqrt(2) * np.sign(y[flank])
    assert np.sqrt(np.mean(error**2)) < 0.1
    assert 0.85 < efficiency <= 1  # the Fisher information is 2
    assert_allclose(np.mean(table[bin_index(samples)] ** 2), efficiency, rtol=1e-3)  # its power


def test_two_values_leave_the_transport_map():
    table, efficiency = efficient(np.tile([-1.0, 1.0], 5000))
    assert np.isfinite(table).all()
    assert efficiency >= 0


def test_function_is_orthogonal_to_constants_and_to_the_component():
    samples = np.random.default_rng(0).exponential(size=50_000) - 1
    weights = bin_counts(bin_index(samples[np.newaxis]))[0] / len(samples)
    table, _ = efficient(samples)
    assert_allclose([table @ weights, (table * bin_centres()) @ weights], 0, atol=1e-9)


def test_efficiency_tells_the_variance_of_the_angle():
    """The angles found in many mixtures of two Laplacians scatter as the efficiency says."""
    rng = np.random.default_rng(0)
    angles, predicted = [], []
    for _ in range(60):
        sources = rng.laplace(size=(2, 10_000))
        values, vectors = np.linalg.eigh(np.cov(sources))
        X = (vectors / np.sqrt(values)) @ vectors.T @ (sources - sources.mean(1, keepdims=True))
        objective = Objective(X.astype(np.float32))
        W = refine(objective, np.eye(2), 3e-3)
        angles.append(np.arctan2(W[0, 1], W[0, 0]))
        predicted.append(1 / efficient_functions(objective.counts(W))[1].sum() / X.shape[1])
    assert_allclose(np.std(angles), np.sqrt(np.mean(predicted)), rtol=0.35)


@pytest.mark.parametrize(
    ("regime", "gain"),
    [("laplace", 0.08), ("student_t", 0.02), ("uniform", 0), ("exponential", 0), ("hybrid", 0)],
)
def test_refinement_gains_on_every_kind_of_source(regime, gain):
    errors = {True: [], False: []}
    for seed in range(4):
        X, mixing, _ = simulation.mixture(regime, 8, 10_000, seed)
        for refined in errors:
            K, W, _ = otica(X, refine=refined)
            errors[refined].append(amari_index(W @ K, mixing))
    assert np.mean(errors[True]) <= (1 - gain) * np.mean(errors[False])


@pytest.mark.parametrize(("n_samples", "same_as"), [(9_999, False), (10_000, True)])
def test_few_samples_are_not_refined_unless_asked_for(n_samples, same_as):
    X, _, _ = simulation.mixture("laplace", 4, n_samples, seed=0)
    by_itself = otica(X)[1]
    assert_allclose(by_itself, otica(X, refine=same_as)[1], rtol=0)
    assert np.abs(by_itself - otica(X, refine=not same_as)[1]).max() > 1e-4


def test_refined_matrix_is_orthogonal_and_equivariant():
    X, _, _ = simulation.mixture("continuous", 5, 10_000, seed=0)
    K, W, Y = otica(X)
    assert_allclose(W @ W.T, np.eye(5), atol=1e-10)
    _, _, Y_mixed = otica(ortho_group.rvs(5, random_state=0) @ X)
    assert_allclose(np.abs(np.corrcoef(Y, Y_mixed)[:5, 5:]).max(axis=1), 1, atol=1e-3)
