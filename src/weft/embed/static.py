"""Embed with the model that ships with Weft: token vectors, distilled once from a transformer, summed per text.

Words are cut into the pieces of its WordPiece vocabulary in plain Python, the longest known piece first.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.text.terms import compile_once

NAME = "weft-static-1"
"""The name under which stores remember that this model made their vectors; a new table needs a new one."""
FOLDER = Path(__file__).parent / "data"
"""The folder of the table and its vocabulary."""
TOKENS_PER_SUM = 1_024
"""Tokens whose vectors are looked up together: few fit the processor's cache, many spare calls. Sums of so many
stay below 2**24, where float32 adds whole numbers exactly."""
_TEXTS_AT_ONCE = 256
"""Texts whose sums are in memory together: those of a whole batch of nodes took a hundred megabytes."""
ZERO_CODE = 8
"""The four-bit code that stands for zero."""
CHARACTERS_READ = 65_536
"""A longer text is judged by its beginning: this bounds the cost, and keeps the squared sums below 2**63."""
CACHED_WORDS = 200_000
"""Words whose tokens are kept before the cache is emptied; more than most stores have, and a bound on memory."""
MAX_WORD_LETTERS = 100
"""Letters of a word that is cut; BERT has the same limit, and longer ones are data."""
_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
"""Characters that BERT takes for words of their own."""
_ASCII_LETTERS = bytes(code if chr(code).isalnum() and code < 0x80 else 0x20 for code in range(256))
"""A table for `bytes.translate` that leaves only the words of ASCII text, which most text is."""
_WORD = rf"[{_CJK}]|[^\W_{_CJK}]+"
"""The words of any text, compiled when the first text that is not ASCII comes."""
_CASE_CHANGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where camelCase and HTTPServer have their seams."""
_CJK_CHARACTER = f"[{_CJK}]"
"""One of those characters, compiled at its first use as well."""
_ASCII_MARKS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
"""ASCII signs that BERT takes for punctuation, though Unicode calls some of them symbols."""


def fold(text: str) -> str:
    """Return the text in lower case and without accents, as the vocabulary spells it."""
    lowered = text.lower()
    # Most text is ASCII, for which normalising would only cost time.
    if lowered.isascii():
        return lowered
    decomposed = unicodedata.normalize("NFD", lowered)
    return "".join(character for character in decomposed if unicodedata.category(character) != "Mn")


def split_words(text: str) -> list[str]:
    """Return the words of a text as written; each CJK character is a word, punctuation is none."""
    if text.isascii():
        # A third of the time that a regular expression takes.
        return text.encode("ascii").translate(_ASCII_LETTERS).decode("ascii").split()
    return compile_once(_WORD).findall(unicodedata.normalize("NFC", text))


def split_bert_words(text: str) -> list[str]:
    """Return the folded words and single punctuation marks of a text, in order, exactly as BERT splits them."""
    return "".join(map(_spaced, fold(text))).split()


def cut(word: str, vocabulary: Mapping[str, int]) -> tuple[int, ...]:
    """Return the ids of the longest known pieces that spell a folded word, or nothing when one is missing."""
    if len(word) > MAX_WORD_LETTERS:
        return ()
    ids: list[int] = []
    start = 0
    while start < len(word):
        # Longest first, as the vocabulary was trained; the first piece of a word has no `##`.
        for end in range(len(word), start, -1):
            piece = word[start:end] if start == 0 else "##" + word[start:end]
            found = vocabulary.get(piece)
            if found is not None:
                ids.append(found)
                start = end
                break
        else:
            return ()
    return tuple(ids)


def cut_identifier(word: str, vocabulary: Mapping[str, int]) -> tuple[int, ...]:
    """Return the ids of a word as written; one that is not known whole is first cut where its case changes."""
    folded = fold(word)
    # Whole first: "YouTube" is a word of the vocabulary, and means more than its two halves.
    known = vocabulary.get(folded)
    if known is not None:
        return (known,)
    return tuple(found for part in _case_parts(word) for found in cut(fold(part), vocabulary))


def _case_parts(word: str) -> Iterator[str]:
    """Yield the parts of camelCase and HTTPServer."""
    start = 0
    for change in _CASE_CHANGE.finditer(word):
        yield word[start : change.start()]
        start = change.start()
    yield word[start:]


