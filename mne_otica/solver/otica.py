"""The public solver: checks, whitening, and the order and sign of the components."""

import time
from functools import partial

import numpy as np
from mne.utils import ProgressBar, logger, verbose
from numpy.typing import ArrayLike, NDArray

from mne_otica.solver import algorithm as newton
from mne_otica.solver import riemannian
from mne_otica.solver._linalg import Channels, chunks, nearest_rotation, one_blas_thread, project
from mne_otica.solver.contrast import Solution, gaussian_floor, gaussian_targets, let_work_go
from mne_otica.utils import progress
from mne_otica.utils.arrays import Array
from mne_otica.utils.checks import (
    RandomState,
    _check_option,
    _validate_flag,
    _validate_matrix,
    _validate_type,
    as_generator,
    warn,
)

REFINEMENTS = ("auto", "none", "rotation", "full")


class OTICAConvergenceWarning(UserWarning):
    """The solver reached ``max_iter`` before it converged."""


@verbose
def otica(
    X: ArrayLike,
    n_components: int | float | None = None,
    *,
    whiten: bool = True,
    algorithm: str = "newton",
    max_iter: int | str = "auto",
    tol: float = 3e-3,
    w_init: ArrayLike | None = None,
    refine: str = "auto",
    compute: str = "low",
    random_state: RandomState = 0,
    return_n_iter: bool = False,
    verbose: bool | str | int | None = None,
) -> tuple:
    r"""Separate mixed signals into independent components by optimal transport.

    The components are the directions whose distributions are farthest from a Gaussian in
    the squared Wasserstein distance :footcite:`Jha2026`. No parameter needs tuning.

    Parameters
    ----------
    X : array-like, shape (n_channels, n_samples)
        The mixed signals. They are not changed.
    n_components : int | float | None
        The number of components. An int is a number of principal components; a float
        between 0 and 1 selects as many as explain more than that share of the variance; None
        uses the rank of the data. Must be None if ``whiten=False``.
    whiten : bool
        If True, X is centred, reduced to ``n_components`` principal components and
        whitened. If False, X must be white already and is used as it is: nothing is
        centred or reduced, and ``Y`` is exactly ``W @ X``.
    algorithm : str
        ``"newton"``: quasi-Newton on the orthogonal group, fast and deterministic.
        ``"riemannian"``: the stochastic algorithm of the paper, for comparison.
    max_iter : int | str
        The maximum number of iterations. ``"auto"`` is 500 for ``"newton"``, and the number of
        symmetric steps of the chosen ``compute`` for ``"riemannian"``.
    tol : float
        ``"newton"`` stops when no plane is rotated by more than this angle (in radians) in
        an iteration, or when a few iterations hardly improve the objective, as happens with
        nearly Gaussian components. ``"riemannian"`` always runs its whole schedule.
    w_init : array-like, shape (n_components, n_components) | None
        The initial unmixing matrix, which is made orthogonal. None starts from the principal axes.
    refine : str
        How ``"newton"`` refines the optimum of the contrast. ``"none"`` stops at the
        optimum, the estimate of the paper. ``"rotation"`` maximises the likelihood over
        rotations. ``"full"`` maximises it over invertible matrices, so that errors of the sample
        covariance do not enter. ``"auto"`` is ``"full"``, or ``"rotation"`` if
        ``whiten=False`` and the sample covariance of X is not exactly the identity: X was then
        whitened by a covariance that is known better than from these samples.
    compute : str
        ``"low"`` or ``"high"``: the paper's two budgets of restarts and steps.
        Used by ``"riemannian"`` only.
    random_state : int | RandomState | Generator | None
        Seed of the subsamples and of the search for better optima; None draws a random one.
    return_n_iter : bool
        Whether to return the number of iterations as well.
    %(verbose)s

    Returns
    -------
    K : ndarray, shape (n_components, n_channels) | None
        The whitening matrix, None if ``whiten=False``.
    W : ndarray, shape (n_components, n_components)
        The unmixing matrix of the whitened data, with rows of unit length, so that components
        have unit variance. It is orthogonal with ``refine="none"`` and ``"rotation"`` only.
        Components are ordered from the least to the most Gaussian. The skewness of each is not
        negative: its large deflections are positive.
    Y : ndarray, shape (n_components, n_samples)
        The components, ``W @ K @ (X - mean)``, or ``W @ X`` if ``whiten=False``.
    n_iter : int
        Number of iterations, only if ``return_n_iter=True``.

    Notes
    -----
    For whitened data :math:`x` and an orthogonal :math:`W` with rows :math:`w_i` the solver
    maximises :math:`\sum_i W_2^2(w_i^\top x, \mathcal{N}(0, 1))`. The optimum is then refined with
    the score functions of the components in place of the transport maps, which gives the estimate
    with the smallest variance; with ``refine="full"`` the likelihood is maximised over invertible
    matrices. There the scale of a component may change in time, if its power in successive spans
    of the recording is alike, so samples must be in their order. Pairs of components that are both
    nearly Gaussian, and whose power does not change, are not refined.

    If threadpoolctl is installed, the objective is computed on as many threads as there are cores,
    or as set by the environment variable ``OMP_NUM_THREADS``; the result does not depend on their
    number.

    If the rotations are still larger than ``tol`` at ``max_iter``, there is an
    :class:`OTICAConvergenceWarning`.

    References
    ----------
    .. footbibliography::

    Examples
    --------
    >>> import mne_otica
    >>> X, mixing, _ = mne_otica.simulation.mixture("laplace", 5)
    >>> K, W, Y = mne_otica.otica(X, verbose="error")
    >>> mne_otica.metrics.amari_index(W @ K, mixing) < 0.1
    True
    """
    X = _validate_matrix(X, "X")
    _validate_flag(whiten, "whiten")
    _validate_flag(return_n_iter, "return_n_iter")
    n_channels, n_samples = X.shape
    if n_channels == 0:
        raise ValueError(f"X has no channels, shape {X.shape}; pass at least one signal.")
    if n_samples < n_channels:
        raise ValueError(
            f"X has fewer samples ({n_samples}) than channels ({n_channels}); pass signals as "
            "rows (transpose X if they are columns), or more data."
        )
    fit = partial(
        unmix, algorithm=algorithm, max_iter=max_iter, tol=tol, w_init=w_init, refine=refine
    )
    fit = partial(fit, compute=compute, random_state=random_state)
    if whiten:
        K, mean = _whitening(X, n_components)
        unmixing = fit(project(K, X, mean, np.float32))
        Y = project(unmixing.W @ K, X, mean, np.float64)
    else:
        _check_white(X, n_components)
        unmixing = fit(X)
        K, Y = None, unmixing.W @ X
    return (K, unmixing.W, Y, unmixing.n_iter)[: 4 if return_n_iter else 3]


