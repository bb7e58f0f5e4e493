"""Score functions of the components, from counts of their samples.

The score of a component is minus the slope of its log density. Among the sums ``f = c·b`` of given
smooth functions b, the nearest to the score less its linear part is that of
``c = E[b bᵀ]⁻¹ E[b']`` (integration by parts: score matching), which needs no density and no
derivative of one, and stays finite where the density has an edge. With f orthogonal to a
constant and to y, and scaled such that E[f²] = E[f'] = e, the score is ``ψ = y + f`` and its
information is ``E[ψ²] = 1 + e``, at least 1, and 1 only for a Gaussian.

The functions b are cubic splines, equally spaced in asinh(y): heavy tails are short there. Two
things keep them from following the noise of a sample.

Smoothness. A penalty on the third differences of the coefficients is chosen for each
component: functions are fitted to every other block of the recording and judged on the blocks
between, whose samples are not neighbours, so a recording is not taken for more independent samples
than it has. Among the penalties that are as good as the best, up to the error of
this judgement, the largest is taken.

Sharpening. The d weights of a component were fitted to the same samples, so that these lie where
its density is high: the density that they show is the true one, sharpened by the inverse of
a Gaussian filter of variance 2 d / (N (1 + e)). So the counts are blurred by that filter first.
Without it, bumps of a density that are narrower than the filter would feed on themselves.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from mne_otica.solver.transport import KNEE, N_BINS, bin_centres

N_SPLINES = 64
SPLINE_DEGREE = 3
LARGEST = 100.0  # standard deviations; the splines end here
# Weights of the squared third differences of the coefficients, for one sample.
PENALTIES = 10.0 ** np.arange(5, -2, -1)
RIDGE = 1e-9  # of functions whose power is of the order of one, where they have any
MERGE = 4  # bins of the transport map that make one bin here
N_MERGED = N_BINS // MERGE
# Nodes and weights of a quadrature that stands for a standard Gaussian.
BLUR_NODES, BLUR_WEIGHTS = np.array([-np.sqrt(3), 0, np.sqrt(3)]), np.array([1, 4, 1]) / 6


class Scores(NamedTuple):
    """Score functions ψ of the components."""

    tables: NDArray[np.float64]  # ψ in each bin, shape (n_components, N_BINS)
    potentials: NDArray[np.float64]  # minus the log density up to a constant, ψ its slope
    information: NDArray[np.float64]  # E[ψ²] of each component, at least 1


class _Basis(NamedTuple):
    """The splines, by their values in merged bins (rows) and in all bins."""

    y: NDArray[np.float64]
    splines: NDArray[np.float64]  # shape (N_MERGED, N_SPLINES)
    slopes: NDArray[np.float64]
    products: NDArray[np.float64]  # of each spline with itself and with its next three
    roughness: NDArray[np.float64]  # the penalty, a matrix
    fine: NDArray[np.float64]  # shape (N_SPLINES, N_BINS)


@lru_cache(maxsize=1)
def _basis() -> _Basis:
    end = np.arcsinh(LARGEST)
    step = 2 * end / (N_SPLINES - SPLINE_DEGREE)
    knots = -end + step * np.arange(-SPLINE_DEGREE, N_SPLINES + 1)
    spline = BSpline(knots, np.eye(N_SPLINES), SPLINE_DEGREE)
    y = merged_centres()
    v = np.clip(np.arcsinh(y), -end, end)
    slope_of_axis = (np.abs(v) < end) / np.sqrt(1 + y**2)
    values = spline(v)
    shifted = [np.roll(values, -k, axis=1) for k in range(SPLINE_DEGREE + 1)]
    for k, one in enumerate(shifted):
        if k:
            one[:, -k:] = 0
    differences = np.diff(np.eye(N_SPLINES), 3, axis=0)
    fine = spline(np.clip(np.arcsinh(bin_centres()), -end, end))
    return _Basis(
        y,
        values,
        spline.derivative()(v) * slope_of_axis[:, np.newaxis],
        np.hstack([values * one for one in shifted]),
        differences.T @ differences,
        fine.T,
    )


def merged_centres() -> NDArray[np.float64]:
    """Return the middle of each merged bin as y."""
    u = (np.arange(N_MERGED) + 0.5) * (2 / N_MERGED) - 1
    return KNEE * u / (1 - np.abs(u))


def choose_penalties(
    blocks: NDArray[np.int64], information: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Choose how smooth the score of each component is, by what other blocks show.

    Parameters
    ----------
    blocks : ndarray, shape (n_blocks, n_components, N_MERGED)
        Counts of successive blocks of samples in merged bins.
    information : ndarray, shape (n_components,)
        A guess of the information of each component.

    Returns
    -------
    penalties : ndarray, shape (n_components,)
        One of `PENALTIES` for each.
    """
    basis = _basis()
    n_blocks, n_components, _ = blocks.shape
    n_samples = blocks[:, 0].sum()
    if n_samples < 2 * n_blocks:  # too few to judge by
        return np.full(n_components, PENALTIES[0])
    halves = [_blurred(blocks[k::2].sum(axis=0), information, n_samples) for k in (0, 1)]
    trend = _trend(halves[0] + halves[1])
    losses = []
    for fitted, judged in ((halves[0], blocks[1::2]), (halves[1], blocks[::2])):
        power, slope = _moments(fitted, trend)
        penalties = (PENALTIES / fitted[0].sum())[:, np.newaxis, np.newaxis]
        matrices = power[:, np.newaxis] + penalties * basis.roughness
        coefficients = _solve(matrices, slope[:, np.newaxis])
        level, tilt = (coefficients @ part[:, :, np.newaxis] for part in trend)
        f = coefficients @ basis.splines.T - level - tilt * basis.y
        loss = f**2 / 2 - (coefficients @ basis.slopes.T - tilt) + f * basis.y
        shares = judged / np.maximum(judged.sum(axis=2, keepdims=True), 1)
        losses.append(loss @ shares.transpose(1, 2, 0))
    losses = np.concatenate(losses, axis=2)  # components, penalties, blocks
    best = losses.mean(axis=2).argmin(axis=1)
    excess = losses - np.take_along_axis(losses, best[:, np.newaxis, np.newaxis], axis=1)
    error = excess.std(axis=2) / np.sqrt(losses.shape[2])
    # Penalties fall, so the first that is good enough is the largest.
    return PENALTIES[(excess.mean(axis=2) <= error).argmax(axis=1)]


