"""What the algorithms hand back to the solver."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass
class Solution:
    """Where an algorithm stopped."""

    W: NDArray[np.float64]  # acts on the whitened data, rows of unit length
    correlation: NDArray[np.float64]  # C of each component, see `transport`
    n_iter: int
    n_evaluations: int  # passes over the data, or over a part of it
    step: float  # largest rotation angle of the last iteration, in radians
    converged: bool
