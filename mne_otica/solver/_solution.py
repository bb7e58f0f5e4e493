"""The result of an algorithm."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass
class Solution:
    """The final unmixing matrix of an algorithm."""

    W: NDArray[np.float64]  # acts on the whitened data, rows of unit length
    correlation: NDArray[np.float64]  # C of each component, see `transport`
    n_iter: int
    n_evaluations: int  # passes over the data or a subsample
    step: float  # largest rotation angle of the last iteration, in radians
    converged: bool
