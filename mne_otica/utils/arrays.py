"""Short names of the types of arrays, and which samples are near others."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Mask = NDArray[np.bool_]
Samples = NDArray[np.int64]


def nearest(samples: Samples, others: Samples) -> Samples:
    """Return the index of the nearest of others, at least one and in order, to each sample."""
    after = np.searchsorted(others, samples).clip(0, len(others) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(samples - others[before] <= others[after] - samples, before, after)
