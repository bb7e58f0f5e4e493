"""Short names of the types of arrays."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Mask = NDArray[np.bool_]
Samples = NDArray[np.int64]
