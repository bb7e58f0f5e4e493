"""Refits of an ICA on resampled data and from random starts."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import mne
import numpy as np
from mne import BaseEpochs
from mne.io import BaseRaw
from mne.parallel import parallel_func
from mne.preprocessing import ICA
from mne.utils import ProgressBar, use_log_level
from numpy.typing import NDArray

from mne_otica import solver
from mne_otica.ica import METHOD
from mne_otica.solver._linalg import Channels, one_blas_thread, project, sphering, unit_rows
from mne_otica.utils.arrays import Array, Single

MAX_SAMPLES = 30_000  # of a refit


@dataclass(frozen=True)
class Fitted:
    """The whitened principal components of a recording, in blocks."""

    white: Single  # shape (n_components, n_samples)
    starts: NDArray[np.intp]  # first sample of each block
    block: int  # samples in a block
    unmixing: Array  # from `white` to the components of the ICA, unit variance
    colouring: Array  # from `white` back to the principal components of the ICA
    sfreq: float
    variances: Array  # relative to the data of the fit, along the axes where they differ most


class Refit(NamedTuple):
    """One refit."""

    unmixing: Array  # of the white signals, with unit rows
    converged: bool


def read(ica: ICA, inst: BaseRaw | BaseEpochs) -> Fitted:
    """Project a recording onto the principal components of an ICA, and whiten them."""
    ica._get_picks(inst)  # raises where channels are missing
    data, starts, block = _blocks(inst, ica.ch_names)
    pca = ica.pca_components_[: ica.n_components_]
    with use_log_level("warning"):  # the fit has already reported projectors
        reduction = pca @ ica._pre_whiten(np.eye(len(data)))
    channels = Channels(data)
    covariance = channels.std[:, np.newaxis] * channels.correlation * channels.std
    covariance = reduction @ covariance @ reduction.T
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, np.finfo(float).eps * values[-1])
    whitening = (vectors / np.sqrt(values)).T
    colouring = vectors * np.sqrt(values)
    unmixing = ica.unmixing_matrix_ @ colouring
    expected = np.sqrt(ica.pca_explained_variance_[: ica.n_components_])
    return Fitted(
        white=project(whitening @ reduction, data, channels.mean, np.float32),
        starts=starts,
        block=block,
        unmixing=unit_rows(unmixing),
        colouring=colouring,
        sfreq=inst.info["sfreq"],
        variances=np.linalg.eigvalsh(covariance / np.outer(expected, expected)),
    )


def _blocks(inst: BaseRaw | BaseEpochs, names: list[str]) -> tuple[Array, NDArray[np.intp], int]:
    """Return the samples, and blocks of about a second that do not cross the ends of epochs."""
    sfreq = inst.info["sfreq"]
    if isinstance(inst, BaseRaw):
        data = inst.get_data(names, reject_by_annotation="omit", verbose="error")
        block = max(round(sfreq), 1)
        return data, np.arange(0, data.shape[1] - block + 1, block), block
    epochs = inst.get_data(names, verbose="error")
    n_epochs, n_channels, n_times = epochs.shape
    n_blocks = max(round(n_times / sfreq), 1)
    block = n_times // n_blocks
    starts = n_times * np.arange(n_epochs)[:, np.newaxis] + block * np.arange(n_blocks)
    return epochs.transpose(1, 0, 2).reshape(n_channels, -1), starts.ravel(), block


def match(recording: Fitted, ica: ICA, fits: Iterable[Refit]) -> tuple[NDArray, NDArray]:
    """Return how the maps of refits correlate with those of the ICA, and the maps, aligned."""
    to_channels = recording.colouring.T @ ica.pca_components_[: ica.n_components_]
    own = ica.get_components().T
    correlations, maps = [], []
    for fit in fits:
        # The correlations of whitened signals, so that no pass over the samples is needed
        cosines = recording.unmixing @ fit.unmixing.T
        best = np.abs(cosines).argmax(axis=1)
        found = np.linalg.inv(fit.unmixing).T[best] @ to_channels
        found = unit_rows(found) * np.linalg.norm(own, axis=1, keepdims=True)
        found *= np.sign(cosines[np.arange(len(best)), best])[:, np.newaxis]
        one, other = (unit_rows(x - x.mean(axis=1, keepdims=True)) for x in (own, found))
        correlations.append(np.abs(np.sum(one * other, axis=1)))
        maps.append(found)
    return np.array(correlations), np.array(maps)


def refits(
    recording: Fitted, ica: ICA, lengths: NDArray, rng: np.random.Generator, n_jobs: int | None
) -> list[Refit]:
    """Fit once for each length, which is a number of blocks, in the order given."""
    tasks = list(zip(lengths, rng.integers(2**63, size=len(lengths)), strict=True))
    # The progress bar is created before the log is silenced, which would hide it.
    bar = ProgressBar(tasks, mesg="Refits")
    with quiet(), one_blas_thread():
        parallel, run, _ = parallel_func(refit, n_jobs)
        params = dict(ica.fit_params or {})
        return list(parallel(run(recording, ica.method, params, *task) for task in bar))


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the messages of single refits; convergence is reported once for all."""
    with use_log_level("error"), warnings.catch_warnings(action="ignore"):
        yield


