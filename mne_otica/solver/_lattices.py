"""Components whose values lie on a lattice, such as counts.

Nothing but the errors of its weights moves the samples of such a component off the points of the
lattice. Where these are told apart, the value of each sample is known up to the place of its point.
For white data x the weights that give it best are E[v x], with v the mean of the samples at a
point, in which the errors cancel: what is left of them is smaller by the square root of their
number.
"""

import numpy as np
from numpy.typing import NDArray

from mne_otica.solver._basis import MERGE, merged_counts, on_lattice
from mne_otica.solver.transport import bin_index

# Few samples of a continuous density have gaps between them, too. Those between the points of a
# lattice are at least this many times as wide as the deviation of samples from their points, and
# there are many samples at a point.
MIN_GAP = 10
MIN_SAMPLES = 20


def settle(
    X: NDArray[np.float32], W: NDArray[np.float64], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Fit the weights of components on a lattice to its points.

    Parameters
    ----------
    X : ndarray of float32, shape (n_components, n_samples)
        The whitened data.
    W : ndarray, shape (n_components, n_components)
        The unmixing matrix, with rows of unit length.
    counts : ndarray, shape (n_components, N_BINS)
        Samples of each of its components in each bin.

    Returns
    -------
    W : ndarray, shape (n_components, n_components)
        With more precise rows for components on a lattice.
    """
    merged, result = merged_counts(counts), W.copy()
    for i in np.flatnonzero(on_lattice(merged)):
        y = W[i].astype(np.float32) @ X
        # Empty bins separate the points.
        starts = np.diff(merged[i] > 0, prepend=False) & (merged[i] > 0)
        point = np.cumsum(starts)[bin_index(y) // MERGE] - 1
        means = np.bincount(point, y) / np.bincount(point)
        values = means[point]
        least_gap = np.diff(means).min(initial=np.inf)
        if MIN_SAMPLES * len(means) < len(y) and least_gap > MIN_GAP * np.std(y - values):
            row = X @ values.astype(np.float32)
            result[i] = row / np.linalg.norm(row)
    return result
