"""What holds of the solver for any data, on examples that Hypothesis makes up."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ortho_group

from mne_otica import OTICAConvergenceWarning, otica
from mne_otica.solver.otica import REFINEMENTS

# All that may be said of finite numbers in two dimensions, as an error or as a warning.
ERRORS = re.compile(
    r"fewer samples \(\d+\) than channels|channels of X are constant; there is nothing|"
    r"exceeds the rank of the data"
)
WARNINGS = re.compile(r"Estimating \d+ components|only one component|did not converge")
DTYPES = ("f8", ">f8", "f4", "f2", "i8", "i4", "i2", "u1")
SHAPES = {
    "Gaussian": lambda rng, size: rng.standard_normal(size),
    "Laplace": lambda rng, size: rng.laplace(size=size),
    "Cauchy": lambda rng, size: rng.standard_cauchy(size),
    "Pareto": lambda rng, size: rng.pareto(0.5, size),
    "coins": lambda rng, size: rng.choice([0.0, 1.0], size),
    "ties": lambda rng, size: np.round(rng.standard_normal(size), 1),
    "spikes": lambda rng, size: np.where(rng.random(size) < 0.05, rng.standard_normal(size), 0),
}
IDENTIFIABLE = {
    "Laplace": lambda rng, n: rng.laplace(size=n),
    "uniform": lambda rng, n: rng.uniform(-1, 1, n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "Student": lambda rng, n: rng.standard_t(3, n),
    "two clouds": lambda rng, n: rng.choice([-1, 1], n) + 0.1 * rng.standard_normal(n),
}
seeds = st.integers(0, 2**32 - 1)
exponents = st.floats(-12, 12)


@st.composite
def recordings(draw):
    """Signals of any rank, scale, type and distribution, and of as few as two samples."""
    rng = np.random.default_rng(draw(seeds))
    n_channels, n_samples = draw(st.integers(1, 8)), draw(st.integers(2, 200))
    X = SHAPES[draw(st.sampled_from(sorted(SHAPES)))](rng, (n_channels, n_samples))
    rank = draw(st.integers(1, n_channels))
    if draw(st.booleans()):
        X = rng.standard_normal((n_channels, rank)) @ X[:rank]
    if draw(st.booleans()):  # one channel all but the same as another
        noise = rng.standard_normal(n_samples)
        X[0] = X[-1] * (1 + 10.0 ** draw(st.integers(-17, -3)) * noise)
    if draw(st.booleans()):
        X[draw(st.integers(0, n_channels - 1))] = draw(st.sampled_from([0.0, 7.0, 1e9]))
    if draw(st.booleans()):
        X = X + 10 ** draw(exponents)
    scales = draw(st.lists(exponents, min_size=n_channels, max_size=n_channels))
    X = X * 10 ** (np.array(scales)[:, np.newaxis] if draw(st.booleans()) else scales[0])
    return as_type(X, draw(st.sampled_from(DTYPES)))


def as_type(X, dtype):
    """Convert, with the largest numbers of the type in place of larger ones."""
    limits = np.finfo(dtype) if np.dtype(dtype).kind == "f" else np.iinfo(dtype)
    largest = float(limits.max) * (1 - 1e-3)  # not rounded up by the conversion
    return np.clip(X, max(float(limits.min), -largest), largest).astype(dtype)


@st.composite
def mixtures(draw):
    """Whitened mixtures of sources that are far enough from Gaussian to be told apart."""
    rng = np.random.default_rng(draw(seeds))
    n_sources, n_samples = draw(st.integers(2, 4)), draw(st.integers(500, 2000))
    kinds = draw(
        st.lists(st.sampled_from(sorted(IDENTIFIABLE)), min_size=n_sources, max_size=n_sources)
    )
    sources = np.stack([IDENTIFIABLE[kind](rng, n_samples) for kind in kinds])
    sources /= sources.std(axis=1, keepdims=True)
    return ortho_group.rvs(n_sources, random_state=rng) @ sources


def separated(X, **options):
    """Run the solver; None for an error and no other warning than those that are documented."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = otica(X, **options)
        except ValueError as error:
            if not ERRORS.search(str(error)):
                raise
            found = None
    for one in said:
        assert issubclass(one.category, RuntimeWarning | OTICAConvergenceWarning), one
        assert WARNINGS.search(str(one.message)), one
    return found


