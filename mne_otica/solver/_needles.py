"""Directions along which the samples lie on a lattice, among others that look Gaussian.

A count, such as a binomial variable, is nearly Gaussian except that its values lie on a lattice. If
it is mixed with others by more than a few degrees, every contrast takes it for Gaussian. The
characteristic function φ(v) = E[exp(i v·x)] of white data x shows the lattice: |φ| is nearly zero
far from the origin, but 1 at a vector v along the source whose length is 2π over the spacing.
Around this peak |φ| falls as exp(-|δ|² / 2), so v + ∇ log|φ| is the position of the peak from any v
where |φ| exceeds its noise.
"""

import numpy as np
from numpy.typing import NDArray

# Initial lengths of v; peaks have a width of about one. Shorter vectors would lead to the peak at
# the origin, and a finer lattice cannot be distinguished from a continuous density.
LENGTHS = np.arange(5, 16, 2)
N_STEPS = 12
LONGEST_STEP = 1.5
# After each of the first steps, only this share of the vectors is kept, those with the largest |φ|.
N_CUTS, SHARE, MIN_FOLLOWED = 5, 0.75, 20
# Smallest height of a peak. In N Gaussian samples the highest found is about 6 / √N.
MIN_HEIGHT = 0.3
MIN_HEIGHT_OF_NOISE = 10.0
MIN_NEW = 0.9  # length of the part of a unit vector that is orthogonal to those found


def find_needles(Z: NDArray[np.float32], start: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Look for lattices near given directions.

    Parameters
    ----------
    Z : ndarray of float32, shape (n_components, n_samples)
        White data.
    start : ndarray, shape (n_components, n_components)
        A rotation, whose rows are the directions.

    Returns
    -------
    rotation : ndarray, shape (n_components, n_components) | None
        The directions found and others orthogonal to them, or None if none was found.
    """
    vectors, heights = _peaks(Z, np.concatenate([length * start for length in LENGTHS]))
    least = max(MIN_HEIGHT, MIN_HEIGHT_OF_NOISE / np.sqrt(Z.shape[1]))
    found = np.empty((0, len(Z)))
    for k in np.argsort(heights)[::-1]:
        if heights[k] < least:
            break
        direction = vectors[k] / np.linalg.norm(vectors[k])
        across = direction - found.T @ (found @ direction)
        length = np.linalg.norm(across)
        if length > MIN_NEW:
            found = np.vstack([found, across / length])
    return np.linalg.qr(found.T, mode="complete")[0].T if len(found) else None


def _peaks(
    Z: NDArray[np.float32], vectors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Maximise |φ| from many vectors at once; return the highest maxima and their heights."""
    n_samples = Z.shape[1]
    for step in range(N_STEPS):
        phases = vectors.astype(np.float32) @ Z
        cosines, sines = np.cos(phases), np.sin(phases)
        real, imaginary = cosines.mean(axis=1), sines.mean(axis=1)
        heights = np.maximum(np.hypot(real, imaginary), 1e-9)
        if 0 < step <= N_CUTS:
            n_followed = max(MIN_FOLLOWED, int(SHARE * len(vectors)))
            followed = np.argsort(heights)[::-1][:n_followed]
            vectors, heights = vectors[followed], heights[followed]
            cosines, sines = cosines[followed], sines[followed]
            real, imaginary = real[followed], imaginary[followed]
        slopes = imaginary[:, np.newaxis] * (cosines @ Z.T) - real[:, np.newaxis] * (sines @ Z.T)
        slopes = slopes.astype(np.float64) / (n_samples * heights**2)[:, np.newaxis]
        lengths = np.linalg.norm(slopes, axis=1, keepdims=True)
        vectors = vectors + slopes * (LONGEST_STEP / np.maximum(lengths, LONGEST_STEP))
    return vectors, heights
