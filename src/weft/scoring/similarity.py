"""Compare vectors by exact cosines and coarse sign distances, and texts by sketches that find near-duplicates.

Vectors are stored as int8. All sums are whole numbers, so that a comparison has the same result wherever a row
stands and whoever adds it up. Signs are one bit a direction: a first, quick pass over many rows, whose best are
then compared exactly. A sketch (MinHash) tells which texts are worth comparing, so that not all pairs are.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, combinations
from typing import TYPE_CHECKING, Final

import numpy as np
import xxhash

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Integers = NDArray[np.int8]
    Exact = NDArray[np.float64]
    Words = NDArray[np.uint64]


_COSINE_DECIMALS: Final = 9
"""Decimals of a cosine: the division of exact numbers may differ in the last digits between machines."""
_MAX_INT8: Final = 127
_ROWS_PER_CHUNK: Final = 1024
"""Rows that are widened to 32 bits at a time, which bounds the memory that takes."""
_ROWS_PER_BLOCK: Final = 32_768
"""Rows whose sign distances are computed at a time: the kernel's wide counts of a block stay in the processor's
cache."""
_BITS_PER_WORD: Final = 64


_SKETCH_VALUES: Final = 32
"""MinHash values of a sketch, 128 bytes. Two neighbouring values are a band: texts that share none of the sixteen
bands are not compared. Stored with every node, so it can only change together with `PREPARATION`."""
_MAX_COMPARED_CHARACTERS: Final = 4000
"""Characters of two texts that are compared by edit distance, which takes quadratic time."""
_CACHED_TEXTS: Final = 512
"""Texts that stay ready to be compared: each is compared with several, and comes back with the next question."""
_CHARACTERS_BETWEEN_CHECKS: Final = 64
"""Characters after which it is asked whether two texts can still be alike enough; asking costs as much as four."""
_MIN_AGREEING_SHARE: Final = 0.35
"""The share of values in which two sketches agree when their texts are worth comparing. The share estimates how
many word pairs they have in common, so this is far below any similarity that counts as a duplicate."""
_MAX_PAIRS_OF_TEXT: Final = 32
"""Earlier texts that one is worth comparing with: of a thousand log lines all are alike, and comparing all pairs
would take seconds. The sketches that agree most come first, so that a repetition is among them."""
_MAX_WHOLE_RUN: Final = 64
"""Texts that share a band up to which all pairs of them are looked at. More are a list of short lines that are
nearly the same: each is paired with few others, so that the time grows with their number and not its square."""
_COMPARED_IN_LONG_RUN: Final = 8
"""Texts at the beginning of a long run, and as many before each, that it is paired with in every band."""
_MIN_WORDS_FOR_PAIRS: Final = 16
"""Below this many words single words are compared: one changed word would break too many pairs."""


def quantise(vectors: "Floats") -> list[bytes]:
    """Return one int8 string for each row, scaled so that its largest value is 127; empty for a row of zeros."""
    rows = np.asarray(vectors)
    parts = [rows[start : start + _ROWS_PER_CHUNK] for start in range(0, len(rows), _ROWS_PER_CHUNK)]
    return [row for part in parts for row in _quantise(part)]


def _quantise(vectors: "Floats") -> list[bytes]:
    # An embedder may return a NaN for an odd text, which would spoil every comparison with it.
    wide = np.nan_to_num(np.asarray(vectors, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    largest = np.abs(wide).max(axis=1, initial=0.0, keepdims=True)
    steps = np.rint(wide / np.where(largest > 0, largest, 1.0) * _MAX_INT8).astype(np.int8)
    return [row.tobytes() if peak > 0 else b"" for row, peak in zip(steps, largest[:, 0], strict=True)]


def stack_rows(rows: Sequence[bytes], dimensions: int) -> "Integers":
    """Return quantised rows, all of the same length, as one matrix."""
    return np.frombuffer(b"".join(rows), dtype=np.int8).reshape(len(rows), dimensions)


def unit_rows(rows: Sequence[bytes], dimensions: int) -> "Floats":
    """Return the unit vectors of quantised rows, all of the same length, in single precision."""
    stored = stack_rows(rows, dimensions).astype(np.float32)
    lengths = np.linalg.norm(stored, axis=1, keepdims=True)
    unit: Floats = (stored / np.where(lengths == 0, 1, lengths)).astype(np.float32)
    return unit


def norms(matrix: "Integers") -> "Exact":
    """Return the length of each row, from an exact sum of squares."""
    lengths = np.empty(len(matrix), dtype=np.float64)
    for start in range(0, len(matrix), _ROWS_PER_CHUNK):
        # A square of an int8 does not fit into eight bits.
        part = matrix[start : start + _ROWS_PER_CHUNK].astype(np.int32)
        lengths[start : start + _ROWS_PER_CHUNK] = np.sqrt((part * part).sum(axis=1, dtype=np.int64))
    return lengths


def dot_products(matrix: "Integers", query: "Integers") -> "Exact":
    """Return the inner product of each row with the query, exact for any number and order of rows."""
    if not len(matrix):
        return np.zeros(0, dtype=np.float64)
    import simsimd

    products: Exact = np.asarray(simsimd.cdist(query[None, :], matrix, metric="dot"), dtype=np.float64)[0]
    return products


def cosines(matrix: "Integers", lengths: "Exact", query: "Integers") -> "Exact":
    """Return the rounded cosine of each row with the query; rows of zeros and a query of zeros have 0."""
    scale = lengths * norms(query[None, :])[0]
    exact: Exact = np.divide(dot_products(matrix, query), scale, out=np.zeros(len(matrix)), where=scale > 0)
    return exact.round(_COSINE_DECIMALS)


def sign_bits(matrix: "Integers") -> "Words":
    """Return one bit a direction for each row, set where the row points along it, in whole 64-bit words."""
    words = np.empty((len(matrix), sign_words(matrix.shape[1])), dtype="<u8")
    for start in range(0, len(matrix), _ROWS_PER_CHUNK):
        words[start : start + _ROWS_PER_CHUNK] = packed_bits(rotate(matrix[start : start + _ROWS_PER_CHUNK]) > 0)
    return words


def rotate(matrix: "Integers") -> "Floats":
    """Return the rows turned by one fixed rotation (not scaled back), which spreads them over all directions.

    A few large values may hold most of a vector; without the turn, their signs would count like all others.
    The sums are whole numbers below 2**24, so they are exact in any order.
    """
    whole: Floats = matrix.astype(np.float32) @ _rotation(matrix.shape[1])
    return whole


@cache
def _rotation(width: int) -> "Floats":
    """Return a Hadamard matrix with fixed random signs of its rows, as wide as whole words need."""
    matrix = np.ones((1, 1), dtype=np.float32)
    while len(matrix) < _directions(width):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    # The bits come from a hash, so that every machine and version stores the same signs.
    bits = np.array(
        [xxhash.xxh64_intdigest(row.to_bytes(4, "little")) & 1 for row in range(width)], dtype=np.float32
    )
    return matrix[:width] * (2 * bits[:, None] - 1)


def _directions(width: int) -> int:
    """Return the least power of two, at least 64, that holds the width: Hadamard matrices have such sizes."""
    return max(_BITS_PER_WORD, 1 << (width - 1).bit_length())


def packed_bits(bits: "NDArray[np.bool_]") -> "Words":
    """Return rows of bits as 64-bit words."""
    words: Words = np.packbits(bits, axis=1, bitorder="little").view("<u8")
    return words


def sign_words(width: int) -> int:
    """Return the number of words that the signs of a row of values take."""
    return _directions(width) // _BITS_PER_WORD


def graded_signs(query: "Integers") -> "Words":
    """Return a query in eight levels, as three rows of signs that count 4, 2 and 1; the first are its plain signs.

    Rows kept as signs alone are ordered far better by a query that says how much of each direction it has.
    """
    along = rotate(query[None, :])[0].astype(np.int64)
    size = np.abs(along)
    # One is added, so that the largest value falls into the last level and not beyond it.
    steps = size * 4 // (size.max() + 1)
    levels = np.where(along > 0, 4 + steps, 3 - steps)
    return packed_bits(np.stack([levels >> bit & 1 for bit in (2, 1, 0)]) > 0)


def graded_distances(signs: "Words", finer: "Words", rough: "NDArray[np.uint16]") -> "NDArray[np.uint16]":
    """Return how far each row's signs are from a graded query: 4, 2 and 1 times its distances to the three.

    Those to the first, the plain signs, are known: `rough`.
    """
    distances = rough
    for level in finer:
        # Doubling what came before makes the weights 4, 2 and 1.
        distances = distances + distances + sign_distances(signs, level)
    return distances


def sign_distances(signs: "Words", query: "Words") -> "NDArray[np.uint16]":
    """Return the number of bits in which each row differs from the query."""
    import simsimd

    distances = np.empty(len(signs), dtype=np.uint16)
    rows, query_bytes = signs.view(np.uint8), query[None, :].view(np.uint8)
    for start in range(0, len(signs), _ROWS_PER_BLOCK):
        block = rows[start : start + _ROWS_PER_BLOCK]
        distances[start : start + _ROWS_PER_BLOCK] = np.asarray(
            simsimd.cdist(query_bytes, block, metric="hamming", dtype="bin8")
        )[0]
    return distances


# --- sketches ----------------------------------------------------------------------------------------------


def _multipliers() -> "tuple[NDArray[np.uint64], NDArray[np.uint64]]":
    """Return the constants of the hash functions, fixed for all time because sketches are stored."""
    words = [xxhash.xxh64_intdigest(f"sketch{index}".encode()) for index in range(2 * _SKETCH_VALUES)]
    return np.array(words[:_SKETCH_VALUES], np.uint64) | np.uint64(1), np.array(words[_SKETCH_VALUES:], np.uint64)


_MULTIPLY, _ADD = _multipliers()


def sketch(words: Sequence[int]) -> bytes:
    """Return MinHash values over a text's hashed words, or pairs of neighbours; empty for a text without words."""
    if not len(words):
        return b""
    hashed = np.array(words, dtype=np.uint64)
    # Pairs keep the order of words: the same words in another order are another text.
    shingles = hashed if len(hashed) < _MIN_WORDS_FOR_PAIRS else (hashed[:-1] << np.uint64(32)) | hashed[1:]
    spread = shingles[:, None] * _MULTIPLY + _ADD
    smallest: bytes = (spread.min(axis=0) >> np.uint64(32)).astype("<u4").tobytes()
    return smallest


