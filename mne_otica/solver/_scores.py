"""Score functions of the components, from counts of their samples.

The score of a component is minus the slope of its log density. Among the sums ``f = c·b`` of given
smooth functions b, the nearest to the score less its linear part is that of
``c = E[b bᵀ]⁻¹ E[b']`` (integration by parts: score matching), which needs no density and no
derivative of one, and stays finite where the density has an edge. With f orthogonal to a
constant and to y, and scaled such that E[f²] = E[f'] = e, the score is ``ψ = y + f`` and its
information is ``E[ψ²] = 1 + e``, at least 1, and 1 only for a Gaussian.

The functions b, most of them splines, are those of `_basis`. Three things keep their sum from
following the noise of a sample.

Smoothness. A penalty on the third differences of the coefficients is chosen for each
component: functions are fitted to every other block of the recording and judged on the blocks
between, whose samples are not neighbours, so a recording is not taken for more independent samples
than it has. The best penalty and larger ones are averaged, each with the weight that the error of
this judgement leaves it: of two that are about as good, taking one would be a matter of rounding.
For components that are no farther from a Gaussian than chance takes them, f is zero, and it grows
to what was fitted as they are farther from it.

Evidence for a peak. One of the functions is a step at the mode. Its coefficient is multiplied by
1 - (σ / c)², or by zero, with σ its standard error between blocks (James and Stein).

Sharpening. The d weights of a component were fitted to the same samples, so that these lie where
its density is high: the density that they show is the true one, sharpened by the inverse of
a Gaussian filter of variance 2 d / (N (1 + e)). So the counts are blurred by that filter first.
Without it, bumps of a density that are narrower than the filter would feed on themselves.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mne_otica.solver._basis import (
    MERGE,
    N_MERGED,
    Basis,
    Lines,
    Solution,
    find_moments,
    make_basis,
    merged_centres,
    merged_counts,
    on_lattice,
    roughness,
    solve,
)
from mne_otica.solver.transport import (
    KNEE,
    N_BINS,
    bin_centres,
    gaussian_floor,
    gaussian_targets,
    targets_and_slopes,
)

# Weights of the squared third differences of the coefficients, for one sample.
PENALTIES = 10.0 ** np.arange(6, -1, -1.5)
# Twice the 2 of the theory: what is too sharp makes the information too large, and so the next fit
# sharper still.
BLUR = 4
# Nodes and weights of a quadrature that stands for a standard Gaussian.
BLUR_NODES, BLUR_WEIGHTS = np.array([-np.sqrt(3), 0, np.sqrt(3)]), np.array([1, 4, 1]) / 6
# Among the components that an ICA finds in Gaussian noise, hardly any has a contrast above so many
# times what is expected of them.
MAX_CHANCE = 2.0


class Scores(NamedTuple):
    """Score functions ψ of the components."""

    tables: NDArray[np.float64]  # ψ in each bin, shape (n_components, N_BINS)
    potentials: NDArray[np.float64]  # minus the log density up to a constant, ψ its slope
    information: NDArray[np.float64]  # E[ψ'] of each component, at least 1


class Smoothness(NamedTuple):
    """The regularisation of the score functions of the components."""

    penalties: NDArray[np.float64]
    steps: NDArray[np.float64]  # share that is kept of the coefficient of the step at the mode
    weights: NDArray[np.float64]  # of f, from 0 for what looks Gaussian to 1


def evidence(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the evidence that components are not Gaussian, from 0 to 1.

    Gaussian samples have a positive contrast, and fitting d weights raises it by d / 2 N.

    Parameters
    ----------
    counts : ndarray, shape (n_components, N_BINS)
        Samples of each component in each bin.
    """
    n_samples = int(counts[0].sum())
    targets, _ = targets_and_slopes(counts)
    y = bin_centres()
    distance = (counts @ y**2 - 2 * (counts * targets) @ y) / n_samples
    contrast = distance + np.mean(gaussian_targets(n_samples) ** 2)
    chance = gaussian_floor(n_samples) + len(counts) / (2 * n_samples)
    return np.clip(contrast / chance - MAX_CHANCE, 0, 1)


def choose_smoothness(
    counts: NDArray[np.int64], blocks: NDArray[np.int64], information: NDArray[np.float64]
) -> Smoothness:
    """Choose the smoothness of the score of each component by cross-validation over blocks.

    Parameters
    ----------
    counts : ndarray, shape (n_components, N_BINS)
        Samples of each component in each bin.
    blocks : ndarray, shape (n_blocks, n_components, N_MERGED)
        Counts of successive blocks of samples in merged bins.
    information : ndarray, shape (n_components,)
        A guess of the information of each component.

    Returns
    -------
    smoothness : Smoothness
        With penalties in the range of `PENALTIES`.
    """
    n_blocks, n_components, _ = blocks.shape
    n_samples, weights = blocks[:, 0].sum(), evidence(counts)
    if n_samples < 2 * n_blocks:  # too few to judge by
        return Smoothness(np.full(n_components, PENALTIES[0]), np.zeros(n_components), weights)
    width = _blur_width(information, n_samples)
    halves = [_blurred(blocks[k::2].sum(axis=0), width) for k in (0, 1)]
    both = halves[0] + halves[1]
    basis = make_basis(both, width)
    moments = find_moments(both, basis)
    rough = roughness(moments.shares)
    shares = blocks / np.maximum(blocks.sum(axis=2, keepdims=True), 1)
    losses = []
    for fitted, judged in ((halves[0], shares[1::2]), (halves[1], shares[::2])):
        power, slope, *_ = find_moments(fitted, basis, moments.lines)
        penalties = (PENALTIES / fitted[0].sum())[:, np.newaxis, np.newaxis, np.newaxis]
        solution = solve(power + penalties * rough, slope)
        both_kinds = np.stack([solution.keeping(0), solution.keeping(1)])
        f, slopes = basis.combine(both_kinds, moments.lines)
        loss = f * (f / 2 + merged_centres()) - slopes
        losses.append(loss.transpose(0, 2, 1, 3) @ judged.transpose(1, 2, 0))
    # Without and with the step; then components, penalties, blocks.
    without, with_step = (_best_penalties(one) for one in np.concatenate(losses, axis=3))
    penalties = (with_step / n_samples)[:, np.newaxis, np.newaxis]
    solution = solve(moments.power + penalties * rough, moments.slope)
    kept = _evident(solution, basis, moments.lines, shares)
    return Smoothness(without ** (1 - kept) * with_step**kept, kept, weights)


