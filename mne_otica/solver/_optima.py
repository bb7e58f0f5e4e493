"""Escape from local optima of the contrast.

Two kinds of local optima occur in practice. The steps to leave them are accepted only if they
lower the objective, the sum of C over the components.

Pairs. Two sources can be mixed at 45 degrees in a plane. Such components are uncorrelated but
dependent, so one matrix product of their Gaussian scores selects the few pairs for which a
grid of rotations is tried.

The weak block. Components that look Gaussian are Gaussian, or mixtures of sources with fine
structure, such as counts on a lattice. The contrast then has a narrow peak, a few degrees
wide, at each source, and is flat and noisy in between. There only cumulants distinguish the
sources. So the block is solved on a cumulant tensor first, without a pass over the data; the result
is close to some of the peaks. Lattices are found from there by `_needles`. If any component lies on
one, the contrast is optimised for the rest. Resolved components leave the block, and the smaller
block is easier. If all components are clearly non-Gaussian, this takes no time.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mne_otica.solver._basis import merged_counts, on_lattice
from mne_otica.solver._needles import find_needles
from mne_otica.solver._rotations import nearest_rotation
from mne_otica.solver._threads import in_threads
from mne_otica.solver.transport import bin_counts, bin_index, target_correlation, transport_map

# In units of the contrast W2². Samples of noise show 0.001 or less, needles 0.02 or so.
LOOKS_GAUSSIAN = 5e-3
MAY_BE_A_MIXTURE = 3e-2
WORTHWHILE = 2e-3  # drop of the objective

MAX_BLOCK = 20  # the fourth-order tensor holds MAX_BLOCK**4 numbers
N_ANGLES = 8
PAIRS_PER_COMPONENT = 3
N_WEAKEST = 6  # components of which all pairs are tried
N_GRID_SAMPLES = 1_000  # enough to propose a rotation, which more samples then confirm
N_SAMPLES = 10_000
N_CUMULANT_STARTS = 2
N_CUMULANT_STEPS = 400
INERTIA = 0.5  # about twice the cumulants that are hard to tell
# Rounds without success before the search for lattices ends, and where some are expected: their
# number in a block lowers the chance of a round, by about half for each.
ROUNDS_WITHOUT_LATTICE, MIN_ROUNDS, MAX_ROUNDS, EASY_BLOCK = 2, 12, 48, 12
MIN_PATIENCE, MAX_PATIENCE = 2, 4  # searches in vain before the weak block is left as it is
SHAKE = 0.1  # noise added to a start that failed

# Descends from a rotation of some whitened data: (data, start) -> (rotation, C of its rows).
Descent = Callable[[NDArray, NDArray], tuple[NDArray, NDArray]]


def escape(
    X: NDArray[np.float32],
    W: NDArray[np.float64],
    correlation: NDArray[np.float64],
    descend: Descent,
    rng: np.random.Generator,
) -> NDArray[np.float64] | None:
    """Look for a rotation that is better than a local optimum.

    Parameters
    ----------
    X : ndarray of float32, shape (n_components, n_samples)
        Whitened data.
    W : ndarray, shape (n_components, n_components)
        The local optimum.
    correlation : ndarray, shape (n_components,)
        The C of its components.
    descend : callable
        Descends from a start on some data.
    rng : Generator
        Source of randomness.

    Returns
    -------
    W : ndarray, shape (n_components, n_components) | None
        A better start, or None if there was none.
    """
    # What is found in some samples is believed if others, where there are any, show it too.
    spacing = max(1, X.shape[1] // N_SAMPLES)
    X, others = X[:, ::spacing], X[:, spacing // 2 :: spacing]
    better = _turn_pairs(X, W, correlation)
    if better is None:
        # Where one component lies on a lattice, others may.
        counts = bin_counts(bin_index(W.astype(np.float32) @ X))
        expected = bool(on_lattice(merged_counts(counts)).any())
        better = _take_needles(X, others, W, correlation, expected, rng)
        if better is None and expected:
            better = _resolve_weak(X, others, W, correlation, descend, rng)
    return better


def _turned(a: NDArray, b: NDArray, angle: float) -> NDArray:
    """Rotate in the plane of two rows."""
    # In the precision of the rows: a rotation of float64 by float32 would not be orthogonal.
    cos, sin = np.array([np.cos(angle), np.sin(angle)], dtype=a.dtype)
    return np.stack([cos * a + sin * b, cos * b - sin * a])


def _turn_pairs(
    X: NDArray[np.float32], W: NDArray[np.float64], correlation: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Apply plane rotations of disjoint pairs that lower the objective."""
    Y = W.astype(np.float32) @ X
    i, j = _candidate_pairs(Y, correlation)
    grid = Y[:, :: max(1, Y.shape[1] // N_GRID_SAMPLES)]
    angles = np.arange(N_ANGLES) * (np.pi / 2 / N_ANGLES)

    def value(angle: float) -> NDArray[np.float32]:
        return target_correlation(_turned(grid[i], grid[j], angle)).sum(axis=0)

    values = np.array(in_threads(value, angles))
    drops, best = values[0] - values.min(axis=0), angles[values.argmin(axis=0)]
    better, free = W.copy(), np.ones(len(W), dtype=bool)
    for pair in np.argsort(drops)[::-1]:
        rows = [i[pair], j[pair]]
        if drops[pair] < WORTHWHILE or not free[rows].all():
            continue
        turned = _turned(*Y[rows], best[pair])
        if np.sum(target_correlation(Y[rows]) - target_correlation(turned)) > WORTHWHILE:
            better[rows] = _turned(*W[rows], best[pair])
            free[rows] = False
    return None if free.all() else better


def _candidate_pairs(Y: NDArray, correlation: NDArray) -> tuple[NDArray, NDArray]:
    """Return the pairs of rows whose Gaussian scores have the largest cross-moments.

    Moments cannot tell a lattice that is mixed with a Gaussian, so the weakest rows all meet.
    """
    scores = transport_map(Y).astype(np.float32)
    powers = (scores**2 - 1) / np.float32(np.sqrt(2))
    skewed, joint = scores @ powers.T, powers @ powers.T
    dependence = skewed**2 + skewed.T**2 + joint**2
    weakest = np.argsort(correlation)[-N_WEAKEST:]
    dependence[np.ix_(weakest, weakest)] = np.inf
    i, j = np.triu_indices(len(Y), 1)
    leading = np.argsort(dependence[i, j])[::-1][: PAIRS_PER_COMPONENT * len(Y)]
    return i[leading], j[leading]


def _take_needles(
    X: NDArray[np.float32],
    others: NDArray[np.float32],
    W: NDArray[np.float64],
    correlation: NDArray[np.float64],
    expected: bool,
    rng: np.random.Generator,
) -> NDArray[np.float64] | None:
    """Look for lattices among the components that look Gaussian; each found leaves fewer."""
    W, correlation = W.copy(), correlation.copy()
    succeeded = False
    while True:
        block = np.flatnonzero(2 - 2 * correlation < LOOKS_GAUSSIAN)
        if len(block) < 2:
            return W if succeeded else None
        if len(block) > MAX_BLOCK:
            block = rng.choice(block, MAX_BLOCK, replace=False)
        Z = W[block].astype(np.float32) @ X
        before = W[block].astype(np.float32) @ others
        tensor = _cumulants(Z, 4)
        n_rounds = min(MIN_ROUNDS * 2 ** max(0, len(block) - EASY_BLOCK), MAX_ROUNDS)
        for _ in range(n_rounds if expected or succeeded else ROUNDS_WITHOUT_LATTICE):
            rotation = find_needles(Z, _cumulant_rotation(tensor, len(block), 1, rng))
            if rotation is None:
                continue
            after = rotation.astype(np.float32) @ before
            if np.sum(target_correlation(before) - target_correlation(after)) > WORTHWHILE:
                W[block] = rotation @ W[block]
                correlation[block] = target_correlation(W[block].astype(np.float32) @ X)
                succeeded = True
                break
        else:
            return W if succeeded else None


def _resolve_weak(
    X: NDArray[np.float32],
    others: NDArray[np.float32],
    W: NDArray[np.float64],
    correlation: NDArray[np.float64],
    descend: Descent,
    rng: np.random.Generator,
) -> NDArray[np.float64] | None:
    """Solve the components that look Gaussian again, in their own subspace."""
    W, correlation = W.copy(), correlation.copy()
    failures, succeeded = 0, False
    tensors: dict[tuple, NDArray] = {}  # those of the blocks met since W changed
    while True:
        contrast = 2 - 2 * correlation
        n_flat = np.count_nonzero(contrast < LOOKS_GAUSSIAN)
        n_weak = np.count_nonzero(contrast < MAY_BE_A_MIXTURE)
        # A first success shows that there is structure to find: be more patient after it.
        patience = np.clip(n_flat, MIN_PATIENCE, MAX_PATIENCE) * (3 if succeeded else 1)
        if n_weak < 2 or failures >= patience:
            return W if succeeded else None
        # After a failure let the next components in, try skewness at times, shake the start.
        width = (n_flat, min(n_flat + 2, len(W)), n_weak)[failures % 3]
        block = np.argsort(contrast)[: width if width > 1 else n_weak]
        if len(block) > MAX_BLOCK:
            block = rng.choice(block, MAX_BLOCK, replace=False)
        Z = W[block].astype(np.float32) @ X
        order = 3 if failures % 4 == 3 else 4
        key = (order, *block)
        if key not in tensors:
            tensors[key] = _cumulants(Z, order)
        start = _cumulant_rotation(tensors[key], len(block), N_CUMULANT_STARTS, rng)
        if failures:
            start = nearest_rotation(start + SHAKE * rng.standard_normal(start.shape))
        rotation, resolved = descend(Z, start)
        failures += 1
        before = W[block].astype(np.float32) @ others
        after = rotation.astype(np.float32) @ before
        if np.sum(target_correlation(before) - target_correlation(after)) > WORTHWHILE:
            W[block], correlation[block] = rotation @ W[block], resolved
            failures, succeeded, tensors = 0, True, {}


def _cumulant_rotation(
    tensor: NDArray[np.float64], size: int, n_starts: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Maximise the sum of the sizes of the cumulants of the rows, by steps on the tensor."""
    first, second = np.triu_indices(size)
    twice = np.where(first == second, 1, 2)  # a pair stands for both of its orders
    pair = np.empty((size, size), dtype=int)
    pair[first, second] = pair[second, first] = np.arange(len(first))
    best_value, best = -1.0, np.eye(size)
    for _ in range(n_starts):
        Q = nearest_rotation(rng.standard_normal((size, size)))
        for _ in range(N_CUMULANT_STEPS):
            gradient = (Q[:, first] * Q[:, second] * twice) @ tensor
            if gradient.shape != Q.shape:  # fourth order: two indices are left
                gradient = np.matmul(gradient[:, pair], Q[:, :, np.newaxis])[:, :, 0]
            cumulants = np.sum(gradient * Q, axis=1, keepdims=True)
            # Without the inertia the steps would jump to and fro where cumulants are small.
            Q, previous = nearest_rotation(np.sign(cumulants) * gradient + INERTIA * Q), Q
            if np.sum(Q * previous, axis=1).min() > 1 - 1e-5:
                break
        value = np.abs(cumulants).sum()
        if value > best_value:
            best_value, best = value, Q
    return best


def _cumulants(Z: NDArray[np.float32], order: int) -> NDArray[np.float64]:
    """Return the cross-cumulants of white rows, by pairs of indices: symmetric, so each once."""
    n_samples = Z.shape[1]
    first, second = np.triu_indices(len(Z))
    products = Z[first] * Z[second]
    if order == 3:
        return products @ Z.T / n_samples
    same = np.eye(len(Z))
    gaussian = np.multiply.outer(same[first, second], same[first, second])
    gaussian += same[np.ix_(first, first)] * same[np.ix_(second, second)]
    gaussian += same[np.ix_(first, second)] * same[np.ix_(second, first)]
    return products @ products.T / n_samples - gaussian
