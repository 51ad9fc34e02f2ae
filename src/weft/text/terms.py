"""Split text into search terms: one function for what is indexed and what is asked.

Stored indexes hold these terms, so any change of `analyze` makes every store stale.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain, pairwise

from weft.text.folding import CJK, HAN, INDIC, KANA, UNSPACED, compile_once, fold

MAX_TERM_CHARACTERS = 64
"""Characters of a term; longer ones (hashes, base64) keep a prefix and a fingerprint, which find them as well."""
_CACHED_WORDS = 50_000
"""Words whose terms are remembered, which bounds memory; texts of one kind rarely use more different ones."""
_MAX_SPLIT_CHARACTERS = 128
"""Longer words are not split into parts: they are data, and no one asks for their pieces."""

_LETTER = rf"[^\W_{UNSPACED}{INDIC}]"
_WORD = (
    rf"[A-Za-z](?:\+\+|#(?!\w))(?![+#])"
    rf"|[$€£¥]?\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?(?![\w,])"
    rf"|(?:[$€£¥](?=\d))?{_LETTER}+(?:(?:\.?_+|[.\-'’]|::){_LETTER}+)*"
    rf"|[{CJK}]+|[{UNSPACED}]+|[{INDIC}]+"
)
# The same words in a text that is all ASCII, found twice as fast.
_ASCII_WORD = re.compile(
    r"[A-Za-z](?:\+\+|#(?!\w))(?![+#])"
    r"|\$?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w,])"
    r"|(?:\$(?=\d))?[A-Za-z0-9]+(?:(?:\.?_+|[.\-']|::)[A-Za-z0-9]+)*",
    re.ASCII,
)
# Accents that normalisation left beside their letter would end the word there.
_LOOSE_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0670]")
_JOINTS = re.compile(r"[_.\-]+|::")
_INITIALS = re.compile(r"\w(?:\.\w)+")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]{2}|[^\W\d_]\d|\d[^\W\d_]")
# Patterns with these ranges are compiled at the first use (`compile_once`).
_UNSPACED = f"[{UNSPACED}]"
_LONE_HAN = f"(?<![{HAN}])[{HAN}](?![{HAN}])"
_KANA = f"[{KANA}]"
_SUFFIX = re.compile(r"'(?:s|re|ve|ll|d|m)?$")

_ENGLISH_FILLERS = """
    a about after all also am an and any are aren't as at be because been before being both but by can can't
    cannot could couldn't did didn't do does doesn't doing don't down during each for from further had hadn't
    has hasn't have haven't having he her here hers him his how i if in into is isn't it its itself just me more
    most my no nor not of off on once only or other our ours out over own same she should shouldn't so some such
    than that the their theirs them then there these they this those through to too under until up very was
    wasn't we were weren't what when where which while who whom whose why will with won't would wouldn't you
    your yours
"""
STOP_WORDS = frozenset(_ENGLISH_FILLERS.split())


def analyze(text: str) -> list[str]:
    """Return the terms of a text in order, duplicates kept, the same for indexing and for asking.

    Stop words are left out, except on a line that has nothing else: a title such as "The Who" or the question
    "to be or not to be" is then still found. The rule looks only at the line, so index and query agree.
    """
    words = _ASCII_WORD.findall
    if not text.isascii():
        text, words = _LOOSE_ACCENTS.sub("", unicodedata.normalize("NFKC", text)), compile_once(_WORD).findall
    return list(chain.from_iterable(_line_terms(words(line)) for line in text.splitlines()))


def _line_terms(words: list[str]) -> list[str]:
    """Return the terms of a line's words, or the stop words themselves when there is nothing else."""
    found = list(chain.from_iterable(map(_TERMS.__getitem__, words)))
    return found or [_stem(plain) for word in words if (plain := _plain(word))]


