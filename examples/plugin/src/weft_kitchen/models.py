"""An embedder (`letters:DIMENSIONS`) and a tokenizer (`words`), both as small as they can be."""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\s*\S+\s*|\s+")


class Letters:
    """An embedder that counts groups of three letters: texts with like words are near each other."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        # The name tells two embedders apart whose vectors do not compare.
        self.name = f"letters-{dimensions}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length one for each text, and zeros for a blank one."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            letters = text.casefold().strip()
            for start in range(len(letters)):
                row[zlib.crc32(letters[start : start + 3].encode()) % self.dimensions] += 1
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / np.where(lengths == 0, 1, lengths)).astype(np.float32)


def open_letters(argument: str) -> Letters:
    """Open the embedder that `letters:DIMENSIONS` names; 128 if the number is left out."""
    return Letters(int(argument or 128))


@dataclass(frozen=True)
class Words:
    """A counter for which every word is a token."""

    name: str = "words"

    def count(self, text: str) -> int:
        """Return the number of words; blanks alone count as one."""
        return len(_WORD.findall(text))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of words of each text."""
        return [self.count(text) for text in texts]

    def cut(self, text: str, max_tokens: int) -> str:
        """Return the longest beginning of so many words."""
        return "".join(_WORD.findall(text)[:max_tokens])


def count_words(argument: str) -> Words:
    """Return the counter; it takes no argument."""
    return Words()
