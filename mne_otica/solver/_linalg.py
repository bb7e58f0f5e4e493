"""Linear algebra of the solver: whitening, rotations, L-BFGS, chunks of samples and threads.

NumPy releases the GIL in most operations, so passes over the data run on a few threads, and those
of BLAS are limited to one meanwhile. Without threadpoolctl only one thread is used here.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK_BYTES = 32 * 2**20  # of temporary copies, in double precision
# A channel is constant if it deviates from its mean by at most this many rounding errors of the
# mean, by the bytes of a value. Single precision has little margin: EEG with an offset of 1 V
# deviates by a hundred of them.
ROUNDING_STEPS = {4: 8, 8: 4096}
SUFFICIENT_DECREASE = 1e-4  # share of the linear prediction: the usual Armijo constant


class Channels:
    """Second-order statistics of a data array, which is not changed."""

    def __init__(self, X: NDArray) -> None:
        n_channels, n_samples = X.shape
        self.mean = X.mean(axis=1, dtype=np.float64)
        # Channels are scaled first, so that neither small nor mixed units reduce the precision.
        peak = np.abs(X.max(axis=1) - self.mean)
        peak = np.maximum(peak, np.abs(X.min(axis=1) - self.mean))
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
        # Directions with less than a millionth of the amplitude of the others are rounding errors,
        # as an average reference or an interpolated channel leaves them in single precision. Those
        # no larger than the rounding errors of large offsets do not count either.
        varying = np.where(self.std > 0, self.std, np.inf)
        rounding = np.max(np.finfo(X.dtype).eps * np.abs(self.mean) / varying)
        least = max(1e-12 * self._variances[-1], 16 * n_channels * rounding**2)
        kept = self._variances > least
        # Centred samples sum to zero, so the rank is at most the number of samples minus one.
        rank = min(int(np.sum(kept)), max(n_samples - 1, 1))
        self.rank = rank if len(self.constant) < n_channels else 0

    def stand_in(self) -> NDArray[np.float64]:
        """Return two samples for each channel with the same means and covariance as the data."""
        deviations = self.std[:, np.newaxis] * self._axes * np.sqrt(self._variances * len(self.std))
        return self.mean[:, np.newaxis] + np.hstack([deviations, -deviations])

    def whitening(self, n_components: int | float | None = None) -> tuple[NDArray, NDArray]:
        """Return the matrix that whitens leading components (a number or share), and the mean."""
        kept = slice(len(self.std) - self.rank, None)
        amplitudes, axes = np.sqrt(self._variances[kept]), self._axes[:, kept]
        # The channels are this times white signals. Its singular vectors are the principal
        # components, to full precision whatever the units of the channels.
        colouring = self.std[:, np.newaxis] * axes * amplitudes
        _, stds, rotation = np.linalg.svd(colouring, full_matrices=False)
        if n_components is None:
            n_components = self.rank
        elif isinstance(n_components, float):
            relative = (stds / stds[0]) ** 2
            explained = np.cumsum(relative) / relative.sum()
            n_components = min(int(np.sum(explained <= n_components)) + 1, self.rank)
        safe_std = np.where(self.std > 0, self.std, 1)
        K = (rotation[:n_components] / amplitudes) @ axes.T / safe_std
        return K, self.mean


def chunks(X: NDArray) -> Iterator[slice]:
    """Cut the samples into pieces of bounded size."""
    size = max(CHUNK_BYTES // (8 * len(X)), 1)
    for start in range(0, X.shape[1], size):
        yield slice(start, min(start + size, X.shape[1]))


def project(
    matrix: NDArray, X: NDArray, mean: NDArray, dtype: type, out: NDArray | None = None
) -> NDArray:
    """Return ``matrix @ (X - mean)`` without a centred copy of X."""
    if out is None:
        out = np.empty((len(matrix), X.shape[1]), dtype=dtype)
    for chunk in chunks(X):
        out[:, chunk] = matrix @ (X[:, chunk] - mean[:, np.newaxis])
    return out


def rotation(angles: NDArray, planes: tuple[NDArray, NDArray]) -> NDArray[np.float64]:
    """Return the Cayley transform of a skew matrix: small angles turn each plane (i, j)."""
    size = planes[1][-1] + 1
    half = np.zeros((size, size))
    half[planes] = angles / 2
    half -= half.T
    identity = np.eye(size)
    return np.linalg.solve(identity - half, identity + half)


def sphering(X: NDArray) -> NDArray[np.float64]:
    """Return the symmetric matrix that whitens a part of white signals."""
    covariance = np.atleast_2d(np.cov(X, dtype=np.float64, bias=True))
    values, vectors = np.linalg.eigh(covariance)
    # The noise of a component that is rare must not be amplified where the part misses it.
    return (vectors / np.sqrt(np.maximum(values, 0.1))) @ vectors.T


def nearest_rotation(matrix: NDArray) -> NDArray[np.float64]:
    """Return the orthogonal matrix that is nearest to a square one."""
    left, _, right = np.linalg.svd(matrix)
    return left @ right


def unit_rows(matrix: NDArray) -> NDArray:
    """Scale the rows of a matrix to unit length."""
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def limited(step: NDArray) -> NDArray:
    """Shorten a step: curvatures hold nearby, and 45 degrees only relabel components."""
    return step * min(1, 0.5 / np.abs(step).max(initial=1e-300))


class Memory:
    """Recent steps and gradient changes of limited-memory BFGS."""

    def __init__(self) -> None:
        self.pairs: list[tuple[NDArray, NDArray, float]] = []

    def add(self, step: NDArray, change: NDArray) -> None:
        """Add a step and the change of the gradient along it."""
        curvature = np.vdot(step, change)
        if curvature > 1e-10 * np.linalg.norm(step) * np.linalg.norm(change):
            self.pairs = [*self.pairs[-9:], (step, change, 1 / curvature)]  # ten, as usual

    def direction(
        self, gradient: NDArray, precondition: Callable[[NDArray], NDArray]
    ) -> NDArray[np.float64]:
        """Return minus the approximate inverse Hessian times the gradient."""
        q = gradient.copy()
        weights = []
        for step, change, rho in reversed(self.pairs):
            weights.append(rho * np.vdot(step, q))
            q -= weights[-1] * change
        q = precondition(q)
        for (step, change, rho), weight in zip(self.pairs, reversed(weights), strict=True):
            q += (weight - rho * np.vdot(change, q)) * step
        return -q


def n_threads() -> int:
    """Return the number of threads: the number of cores, or ``OMP_NUM_THREADS`` if set."""
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(int(asked), available) if asked.isdecimal() and int(asked) > 0 else available


@cache
def _blas() -> Any:
    """Return the controller of the threads of BLAS, or None if there is none."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    controller = ThreadpoolController().select(user_api="blas")
    return controller if len(controller) else None


class _Limit:
    """The limit of the threads of BLAS, and how many fits need it: fits in threads may overlap."""

    lock = Lock()
    n_asking = 0
    limiter: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, if possible."""
    if _blas() is None:
        yield
        return
    with _Limit.lock:
        _Limit.n_asking += 1
        if _Limit.n_asking == 1:
            _Limit.limiter = _blas().limit(limits=1)
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.n_asking -= 1
            if not _Limit.n_asking:
                _Limit.limiter.restore_original_limits()


@cache
def _pool(n_workers: int, process: int) -> ThreadPoolExecutor:
    """Return the thread pool of this process: threads do not survive a fork."""
    return ThreadPoolExecutor(n_workers, thread_name_prefix="mne_otica")


def in_threads(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Return the results in the order of the items, whatever the number of threads."""
    n_workers = min(n_threads(), len(items)) if _blas() else 1
    if n_workers < 2:
        return [function(item) for item in items]
    return list(_pool(n_workers, os.getpid()).map(function, items))
