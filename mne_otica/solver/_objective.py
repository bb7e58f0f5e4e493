"""The function that the quasi-Newton solver minimises, and its derivatives."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mne_otica.solver._scores import MERGE, N_MERGED
from mne_otica.solver.transport import N_BINS, bin_counts, bin_index, targets_and_slopes

N_BLOCKS = 16  # in which a recording is judged by itself
CHUNK_BYTES = 4 * 2**20  # columns are handled in pieces that stay in the cache


class Evaluation(NamedTuple):
    """What one pass over the data tells about an unmixing matrix."""

    moments: NDArray[np.float64]  # mean of the Gaussian targets of row i times row j, shape (d, d)
    slope: NDArray[np.float64]  # mean slope of each transport map

    @property
    def correlation(self) -> NDArray[np.float64]:
        """C of each component."""
        return np.diag(self.moments)

    @property
    def value(self) -> float:
        """Sum of C over the components, the function minimised."""
        return self.correlation.sum()

    @property
    def gradient(self) -> NDArray[np.float64]:
        """Its derivative along rotations of each plane, skew."""
        return self.moments - self.moments.T


class Objective:
    """The sum of C over the components of W X, by the binned transport map.

    Parameters
    ----------
    X : ndarray of float32, shape (n_components, n_samples)
        Whitened data.
    """

    def __init__(self, X: NDArray[np.float32]) -> None:
        self.X = X
        self.n_evaluations = 0
        # Buffers are kept: allocating them anew in each call would take a third of its time.
        self._Y = np.empty_like(X)
        self._index = np.empty(X.shape, dtype=np.uint16)
        n_rows, n_samples = X.shape
        size = min(max(CHUNK_BYTES // (4 * n_rows), 1), n_samples)
        self._work = np.empty((n_rows, size), dtype=np.float32)

    def __call__(self, W: NDArray[np.float64]) -> Evaluation:
        """Evaluate the objective and its derivatives at W."""
        targets, slope = targets_and_slopes(self.counts(W))
        return Evaluation(self.cross_moments(targets), slope)

    def counts(self, W: NDArray[np.float64]) -> NDArray[np.int64]:
        """Unmix the data, and count the samples of each component in each bin."""
        self.n_evaluations += 1
        W = W.astype(np.float32)
        counts = np.zeros((len(W), N_BINS), dtype=np.int64)
        for chunk, work in self._chunks():
            Y = np.matmul(W, self.X[:, chunk], out=self._Y[:, chunk])
            counts += bin_counts(bin_index(Y, work=work, out=self._index[:, chunk]))
        return counts

    def block_counts(self) -> NDArray[np.int64]:
        """Count successive blocks of samples of the components that were counted last.

        Returns
        -------
        counts : ndarray, shape (N_BLOCKS, n_components, N_MERGED)
            In merged bins.
        """
        n_rows, n_samples = self.X.shape
        counts = np.empty((N_BLOCKS, n_rows, N_MERGED), dtype=np.int64)
        first = N_MERGED * (np.arange(n_samples) * N_BLOCKS // n_samples)
        for row, index in enumerate(self._index):
            together = np.bincount(first + index // MERGE, minlength=N_BLOCKS * N_MERGED)
            counts[:, row] = together.reshape(N_BLOCKS, N_MERGED)
        return counts

    def cross_moments(self, tables: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the mean of f_i(y_i) y_j for the components that were counted last.

        Parameters
        ----------
        tables : ndarray, shape (n_components, N_BINS)
            The function f_i of each component, by its value in each bin.
        """
        n_rows, n_samples = self.X.shape
        moments = np.zeros((n_rows, n_rows))
        for chunk, mapped in self._chunks():
            for row in range(n_rows):
                np.take(tables[row], self._index[row, chunk], out=mapped[row], mode="clip")
            moments += mapped @ self._Y[:, chunk].T
        return moments / n_samples

    def _chunks(self) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Cut the samples into chunks, and hand out the buffer for each."""
        n_samples, size = self.X.shape[1], self._work.shape[1]
        for start in range(0, n_samples, size):
            stop = min(start + size, n_samples)
            yield slice(start, stop), self._work[:, : stop - start]
