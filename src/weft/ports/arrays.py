"""The arrays that the ports speak of, for type checkers only: numpy is loaded by those who compute."""

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Ids = NDArray[np.int64]
Scores = NDArray[np.float64]