def refit(
    recording: Fitted, method: str, fit_params: dict[str, Any], n_blocks: int, seed: int
) -> Refit:
    """Fit blocks drawn at random, from a random rotation."""
    rng = np.random.default_rng(seed)
    starts = rng.choice(recording.starts, n_blocks)
    samples = (starts[:, np.newaxis] + np.arange(recording.block)).ravel()
    X = np.asarray(recording.white[:, samples])  # a memory map in worker processes
    X = X - X.mean(axis=1, keepdims=True)
    # Rotating the data gives every method a random start, also those that start from the identity.
    whitening = np.linalg.qr(rng.standard_normal((len(X), len(X))))[0] @ sphering(X)
    with quiet():  # also in a worker process
        W, converged = UNMIX[method](whitening.astype(X.dtype) @ X, fit_params, rng)
    return Refit(unit_rows(W @ whitening), converged)


def _otica(X: NDArray, params: dict[str, Any], rng: np.random.Generator) -> tuple[NDArray, bool]:
    params = params | {"w_init": None}
    if params.get("algorithm", "newton") != "newton":
        fit = solver.unmix(X, random_state=rng, **params)
    else:
        # Discrete components are not expected. Other samples change a component by more than 0.03
        # radians, and a coarse fit takes half the time.
        options = {name: params[name] for name in ("max_iter", "refine") if name in params}
        fit = solver.refit(X, tol=max(params.get("tol", 0), 0.03), **options)
    return fit.W, bool(fit.converged)


def _fastica(X: NDArray, params: dict[str, Any], rng: np.random.Generator) -> tuple[NDArray, bool]:
    from sklearn.decomposition import FastICA

    seed = int(rng.integers(2**31))
    fit = FastICA(whiten=False, random_state=seed, **params | {"w_init": None})
    fit.fit(X.T.astype(np.float64))
    return fit.components_, fit.n_iter_ < fit.max_iter


def _infomax(X: NDArray, params: dict[str, Any], rng: np.random.Generator) -> tuple[NDArray, bool]:
    params = params | dict(weights=None, random_state=int(rng.integers(2**31)))
    W, n_iter = mne.preprocessing.infomax(X.T.astype(np.float64), return_n_iter=True, **params)
    return W, n_iter < params["max_iter"]


def _picard(X: NDArray, params: dict[str, Any], rng: np.random.Generator) -> tuple[NDArray, bool]:
    from picard import picard

    params = params | dict(w_init=None, random_state=int(rng.integers(2**31)))
    _, W, _, n_iter = picard(X.astype(np.float64), whiten=False, return_n_iter=True, **params)
    return W, n_iter + 1 < params["max_iter"]


# The calls that MNE makes for each of its methods on white data.
UNMIX: dict[str, Callable[[NDArray, dict, np.random.Generator], tuple[NDArray, bool]]] = {
    METHOD: _otica,
    "fastica": _fastica,
    "infomax": _infomax,
    "extended-infomax": _infomax,
    "picard": _picard,
}
