"""Centring, rank and whitening of arrays, without copies of the whole data."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CHUNK_BYTES = 32 * 2**20
# Directions with less than a millionth of the amplitude of the others are rounding errors, as
# an average reference or an interpolated channel leaves them in single precision.
MIN_RELATIVE_VARIANCE = 1e-12
# A channel is constant if it deviates from its mean by at most this many rounding errors of the
# mean, by the bytes of a value. Single precision has little margin: EEG with an offset of 1 V
# deviates by a hundred of them.
ROUNDING_STEPS = {4: 8, 8: 4096}


@dataclass
class Whitening:
    """A linear map to uncorrelated signals of unit variance."""

    mean: NDArray[np.float64]  # of each channel
    K: NDArray[np.float64]  # shape (n_components, n_channels)


class Channels:
    """Second-order statistics of a data array.

    Parameters
    ----------
    X : ndarray, shape (n_channels, n_samples)
        The data; not changed.
    """

    def __init__(self, X: NDArray) -> None:
        n_channels, n_samples = X.shape
        self.mean = X.mean(axis=1, dtype=np.float64)
        # Channels are scaled before the covariance is computed, so that neither small nor mixed
        # units reduce the precision.
        peak = np.abs(X.max(axis=1) - self.mean)
        peak = np.maximum(peak, np.abs(X.min(axis=1) - self.mean))
        # A channel that varies by little more than the rounding error of its values counts as
        # constant: its correlations with others are noise.
        precision = ROUNDING_STEPS[X.dtype.itemsize] * np.finfo(X.dtype).eps * np.abs(self.mean)
        self.constant = np.flatnonzero(peak <= precision)
        peak[self.constant] = np.inf
        covariance = np.zeros((n_channels, n_channels))
        for chunk in chunks(X):
            centred = (X[:, chunk] - self.mean[:, np.newaxis]) / peak[:, np.newaxis]
            covariance += centred @ centred.T
        relative_std = np.sqrt(np.diag(covariance) / n_samples)
        relative_std[self.constant] = 1
        peak[self.constant] = 0
        self.std = relative_std * peak
        self.correlation = covariance / n_samples / np.outer(relative_std, relative_std)
        variances, self._axes = np.linalg.eigh(self.correlation)
        self._variances = np.maximum(variances, 0)
        # Directions no larger than the rounding errors of large offsets do not count either.
        varying = np.where(self.std > 0, self.std, np.inf)
        rounding = np.max(np.finfo(X.dtype).eps * np.abs(self.mean) / varying)
        least = max(MIN_RELATIVE_VARIANCE * self._variances[-1], 16 * n_channels * rounding**2)
        kept = self._variances > least
        # Centred samples sum to zero, so the rank is at most the number of samples minus one.
        rank = min(int(np.sum(kept)), max(n_samples - 1, 1))
        self.rank = rank if len(self.constant) < n_channels else 0

    @property
    def null(self) -> NDArray[np.float64]:
        """The null space of the channels at unit variance, as columns."""
        return self._axes[:, : len(self.std) - self.rank]

    def stand_in(self) -> NDArray[np.float64]:
        """Return a few samples with the same means and the same covariance as the data.

        There are two for each channel, at equal distances on either side of the mean, so
        moments that are averages over samples agree exactly.
        """
        deviations = self.std[:, np.newaxis] * self._axes * np.sqrt(self._variances * len(self.std))
        return self.mean[:, np.newaxis] + np.hstack([deviations, -deviations])

    def whitening(self, n_components: int | float | None = None) -> Whitening:
        """Whiten the leading principal components, of the largest variance first.

        Parameters
        ----------
        n_components : int | float | None
            Their number, the share of the variance that they explain, or None for all.
        """
        kept = slice(len(self.std) - self.rank, None)
        amplitudes, axes = np.sqrt(self._variances[kept]), self._axes[:, kept]
        # The channels are ``std * axes * amplitudes`` times white signals. Its singular vectors
        # are the principal components, to full precision whatever the units of the channels.
        _, stds, rotation = np.linalg.svd(
            self.std[:, np.newaxis] * axes * amplitudes, full_matrices=False
        )
        if n_components is None:
            n_components = self.rank
        elif isinstance(n_components, float):
            relative = (stds / stds[0]) ** 2
            explained = np.cumsum(relative) / relative.sum()
            n_components = min(int(np.sum(explained <= n_components)) + 1, self.rank)
        safe_std = np.where(self.std > 0, self.std, 1)
        K = (rotation[:n_components] / amplitudes) @ axes.T / safe_std
        return Whitening(self.mean, K)


def chunks(X: NDArray) -> Iterator[slice]:
    """Cut the samples into pieces of bounded size."""
    size = max(CHUNK_BYTES // (8 * len(X)), 1)
    for start in range(0, X.shape[1], size):
        yield slice(start, min(start + size, X.shape[1]))


def project(matrix: NDArray, X: NDArray, mean: NDArray, dtype: type) -> NDArray:
    """Return ``matrix @ (X - mean)`` without a centred copy of X."""
    out = np.empty((len(matrix), X.shape[1]), dtype=dtype)
    for chunk in chunks(X):
        out[:, chunk] = matrix @ (X[:, chunk] - mean[:, np.newaxis])
    return out