def check_unmixing(X, found, refine="auto"):
    """Check all that is promised of a result."""
    K, W, Y = found
    n_components = len(W)
    assert K.shape == (n_components, len(X))
    assert Y.shape == (n_components, X.shape[1])
    assert np.isfinite(K).all()
    assert np.isfinite(Y).all()
    assert_allclose(np.linalg.norm(W, axis=1), 1, atol=1e-10)
    assert_allclose(Y.var(axis=1), 1, atol=1e-3)
    if refine in ("none", "rotation"):
        assert_allclose(W @ W.T, np.eye(n_components), atol=1e-10)
    else:
        assert np.linalg.matrix_rank(W) == n_components
    # The sign is that of the skewness, up to the rounding that the variances have, too.
    assert np.all(np.mean(Y**3, axis=1) >= -3e-3 * np.mean(np.abs(Y) ** 3, axis=1))


@settings(max_examples=880)
@given(
    recordings(),
    st.sampled_from([{}, {}, {"n_components": 1}, {"n_components": 0.9}]),
    st.sampled_from(REFINEMENTS),
)
def test_any_recording_gives_an_unmixing_or_a_documented_error(X, options, refine):
    kept = X.copy()
    found = separated(X, refine=refine, **options)
    assert_array_equal(X, kept)
    if found is not None:
        check_unmixing(X, found, refine)


@settings(max_examples=560)
@given(
    arrays(
        st.sampled_from(["f8", "f4"]),
        st.tuples(st.integers(1, 4), st.integers(1, 12)),
        elements=st.floats(-(2.0**40), 2.0**40, width=32),
    ),
    st.sampled_from(REFINEMENTS),
)
def test_any_numbers_give_an_unmixing_or_a_documented_error(X, refine):
    found = separated(X, refine=refine)
    if found is not None:
        check_unmixing(X, found, refine)


@settings(max_examples=40)  # each takes as long as ten others
@given(recordings(), st.integers(1, 3), seeds)
def test_algorithm_of_the_paper_gives_a_rotation_too(X, max_iter, seed):
    options = dict(algorithm="riemannian", max_iter=max_iter, random_state=seed)
    found = separated(X, **options)
    if found is not None:
        check_unmixing(X, found, "none")
        assert_array_equal(separated(X, **options)[1], found[1])


@settings(max_examples=150)
@given(recordings(), seeds)
def test_same_seed_same_answer(X, seed):
    first, again = (separated(data, random_state=seed) for data in (X, X.copy()))
    assert (again is None) == (first is None)
    if first is not None:
        for one, other in zip(first, again, strict=True):
            assert_array_equal(one, other)


@settings(max_examples=100)
@given(mixtures(), st.floats(-12, 12), st.sampled_from(REFINEMENTS))
def test_units_do_not_matter(X, exponent, refine):
    one, other = (separated(data, refine=refine)[2] for data in (X, 10**exponent * X))
    assert np.all(np.abs(np.sum(one * other, axis=1)) / X.shape[1] > 0.999)


@pytest.mark.parametrize("kind", ["permuted", "scaled", "rotated"])
@settings(max_examples=90)
@given(X=mixtures(), seed=seeds, refine=st.sampled_from(REFINEMENTS))
def test_components_do_not_depend_on_the_basis_of_the_channels(kind, X, seed, refine):
    n_channels, n_samples = X.shape
    rng = np.random.default_rng(seed)
    if kind == "permuted":
        matrix = np.eye(n_channels)[rng.permutation(n_channels)]
    elif kind == "scaled":
        matrix = np.diag(rng.choice([-1, 1], n_channels) * 10 ** rng.uniform(-12, 12, n_channels))
    else:
        matrix = ortho_group.rvs(n_channels, random_state=rng)
    Y, transformed = (separated(data, refine=refine)[2] for data in (X, matrix @ X))
    same = np.abs(Y @ transformed.T / n_samples)
    # Nearly equal contrasts may swap places in the order.
    assert np.all(same.max(axis=0) > 0.999)
    assert len(set(same.argmax(axis=0))) == n_channels
