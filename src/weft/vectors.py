"""Vectors as stored: int8 by row, compared by cosines that come out the same wherever a row stands."""

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Integers = NDArray[np.int8]
    Exact = NDArray[np.float64]

_DECIMALS: Final = 9
_LARGEST: Final = 127
_CHUNK: Final = 4096


def quantise(vectors: "Floats") -> list[bytes]:
    """One int8 string a row, scaled so that its largest value is 127; empty for a row of zeros."""
    wide = np.nan_to_num(np.asarray(vectors, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    largest = np.abs(wide).max(axis=1, initial=0.0, keepdims=True)
    steps = np.rint(wide / np.where(largest > 0, largest, 1.0) * _LARGEST).astype(np.int8)
    return [row.tobytes() if peak > 0 else b"" for row, peak in zip(steps, largest[:, 0], strict=True)]


def dequantise(rows: Sequence[bytes], dimensions: int) -> "Floats":
    """Unit vectors of quantised rows; a row of zeros where there is none or its length is another."""
    vectors = np.zeros((len(rows), dimensions), dtype=np.float64)
    for position, row in enumerate(rows):
        if row and len(row) == dimensions:
            vectors[position] = np.frombuffer(row, dtype=np.int8)
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def stacked(rows: Sequence[bytes], dimensions: int) -> "Integers":
    """Quantised rows, all of the same length, as one matrix."""
    return np.frombuffer(b"".join(rows), dtype=np.int8).reshape(len(rows), dimensions)


def unit_rows(rows: Sequence[bytes], dimensions: int) -> "Floats":
    """Unit vectors of quantised rows, all of the same length, in single precision."""
    stored = stacked(rows, dimensions).astype(np.float32)
    lengths = np.linalg.norm(stored, axis=1, keepdims=True)
    unit: Floats = (stored / np.where(lengths == 0, 1, lengths)).astype(np.float32)
    return unit


def norms(matrix: "Integers") -> "Exact":
    """The length of each row, from an exact sum of squares."""
    lengths = np.empty(len(matrix), dtype=np.float64)
    for start in range(0, len(matrix), _CHUNK):
        part = matrix[start : start + _CHUNK].astype(np.int32)
        lengths[start : start + _CHUNK] = np.sqrt((part * part).sum(axis=1, dtype=np.int64))
    return lengths


def dots(matrix: "Integers", query: "Integers") -> "Exact":
    """The inner product of each row with the query, exact whatever the number of rows or their order."""
    if not len(matrix):
        return np.zeros(0, dtype=np.float64)
    return _kernel()(matrix, query)


def cosines(matrix: "Integers", lengths: "Exact", query: "Integers") -> "Exact":
    """The cosine of each row with the query, rounded; rows of zeros and a query of zeros have 0."""
    scale = lengths * norms(query[None, :])[0]
    exact: Exact = np.divide(dots(matrix, query), scale, out=np.zeros(len(matrix)), where=scale > 0)
    return exact.round(_DECIMALS)


@cache
def _kernel() -> "Callable[[Integers, Integers], Exact]":
    """The int8 kernel of simsimd where it is installed (about fifteen times faster), else numpy's."""
    try:
        simsimd: Any = importlib.import_module("simsimd")
    except ImportError:
        return dots_by_numpy

    def dots_by_simsimd(matrix: "Integers", query: "Integers") -> "Exact":
        products: Exact = np.asarray(simsimd.cdist(query[None, :], matrix, metric="dot"), dtype=np.float64)[0]
        return products

    return dots_by_simsimd


def dots_by_numpy(matrix: "Integers", query: "Integers") -> "Exact":
    """What `dots` gives, by numpy alone: float32 sums of products below 2**24 are exact in any order."""
    exact = "float32" if len(query) * _LARGEST * _LARGEST < 2**24 else "float64"
    wide: NDArray[Any] = query.astype(exact)
    products = np.empty(len(matrix), dtype=np.float64)
    for start in range(0, len(matrix), _CHUNK):
        part: NDArray[Any] = matrix[start : start + _CHUNK].astype(exact)
        products[start : start + _CHUNK] = part @ wide
    return products
