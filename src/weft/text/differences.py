"""Compare near-identical texts: find the words that only one of them has, and judge whether they matter."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

from weft.text.terms import STOP_WORDS

NEGATION: Final = re.compile(
    r"\b(?:not|no|never|neither|nor|none|nothing|without|avoids?|stop(?:s|ped)?|cannot|\w+n['’]t"
    # Typed in a hurry, without the apostrophe; "cant" and "wont" are words of their own.
    r"|(?:do|does|did|is|are|was|were|should|could|would|must|have|has)nt)\b",
    re.IGNORECASE,
)
_NEGATED: Final = "not"
_WORD: Final = re.compile(r"\w+|[<>=!]=|[<>]")
_MARK: Final = re.compile(r"[.,;:!?](?=\s|$)|[()\n]")
_DIGIT: Final = re.compile(r"\d")
_OPPOSING_PREFIXES: Final = ("a", "un", "dis", "non", "in", "im", "de")
_MIN_MISTYPED_LETTERS: Final = 4
"""In a shorter word a missing or swapped letter makes another word."""
_MIN_REPLACED_LETTERS: Final = 6
"""In a shorter word another letter makes another word more often than a typing error: code, node, mode."""
_MIN_LETTERS_FOR_TWO_ERRORS: Final = 10
_MAX_ERRORS: Final = 2
"""Typing errors forgiven in a long word; in others it is one."""
_MAX_OTHER_LETTERS: Final = 2 * _MAX_ERRORS
"""Letters that only one of two words has, if few enough errors make one of the other: a replaced letter is two."""
_LETTER_BITS: Final = 64
_CACHED_WORDS: Final = 4_096
_CHARACTERS_READ: Final = 4_000
"""Longer texts are compared by their beginning, because the comparison takes the square of the words that
differ."""
_CACHED_TEXTS: Final = 512
"""Texts whose words are kept: one is compared with several, and comes back with the next question."""
_SALIENT_WEIGHT: Final = 3
"""Numbers and negations change the meaning, so they count for several plain words."""
_DIFFERENT_SHARE: Final = 1 / 32
"""The share of content words above which those that only one text has make two things of them. Lower, and a
reworded sentence is no duplicate; higher, and a changed fact is dropped as one."""


def find_differing_words(left: Sequence[str], right: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words that only the left and only the right one has, in their order, typing errors forgiven."""
    # As multisets and not in order: a sentence with its clauses exchanged says the same.
    common = Counter(left) & Counter(right)
    first, second = _beyond(left, common), _beyond(right, common)
    for mine, other in _pair_mistyped(first, second):
        first.remove(mine)
        second.remove(other)
    return first, second


def are_different(left: str, right: str) -> bool:
    """Return whether two texts that read almost the same differ in a content word, number, comparison or negation.

    Plain words that only follow the same text, or stand before it as a clause, make no other thing of it.
    """
    clauses, others = _split_clauses(left[:_CHARACTERS_READ]), _split_clauses(right[:_CHARACTERS_READ])
    words, other_words = list(chain(*clauses)), list(chain(*others))
    # `data base` and `database` differ in words and in nothing else.
    if "".join(words) == "".join(other_words):
        return False
    # Fillers go last, because a mistyped one looks like a content word.
    first, second = map(_drop_fillers, find_differing_words(words, other_words))
    # One text only adds to the other here; additions at its ends are looked at more kindly.
    if not first or not second:
        first, second = _drop_additions(first, clauses), _drop_additions(second, others)
    weight = max(sum(map(_weight, first)), sum(map(_weight, second)))
    return weight > _DIFFERENT_SHARE * max(len(_drop_fillers(words)), len(_drop_fillers(other_words)))


