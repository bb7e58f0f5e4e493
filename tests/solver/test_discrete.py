"""Support edges, and lattices among components that look Gaussian."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ortho_group, zscore

from mne_otica.solver.contrast import bin_counts, bin_index
from mne_otica.solver.discrete import find_edges, fit_edges, fit_lattices, search_lattices

N_SAMPLES = 10_000


def counts(samples):
    return bin_counts(bin_index(samples.astype(np.float32)))


@pytest.mark.parametrize(
    ("draw", "sides"),
    [
        ("uniform", [1, -1]),
        ("standard_exponential", [1]),
        ("standard_normal", []),
        ("laplace", []),
        ("poisson", []),
    ],
)
def test_edges_are_told_from_tails_and_lattices(draw, sides):
    rng = np.random.default_rng(0)
    options = {"lam": 3} if draw == "poisson" else {}
    samples = zscore(getattr(rng, draw)(size=(4, N_SAMPLES), **options), axis=1)
    for edges in find_edges(counts(samples)):
        assert [edge.side for edge in edges] == sides


def test_edges_tell_the_weights_more_finely_than_the_root_of_the_samples():
    rng = np.random.default_rng(1)
    sources = zscore(rng.uniform(size=(5, N_SAMPLES)), axis=1)
    truth = np.eye(5)
    start = truth + 0.005 * rng.standard_normal((5, 5)) * (1 - truth)
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    X = sources.astype(np.float32)
    W = fit_edges(X, start, find_edges(counts(start @ X)), np.full(5, 10.0))
    assert_allclose(np.linalg.norm(W, axis=1), 1)
    assert np.abs(W - truth).max() < 0.2 / np.sqrt(N_SAMPLES)


def test_a_lattice_tells_its_weights_exactly():
    """Nothing but errors of the weights moves samples off the points."""
    rng = np.random.default_rng(1)
    kinds = [
        rng.binomial(10, 0.5, N_SAMPLES),
        rng.poisson(3, N_SAMPLES),
        rng.laplace(size=N_SAMPLES),
    ]
    sources = zscore(kinds, axis=1)
    whitening = np.linalg.inv(np.linalg.cholesky(np.cov(sources, bias=True)))
    truth = np.linalg.inv(whitening)
    truth /= np.linalg.norm(truth, axis=1, keepdims=True)
    X = (whitening @ sources).astype(np.float32)
    start = truth + 1e-3 * rng.standard_normal((3, 3))
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    W = fit_lattices(X, start, counts(start @ X))
    assert_allclose(W[:2], truth[:2], atol=1e-5)  # single precision, and errors over sqrt(N)
    assert_array_equal(W[2], start[2])


@pytest.mark.parametrize("n_samples", [20, 100, 500])
@pytest.mark.parametrize("draw", ["standard_normal", "laplace", "uniform", "standard_cauchy"])
def test_gaps_between_few_samples_are_no_lattice(draw, n_samples):
    samples = zscore(getattr(np.random.default_rng(0), draw)(size=(10, n_samples)), axis=1)
    assert_array_equal(
        fit_lattices(samples.astype(np.float32), np.eye(10), counts(samples)), np.eye(10)
    )


def test_a_lattice_is_found_from_nearby():
    rng = np.random.default_rng(2)
    sources = zscore(
        [rng.binomial(10, 0.5, N_SAMPLES), *rng.standard_normal((4, N_SAMPLES))], axis=1
    )
    mixing = ortho_group.rvs(5, random_state=3)
    angle = 0.2  # radians: the contrast of what is seen along this direction is that of a Gaussian
    turn = np.eye(5)
    turn[:2, :2] = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    found = search_lattices((mixing @ sources).astype(np.float32), turn @ mixing.T)
    assert abs(found[0] @ mixing[:, 0]) > 1 - 1e-4
    assert_allclose(found @ found.T, np.eye(5), atol=1e-10)


def test_no_lattice_is_found_in_noise():
    noise = np.random.default_rng(4).standard_normal((5, N_SAMPLES)).astype(np.float32)
    assert search_lattices(noise, np.eye(5)) is None
