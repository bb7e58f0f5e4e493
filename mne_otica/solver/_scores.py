"""Score functions of the components, from counts of their samples.

The score of a component is minus the slope of its log density. Among the sums ``f = c·b`` of given
smooth functions b, the nearest to the score less its linear part is that of
``c = E[b bᵀ]⁻¹ E[b']`` (integration by parts: score matching), which needs no density and no
derivative of one, and stays finite where the density has an edge. With f orthogonal to a
constant and to y, and scaled such that E[f²] = E[f'] = e, the score is ``ψ = y + f`` and its
information is ``E[ψ²] = 1 + e``, at least 1, and 1 only for a Gaussian.

The functions b are cubic splines over the range of the samples, equally spaced in asinh(y), where
heavy tails are short, but for more of them at the ends, where a density may have an edge. Three
things keep them from following the noise of a sample.

Sparse knots. Where there are few samples, the knots are farther apart. Otherwise a function could
be steep at each of a few samples in a tail, and zero there, which no sample contradicts.

Smoothness. A penalty on the third differences of the coefficients is chosen for each
component: functions are fitted to every other block of the recording and judged on the blocks
between, whose samples are not neighbours, so a recording is not taken for more independent samples
than it has. The best penalty and larger ones are averaged, each with the weight that the error of
this judgement leaves it: of two that are about as good, taking one would be a matter of rounding.
For components that are no farther from a Gaussian than chance takes them, f is zero, and it grows
to what was fitted as they are farther from it.

Sharpening. The d weights of a component were fitted to the same samples, so that these lie where
its density is high: the density that they show is the true one, sharpened by the inverse of
a Gaussian filter of variance 2 d / (N (1 + e)). So the counts are blurred by that filter first.
Without it, bumps of a density that are narrower than the filter would feed on themselves.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from mne_otica.solver.transport import (
    KNEE,
    N_BINS,
    bin_centres,
    bin_edges,
    gaussian_floor,
    gaussian_targets,
    targets_and_slopes,
)

N_SPLINES = 48
SPLINE_DEGREE = 3
N_INTERVALS = N_SPLINES - SPLINE_DEGREE  # between the knots of a component
SAMPLES_PER_INTERVAL = 10
# Of few samples, that many are counted together for it: knots that followed each of them would
# follow the last bit of the data.
SAMPLES_AROUND = 50
# Third differences weigh more where a spline has fewer than the mean number of samples, up to that
# share of it, by this power.
MIN_SHARE, SHARE_POWER = 0.03, 1.5
MIN_DENSITY = 0.5  # of knots where there are fewer samples, relative to the usual one
# A density that ends abruptly tells most by its edge: within so many standard deviations of either
# end of the samples there are more knots, as many as for so much of asinh(y).
END = 0.15
MORE_AT_ENDS = 0.5
MAX_GAPS = 0.1  # of the bins between: a lattice has more, and all of its steps are edges
# Weights of the squared third differences of the coefficients, for one sample.
PENALTIES = 10.0 ** np.arange(6, -1, -1.5)
RIDGE = 1e-9  # of functions whose power is of the order of one, where they have any
MERGE = 4  # bins of the transport map that make one bin here
N_MERGED = N_BINS // MERGE
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
    weights: NDArray[np.float64]  # of f, from 0 for what looks Gaussian to 1


class _Splines(NamedTuple):
    """The splines of each component in merged bins, where all but four in a row are zero."""

    first: NDArray[np.intp]  # number of the first of the four, shape (n_components, N_MERGED)
    values: NDArray[np.float64]  # shape (4, n_components, N_MERGED)
    slopes: NDArray[np.float64]

    def combine(
        self, coefficients: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the sums with given coefficients, shape (..., components, splines), and slopes."""
        start = self.first + N_SPLINES * np.arange(len(self.first))[:, np.newaxis]
        flat = coefficients.reshape(*coefficients.shape[:-2], -1)
        sums = slopes = 0
        for k in range(SPLINE_DEGREE + 1):
            one = flat.take(start + k, axis=-1)
            sums = sums + one * self.values[k]
            slopes = slopes + one * self.slopes[k]
        return sums, slopes


def _share_of_gaps(counts: NDArray) -> NDArray[np.float64]:
    """Return which share of the merged bins of each component is empty, but for its tails."""
    cumulated = np.cumsum(counts, axis=1)
    share = cumulated / cumulated[:, -1:]
    between = (share > 0.1) & (share < 0.9)
    seen = np.count_nonzero(between & (counts > 0), axis=1)
    return 1 - seen / np.maximum(np.count_nonzero(between, axis=1), 1)


def merged_counts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Go from the counts of all bins to those of merged bins."""
    # A sum over a short last axis would take ten times as long.
    return np.sum([counts[:, k::MERGE] for k in range(MERGE)], axis=0)


def on_lattice(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell from merged counts which components have values on a lattice."""
    return _share_of_gaps(counts) > MAX_GAPS