@lru_cache(maxsize=_CACHED_TEXTS)
def _split_clauses(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the words and comparisons of a text by the marks between them, every negation as the same word."""
    plain = NEGATION.sub(f" {_NEGATED} ", text.casefold())
    return tuple(tuple(words) for part in _MARK.split(plain) if (words := _WORD.findall(part)))


def _drop_fillers(words: Sequence[str]) -> list[str]:
    """Return the content words and negations."""
    return [word for word in words if word == _NEGATED or word not in STOP_WORDS]


def _weight(word: str) -> int:
    return _SALIENT_WEIGHT if word == _NEGATED or _DIGIT.search(word) else 1


def _drop_additions(added: Sequence[str], clauses: Sequence[Sequence[str]]) -> list[str]:
    """Return the words that a text has more than another, without a plain ending or plain clauses at its head."""
    rest = Counter(added)
    words = [[word] for word in _drop_fillers(list(chain(*clauses)))]
    for parts in (words[::-1], clauses):
        for part in parts:
            plain = Counter(_drop_fillers(part))
            if not plain <= rest or any(_weight(word) > 1 for word in plain):
                break
            rest -= plain
    return list(rest.elements())


def _beyond(words: Sequence[str], common: Counter[str]) -> list[str]:
    """Return the words that are left when the common ones are taken away."""
    remaining = Counter(common)
    rest = []
    for word in words:
        if remaining[word] > 0:
            remaining[word] -= 1
        else:
            rest.append(word)
    return rest


def _pair_mistyped(first: Sequence[str], second: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of words of which one is the other with a typing error; opposites and numbers make none."""
    free = [(word, _letter_bits(word)) for word in second if not _DIGIT.search(word)]
    pairs = []
    for mine in first if free else ():
        if _DIGIT.search(mine):
            continue
        length, letters = len(mine), _letter_bits(mine)
        for index, (other, other_letters) in enumerate(free):
            # Lengths and letters rule out nearly all pairs at no cost.
            if (
                -_MAX_ERRORS <= length - len(other) <= _MAX_ERRORS
                and (letters ^ other_letters).bit_count() <= _MAX_OTHER_LETTERS
                and _is_mistyped(mine, other)
            ):
                pairs.append((mine, other))
                del free[index]
                break
    return pairs


@lru_cache(maxsize=_CACHED_WORDS)
def _letter_bits(word: str) -> int:
    """Return a number with a bit for each letter of a word, of which some letters share one."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) % _LETTER_BITS)
    return bits


def _is_mistyped(mine: str, other: str) -> bool:
    """Return whether letters are swapped, one is missing or, in a long word, another."""
    shorter, longer = (mine, other) if len(mine) <= len(other) else (other, mine)
    allowed = _MAX_ERRORS if len(shorter) >= _MIN_LETTERS_FOR_TWO_ERRORS else 1
    if not _has_few_errors(mine, other, allowed):
        return False
    if sorted(mine) == sorted(other):
        # Swapped letters make another word of a short one, unless a filler is meant: `teh`.
        return len(mine) >= _MIN_MISTYPED_LETTERS or bool({mine, other} & STOP_WORDS)
    if len(shorter) == len(longer):
        return len(mine) >= _MIN_REPLACED_LETTERS
    is_opposite = any(longer == f"{prefix}{shorter}" for prefix in _OPPOSING_PREFIXES)
    return len(shorter) >= _MIN_MISTYPED_LETTERS and not is_opposite


def _has_few_errors(mine: str, other: str, allowed: int) -> bool:
    """Return whether so many letters added, left out, replaced or swapped with their neighbour explain a word."""
    # Equal beginnings and ends need no look, which leaves a letter or two of most words.
    start = _shared_letters(mine, other)
    mine, other = mine[start:], other[start:]
    end = _shared_letters(mine[::-1], other[::-1])
    mine, other = mine[: len(mine) - end], other[: len(other) - end]
    if not mine or not other:
        return len(mine or other) <= allowed
    if not allowed:
        return False
    # A first letter differs in both: it was added, left out or replaced, or swapped with the next.
    return (
        _has_few_errors(mine[1:], other[1:], allowed - 1)
        or _has_few_errors(mine[1:], other, allowed - 1)
        or _has_few_errors(mine, other[1:], allowed - 1)
        or (mine[:2] == other[1::-1] and _has_few_errors(mine[2:], other[2:], allowed - 1))
    )


def _shared_letters(mine: str, other: str) -> int:
    """Return with how many equal letters two words begin."""
    count = 0
    for letter, other_letter in zip(mine, other, strict=False):
        if letter != other_letter:
            break
        count += 1
    return count