def _best_penalties(losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average the best penalty and larger ones, by components, penalties and blocks."""
    best = losses.mean(axis=2).argmin(axis=1)[:, np.newaxis]
    excess = losses - np.take_along_axis(losses, best[..., np.newaxis], axis=1)
    error = excess.std(axis=2) / np.sqrt(losses.shape[2])
    distance = excess.mean(axis=2) / np.maximum(error, 1e-300)
    # Penalties fall, so those before the best are larger.
    weights = np.exp(-(distance**2) / 2) * (np.arange(len(PENALTIES)) <= best)
    return 10 ** (weights @ np.log10(PENALTIES) / weights.sum(axis=1))


def _evident(
    solution: Solution, basis: Basis, lines: Lines, shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share to keep of the coefficient of each step.

    Parameters
    ----------
    solution : Solution
        Of all blocks.
    basis : Basis
        The functions.
    lines : tuple of ndarray
        The straight lines that are taken off them.
    shares : ndarray, shape (n_blocks, n_components, N_MERGED)
        Share of the samples of each block in each bin.
    """
    f, _ = basis.combine(solution.coefficients, lines)
    g, slopes = basis.combine(solution.response, lines)
    influence = slopes - g * (merged_centres() + f)  # of a sample on the coefficient
    variance = np.einsum("ij,kij->ki", influence, shares).var(axis=0) / len(shares)
    square = np.maximum(solution.coefficients[:, -1], 0) ** 2
    return np.maximum(square - variance, 0) / np.maximum(square, 1e-300)


def fit_scores(
    counts: NDArray[np.int64], smoothness: Smoothness, information: NDArray[np.float64]
) -> Scores:
    """Fit the score function of each component.

    Parameters
    ----------
    counts : ndarray, shape (n_components, N_BINS)
        Samples of each component in each bin, of about unit variance.
    smoothness : Smoothness
        How smooth each is to be.
    information : ndarray, shape (n_components,)
        A guess of the information of each component.

    Returns
    -------
    scores : Scores
        The functions.
    """
    n_samples = counts[0].sum()
    merged = merged_counts(counts)
    width = _blur_width(information, n_samples)
    blurred = _blurred(merged, width)
    basis = make_basis(blurred, width)
    power, slope, shares, lines = find_moments(blurred, basis)
    penalties = (smoothness.penalties / n_samples)[:, np.newaxis, np.newaxis]
    solution = solve(power + penalties * roughness(shares), slope)
    coefficients = solution.keeping(smoothness.steps[:, np.newaxis])
    mean_slope = np.sum(coefficients * slope, axis=1)
    mean_square = np.sum(coefficients[:, np.newaxis] @ power * coefficients[:, np.newaxis], (1, 2))
    scale = np.maximum(mean_slope, 0) / np.maximum(mean_square, 1e-300) * smoothness.weights
    coefficients *= scale[:, np.newaxis]
    y = bin_centres()
    tables = y + _finer(basis.combine(coefficients, lines)[0])
    # Between the points of a lattice the score is anything, and its sum would tell their densities.
    between = (blurred == 0) & on_lattice(merged)[:, np.newaxis]
    tables[np.repeat(between, MERGE, axis=1)] = 0
    for row, seen in zip(tables, counts > 0, strict=True):
        first, last = seen.argmax(), N_BINS - 1 - seen[::-1].argmax()
        row[:first], row[last + 1 :] = row[first], row[last]
    potentials = np.zeros(tables.shape)
    np.cumsum((tables[:, 1:] + tables[:, :-1]) / 2 * np.diff(y), axis=1, out=potentials[:, 1:])
    potentials -= potentials[:, N_BINS // 2, np.newaxis]
    return Scores(tables, potentials, 1 + scale * np.maximum(mean_slope, 0))


def _finer(merged: NDArray[np.float64]) -> NDArray[np.float64]:
    """Go from merged bins to all bins by linear interpolation."""
    place = np.clip((np.arange(N_BINS) + 0.5) / MERGE - 0.5, 0, N_MERGED - 1)
    below = np.minimum(place.astype(np.intp), N_MERGED - 2)
    share = place - below
    return merged.take(below, axis=1) * (1 - share) + merged.take(below + 1, axis=1) * share


def _blur_width(information: NDArray[np.float64], n_samples: int) -> NDArray[np.float64]:
    """Return by how much to blur each component for what fitting its weights has sharpened."""
    return np.sqrt(BLUR * len(information) / (n_samples * information))


def _blurred(counts: NDArray, width: NDArray[np.float64]) -> NDArray[np.float64]:
    """Blur counts in merged bins by a width for each component."""
    n_rows = len(counts)
    rows, columns = np.nonzero(counts)
    y = merged_centres()[columns]
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
