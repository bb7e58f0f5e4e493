"""Optimal transport of samples to the standard Gaussian, in one dimension.

In one dimension the optimal coupling matches ranks: the k-th smallest of N samples goes to
the k-th of N Gaussian targets T. A target is the mean of the Gaussian over its bin of
probability 1/N, so it carries no sampling noise. The squared Wasserstein distance is

    W2² = mean(y²) + mean(T²) - 2 C,    C = mean(T · sort(y)),

so a solver only needs C and the targets in the order of the samples.

There are two maps. The exact one sorts the samples. The binned one counts them in fixed bins and
maps all samples of a bin to the mean of its targets: O(N), with a C below the exact one by at most
`binning_error_bound`.

Arrays hold one signal per row.
"""

from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

# Bins are uniform in u = y / (|y| + KNEE): fine in the bulk, but still able to distinguish
# samples at 5 and 50 standard deviations, which blinks and pops reach.
KNEE = 2.0
N_BINS = 2048
# The mean slope needs a density, so bins are merged until each holds many samples. The
# width of a merged bin also bounds the slope for discrete data, which would be infinite.
N_SLOPE_BINS = 64


@lru_cache(maxsize=8)
def _density_at_quantiles(n_samples: int) -> NDArray[np.float64]:
    """Return the Gaussian density at the quantiles 0, 1/N, ..., 1."""
    z = ndtri(np.arange(n_samples // 2 + 1) / n_samples)
    lower = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    # Mirroring makes the targets exactly antisymmetric.
    return np.concatenate([lower, lower[: (n_samples + 1) // 2][::-1]])


@lru_cache(maxsize=8)
def gaussian_targets(n_samples: int) -> NDArray[np.float64]:
    """Return the mean of the standard Gaussian over N bins of equal probability.

    Parameters
    ----------
    n_samples : int
        Number of samples N.

    Returns
    -------
    targets : ndarray, shape (n_samples,)
        Ascending, antisymmetric and read-only (the array is cached).
    """
    targets = -n_samples * np.diff(_density_at_quantiles(n_samples))
    targets.flags.writeable = False
    return targets


def transport_map(y: NDArray) -> NDArray[np.float64]:
    """Map every sample to its Gaussian target, exactly, by sorting.

    Parameters
    ----------
    y : ndarray, shape (..., n_samples)
        One signal per row.

    Returns
    -------
    mapped : ndarray, shape (..., n_samples)
        The Gaussian targets in the order of the samples.
    """
    mapped = np.empty(y.shape)
    targets = np.broadcast_to(gaussian_targets(y.shape[-1]), y.shape)
    np.put_along_axis(mapped, np.argsort(y, axis=-1), targets, axis=-1)
    return mapped


def target_correlation(y: NDArray) -> NDArray[np.float64]:
    """Return C, the mean product of the sorted samples and their Gaussian targets.

    Parameters
    ----------
    y : ndarray, shape (..., n_samples)
        One signal per row.

    Returns
    -------
    correlation : ndarray, shape (...)
        One number per row. For rows of unit power it is at most 1, and 1 only for a Gaussian.
    """
    targets = gaussian_targets(y.shape[-1])
    return np.sort(y, axis=-1) @ targets.astype(y.dtype) / y.shape[-1]


def w2_squared(y: NDArray) -> NDArray[np.float64]:
    """Return the squared Wasserstein distance of each row to the standard Gaussian.

    Parameters
    ----------
    y : ndarray, shape (..., n_samples)
        One signal per row; neither centred nor scaled here.

    Returns
    -------
    distance : ndarray, shape (...)
        The squared distance, one number per row.
    """
    targets = gaussian_targets(y.shape[-1])
    return np.mean((np.sort(y, axis=-1) - targets) ** 2, axis=-1)


@lru_cache(maxsize=64)
def gaussian_floor(n_samples: int) -> float:
    """Return the expected W2² of N standardised Gaussian samples.

    A finite sample is never perfectly Gaussian, so pure noise has a small positive contrast. It
    is the integral of p (1 - p) / φ(Φ⁻¹(p))² over the quantiles that N samples resolve, minus
    3/2 for standardising mean and variance, divided by N (del Barrio,
    Cuesta-Albertos, Matrán & Rodríguez-Rodríguez 1999).
    """
    p = np.arange(1, n_samples + 1) / (n_samples + 1)
    density = np.exp(-0.5 * ndtri(p) ** 2) / np.sqrt(2 * np.pi)
    return (np.mean(p * (1 - p) / density**2) - 1.5) / n_samples


def bin_index(
    y: NDArray,
    knee: float | NDArray = KNEE,
    *,
    work: NDArray | None = None,
    out: NDArray[np.uint16] | None = None,
) -> NDArray[np.uint16]:
    """Return the bin of every sample (see `bin_edges`), in buffers of its shape if given.

    Samples of a larger scale have a knee that is larger by the same factor.
    """
    u = np.abs(y, out=work)
    u += knee
    np.divide(y, u, out=u)
    # Rounding could move a huge sample beyond the last bin, so the scale ends a little below.
    u *= (N_BINS / 2) * (1 - 2**-21)
    u += N_BINS / 2
    if out is None:
        out = np.empty(y.shape, dtype=np.uint16)
    out[...] = u
    return out


def bin_edges(n_bins: int = N_BINS) -> NDArray[np.float64]:
    """Return the edges of the bins; the outermost two are infinite."""
    u = np.linspace(-1, 1, n_bins + 1)[1:-1]
    return np.concatenate([[-np.inf], KNEE * u / (1 - np.abs(u)), [np.inf]])


def bin_positions() -> NDArray[np.float64]:
    """Return the middle of each bin as u, which goes from -1 to 1 in equal steps."""
    return (np.arange(N_BINS) + 0.5) * (2 / N_BINS) - 1


def bin_centres() -> NDArray[np.float64]:
    """Return the middle of each bin as y."""
    u = bin_positions()
    return KNEE * u / (1 - np.abs(u))


def bin_density() -> NDArray[np.float64]:
    """Return du/dy in the middle of each bin."""
    return KNEE / (np.abs(bin_centres()) + KNEE) ** 2


def bin_counts(index: NDArray[np.uint16]) -> NDArray[np.int64]:
    """Count the samples of each row in each bin."""
    return np.stack([np.bincount(row, minlength=N_BINS) for row in index])


def targets_and_slopes(
    counts: NDArray[np.int64],
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return the Gaussian target of each bin and the mean slope of the transport map.

    Parameters
    ----------
    counts : ndarray, shape (n_rows, N_BINS)
        Samples per bin; every row has the same total.

    Returns
    -------
    targets : ndarray, shape (n_rows, N_BINS)
        Mean of the Gaussian targets of the bin, 0 for an empty bin.
    slopes : ndarray, shape (n_rows,)
        Estimate of E[T'(y)], from the density f of merged bins: T' = f / φ(T). With unit
        variance it is at least 1 (Jensen), so smaller estimates are raised to 1.
    """
    n_samples = int(counts[0].sum())
    cumulated = np.zeros((len(counts), N_BINS + 1), dtype=np.int64)
    np.cumsum(counts, axis=1, out=cumulated[:, 1:])
    density = _density_at_quantiles(n_samples)[cumulated]
    targets = (density[:, :-1] - density[:, 1:]) * (n_samples / np.maximum(counts, 1))
    merge = N_BINS // N_SLOPE_BINS
    probability = np.diff(cumulated[:, ::merge], axis=1) / n_samples
    phi = (density[:, :-merge:merge] + density[:, merge::merge]) / 2
    # If all samples are in one merged bin, the density is zero at both of its edges. The expected
    # square of a share exceeds the square of the true share by about the share over N.
    squared = probability * np.maximum(probability - 1 / n_samples, 0)
    slopes = np.sum(squared / (np.maximum(phi, 1e-9) * _slope_bin_widths()), axis=1)
    return targets.astype(np.float32), np.maximum(slopes, 1)


@cache
def _slope_bin_widths() -> NDArray[np.float64]:
    """Return the widths of the merged bins; the two open ones get the width of their neighbours."""
    widths = np.diff(bin_edges(N_SLOPE_BINS))
    widths[[0, -1]] = widths[[1, -2]]
    return widths


def binned_transport_map(y: NDArray) -> NDArray[np.float32]:
    """Map every sample to the mean Gaussian target of its bin, in O(N).

    Parameters
    ----------
    y : ndarray, shape (n_rows, n_samples)
        One signal per row, of about unit variance.

    Returns
    -------
    mapped : ndarray, shape (n_rows, n_samples)
        Monotone in the samples, like the exact map.
    """
    index = bin_index(y)
    targets, _ = targets_and_slopes(bin_counts(index))
    return np.take_along_axis(targets, index.astype(np.intp), axis=1)


def binning_error_bound(y: NDArray) -> NDArray[np.float64]:
    """Return a bound on how much binning lowers C = mean(T y).

    Within a bin the exact map pairs sorted targets with sorted samples, the binned map pairs their
    means, and the covariance of two sets is at most a quarter of the product of their ranges.

    Parameters
    ----------
    y : ndarray, shape (n_rows, n_samples)
        One signal per row.

    Returns
    -------
    bound : ndarray, shape (n_rows,)
        ``0 <= C_exact - C_binned <= bound``.
    """
    bound = np.empty(len(y))
    targets = gaussian_targets(y.shape[1])
    for row, ordered in enumerate(np.sort(y, axis=1)):
        counts = bin_counts(bin_index(ordered[np.newaxis]))[0]
        last = np.cumsum(counts)[counts > 0] - 1
        first = np.concatenate([[0], last[:-1] + 1])
        ranges = (ordered[last] - ordered[first]) * (targets[last] - targets[first])
        bound[row] = np.sum(counts[counts > 0] * ranges) / 4 / len(ordered)
    return bound


def mean_slope(y: NDArray) -> NDArray[np.float64]:
    """Return the mean slope E[T'(y)] of the transport map of each row.

    It is 1 for a Gaussian and larger for any other distribution of unit variance. If it is
    infinite (ties, or a density with an edge), the estimate is large but finite.

    Parameters
    ----------
    y : ndarray, shape (n_rows, n_samples)
        One signal per row, of about unit variance.

    Returns
    -------
    slope : ndarray, shape (n_rows,)
        The mean slope of each row.
    """
    return targets_and_slopes(bin_counts(bin_index(y)))[1]


def dither(y: NDArray, scale: float, rng: np.random.Generator) -> NDArray:
    """Add white Gaussian noise, which smooths the steps of discrete distributions.

    Parameters
    ----------
    y : ndarray
        The samples; not changed.
    scale : float
        Standard deviation of the noise.
    rng : Generator
        Source of the noise.

    Returns
    -------
    dithered : ndarray
        A new array of the same shape.
    """
    return y + scale * rng.standard_normal(y.shape)
