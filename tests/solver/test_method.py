"""The page docs/method.md: its equations by its own symbols, and the functions that it names."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm
from scipy.stats import norm

from mne_otica.solver import contrast
from mne_otica.solver._linalg import limited
from mne_otica.solver.likelihood import newton_step

PAGE = Path(__file__).parents[2] / "docs" / "method.md"
N = 20_000


def equations():
    """Yield each number of an equation with a function that computes it."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if number := re.match(r"\*\*\((\d+)\)\*\*", line):
            for name in re.findall(r"`([\w.]+)`", line):
                yield int(number[1]), name


def named(name):
    """Return the object with a name such as ``solver.contrast.Evaluation.value``."""
    parts = name.split(".")
    for n_modules in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(["mne_otica", *parts[:n_modules]]))
        except ModuleNotFoundError:
            continue
        for part in parts[n_modules:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


def sources():
    """Return white samples of independent sources: a Laplacian, a uniform and an exponential."""
    rng = np.random.default_rng(0)
    raw = np.stack([rng.laplace(size=N), rng.uniform(size=N), rng.exponential(size=N)])
    values, vectors = np.linalg.eigh(np.cov(raw, bias=True))
    return (vectors / np.sqrt(values)) @ vectors.T @ (raw - raw.mean(axis=1, keepdims=True))


def turned(Y, i, j, angle):
    """Rotate in the plane (i, j)."""
    skew = np.zeros((len(Y), len(Y)))
    skew[i, j], skew[j, i] = angle, -angle
    return expm(skew) @ Y


def targets():
    """Equation (1)."""
    k = np.arange(1, N + 1)
    return N * (norm.pdf(norm.ppf((k - 1) / N)) - norm.pdf(norm.ppf(k / N)))


def correlation(Y):
    """Equation (2): C of each row."""
    return np.sort(Y, axis=1) @ targets() / N


def test_equations_are_numbered_in_order():
    numbers = [number for number, _ in equations()]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(1, numbers[-1] + 1))


@pytest.mark.parametrize(("number", "name"), list(equations()))
def test_the_function_of_an_equation_names_its_number(number, name):
    assert re.search(rf"Equation \({number}\)", named(name).__doc__)


def test_equations_1_to_3_distance():
    T, Y = targets(), sources()
    assert_allclose(T, contrast.gaussian_targets(N), atol=1e-8)
    assert_allclose(correlation(Y), contrast.target_correlation(Y))
    distance = np.mean(Y**2, axis=1) + np.mean(T**2) - 2 * correlation(Y)
    assert_allclose(distance, contrast.w2_squared(Y), atol=1e-12)
    p = np.arange(1, N + 1) / (N + 1)
    floor = (np.mean(p * (1 - p) / norm.pdf(norm.ppf(p)) ** 2) - 1.5) / N
    assert_allclose(floor, contrast.gaussian_floor(N))


def test_equations_5_and_6_gradient_and_curvature():
    """Differences of the sum of C, with the samples sorted again after each rotation."""
    Y, small = sources(), 0.02
    start = turned(turned(Y, 0, 1, 0.1), 1, 2, -0.1)
    P = np.empty(Y.shape)
    np.put_along_axis(P, np.argsort(start, axis=1), np.broadcast_to(targets(), Y.shape), axis=1)
    G = P @ start.T / N
    here = contrast.Objective(start.astype(np.float32))(np.eye(3))
    assert_allclose(here.gradient, G - G.T, atol=1e-3)
    at_sources = contrast.Objective(Y.astype(np.float32))(np.eye(3))
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        values = [correlation(turned(start, i, j, s * small)).sum() for s in (1, -1)]
        assert_allclose(G[i, j] - G[j, i], (values[0] - values[1]) / (2 * small), atol=2e-3)
        values = [correlation(turned(Y, i, j, 5 * s * small)).sum() for s in (1, 0, -1)]
        second = (values[0] - 2 * values[1] + values[2]) / (5 * small) ** 2
        h = at_sources.curvature(([i], [j]))[0]
        assert_allclose(h, second, rtol=0.5)  # a uniform density has a kink at its ends
        assert h > 0


def test_no_angle_of_a_step_exceeds_what_the_page_says():
    said = re.search(r"No angle of a step exceeds (\d\.\d+)", PAGE.read_text(encoding="utf-8"))
    assert np.abs(limited(np.array([3.0, -1.0]))).max() == float(said[1])


def test_equation_13_newton_step():
    rng = np.random.default_rng(0)
    gradient, curvature = rng.standard_normal((4, 4)), 1 + rng.exponential(size=(4, 4))
    S = newton_step(gradient, curvature)
    for i, j in [(0, 1), (2, 3)]:
        matrix = [[curvature[i, j], 1], [1, curvature[j, i]]]
        assert_allclose(matrix @ np.array([S[i, j], S[j, i]]), [-gradient[i, j], -gradient[j, i]])
