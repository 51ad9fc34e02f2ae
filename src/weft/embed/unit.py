"""What the embedders of foreign models share: rows of length one."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def unit_rows(rows: ArrayLike) -> NDArray[np.float32]:
    """The rows scaled to length one, as float32; a row of zeros stays one."""
    values = np.asarray(rows, dtype=np.float64)
    lengths = np.sqrt((values * values).sum(axis=1, keepdims=True))
    scaled: NDArray[np.float32] = (values / np.where(lengths > 0.0, lengths, 1.0)).astype(np.float32)
    return scaled