def likely_pairs(sketches: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Yield pairs (earlier, later) of indexes whose sketches share a band and agree in enough values."""
    indexes = [index for index, values in enumerate(sketches) if len(values) == 4 * _SKETCH_VALUES]
    values = np.frombuffer(b"".join([sketches[index] for index in indexes]), dtype="<u4").reshape(
        -1, _SKETCH_VALUES
    )
    pairs = _pairs_sharing_a_band(values)
    shares = (values[pairs[:, 0]] == values[pairs[:, 1]]).mean(axis=1)
    agreeing = shares >= _MIN_AGREEING_SHARE
    for earlier, later in _closest_pairs(pairs[agreeing], shares[agreeing]).tolist():
        yield indexes[earlier], indexes[later]


def _closest_pairs(pairs: "NDArray[np.int64]", shares: "Exact") -> "NDArray[np.int64]":
    """Return the pairs without those of a later row that has too many; of equal ones the earliest stay."""
    order = np.lexsort((pairs[:, 0], -shares, pairs[:, 1]))
    later = pairs[order, 1]
    rank = np.arange(len(later)) - np.searchsorted(later, later)
    closest: NDArray[np.int64] = pairs[np.sort(order[rank < _MAX_PAIRS_OF_TEXT])]
    return closest


def _pairs_sharing_a_band(values: "NDArray[np.uint32]") -> "NDArray[np.int64]":
    """Return pairs of rows with an equal band, by the later row, then the earlier."""
    # Two 32-bit values read as one 64-bit number are a band; sorting its column brings equal ones together.
    bands = np.ascontiguousarray(values).view("<u8")
    order = bands.argsort(axis=0, kind="stable")
    ranked = np.take_along_axis(bands, order, axis=0)
    rank, band = np.nonzero(ranked[1:] == ranked[:-1])
    runs: dict[tuple[int, int], list[int]] = {}
    equal = (band, ranked[rank, band], order[rank, band], order[rank + 1, band])
    for band_index, value, first, second in zip(*(column.tolist() for column in equal), strict=True):
        runs.setdefault((band_index, value), [first]).append(second)
    # Rows that agree in one band often agree in others, as the same run.
    distinct = set(map(tuple, runs.values()))
    long = [run for run in distinct if len(run) > _MAX_WHOLE_RUN]
    found = chain.from_iterable(combinations(run, 2) for run in distinct if len(run) <= _MAX_WHOLE_RUN)
    pairs = [np.fromiter(chain.from_iterable(found), dtype=np.int64).reshape(-1, 2)]
    pairs += [_pairs_of_long_run(np.array(run, dtype=np.int64)) for run in [*long, *_equal_rows(values, long)]]
    joined = np.concatenate(pairs)
    size = max(len(values), 1)
    # Not by np.unique, whose first use loads a part of numpy that a hook does not need.
    codes = np.sort(joined[:, 1] * size + joined[:, 0])
    codes = codes[np.concatenate(([True], codes[1:] != codes[:-1]))] if len(codes) else codes
    return np.stack((codes % size, codes // size), axis=1)


def _pairs_of_long_run(run: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Return the pairs of each row with the first few of its run, and with the few before it."""
    later = np.arange(1, len(run))[:, None]
    steps = np.arange(_COMPARED_IN_LONG_RUN)[None, :]
    earlier = np.concatenate((np.minimum(steps, later - 1), np.maximum(later - 1 - steps, 0)), axis=1)
    return np.stack((run[earlier].ravel(), np.repeat(run[1:], earlier.shape[1])), axis=1)


def _equal_rows(values: "NDArray[np.uint32]", runs: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Return the groups of equal rows in the runs: a repetition is found wherever it stands."""
    groups: dict[bytes, list[int]] = {}
    for row in sorted({row for run in runs for row in run}):
        groups.setdefault(values[row].tobytes(), []).append(row)
    return [group for group in groups.values() if len(group) > 1]


def similarity(left: str, right: str, at_least: float = 0.0) -> float:
    """Return how alike two texts are, 0..1, by edit distance over folded words (long texts by their beginning).

    It is twice the length of the longest common subsequence of characters by the length of both. Where they are
    less alike than `at_least`, the result is 0.
    """
    first, second = _comparable(left), _comparable(right)
    both = len(first) + len(second)
    if first == second:
        return 1.0
    # In any order they have at least as many characters in common.
    if 2 * (_count_characters(first) & _count_characters(second)).total() < at_least * both:
        return 0.0
    # Equal beginnings and ends are in common, and most of two texts that say the same.
    start = _count_shared(first, second)
    end = _count_shared(first[start:][::-1], second[start:][::-1])
    middle, other = (text[start : len(text) - end] for text in (first, second))
    # One less, so that no rounding decides here.
    wanted = at_least * both / 2 - start - end - 1
    alike = 2 * (start + end + _common_characters(middle, other, wanted)) / both
    return alike if alike >= at_least else 0.0


@lru_cache(_CACHED_TEXTS)
def _count_characters(text: str) -> Counter[str]:
    return Counter(text)


def _count_shared(first: str, second: str) -> int:
    """Return with how many equal characters two texts begin."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if first[low:middle] == second[low:middle] else (low, middle - 1)
    return low


def _common_characters(first: str, second: str, at_least: float) -> int:
    """Return the length of the longest common subsequence of two texts; 0 where it is shorter than `at_least`.

    The rows of the table of the usual algorithm are whole numbers of as many bits as the shorter text has
    characters (Hyyrö 2004), which Python adds and subtracts at once.
    """
    shorter, longer = sorted((first, second), key=len)
    places: dict[str, int] = {}
    for index, character in enumerate(shorter):
        places[character] = places.get(character, 0) | 1 << index
    whole = (1 << len(shorter)) - 1
    row = whole
    for read in range(0, len(longer), _CHARACTERS_BETWEEN_CHECKS):
        # Each character that is left adds one at most.
        if len(shorter) - row.bit_count() + len(longer) - read < at_least:
            return 0
        for found in map(places.get, longer[read : read + _CHARACTERS_BETWEEN_CHECKS]):
            if found:
                matches = row & found
                row = row + matches | row - matches
        # Bits beyond the shorter text are of no account: no character matches there.
        row &= whole
    return len(shorter) - row.bit_count()


@lru_cache(_CACHED_TEXTS)
def _comparable(text: str) -> str:
    # Cut twice: the first keeps folding a long text cheap, the second comes after runs of blanks are gone.
    folded = text[: 2 * _MAX_COMPARED_CHARACTERS].casefold()
    return " ".join(folded.split())[:_MAX_COMPARED_CHARACTERS]