class _WordTerms(dict[str, tuple[str, ...]]):
    """A cache of the terms of every word met so far; it is emptied when full, which changes no answer."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        terms = tuple(dict.fromkeys(_limited(term) for term in _word_terms(word) if term))
        # Long words and runs of unspaced script hardly ever come back.
        if len(word) <= MAX_TERM_CHARACTERS and not _is_unspaced(word):
            if len(self) >= _CACHED_WORDS:
                self.clear()
            self[word] = terms
        return terms


_TERMS = _WordTerms()


def _word_terms(word: str) -> Iterable[str]:
    """Return the terms of one word, the whole first; none for a stop word."""
    if _is_unspaced(word):
        return _unspaced_terms(word)
    if word[-1] in "+#":
        return [fold(word)]
    if "," in word:
        return _amount_terms(word.replace(",", ""))
    if word[0] in "$€£¥":
        return _amount_terms(word)
    plain = _plain(word)
    if plain in STOP_WORDS:
        return []
    return _identifier_terms(word.strip("_"), plain)


def _is_unspaced(word: str) -> bool:
    return not word.isascii() and compile_once(_UNSPACED).match(word) is not None


def _plain(word: str) -> str:
    """Return the folded word with straight apostrophes and without possessive or contracted endings."""
    folded = fold(word).replace("’", "'")
    return folded if folded in STOP_WORDS else _SUFFIX.sub("", folded)


def _amount_terms(amount: str) -> list[str]:
    """Return an amount with and without its currency."""
    return [amount, amount[1:]] if amount[0] in "$€£¥" else [amount]


def _unspaced_terms(run: str) -> list[str]:
    """Return pairs of neighbouring characters; in Japanese also a Han character that stands alone among kana."""
    folded = fold(run)
    if len(folded) < 2:
        return [folded]
    terms = [first + second for first, second in pairwise(folded)]
    if compile_once(_KANA).search(folded):
        terms += compile_once(_LONE_HAN).findall(folded)
    return terms


def _identifier_terms(word: str, plain: str) -> list[str]:
    """Return the whole word, then the stems of its parts when it is made of several."""
    joined = plain.strip("_").replace("'", "")
    # U.S.A. is usa, while 3.1.2 is a version.
    if _INITIALS.fullmatch(joined) and not joined[0].isdecimal():
        return [joined.replace(".", "")]
    whole = joined if _JOINTS.search(joined) else _stem(joined)
    if len(word) > _MAX_SPLIT_CHARACTERS:
        return [whole]
    if "'" in plain:
        return [whole, *_kept_parts(plain.split("'")[1:])]
    segments = _JOINTS.split(_SUFFIX.sub("", word.replace("’", "'")))
    parts = [part for segment in segments for part in _humps(segment)]
    return [whole] if len(parts) == 1 else [whole, *_kept_parts(map(fold, parts))]


def _humps(segment: str) -> list[str]:
    """Return the words inside camelCase, HTTPServer2 and utf8."""
    return _HUMP.findall(segment) if _CAMEL.search(segment) else [segment]


def _kept_parts(parts: Iterable[str]) -> list[str]:
    """Return stems of the parts that mean something alone: no single letters, short numbers or stop words."""
    return [_stem(part) for part in parts if len(part) > (2 if part.isdecimal() else 1) and part not in STOP_WORDS]


def _stem(word: str) -> str:
    return _stemmer()(word) if word.isascii() and word.isalpha() else word


@cache
def _stemmer() -> Callable[[str], str]:
    from Stemmer import Stemmer

    # Our own cache sits in front, so the stemmer's would only cost memory.
    stem: Callable[[str], str] = Stemmer("english", 0).stemWord
    return stem


def _limited(term: str) -> str:
    """Return the term, or a prefix and a fingerprint when it is too long to be worth its space."""
    if len(term) <= MAX_TERM_CHARACTERS:
        return term
    from xxhash import xxh3_64_hexdigest

    return f"{term[: MAX_TERM_CHARACTERS - 17]}~{xxh3_64_hexdigest(term.encode())}"
