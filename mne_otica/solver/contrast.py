"""The contrast: transport to the standard Gaussian, its objective, gradient and curvature.

The equations are (1) to (6) of docs/method. `Objective` does not sort the samples, but counts them
in fixed bins and maps all samples of a bin to the mean of its targets, in O(N).
"""

import threading
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array
from scipy.special import ndtri

from mne_otica.solver._linalg import in_threads
from mne_otica.utils.arrays import Array, Single

# Bins are uniform in u = y / (|y| + KNEE): fine in the bulk, but still able to distinguish
# samples at 5 and 50 standard deviations, which blinks and pops reach.
KNEE = 2.0
N_BINS = 2048  # lowers C by less than 1e-4, see tests/solver/test_contrast.py
# The mean slope needs a density, so bins are merged until each holds many samples. The
# width of a merged bin also bounds the slope for discrete data, which would be infinite.
N_SLOPE_BINS = 64
CHUNK_SIZE = 2**21  # numbers in a chunk: bounds the memory of temporary arrays


@lru_cache(maxsize=8)
def _density_at_quantiles(n_samples: int) -> Array:
    """Return the Gaussian density at the quantiles 0, 1/N, ..., 1."""
    z = ndtri(np.arange(n_samples // 2 + 1) / n_samples)
    lower = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    # Mirroring makes the targets exactly antisymmetric.
    return np.concatenate([lower, lower[: (n_samples + 1) // 2][::-1]])


@lru_cache(maxsize=8)
def gaussian_targets(n_samples: int) -> Array:
    """Return the mean of the standard Gaussian over N bins of equal probability, Equation (1)."""
    targets = -n_samples * np.diff(_density_at_quantiles(n_samples))
    targets.flags.writeable = False
    return targets


def transport_map(y: NDArray) -> Array:
    """Map every sample of each row to its Gaussian target, exactly, by sorting."""
    mapped = np.empty(y.shape)
    targets = np.broadcast_to(gaussian_targets(y.shape[-1]), y.shape)
    np.put_along_axis(mapped, np.argsort(y, axis=-1), targets, axis=-1)
    return mapped


def target_correlation(y: NDArray) -> Array:
    """Return C of each row, Equation (2): at most 1 for unit power, and 1 only for a Gaussian."""
    targets = gaussian_targets(y.shape[-1])
    return np.sort(y, axis=-1) @ targets.astype(y.dtype) / y.shape[-1]


def w2_squared(y: NDArray) -> Array:
    """Return the squared Wasserstein distance of each row to a Gaussian, Equation (2)."""
    targets = gaussian_targets(y.shape[-1])
    return np.mean((np.sort(y, axis=-1) - targets) ** 2, axis=-1)


@lru_cache(maxsize=64)
def gaussian_floor(n_samples: int) -> float:
    """Return the expected W2² of N standardised Gaussian samples, Equation (3)."""
    total, size = 0.0, 2**20
    for start in range(1, n_samples + 1, size):
        p = np.arange(start, min(start + size, n_samples + 1)) / (n_samples + 1)
        total += np.sum(p * (1 - p) * 2 * np.pi * np.exp(ndtri(p) ** 2))
    return (total / n_samples - 1.5) / n_samples


def bin_index(
    y: NDArray, knee: ArrayLike = KNEE, *, work: NDArray | None = None, out: NDArray | None = None
) -> NDArray[np.uint16]:
    """Return the bin of every sample; to divide samples by a scale, multiply the knee by it."""
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


def bin_edges(n_bins: int = N_BINS) -> Array:
    """Return the edges of the bins; the outermost two are infinite."""
    u = np.linspace(-1, 1, n_bins + 1)[1:-1]
    return np.concatenate([[-np.inf], KNEE * u / (1 - np.abs(u)), [np.inf]])


@lru_cache(maxsize=2)
def bin_centres(n_bins: int = N_BINS) -> Array:
    """Return the middle of each bin as y."""
    u = (np.arange(n_bins) + 0.5) * (2 / n_bins) - 1
    return KNEE * u / (1 - np.abs(u))


def bin_counts(index: NDArray[np.uint16]) -> NDArray[np.int64]:
    """Count the samples of each row in each bin."""
    return np.stack([np.bincount(row, minlength=N_BINS) for row in index])


def targets_and_slopes(counts: NDArray[np.int64]) -> tuple[Single, Array]:
    """Return the mean Gaussian target of each bin and the mean slope of the map, Equation (6)."""
    n_samples = int(counts[0].sum())
    cumulated = np.zeros((len(counts), N_BINS + 1), dtype=np.int64)
    np.cumsum(counts, axis=1, out=cumulated[:, 1:])
    density = _density_at_quantiles(n_samples)[cumulated]
    targets = (density[:, :-1] - density[:, 1:]) * (n_samples / np.maximum(counts, 1))
    # The slope is E[T'(y)] with T' = f / φ(T) and the density f of merged bins.
    merge = N_BINS // N_SLOPE_BINS
    probability = np.diff(cumulated[:, ::merge], axis=1) / n_samples
    phi = (density[:, :-merge:merge] + density[:, merge::merge]) / 2
    # If all samples are in one merged bin, the density is zero at both of its edges. The expected
    # square of a share exceeds the square of the true share by about the share over N.
    squared = probability * np.maximum(probability - 1 / n_samples, 0)
    widths = np.diff(bin_edges(N_SLOPE_BINS))
    widths[[0, -1]] = widths[[1, -2]]  # the open ones
    slopes = np.sum(squared / (np.maximum(phi, 1e-9) * widths), axis=1)
    return targets.astype(np.float32), np.maximum(slopes, 1)  # with unit variance (Jensen)


class Evaluation(NamedTuple):
    """The objective and its derivatives at an unmixing matrix."""

    moments: Array  # G, shape (n_components, n_components)
    slope: Array  # k of each component

    @property
    def correlation(self) -> Array:
        """The C of each component."""
        return np.diag(self.moments)

    @property
    def value(self) -> float:
        """The sum of C over the components, which is minimised: Equation (4)."""
        return self.correlation.sum()

    @property
    def gradient(self) -> Array:
        """The derivative along rotations of each plane: Equation (5)."""
        return self.moments - self.moments.T

    def curvature(self, planes: tuple[NDArray, NDArray]) -> Array:
        """Return the second derivative along rotations of these planes, Equation (6)."""
        excess = self.slope - self.correlation
        return excess[planes[0]] + excess[planes[1]]


class Solution(NamedTuple):
    """The unmixing matrix of whitened data that an algorithm found."""

    W: Array  # rows of unit length
    correlation: Array  # C of each component
    n_iter: int
    step: float  # largest rotation angle of the last iteration, in radians
    # The angle fell below the tolerance, several iterations hardly improved the objective, or no
    # step along the gradient did. The "riemannian" schedule counts as converged.
    converged: bool

    @property
    def value(self) -> float:
        """The sum of C over the components."""
        return self.correlation.sum()


class _Chunk(NamedTuple):
    """A chunk of the samples, and buffers for its components and their bins."""

    X: Single
    Y: Single
    index: NDArray[np.uint16]
    start: int  # number of its first sample


class Objective:
    """The sum of C over the components of W X, by the binned transport map; X is whitened."""

    def __init__(self, X: Single) -> None:
        self.X = X
        self._scales: Single | None = None
        self._first = N_BINS * np.arange(len(X), dtype=np.int32)[:, np.newaxis]
        # Allocated once for all passes; each chunk is contiguous.
        Y, index = np.empty(X.size, dtype=np.float32), np.empty(X.size, dtype=np.uint16)
        self._chunks = []
        for columns in _chunks(*X.shape):
            part = X[:, columns]
            place = slice(len(X) * columns.start, len(X) * columns.stop)
            buffers = (buffer[place].reshape(part.shape) for buffer in (Y, index))
            self._chunks.append(_Chunk(part, *buffers, columns.start))

    def __call__(self, W: Array) -> Evaluation:
        """Evaluate the objective and its derivatives at W."""
        targets, slope = targets_and_slopes(self.counts(W))
        return Evaluation(self.cross_moments(targets), slope)

    def counts(self, W: Array) -> NDArray[np.int64]:
        """Unmix the data, and count the samples of each component in each bin."""
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

    def rescale(self, scales: Array | None) -> None:
        """Divide components by their scale in each span, a column each, before counting them."""
        self._scales = None if scales is None else scales.astype(np.float32)

    def powers(self, n_spans: int) -> Array:
        """Return the power of the components counted last, in successive spans of time."""

        def summed(chunk: _Chunk) -> tuple[NDArray[np.intp], Single]:
            spans, starts = np.unique(self._spans(chunk, n_spans), return_index=True)
            squares = np.square(chunk.Y, out=_work(chunk.Y.shape))
            return spans, np.add.reduceat(squares, starts, axis=1)

        total = np.zeros((len(self.X), n_spans))
        for spans, sums in in_threads(summed, self._chunks):
            total[:, spans] += sums
        edges = -(-np.arange(n_spans + 1) * self.X.shape[1] // n_spans)  # rounded up
        return total / np.diff(edges)

    def _spans(self, chunk: _Chunk, n_spans: int) -> NDArray[np.intp]:
        number = np.arange(chunk.start, chunk.start + chunk.X.shape[1])
        return number * n_spans // self.X.shape[1]

    def _in_time(self, table: Single, chunk: _Chunk) -> Single:
        """Go from a value for each span to one for each sample."""
        spans = self._spans(chunk, table.shape[1])
        return np.take(table, spans, axis=1, out=_work(chunk.Y.shape, use="scale"), mode="clip")

    def block_counts(self, n_blocks: int, merge: int) -> NDArray[np.int64]:
        """Count the samples of successive blocks in merged bins, of what was counted last."""
        n_rows, n_samples = self.X.shape
        n_bins = N_BINS // merge
        counts = np.empty((n_blocks, n_rows, n_bins), dtype=np.int64)
        block = n_bins * (np.arange(n_samples) * n_blocks // n_samples)
        for row in range(n_rows):
            index = np.concatenate([chunk.index[row] for chunk in self._chunks])
            together = np.bincount(block + index // merge, minlength=n_blocks * n_bins)
            counts[:, row] = together.reshape(n_blocks, n_bins)
        return counts

    def cross_moments(self, tables: NDArray) -> Array:
        """Return the mean of f_i(y_i / s_i) y_j / s_i, from tables of f_i, as counted last."""
        tables = tables.astype(np.float32, copy=False)

        def moments(chunk: _Chunk) -> Single:
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
    """Count as NumPy's bincount does, by SciPy's sparse product, which releases the GIL."""
    ends = np.array([0, place.size], dtype=np.int32)
    column = csc_array((_ones(place.size), place.ravel(), ends), shape=(n_places, 1))
    return column @ np.ones(1, dtype=np.int32)


@lru_cache(maxsize=2)
def _ones(size: int) -> NDArray[np.int32]:
    return np.ones(size, dtype=np.int32)


_of_thread = threading.local()


def _work(shape: tuple[int, int], dtype: type = np.float32, use: str = "") -> NDArray:
    """Return a scratch array of this thread; the next call with this type and use reuses it."""
    size = shape[0] * shape[1]
    arrays = _of_thread.__dict__.setdefault("arrays", {})
    if size > getattr(arrays.get((dtype, use)), "size", 0):
        arrays[dtype, use] = np.empty(size, dtype=dtype)
    return arrays[dtype, use][:size].reshape(shape)


def let_work_go() -> None:
    """Free the scratch arrays of this thread, and those as long as the recording."""
    _of_thread.__dict__.clear()
    for kept in (_ones, _density_at_quantiles, gaussian_targets):
        kept.cache_clear()


def _chunks(n_rows: int, n_samples: int) -> list[slice]:
    """Cut the samples into an even number of chunks, which do not depend on that of threads."""
    size = max(CHUNK_SIZE // n_rows, 1)
    # For few numbers, starting threads costs more than it saves.
    n_chunks = 2 * -(-n_samples // (2 * size)) if n_rows * n_samples > 2**16 else 1
    edges = np.linspace(0, n_samples, n_chunks + 1).astype(int).tolist()
    return [slice(*pair) for pair in pairwise(edges)]
