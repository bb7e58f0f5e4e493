"""Components whose power changes in time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mne_otica import otica, simulation
from mne_otica.metrics import amari_index
from mne_otica.solver import likelihood
from mne_otica.solver.contrast import Objective, bin_counts, bin_index
from mne_otica.solver.likelihood import N_SPANS, find_modulation
from mne_otica.solver.score_functions import choose_smoothness, fit_scores

N_SAMPLES = 20_011  # not a multiple of anything


def rhythms(n_sources, seed=0):
    """Gaussian noise that waxes and wanes, each source at its own times."""
    rng = np.random.default_rng(seed)
    times = np.arange(N_SAMPLES) / N_SAMPLES
    cycles, phases = rng.uniform(10, 30, (n_sources, 1)), rng.uniform(0, 6, (n_sources, 1))
    scales = 1 + 0.3 * np.sin(2 * np.pi * cycles * times + phases)
    sources = scales * rng.standard_normal((n_sources, N_SAMPLES))
    return sources / sources.std(axis=1, keepdims=True)


def random_scales(n_components, n_spans=100):
    return np.random.default_rng(1).uniform(0.5, 2, (n_components, n_spans))


def in_time(table):
    return table[:, np.arange(N_SAMPLES) * table.shape[1] // N_SAMPLES]


def fitted_scores(objective, counts):
    return fit_scores(counts, choose_smoothness(objective, counts), np.ones(len(counts)))


def test_power_tells_apart_what_is_nearly_gaussian():
    """In another order the same samples tell much less."""
    errors = []
    for seed in range(3):
        sources, rng = rhythms(5, seed), np.random.default_rng(10 + seed)
        mixing = rng.standard_normal((5, 5))
        fits = (otica(mixing @ some)[:2] for some in (sources, rng.permutation(sources, axis=1)))
        errors.append([amari_index(W @ K, mixing) for K, W in fits])
    ordered, shuffled = np.mean(errors, axis=0)
    assert ordered < 0.05
    assert ordered < shuffled / 2


@pytest.mark.parametrize("regime", ["hybrid", "laplace", "student_t", "discrete"])
def test_independent_samples_have_no_modulation(regime):
    for seed in range(3):
        sources = simulation.mixture(regime, 6, 5000, seed).sources.astype(np.float32)
        objective = Objective(sources / sources.std(axis=1, keepdims=True))
        objective.counts(np.eye(6))
        assert find_modulation(objective) is None


def test_constant_power_is_no_modulation():
    objective = Objective(np.tile(np.float32([[1, -1], [-1, -1]]), 1000))
    objective.counts(np.eye(2))
    assert find_modulation(objective) is None


def test_only_components_with_modulation_are_scaled():
    sources = rhythms(2)
    sources[1] = np.random.default_rng(5).standard_normal(N_SAMPLES)
    objective = Objective(sources.astype(np.float32))
    objective.counts(np.eye(2))
    modulation = find_modulation(objective)
    assert_array_equal(modulation.scales[1], 1)
    powers = objective.powers(N_SPANS)[0]
    assert np.corrcoef(modulation.scales[0], np.sqrt(powers))[0, 1] > 0.7
    # What is left has unit variance, and the power of another component says nothing about it.
    assert_allclose(np.mean(powers / modulation.scales[0] ** 2), powers.mean())
    assert_allclose(modulation.ratios[1], 1, atol=1e-6)


def test_powers_are_mean_squares_of_spans():
    X = np.random.default_rng(0).standard_normal((7, N_SAMPLES)).astype(np.float32)
    objective = Objective(X)
    objective.counts(np.eye(7))
    span = np.arange(N_SAMPLES) * 100 // N_SAMPLES
    expected = [(X[:, span == k].astype(float) ** 2).mean(axis=1) for k in range(100)]
    assert_allclose(objective.powers(100), np.transpose(expected), rtol=1e-5)


def test_scales_divide_components():
    X = np.random.default_rng(0).standard_normal((3, N_SAMPLES)).astype(np.float32)
    objective, scales = Objective(X), random_scales(3)
    objective.rescale(scales)
    scaled = X / in_time(scales).astype(np.float32)
    # Rounding may move a sample across the edge of a bin.
    moved = objective.counts(np.eye(3)) - bin_counts(bin_index(scaled))
    assert np.abs(moved).sum() < 1e-3 * X.size
    tables = fitted_scores(objective, objective.counts(np.eye(3))).tables
    mapped = np.take_along_axis(tables, bin_index(scaled).astype(int), axis=1) / in_time(scales)
    assert_allclose(objective.cross_moments(tables), mapped @ X.T / N_SAMPLES, atol=1e-3)
    objective.rescale(None)
    assert_array_equal(objective.counts(np.eye(3)), bin_counts(bin_index(X)))


def test_steps_with_scales_raise_the_likelihood():
    sources = rhythms(4).astype(np.float32)
    W = np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))[0]
    objective = Objective(sources)
    objective.counts(W)
    modulation = find_modulation(objective)
    objective.rescale(modulation.scales)
    counts = objective.counts(W)
    scores = fitted_scores(objective, counts)
    step, moved, counts_moved, drop = likelihood._step(objective, W, counts, scores, modulation)
    before, after = (
        likelihood.negative_likelihood(likelihood._values(some, scores), matrix)
        for some, matrix in ((counts, W), (counts_moved, moved))
    )
    assert np.abs(step).max() > 0.01
    assert_allclose(before - after, drop)
    assert drop > 0


def test_the_number_of_threads_does_not_matter(monkeypatch):
    X = np.random.default_rng(2).standard_normal((5, 5)) @ rhythms(5)
    fits = []
    for number in (1, 2, 3):
        monkeypatch.setattr("mne_otica.solver._linalg.n_threads", lambda number=number: number)
        fits.append(otica(X)[1])
    assert_array_equal(fits[1], fits[0])
    assert_array_equal(fits[2], fits[0])