def _spaced(character: str) -> str:
    """Return a character with blanks around it where BERT makes it a word, and "" where BERT drops it."""
    category = unicodedata.category(character)
    if character in "\t\n\r" or category.startswith("Z"):
        return " "
    if category.startswith("C") or character == "\ufffd":
        return ""
    is_word = (
        character in _ASCII_MARKS or category.startswith("P") or compile_once(_CJK_CHARACTER).match(character)
    )
    return f" {character} " if is_word else character


class StaticEmbedder:
    """An embedder that sums whole-number vectors, so that a text has the same bytes on every machine.

    A row of the table holds two four-bit codes a byte (first half low, second half high) and, last, its scale.
    """

    name = NAME
    embeds_snippets = True
    """Whether it is quick enough to embed every snippet of a store beside every passage."""

    def __init__(self, table: NDArray[np.uint8], vocabulary: dict[str, int]) -> None:
        self._half = int(table.shape[1]) - 1
        self.dimensions = 2 * self._half
        self._table = table
        self._word_tokens = _Words(vocabulary)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the model as a call: another process loads its table by itself."""
        return static_embedder, ()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one L2-normalised row a text; a text without a known token is a row of zeros."""
        rows = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            rows[start : start + _TEXTS_AT_ONCE] = unit_vectors(self.sum_up(texts[start : start + _TEXTS_AT_ONCE]))
        return rows

    def word_ranks(self, text: str) -> list[int]:
        """Return the place of each word in the vocabulary, which has frequent words first; after its end if it has
        to be cut. Single letters are left out."""
        tokens = [self._word_tokens[word] for word in split_words(text[:CHARACTERS_READ]) if len(word) > 1]
        return [ids[0] if len(ids) == 1 else len(self._word_tokens.vocabulary) for ids in tokens]

    def sum_up(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the sum of the vectors of each text's words, a row a text, exact and of any length.

        The sum of a text that is read in parts is that of its parts, where no word is cut.
        """
        sums = np.zeros((len(texts), self.dimensions), dtype=np.int64)
        waiting: list[int] = []
        spans: list[tuple[int, int, int]] = []
        for row, text in enumerate(texts):
            tokens = self._tokens(text)
            for part in (tokens[at : at + TOKENS_PER_SUM] for at in range(0, len(tokens), TOKENS_PER_SUM)):
                if len(waiting) + len(part) > TOKENS_PER_SUM:
                    self._add_up(waiting, spans, sums)
                    waiting, spans = [], []
                spans.append((row, len(waiting), len(waiting) + len(part)))
                waiting += part
        self._add_up(waiting, spans, sums)
        return sums

    def _tokens(self, text: str) -> list[int]:
        remembered = self._word_tokens
        # Between texts, so that no text loses words while it is read.
        if len(remembered) > CACHED_WORDS:
            remembered.clear()
        # Without a loop in Python: every word that is indexed runs through here.
        return [*chain.from_iterable(map(remembered.__getitem__, split_words(text[:CHARACTERS_READ])))]

    def _add_up(self, tokens: list[int], spans: list[tuple[int, int, int]], sums: NDArray[np.int64]) -> None:
        """Add the vectors of some tokens to the rows of their texts, given as (row, first token, end)."""
        rows = self._table.take(tokens, axis=0)
        scales, codes = rows[:, -1].astype(np.float32), rows[:, :-1]
        values = np.empty((len(tokens), self.dimensions), dtype=np.float32)
        values[:, : self._half] = codes & 15
        values[:, self._half :] = codes >> 4
        values -= ZERO_CODE
        added = np.empty((len(spans), self.dimensions), dtype=np.float32)
        # Every value and partial sum is a whole number below 2**24, which float32 adds exactly in any order.
        for index, (_, start, end) in enumerate(spans):
            np.dot(scales[start:end], values[start:end], out=added[index])
        # Two parts of one text are never added up together: all but the last are as long as a sum may be.
        sums[[row for row, _, _ in spans]] += added.astype(np.int64)


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


def unit_vectors(sums: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return sums of vectors as rows of unit length; a sum of nothing stays a row of zeros."""
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
