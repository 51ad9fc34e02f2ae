"""Name the array types that the protocols mention.

Import this module under TYPE_CHECKING only: it loads numpy, which start-up does without.
"""

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Ids = NDArray[np.int64]
Scores = NDArray[np.float64]
