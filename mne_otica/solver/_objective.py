"""The function that the quasi-Newton solver minimises, and its derivatives."""

import threading
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from mne_otica.solver._basis import MERGE, N_MERGED
from mne_otica.solver._threads import in_threads
from mne_otica.solver.transport import KNEE, N_BINS, bin_index, targets_and_slopes

N_BLOCKS = 16  # in which a recording is judged by itself
# Columns are handled in pieces, an even number of them for two cores. They do not depend on the
# number of threads, and neither do sums over them, to the last bit.
CHUNK_BYTES = 8 * 2**20
MIN_CHUNK = 8192  # samples: fewer would not be worth the bins that are filled
MIN_THREADED = 2**16  # numbers: with fewer, threads would cost more than they gain


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


class _Chunk(NamedTuple):
    """Some samples, and the buffers of their components and bins in the last pass."""

    X: NDArray[np.float32]
    Y: NDArray[np.float32]
    index: NDArray[np.uint16]
    start: int  # of its samples among all


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
        self._scales: NDArray[np.float32] | None = None
        self._first = N_BINS * np.arange(len(X), dtype=np.int32)[:, np.newaxis]
        # Buffers are kept: allocating them anew in each pass would take a third of its time.
        # Each chunk is contiguous in them.
        Y, index = np.empty(X.size, dtype=np.float32), np.empty(X.size, dtype=np.uint16)
        self._chunks = []
        for columns in _chunks(*X.shape):
            part = X[:, columns]
            place = slice(len(X) * columns.start, len(X) * columns.stop)
            buffers = (buffer[place].reshape(part.shape) for buffer in (Y, index))
            self._chunks.append(_Chunk(part, *buffers, columns.start))

    def __call__(self, W: NDArray[np.float64]) -> Evaluation:
        """Evaluate the objective and its derivatives at W."""
        targets, slope = targets_and_slopes(self.counts(W))
        return Evaluation(self.cross_moments(targets), slope)

    def counts(self, W: NDArray[np.float64]) -> NDArray[np.int64]:
        """Unmix the data, and count the samples of each component in each bin."""
        self.n_evaluations += 1
        W = W.astype(np.float32)
        total, lock = np.zeros(len(W) * N_BINS, dtype=np.int64), threading.Lock()

        def unmix(chunk: _Chunk) -> None:
            np.matmul(W, chunk.X, out=chunk.Y)
            knee = KNEE if self._scales is None else self._in_time(KNEE * self._scales, chunk)
            bin_index(chunk.Y, knee, work=_work(chunk.Y.shape), out=chunk.index)
            place = np.add(chunk.index, self._first, out=_work(chunk.Y.shape, np.int32))
            counts = _counted(place, len(total))
            with lock:
                np.add(total, counts, out=total)

        in_threads(unmix, self._chunks)
        return total.reshape(len(W), N_BINS)

    def rescale(self, scales: NDArray[np.float64] | None) -> None:
        """From now on divide components by their scales before they are counted.

        Parameters
        ----------
        scales : ndarray, shape (n_components, n_spans) | None
            In each of so many successive spans of time.
        """
        self._scales = None if scales is None else scales.astype(np.float32)

    def powers(self, n_spans: int) -> NDArray[np.float64]:
        """Return the mean square of the components that were counted last.

        Returns
        -------
        powers : ndarray, shape (n_components, n_spans)
            In successive spans of time.
        """

        def summed(chunk: _Chunk) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
            spans, starts = np.unique(self._spans(chunk, n_spans), return_index=True)
            squares = np.square(chunk.Y, out=_work(chunk.Y.shape))
            return spans, np.add.reduceat(squares, starts, axis=1)

        total = np.zeros((len(self.X), n_spans))
        for spans, sums in in_threads(summed, self._chunks):
            total[:, spans] += sums
        edges = -(-np.arange(n_spans + 1) * self.X.shape[1] // n_spans)  # rounded up
        return total / np.diff(edges)

    def _spans(self, chunk: _Chunk, n_spans: int) -> NDArray[np.intp]:
        """Return the span of time of each sample."""
        number = np.arange(chunk.start, chunk.start + chunk.X.shape[1])
        return number * n_spans // self.X.shape[1]

    def _in_time(self, table: NDArray[np.float32], chunk: _Chunk) -> NDArray[np.float32]:
        """Go from a value for each span to one for each sample."""
        spans = self._spans(chunk, table.shape[1])
        return np.take(table, spans, axis=1, out=_work(chunk.Y.shape, use="scale"), mode="clip")

    def block_counts(self) -> NDArray[np.int64]:
        """Count successive blocks of samples of the components that were counted last.

        Returns
        -------
        counts : ndarray, shape (N_BLOCKS, n_components, N_MERGED)
            In merged bins.
        """
        n_rows, n_samples = self.X.shape
        counts = np.empty((N_BLOCKS, n_rows, N_MERGED), dtype=np.int64)
        block = N_MERGED * (np.arange(n_samples) * N_BLOCKS // n_samples)
        for row in range(n_rows):
            index = np.concatenate([chunk.index[row] for chunk in self._chunks])
            together = np.bincount(block + index // MERGE, minlength=N_BLOCKS * N_MERGED)
            counts[:, row] = together.reshape(N_BLOCKS, N_MERGED)
        return counts

    def cross_moments(self, tables: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the mean of f_i(y_i) y_j for the components that were counted last.

        With scales s_i, it is the mean of f_i(y_i / s_i) y_j / s_i.

        Parameters
        ----------
        tables : ndarray, shape (n_components, N_BINS)
            The function f_i of each component, by its value in each bin.
        """

        def moments(chunk: _Chunk) -> NDArray[np.float32]:
            mapped = _work(chunk.Y.shape)
            place = np.add(chunk.index, self._first, out=_work(chunk.Y.shape, np.intp))
            np.take(tables, place, out=mapped, mode="clip")
            if self._scales is not None:
                mapped *= self._in_time(1 / self._scales, chunk)
            return mapped @ chunk.Y.T

        total = np.zeros((len(self.X), len(self.X)))
        for part in in_threads(moments, self._chunks):
            total += part
        return total / self.X.shape[1]


def _counted(place: NDArray[np.int32], n_places: int) -> NDArray[np.int32]:
    """Count how often each place occurs.

    As the product of a sparse column of ones: SciPy lets go of the interpreter meanwhile, which
    NumPy's bincount does not.
    """
    ends = np.array([0, place.size], dtype=np.int32)
    column = csc_array((_ones(place.size), place.ravel(), ends), shape=(n_places, 1))
    return column @ np.ones(1, dtype=np.int32)


@lru_cache(maxsize=2)
def _ones(size: int) -> NDArray[np.int32]:
    return np.ones(size, dtype=np.int32)


_of_thread = threading.local()


def _work(shape: tuple[int, int], dtype: type = np.float32, use: str = "") -> NDArray:
    """Return an array of this thread, until it asks for the next of this type and use."""
    size = shape[0] * shape[1]
    arrays = _of_thread.__dict__.setdefault("arrays", {})
    if size > getattr(arrays.get((dtype, use)), "size", 0):
        arrays[dtype, use] = np.empty(size, dtype=dtype)
    return arrays[dtype, use][:size].reshape(shape)


def _chunks(n_rows: int, n_samples: int) -> list[slice]:
    """Cut the samples into pieces of about the same size."""
    size = max(CHUNK_BYTES // (4 * n_rows), MIN_CHUNK)
    n_chunks = 2 * -(-n_samples // (2 * size)) if n_rows * n_samples > MIN_THREADED else 1
    edges = np.linspace(0, n_samples, n_chunks + 1).astype(int).tolist()
    return [slice(*pair) for pair in pairwise(edges)]
