"""Which tokens the static model knows: the teacher's pieces, and the frequent words it has to cut up."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from distil.inputs import dictionary_words, teacher_folder, wordnet_entries
from distil.train import Bags
from weft.embed.static import cut_identifier, fold, split_words

RESERVED = re.compile(r"\[.+\]")
FIRST_BY_FREQUENCY = 1996


def teacher_pieces(work: Path) -> list[str]:
    """Return the teacher's whole vocabulary in its own order."""
    lines = (teacher_folder(work) / "vocab.txt").read_text(encoding="utf-8").split("\n")
    return [line for line in lines if line]


def useful(pieces: Sequence[str]) -> list[int]:
    """Return the ids of the pieces that can occur in text."""
    return [number for number, piece in enumerate(pieces) if not RESERVED.fullmatch(piece)]


def extra_words(work: Path, pieces: Sequence[str], texts: Sequence[str], count: int) -> list[str]:
    """Return words of the word list or WordNet that the teacher cuts up, the most frequent in our texts first."""
    known = set(pieces)
    listed = set(dictionary_words(work, "wamerican-large"))
    common = set(dictionary_words(work, "wamerican-small"))
    lemmas = {lemma.lower() for entry, _ in wordnet_entries(work) for lemma in entry}
    candidates = ((common | lemmas) & listed) - known
    seen = Counter(fold(word) for text in texts for word in split_words(text))
    return sorted(candidates, key=lambda word: (-seen[word], word not in common, word))[:count]


def first_weights(useful_ids: Sequence[int], extra: int) -> NDArray[np.float32]:
    """Return smooth inverse frequencies by Zipf's law: after the characters, ids are ordered by frequency."""
    rank = np.maximum(np.asarray(useful_ids) - FIRST_BY_FREQUENCY, 0)
    share = 1.0 / (10.0 * (rank + 10.0))
    return np.concatenate([1e-4 / (1e-4 + share), np.full(extra, 0.97)]).astype(np.float32)


def bags_of(texts: Sequence[str], vocabulary: dict[str, int]) -> Bags:
    """Return the texts as the embedder will see them."""
    remembered: dict[str, tuple[int, ...]] = {}
    tokens: list[int] = []
    starts = [0]
    for text in texts:
        for word in split_words(text):
            if word not in remembered:
                remembered[word] = cut_identifier(word, vocabulary)
            tokens.extend(remembered[word])
        starts.append(len(tokens))
    return Bags(np.asarray(tokens, dtype=np.int64), np.asarray(starts, dtype=np.int64))
