"""Vectors as stored: int8 by row, compared by cosines that come out the same wherever a row stands."""

import importlib
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import xxhash

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Integers = NDArray[np.int8]
    Exact = NDArray[np.float64]
    Words = NDArray[np.uint64]


_DECIMALS: Final = 9
_LARGEST: Final = 127
_CHUNK: Final = 4096
_BLOCK: Final = 32_768


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
    simsimd = _simsimd()
    if simsimd is None:
        return dots_by_numpy(matrix, query)
    products: Exact = np.asarray(simsimd.cdist(query[None, :], matrix, metric="dot"), dtype=np.float64)[0]
    return products


def cosines(matrix: "Integers", lengths: "Exact", query: "Integers") -> "Exact":
    """The cosine of each row with the query, rounded; rows of zeros and a query of zeros have 0."""
    scale = lengths * norms(query[None, :])[0]
    exact: Exact = np.divide(dots(matrix, query), scale, out=np.zeros(len(matrix)), where=scale > 0)
    return exact.round(_DECIMALS)


@cache
def _simsimd() -> Any:
    """The library with kernels for int8 and bits, up to fifteen times faster than numpy, where it is installed."""
    try:
        return importlib.import_module("simsimd")
    except ImportError:
        return None


def dots_by_numpy(matrix: "Integers", query: "Integers") -> "Exact":
    """What `dots` gives, by numpy alone: float32 sums of products below 2**24 are exact in any order."""
    exact = "float32" if len(query) * _LARGEST * _LARGEST < 2**24 else "float64"
    wide: NDArray[Any] = query.astype(exact)
    products = np.empty(len(matrix), dtype=np.float64)
    for start in range(0, len(matrix), _CHUNK):
        part: NDArray[Any] = matrix[start : start + _CHUNK].astype(exact)
        products[start : start + _CHUNK] = part @ wide
    return products


def signs_of(matrix: "Integers") -> "Words":
    """One bit a direction for each row, set where the row points along it, packed into whole 64-bit words."""
    words = np.empty((len(matrix), sign_words(matrix.shape[1])), dtype="<u8")
    for start in range(0, len(matrix), _CHUNK):
        words[start : start + _CHUNK] = packed_bits(turned(matrix[start : start + _CHUNK]) > 0)
    return words


def turned(matrix: "Integers") -> "Floats":
    """The rows turned by one fixed rotation (not scaled back), which spreads what they say over all directions.

    Most of what a vector says may stand in few of its values; without the turn, signs would count all alike.
    The sums are whole numbers below 2**24, so they are exact in any order.
    """
    whole: Floats = matrix.astype(np.float32) @ _rotation(matrix.shape[1])
    return whole


@cache
def _rotation(width: int) -> "Floats":
    """A Hadamard matrix with the signs of its rows drawn once and for all, as wide as whole words need."""
    matrix = np.ones((1, 1), dtype=np.float32)
    while len(matrix) < _directions(width):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    drawn = np.array(
        [xxhash.xxh64_intdigest(row.to_bytes(4, "little")) & 1 for row in range(width)], dtype=np.float32
    )
    return matrix[:width] * (2 * np.array(drawn, dtype=np.float32)[:, None] - 1)


def _directions(width: int) -> int:
    return max(64, 1 << (width - 1).bit_length())


def packed_bits(bits: "NDArray[np.bool_]") -> "Words":
    """Rows of bits as 64-bit words."""
    words: Words = np.packbits(bits, axis=1, bitorder="little").view("<u8")
    return words


def sign_words(width: int) -> int:
    """How many words the signs of a row of values take."""
    return _directions(width) // 64


def graded_signs(query: "Integers") -> "Words":
    """A query in eight levels, as three rows of signs that count four, two and one; the first are its plain signs.

    Rows kept as signs alone are ordered far better by a query that says how much of each direction it has.
    """
    along = turned(query[None, :])[0].astype(np.int64)
    size = np.abs(along)
    steps = size * 4 // (size.max() + 1)
    levels = np.where(along > 0, 4 + steps, 3 - steps)
    return packed_bits(np.stack([levels >> bit & 1 for bit in (2, 1, 0)]) > 0)


def graded_distances(signs: "Words", graded: "Words") -> "NDArray[np.uint16]":
    """How far each row's signs are from a graded query: its sign distances to the three, weighed."""
    distances = sign_distances(signs, graded[0])
    for finer in graded[1:]:
        distances += distances + sign_distances(signs, finer)
    return distances


def sign_distances(signs: "Words", query: "Words") -> "NDArray[np.uint16]":
    """In how many bits each row differs from the query."""
    simsimd = _simsimd()
    if simsimd is None:
        return sign_distances_by_numpy(signs, query)
    distances = np.empty(len(signs), dtype=np.uint16)
    rows, asked = signs.view(np.uint8), query[None, :].view(np.uint8)
    # The kernel counts in wide numbers; those of a block stay in the processor's cache.
    for start in range(0, len(signs), _BLOCK):
        block = rows[start : start + _BLOCK]
        distances[start : start + _BLOCK] = np.asarray(
            simsimd.cdist(asked, block, metric="hamming", dtype="bin8")
        )[0]
    return distances


def sign_distances_by_numpy(signs: "Words", query: "Words") -> "NDArray[np.uint16]":
    """What `sign_distances` gives, by numpy alone."""
    distances = np.zeros(len(signs), dtype=np.uint16)
    for start in range(0, len(signs), _BLOCK):
        block = signs[start : start + _BLOCK]
        # Bytes are quick to add and hold the bits of three words.
        for first in range(0, block.shape[1], 3):
            count = np.bitwise_count(block[:, first] ^ query[first])
            for word in range(first + 1, min(first + 3, block.shape[1])):
                count += np.bitwise_count(block[:, word] ^ query[word])
            distances[start : start + _BLOCK] += count
    return distances