@one_blas_thread()
def unmix(
    X: NDArray,
    *,
    algorithm: str = "newton",
    max_iter: int | str = "auto",
    tol: float = 3e-3,
    w_init: ArrayLike | None = None,
    refine: str = "auto",
    compute: str = "low",
    random_state: RandomState = 0,
) -> Solution:
    """Separate whitened data into independent components; see `otica` for the parameters."""
    max_iter = check_options(algorithm, max_iter, tol, refine, compute)
    rng = as_generator(random_state)
    W = _initial_rotation(w_init, len(X))
    if len(X) == 1:
        warn("There is only one component, so there is nothing to separate.")
    started = time.perf_counter()
    bar = None
    if progress.step(0):  # of a call that shows one bar for all it does
        on_step = progress.step
    else:
        bar = ProgressBar(max_iter, mesg="OT-ICA")
        on_step = partial(bar.update_with_increment_value, 1)
    if algorithm == "newton":
        solution = newton.solve(X, W, tol, max_iter, _chosen_refinement(refine, X), rng, on_step)
    else:
        start = None if w_init is None else W
        solution = riemannian.solve(X, start, compute, max_iter, rng, on_step)
    if bar is not None:
        bar.update(max_iter)  # few fits take as many iterations as are allowed
    del on_step, bar  # ends its line before the next is logged
    logger.info(
        f"OT-ICA: {len(X)} components of {X.shape[1]} samples in {solution.n_iter} iterations, "
        f"last rotation {solution.step:.1e} rad, {time.perf_counter() - started:.1f} s"
    )
    if not solution.converged:
        warn(
            f"OT-ICA did not converge in {solution.n_iter} iterations: the last one rotated by "
            f"{solution.step:.1e} rad, the tolerance is {tol:.1e}. Increase max_iter "
            f"(now {max_iter}), or use more data or fewer components.",
            OTICAConvergenceWarning,
        )
    let_work_go()
    return _in_order(solution, X)


@one_blas_thread()
def refit(
    X: NDArray,
    w_init: ArrayLike | None = None,
    *,
    max_iter: int | str = "auto",
    tol: float = 3e-3,
    refine: str = "auto",
) -> Solution:
    """Separate whitened data by a local optimisation: for many fits of resampled data."""
    max_iter = check_options("newton", max_iter, tol, refine, "low")
    X, W = np.asarray(X, dtype=np.float32), _initial_rotation(w_init, len(X))
    solution = newton.solve(X, W, tol, max_iter, _chosen_refinement(refine, X))
    return _in_order(solution, X)