def fit_scores(
    counts: NDArray[np.int64],
    penalties: NDArray[np.float64],
    information: NDArray[np.float64],
) -> Scores:
    """Fit the score function of each component.

    Parameters
    ----------
    counts : ndarray, shape (n_components, N_BINS)
        Samples of each component in each bin, of about unit variance.
    penalties : ndarray, shape (n_components,)
        How smooth each is to be.
    information : ndarray, shape (n_components,)
        A guess of the information of each component.

    Returns
    -------
    scores : Scores
        The functions.
    """
    basis = _basis()
    n_samples = counts[0].sum()
    merged = counts.reshape(len(counts), N_MERGED, MERGE).sum(axis=2)
    blurred = _blurred(merged, information, n_samples)
    trend = _trend(blurred)
    power, slope = _moments(blurred, trend)
    matrices = power + (penalties / n_samples)[:, np.newaxis, np.newaxis] * basis.roughness
    coefficients = _solve(matrices, slope)
    mean_slope = np.sum(coefficients * slope, axis=1)
    mean_square = np.sum(coefficients[:, np.newaxis] @ power * coefficients[:, np.newaxis], (1, 2))
    scale = np.maximum(mean_slope, 0) / np.maximum(mean_square, 1e-300)
    coefficients *= scale[:, np.newaxis]
    level, tilt = (np.sum(coefficients * part, axis=1, keepdims=True) for part in trend)
    y = bin_centres()
    tables = y + coefficients @ basis.fine - level - tilt * y
    for row, seen in zip(tables, counts > 0, strict=True):
        first, last = seen.argmax(), N_BINS - 1 - seen[::-1].argmax()
        row[:first], row[last + 1 :] = row[first], row[last]
    potentials = np.zeros(tables.shape)
    np.cumsum((tables[:, 1:] + tables[:, :-1]) / 2 * np.diff(y), axis=1, out=potentials[:, 1:])
    potentials -= potentials[:, N_BINS // 2, np.newaxis]
    return Scores(tables, potentials, 1 + scale * np.maximum(mean_slope, 0))


def _blurred(
    counts: NDArray, information: NDArray[np.float64], n_samples: int
) -> NDArray[np.float64]:
    """Blur counts in merged bins by what fitting the weights has sharpened them."""
    n_rows = len(counts)
    width = np.sqrt(2 * n_rows / (n_samples * information))
    rows, columns = np.nonzero(counts)
    y = _basis().y[columns]
    blurred = np.zeros(n_rows * N_MERGED)
    for node, weight in zip(BLUR_NODES, BLUR_WEIGHTS, strict=True):
        moved = y + node * width[rows]
        place = (moved / (np.abs(moved) + KNEE) + 1) * (N_MERGED / 2) - 0.5
        place = np.clip(place, 0, N_MERGED - 1.001)
        below = place.astype(np.intp)
        share = place - below
        flat, mass = rows * N_MERGED + below, weight * counts[rows, columns]
        blurred += np.bincount(flat, mass * (1 - share), len(blurred))
        blurred += np.bincount(flat + 1, mass * share, len(blurred))
    return blurred.reshape(n_rows, N_MERGED)


def _trend(counts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return level and tilt of the straight line nearest to each spline."""
    basis = _basis()
    weights = counts / counts.sum(axis=1, keepdims=True)
    mean, square = weights @ basis.y, weights @ basis.y**2
    values, products = weights @ basis.splines, (weights * basis.y) @ basis.splines
    variance = np.maximum(square - mean**2, 1e-300)
    tilt = (products - mean[:, np.newaxis] * values) / variance[:, np.newaxis]
    return values - tilt * mean[:, np.newaxis], tilt


def _moments(
    counts: NDArray[np.float64], trend: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return E[b bᵀ] and E[b' - b y] of the splines less a straight line, for each row."""
    basis, (level, tilt) = _basis(), trend
    weights = counts / counts.sum(axis=1, keepdims=True)
    n_rows = len(counts)
    power = np.zeros((n_rows, N_SPLINES, N_SPLINES))
    products = (weights @ basis.products).reshape(n_rows, SPLINE_DEGREE + 1, N_SPLINES)
    every = np.arange(N_SPLINES)
    for k in range(SPLINE_DEGREE + 1):
        first, second = every[: N_SPLINES - k], every[k:]
        power[:, first, second] = power[:, second, first] = products[:, k, : N_SPLINES - k]
    # Terms with the straight line, which leave the rest orthogonal to it if it is their own.
    mean = (weights @ basis.y)[:, np.newaxis]
    square = (weights @ basis.y**2)[:, np.newaxis]
    values, moments = weights @ basis.splines, (weights * basis.y) @ basis.splines
    for one, other in (
        (level, values - level / 2 - tilt * mean),
        (tilt, moments - tilt * square / 2),
    ):
        outer = one[:, :, np.newaxis] * other[:, np.newaxis]
        power -= outer + outer.transpose(0, 2, 1)
    slope = weights @ basis.slopes - tilt - (moments - level * mean - tilt * square)
    return power, slope


def _solve(matrices: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve symmetric systems; splines where there is no sample get no weight."""
    ridge = RIDGE * np.eye(N_SPLINES)
    vectors = np.broadcast_to(vectors, matrices.shape[:-1])
    return np.linalg.solve(matrices + ridge, vectors[..., np.newaxis])[..., 0]
