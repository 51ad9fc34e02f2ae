"""Words that stand side by side in a question, and the texts where they stand side by side too."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from weft.frozen import dataclass
from weft.scoring.bm25 import term_hash
from weft.text.terms import analyze

_MOST: Final = 24
"""Of more phrases in a long question only those count that tell most."""
_REACH: Final = 32
"""So many letters after the first word's beginning the second one begins at the latest, fillers between them."""
_APART: Final = "\n" * (_REACH + 1)
"""Between a title and a text: no phrase begins in the one and ends in the other."""
_LONGEST_END: Final = 24
"""A word is read no further than so many letters, unless its beginning is longer."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Two neighbouring terms of a question, and their share of all that its phrases tell.

    `beginnings` are the letters that the words of each term begin with; `key` stands for both terms together.
    """

    terms: tuple[str, str]
    beginnings: tuple[str, str]
    hashes: tuple[int, int]
    key: int
    share: float


def phrases(terms: Sequence[str], weights: Mapping[int, float]) -> tuple[Phrase, ...]:
    """The phrases of a question, given by its terms in order; one tells as much as its less telling term."""
    hashes = {term: term_hash(term) for term in terms}
    tells = {
        (one, other): min(weights.get(hashes[one], 0.0), weights.get(hashes[other], 0.0))
        for one, other in pairwise(terms)
        if one != other
    }
    most = sorted([pair for pair in tells if tells[pair] > 0], key=lambda pair: (-tells[pair], pair))[:_MOST]
    whole = sum([tells[pair] for pair in most])
    return tuple(
        [
            Phrase(
                terms=(one, other),
                beginnings=(_beginning(one), _beginning(other)),
                hashes=(hashes[one], hashes[other]),
                # No term holds a blank, so the key of a phrase is that of no term.
                key=term_hash(f"{one} {other}"),
                share=round(tells[one, other] / whole, 9),
            )
            for one, other in most
        ]
    )


def _beginning(term: str) -> str:
    """What every word of a term begins with: stems may end in a letter that not all of their words have."""
    return term[:-1] if len(term) > 3 and term[-1] in "ei" else term


def held(asked: Iterable[Phrase], words: Collection[int], title: str, text: str) -> list[Phrase]:
    """Those of the phrases that stand in a title or a text which hold these words of the question."""
    if len(words) < 2:
        return []
    possible = [phrase for phrase in asked if phrase.hashes[0] in words and phrase.hashes[1] in words]
    if not possible:
        return []
    whole = title + _APART + text
    lower = whole.lower()
    # The capitals tell the words in camelCase, unless a letter became two and all places are others.
    written = whole if len(whole) == len(lower) else lower
    return [phrase for phrase in possible if _holds(written, lower, phrase)]


def _holds(text: str, lower: str, phrase: Phrase) -> bool:
    """Whether the terms are neighbours in a text: sought by their letters, because that is quick, then analysed.

    A term is not found where its letters have accents; folding every text would cost more than all else here.
    """
    first, second = phrase.beginnings
    start = lower.find(first)
    while start >= 0:
        after = start + len(first)
        following = lower.find(second, after, after + _REACH)
        if following >= 0 and phrase.terms in pairwise(analyze(text[start : _end(lower, following, second)])):
            return True
        # A word of several parts is a term, and so is each of its parts.
        if second in first and phrase.terms in pairwise(analyze(text[start : _end(lower, start, first)])):
            return True
        start = lower.find(first, after)
    return False


def _end(lower: str, start: int, beginning: str) -> int:
    """Where a word ends of which the beginning is known."""
    end = start + len(beginning)
    while lower[end : end + 1].isalnum() and end - start < _LONGEST_END:
        end += 1
    return end