def _knots(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place the knots of each component by its blurred counts."""
    edges, seen = merged_edges(), counts > 0
    first, end = seen.argmax(axis=1), N_MERGED - seen[:, ::-1].argmax(axis=1)
    low, high = edges[first, np.newaxis], edges[end, np.newaxis]
    usual = np.diff(np.arcsinh(np.clip(edges, low, high)), axis=1)
    from_low, from_high = (np.exp(-np.maximum(y, 0) / END) for y in (edges - low, high - edges))
    more = MORE_AT_ENDS * np.maximum(0, 1 - _share_of_gaps(counts) / MAX_GAPS)
    density = usual + more[:, np.newaxis] * np.diff(from_high - from_low, axis=1)
    scale = N_INTERVALS / usual.sum(axis=1, keepdims=True)
    around = np.zeros(counts.shape)
    for row, smooth, *inside in zip(counts, around, first, end, strict=True):
        width = SAMPLES_AROUND * (inside[1] - inside[0]) / row.sum()
        gaussian_filter1d(row[slice(*inside)], width, output=smooth[slice(*inside)], mode="nearest")
    enough = np.maximum(around / SAMPLES_PER_INTERVAL, MIN_DENSITY * scale * usual)
    number = np.zeros((len(counts), N_MERGED + 1))
    np.cumsum(np.minimum(scale * density, enough), axis=1, out=number[:, 1:])
    wanted = number[:, -1:] * np.linspace(0, 1, N_INTERVALS + 1)
    knots = [np.interp(*row, edges) for row in zip(wanted, number, strict=True)]
    return np.clip(knots, low, high)  # beyond the last sample there are as many


def _splines(counts: NDArray[np.float64]) -> _Splines:
    """Make the splines for blurred counts."""
    y = merged_centres()
    knots = _knots(counts)
    place = np.stack([np.interp(y, row, np.arange(N_INTERVALS + 1)) for row in knots])
    first = np.minimum(place.astype(np.intp), N_INTERVALS - 1)
    t = place - first
    inside = (y >= knots[:, :1]) & (y <= knots[:, -1:])
    steepness = inside / np.take_along_axis(np.diff(knots, axis=1), first, axis=1)
    u = 1 - t
    values = np.stack([u**3, 4 - 3 * t**2 * (2 - t), 4 - 3 * u**2 * (2 - u), t**3]) / 6
    slopes = np.stack([-(u**2), t * (3 * t - 4), u * (4 - 3 * u), t**2]) / 2
    return _Splines(first, values, slopes * steepness)


def _roughness(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the penalty on third differences, a matrix for each component.

    Where there are few samples, the functions are noisier, and their differences weigh more.
    """
    around = (shares[:, 1:-2] + shares[:, 2:-1]) / 2  # of the four splines of a difference
    weights = np.maximum(N_SPLINES * around, MIN_SHARE) ** -SHARE_POWER
    differences = np.diff(np.eye(N_SPLINES), 3, axis=0)
    return (differences.T * weights[:, np.newaxis]) @ differences


@cache
def merged_centres() -> NDArray[np.float64]:
    """Return the middle of each merged bin as y."""
    u = (np.arange(N_MERGED) + 0.5) * (2 / N_MERGED) - 1
    return KNEE * u / (1 - np.abs(u))


@cache
def merged_edges() -> NDArray[np.float64]:
    """Return the edges of the merged bins, the outermost as far out as bins of the map go."""
    edges = bin_edges(N_MERGED)
    edges[[0, -1]] = bin_centres()[[0, -1]]
    return edges


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
    n_samples = blocks[:, 0].sum()
    if n_samples < 2 * n_blocks:  # too few to judge by
        return Smoothness(np.full(n_components, PENALTIES[0]), evidence(counts))
    y = merged_centres()
    halves = [_blurred(blocks[k::2].sum(axis=0), information, n_samples) for k in (0, 1)]
    both = halves[0] + halves[1]
    splines = _splines(both)
    _, _, every_share, trend = _moments(both, splines)
    roughness = _roughness(every_share)
    losses = []
    for fitted, judged in ((halves[0], blocks[1::2]), (halves[1], blocks[::2])):
        power, slope, *_ = _moments(fitted, splines, trend)
        penalties = (PENALTIES / fitted[0].sum())[:, np.newaxis, np.newaxis, np.newaxis]
        coefficients = _solve(power + penalties * roughness, slope)
        level, tilt = (np.sum(coefficients * part, axis=2)[..., np.newaxis] for part in trend)
        f, slopes = splines.combine(coefficients)
        f -= level + tilt * y
        loss = f * (f / 2 + y) - (slopes - tilt)
        shares = judged / np.maximum(judged.sum(axis=2, keepdims=True), 1)
        losses.append(loss.transpose(1, 0, 2) @ shares.transpose(1, 2, 0))
    losses = np.concatenate(losses, axis=2)  # components, penalties, blocks
    best = losses.mean(axis=2).argmin(axis=1)[:, np.newaxis]
    excess = losses - np.take_along_axis(losses, best[..., np.newaxis], axis=1)
    error = excess.std(axis=2) / np.sqrt(losses.shape[2])
    distance = excess.mean(axis=2) / np.maximum(error, 1e-300)
    # Penalties fall, so those before the best are larger.
    weights = np.exp(-(distance**2) / 2) * (np.arange(len(PENALTIES)) <= best)
    chosen = 10 ** (weights @ np.log10(PENALTIES) / weights.sum(axis=1))
    return Smoothness(chosen, evidence(counts))


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
    blurred = _blurred(merged, information, n_samples)
    splines = _splines(blurred)
    power, slope, shares, trend = _moments(blurred, splines)
    weights = (smoothness.penalties / n_samples)[:, np.newaxis, np.newaxis]
    coefficients = _solve(power + weights * _roughness(shares), slope)
    mean_slope = np.sum(coefficients * slope, axis=1)
    mean_square = np.sum(coefficients[:, np.newaxis] @ power * coefficients[:, np.newaxis], (1, 2))
    scale = np.maximum(mean_slope, 0) / np.maximum(mean_square, 1e-300) * smoothness.weights
    coefficients *= scale[:, np.newaxis]
    level, tilt = (np.sum(coefficients * part, axis=1, keepdims=True) for part in trend)
    y = bin_centres()
    tables = y + _finer(splines.combine(coefficients)[0]) - level - tilt * y
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


def _blurred(
    counts: NDArray, information: NDArray[np.float64], n_samples: int
) -> NDArray[np.float64]:
    """Blur counts in merged bins by what fitting the weights has sharpened them."""
    n_rows = len(counts)
    width = np.sqrt(BLUR * n_rows / (n_samples * information))
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


class _Moments(NamedTuple):
    """Moments of the splines less a straight line, for each component."""

    power: NDArray[np.float64]  # E[b bᵀ]
    slope: NDArray[np.float64]  # E[b' - b y]
    shares: NDArray[np.float64]  # E[b] before the line is taken off
    trend: tuple[NDArray[np.float64], NDArray[np.float64]]  # level and tilt of the lines


def _moments(
    counts: NDArray[np.float64],
    splines: _Splines,
    trend: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> _Moments:
    """Return the moments, by default less the straight line nearest to each spline."""
    y, shape = merged_centres(), (len(counts), N_SPLINES)
    weights = counts / counts.sum(axis=1, keepdims=True)
    start = splines.first + N_SPLINES * np.arange(len(counts))[:, np.newaxis]

    def gathered(parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up what each bin contributes to its four splines, or to fewer of them."""
        total = np.zeros(len(counts) * N_SPLINES)
        for k, part in enumerate(parts):
            total += np.bincount((start + k).ravel(), part.ravel(), len(total))
        return total.reshape(shape)

    weighted = weights * splines.values
    power = np.zeros((*shape, N_SPLINES))
    every = np.arange(N_SPLINES)
    for k in range(SPLINE_DEGREE + 1):
        products = gathered(weighted[: 4 - k] * splines.values[k:])[:, : N_SPLINES - k]
        first, second = every[: N_SPLINES - k], every[k:]
        power[:, first, second] = power[:, second, first] = products
    values, moments = gathered(weighted), gathered(weighted * y)
    mean, square = (weights @ y)[:, np.newaxis], (weights @ y**2)[:, np.newaxis]
    if trend is None:
        tilt = (moments - mean * values) / np.maximum(square - mean**2, 1e-300)
        trend = values - tilt * mean, tilt
    level, tilt = trend
    # Terms with the straight line, which leave the rest orthogonal to it if it is their own.
    for one, other in (
        (level, values - level / 2 - tilt * mean),
        (tilt, moments - tilt * square / 2),
    ):
        outer = one[:, :, np.newaxis] * other[:, np.newaxis]
        power -= outer + outer.transpose(0, 2, 1)
    slope = gathered(weights * splines.slopes) - tilt - (moments - level * mean - tilt * square)
    return _Moments(power, slope, values, trend)


def _solve(matrices: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve symmetric systems; splines where there is no sample get no weight."""
    every = np.arange(N_SPLINES)
    # Of few samples a large penalty is all there is, and it does not tell quadratic functions: the
    # ridge has to be more than its rounding.
    largest = matrices[..., every, every].max(axis=-1, keepdims=True)
    matrices[..., every, every] += RIDGE + N_SPLINES * np.finfo(float).eps * largest
    vectors = np.broadcast_to(vectors, matrices.shape[:-1])
    return np.linalg.solve(matrices, vectors[..., np.newaxis])[..., 0]
