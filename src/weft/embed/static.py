"""Embed with the model that ships with Weft: token vectors, distilled once from a transformer, summed per text."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.embed.wordpiece import MAX_WORD_LETTERS, cut_identifier, words_of

NAME = "weft-static-1"
FOLDER = Path(__file__).parent / "data"
TOKENS_PER_SUM = 4_096
"""Tokens summed together: so many sums stay below 2**24, where float32 adds whole numbers exactly."""
ZERO_CODE = 8
"""The four-bit code that stands for zero."""
CHARACTERS_READ = 65_536
"""A longer text is judged by its beginning: this bounds the cost, and keeps the squared sums below 2**63."""
CACHED_WORDS = 200_000
"""Words whose tokens are kept before the cache is emptied; more than most stores have, and a bound on memory."""


class StaticEmbedder:
    """An embedder that sums whole-number vectors, so that a text has the same bytes on every machine.

    A row of the table holds two four-bit codes a byte (first half low, second half high) and, last, its scale.
    """

    def __init__(self, table: NDArray[np.uint8], vocabulary: dict[str, int], name: str = NAME) -> None:
        self.name = name
        self._half = int(table.shape[1]) - 1
        self.dimensions = 2 * self._half
        self._table = table
        self._word_tokens = _Words(vocabulary)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the shipped model as a call: another process loads its table by itself."""
        if self.name == NAME:
            return static_embedder, ()
        return StaticEmbedder, (self._table, self._word_tokens.vocabulary, self.name)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one L2-normalised row a text; a text without a known token is a row of zeros."""
        sums = np.zeros((len(texts), self.dimensions), dtype=np.int64)
        for row, text in enumerate(texts):
            tokens = self._tokens(text)
            for start in range(0, len(tokens), TOKENS_PER_SUM):
                sums[row] += self._sum(tokens[start : start + TOKENS_PER_SUM]).astype(np.int64)
        return _normalised(sums)

    def _tokens(self, text: str) -> list[int]:
        remembered = self._word_tokens
        if len(remembered) > CACHED_WORDS:
            remembered.clear()
        return [token for word in words_of(text[:CHARACTERS_READ]) for token in remembered[word]]

    def _sum(self, tokens: list[int]) -> NDArray[np.float32]:
        """Return the sum of some tokens' vectors."""
        # Every value and partial sum is a whole number below 2**24, which float32 adds exactly in any order.
        rows = self._table.take(tokens, axis=0)
        scales = rows[:, -1].astype(np.float32)
        codes = rows[:, :-1]
        low = scales @ (codes & 15).astype(np.float32)
        high = scales @ (codes >> 4).astype(np.float32)
        total: NDArray[np.float32] = np.concatenate((low, high)) - ZERO_CODE * scales.sum()
        return total


class _Words(dict[str, tuple[int, ...]]):
    """A cache of the token ids of every word met so far; a new word is cut at its first use."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        super().__init__()
        self.vocabulary = vocabulary

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(word) > MAX_WORD_LETTERS:
            return ()
        ids = self[word] = cut_identifier(word, self.vocabulary)
        return ids


def _normalised(sums: NDArray[np.int64]) -> NDArray[np.float32]:
    # Integer sums are exact in any order; a square root and a division are exactly rounded by IEEE 754.
    lengths = np.sqrt((sums * sums).sum(axis=1, keepdims=True).astype(np.float64))
    unit: NDArray[np.float32] = (sums / np.maximum(lengths, 1.0)).astype(np.float32)
    return unit


@cache
def static_embedder() -> StaticEmbedder:
    """Return the model that ships with Weft, loaded once a process."""
    table = np.load(FOLDER / "vectors.npy", mmap_mode="r")
    pieces = (FOLDER / "vocabulary.txt").read_text(encoding="utf-8").splitlines()
    return StaticEmbedder(np.asarray(table), dict(zip(pieces, range(len(pieces)), strict=True)))
