"""Find phrases: words that stand side by side in a question, and the texts where they stand side by side too."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from weft.frozen import dataclass
from weft.scoring.bm25 import term_hash
from weft.text.terms import analyze

_MAX_PHRASES: Final = 24
"""Of more phrases in a long question only the weightiest count; each costs a search of every candidate."""
_REACH_CHARACTERS: Final = 32
"""The second word begins at most so far behind the beginning of the first, with fillers between them."""
_SEPARATOR: Final = "\n" * (_REACH_CHARACTERS + 1)
"""Stands between a title and a text, so that no phrase begins in the one and ends in the other."""
_MAX_WORD_CHARACTERS: Final = 24
"""A word is read no further than this, unless its beginning is longer."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Two neighbouring terms of a question, and their share of the weight of all its phrases.

    `beginnings` are the letters that the words of each term begin with; `key` stands for both terms together.
    """

    terms: tuple[str, str]
    beginnings: tuple[str, str]
    hashes: tuple[int, int]
    key: int
    share: float


def phrases(terms: Sequence[str], weights: Mapping[int, float]) -> tuple[Phrase, ...]:
    """Return the phrases of a question, given by its terms in order; each weighs as much as its lighter term."""
    hashes = {term: term_hash(term) for term in terms}
    weight = {
        (left, right): min(weights.get(hashes[left], 0.0), weights.get(hashes[right], 0.0))
        for left, right in pairwise(terms)
        if left != right
    }
    heaviest = sorted([pair for pair in weight if weight[pair] > 0], key=lambda pair: (-weight[pair], pair))
    kept = heaviest[:_MAX_PHRASES]
    total = sum([weight[pair] for pair in kept])
    return tuple(
        [
            Phrase(
                terms=(left, right),
                beginnings=(_beginning(left), _beginning(right)),
                hashes=(hashes[left], hashes[right]),
                # No term holds a blank, so the key of a phrase is that of no term.
                key=term_hash(f"{left} {right}"),
                share=round(weight[left, right] / total, 9),
            )
            for left, right in kept
        ]
    )


def _beginning(term: str) -> str:
    """Return the beginning of every word of a term: a stem may end in a letter that not all of its words have."""
    return term[:-1] if len(term) > 3 and term[-1] in "ei" else term


def held(asked: Iterable[Phrase], words: Collection[int], title: str, text: str) -> list[Phrase]:
    """Return the phrases that stand in a title or a text, which together hold these words of the question."""
    if len(words) < 2:
        return []
    possible = [phrase for phrase in asked if phrase.hashes[0] in words and phrase.hashes[1] in words]
    if not possible:
        return []
    whole = title + _SEPARATOR + text
    lower = whole.lower()
    # Capitals part the words in camelCase; where lowering made two letters of one, offsets no longer agree.
    written = whole if len(whole) == len(lower) else lower
    return [phrase for phrase in possible if _holds(written, lower, phrase)]


def _holds(text: str, lower: str, phrase: Phrase) -> bool:
    """Return whether the terms are neighbours in a text: sought by their letters, which is quick, then analysed.

    A term is not found where its letters have accents; folding every text would cost more than all else here.
    """
    first, second = phrase.beginnings
    start = lower.find(first)
    while start >= 0:
        after = start + len(first)
        following = lower.find(second, after, after + _REACH_CHARACTERS)
        if following >= 0 and phrase.terms in pairwise(analyze(text[start : _word_end(lower, following, second)])):
            return True
        # A word of several parts is a term, and so is each of its parts.
        if second in first and phrase.terms in pairwise(analyze(text[start : _word_end(lower, start, first)])):
            return True
        start = lower.find(first, after)
    return False


def _word_end(lower: str, start: int, beginning: str) -> int:
    """Return where a word ends of which the beginning is known."""
    end = start + len(beginning)
    while lower[end : end + 1].isalnum() and end - start < _MAX_WORD_CHARACTERS:
        end += 1
    return end
