"""The methods of the paper's comparisons: whitened data to an unmixing matrix."""

import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.jade import jade
from benchmarks.solver import fit_fastica, fit_otica, fit_picard, fit_picard_o
from mne_otica.metrics import amari_index
from mne_otica.simulation.mixtures import Mixture
from mne_otica.solver._linalg import Channels, project
from mne_otica.solver.otica import unmix

N_STARTS = 50
LOW_ITERATIONS, HIGH_ITERATIONS = 1000, 5000  # of FastICA in the paper's two regimes

Error = Callable[[NDArray], float]  # of an unmixing matrix, against the truth


def fastica_run(X: NDArray, seed: int, max_iter: int) -> NDArray:
    """Run scikit-learn's FastICA from one random start."""
    from sklearn.decomposition import FastICA

    return FastICA(whiten=False, random_state=seed, max_iter=max_iter).fit(X.T).components_


def best_fastica(X: NDArray, error: Error, max_iter: int) -> NDArray:
    """Choose among 50 starts by the true error, as the paper does and no user can."""
    starts = (fastica_run(X, seed, max_iter) for seed in range(N_STARTS))
    return min(starts, key=error)


def riemannian(X: NDArray, compute: str) -> NDArray:
    """Run the stochastic algorithm of the paper."""
    return unmix(X, algorithm="riemannian", compute=compute, random_state=0).W


class Method(NamedTuple):
    """A method, and how tables and figures name it."""

    label: str
    fit: Callable[[NDArray, Error], NDArray]


METHODS = {
    "otica": Method("OT-ICA", lambda X, error: fit_otica(X)[0]),
    "contrast": Method(
        "OT-ICA, contrast alone", lambda X, error: unmix(X, refine="none", random_state=0).W
    ),
    "fastica": Method("FastICA, one seed", lambda X, error: fit_fastica(X)[0]),
    "jade": Method("JADE", lambda X, error: jade(X)),
    "infomax": Method("Infomax (Picard, extended)", lambda X, error: fit_picard(X)[0]),
    "picard": Method("Picard-O", lambda X, error: fit_picard_o(X)[0]),
    "riemannian": Method("OT-ICA, paper's algorithm", lambda X, error: riemannian(X, "low")),
    "fastica50": Method(
        "FastICA, best of 50 by the truth",
        lambda X, error: best_fastica(X, error, LOW_ITERATIONS),
    ),
    "riemannian_high": Method(
        "OT-ICA, paper's algorithm, high compute", lambda X, error: riemannian(X, "high")
    ),
    "fastica50_high": Method(
        "FastICA, best of 50 by the truth, high compute",
        lambda X, error: best_fastica(X, error, HIGH_ITERATIONS),
    ),
}


def separate(mixture: Mixture, method: str) -> dict:
    """Unmix; return the Amari index and the seconds of processor time."""
    started = time.process_time()  # others may use the machine: their time does not count
    W = unmixing(mixture, method)
    seconds = time.process_time() - started
    return {"amari": amari_index(W, mixture.mixing), "seconds": round(seconds, 3)}


def unmixing(mixture: Mixture, method: str) -> NDArray[np.float64]:
    """Whiten and unmix; return the whole unmixing matrix."""
    K, mean = Channels(mixture.X).whitening()
    X = project(K, mixture.X, mean, np.float64)

    def error(W: NDArray) -> float:
        return amari_index(W @ K, mixture.mixing)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers stop at their limits; their errors show it
        return METHODS[method].fit(X, error) @ K