def check_options(
    algorithm: str, max_iter: int | str, tol: float, refine: str, compute: str
) -> int:
    """Check the options of the algorithms and return the number of iterations allowed."""
    _check_option("algorithm", algorithm, ("newton", "riemannian"))
    _check_option("compute", compute, tuple(riemannian.BUDGETS))
    _validate_type(refine, str, "refine")
    _check_option("refine", refine, REFINEMENTS)
    _validate_type(tol, "numeric", "tol")
    if not 0 < tol < np.pi:
        raise ValueError(f"tol must be an angle between 0 and pi, got {tol}; try 3e-3.")
    _validate_type(max_iter, ("int-like", str), "max_iter")
    if isinstance(max_iter, str):
        _check_option("max_iter", max_iter, ("auto",), extra="when it is a string")
        if algorithm == "riemannian":
            return riemannian.BUDGETS[compute].symmetric_steps
        return 500  # the shipped recording takes 30, or 72 without a refinement
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter}.")
    return int(max_iter)


def _whitening(X: NDArray, n_components: int | float | None) -> tuple[Array, Array]:
    _validate_type(n_components, ("int-like", float, None), "n_components")
    channels = Channels(X)
    rank = channels.rank
    if rank == 0:
        raise ValueError(f"All {len(X)} channels of X are constant; there is nothing to separate.")
    if isinstance(n_components, float):
        if not 0 < n_components < 1:
            raise ValueError(
                f"n_components={n_components} is a share of the variance and must lie between "
                "0 and 1; pass an int for a number of components."
            )
        return channels.whitening(n_components)
    cause = _rank_cause(channels.constant, len(X), rank)
    if n_components is None:
        if rank < len(X):
            warn(f"{cause} Estimating {rank} components.")
        return channels.whitening()
    if n_components < 1:
        raise ValueError(f"n_components must be at least 1, got {n_components}.")
    if n_components > rank:
        raise ValueError(
            f"n_components ({n_components}) exceeds the rank of the data ({rank}). {cause} Pass "
            f"{rank} or fewer, or None to use the rank."
        )
    return channels.whitening(int(n_components))


def _rank_cause(constant: NDArray[np.intp], n_channels: int, rank: int) -> str:
    text = f"X has {n_channels} channels"
    if len(constant):
        return f"{text}, of which {constant.tolist()} are constant."
    if rank < n_channels:
        return (
            f"{text} but only rank {rank}: some are copies or sums of others "
            "(an average reference, interpolated or duplicated channels, projections)."
        )
    return f"{text}."


def _covariance(X: NDArray) -> Array:
    return sum(X[:, chunk] @ X[:, chunk].T for chunk in chunks(X)) / X.shape[1]


def _check_white(X: NDArray, n_components: int | float | None) -> None:
    if n_components not in (None, len(X)):
        raise ValueError(
            f"n_components={n_components} needs whiten=True; with whiten=False all {len(X)} rows "
            "of X are used as they are, so pass n_components=None."
        )
    error = np.abs(_covariance(X) - np.eye(len(X))).max()
    if error > 0.2:  # this much passes: X may be whitened by another covariance than the sample's
        raise ValueError(
            f"X is not white: its covariance differs from the identity by up to {error:.2g}. Pass "
            "whiten=True, or whiten X first."
        )


def _initial_rotation(w_init: ArrayLike | None, size: int) -> Array:
    """Return the orthogonal matrix nearest to the one given."""
    if w_init is None:
        return np.eye(size)
    w_init = _validate_matrix(w_init, "w_init").astype(np.float64)
    if w_init.shape != (size, size):
        raise ValueError(
            f"w_init must have shape ({size}, {size}), one row per component, got {w_init.shape}."
        )
    if (condition := np.linalg.cond(w_init)) > 1e10:
        told = "pass an invertible matrix, or None for the principal axes."
        raise ValueError(f"w_init is singular (condition number {condition:.2g}); {told}")
    return nearest_rotation(w_init)


def _chosen_refinement(refine: str, X: NDArray) -> str:
    if refine != "auto":
        return refine
    # Beyond rounding errors of single precision, the signals were whitened by a covariance from
    # elsewhere, which is better known, so only the rotation is refined.
    covariance = _covariance(X)
    std = np.sqrt(np.diag(covariance))
    error = np.abs(covariance / np.outer(std, std) - np.eye(len(X))).max()
    return "full" if error < 1e-4 else "rotation"


def contrast_of(solution: Solution, n_samples: int) -> Array:
    """Return W2² of each component from a Gaussian, less that of noise."""
    power = 1 + np.mean(gaussian_targets(n_samples) ** 2)
    return power - 2 * solution.correlation - gaussian_floor(n_samples)


def _in_order(solution: Solution, X: NDArray) -> Solution:
    """Sort the components by contrast, and make their large deflections positive."""
    order = np.argsort(solution.correlation, kind="stable")
    W = solution.W[order]
    mean = (W @ X.mean(axis=1, dtype=np.float64))[:, np.newaxis]
    parts = (W @ X[:, chunk] - mean for chunk in chunks(X))
    skewness = sum(np.einsum("ij,ij,ij->i", Y, Y, Y) for Y in parts)
    W = W * np.where(skewness < 0, -1.0, 1.0)[:, np.newaxis]
    return solution._replace(W=W, correlation=solution.correlation[order])
