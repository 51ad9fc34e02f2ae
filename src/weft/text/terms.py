"""Fold text so that spellings of one word are equal, tell code from prose, and split text into search terms.

One function makes the terms of what is indexed and of what is asked. Stored indexes hold these terms, so any
change of `analyze` makes every store stale. The ranges of characters that are written without spaces between words
are parts of a regex class.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain, pairwise
from typing import Final

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
# Thai, Lao, Myanmar and Khmer, with the vowel signs that are not letters to the regex engine.
SOUTHEAST_ASIAN = "\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
# The scripts of India write spaces, but their vowel signs are not letters to the regex engine either.
INDIC = "\u0900-\u0963\u0966-\u0dff"

CJK = HAN + KANA + HANGUL
UNSPACED = CJK + SOUTHEAST_ASIAN

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


@cache
def compile_once(pattern: str) -> re.Pattern[str]:
    """Compile a pattern at its first use: with these ranges that takes milliseconds, and few texts need it."""
    return re.compile(pattern)


_CODE_NAMES: Final = """
    ada apex asm assembly astro awk bash bat batch bazel bicep c c# c++ clj clojure cmake cobol coffeescript
    common-lisp console cpp crystal csharp css cuda cypher d dart delphi diff dockerfile dotenv elisp elixir
    elm erlang f# fish fortran fsharp gdscript glsl go gomod gradle graphql groovy hack haskell haxe hcl hlsl
    html ini java javascript jinja js json json5 jsonc jsonl jsx julia kotlin less lisp lua makefile matlab
    mermaid mojo nim nix objective-c objectivec ocaml pascal perl php plsql postgresql powershell prolog
    properties proto protobuf puppet py python r racket reason rego requirements rescript ruby rust sass scala
    scheme scss sh shell smalltalk solidity sparql sql starlark svelte swift systemverilog tcl terraform thrift
    toml tsql tsx typescript vb vbnet verilog vhdl vim vue wasm wgsl xml xslt yaml yml zig zsh
"""
_CODE_LANGUAGES: Final = frozenset(_CODE_NAMES.split())
_CODE_SIGN: Final = re.compile(r"[_./]|::|[a-z0-9][A-Z]|[A-Za-z]\d")


def is_code(language: str | None) -> bool:
    """Return whether texts of a language are written for machines."""
    return language is not None and language.lower() in _CODE_LANGUAGES


def looks_like_code(name: str) -> bool:
    """Return whether a name is built as no word of prose is: `fit_all`, `KeyError`, `src/budget.py`."""
    return _CODE_SIGN.search(name) is not None


# Only accents and points: removing every combining mark would turn Japanese が into か and break Hindi.
_ACCENTS = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670\u1ab0-\u1aff]"
)
# Letters that Unicode does not take apart into a base and an accent.
_UNDECOMPOSED = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t"}
)
_APOSTROPHES = re.compile("['\u2018\u2019\u02bc]")
_NAME_WORD = re.compile(r"[^\W_]+(?:\+\+|#)?")


def fold(text: str) -> str:
    """Return the text in lower case, without accents, in compatibility form: Café and CAFE are both cafe."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", folded))
    return unicodedata.normalize("NFKC", bare).translate(_UNDECOMPOSED)


def name_words(text: str) -> list[str]:
    """Return the folded words of a name, without punctuation; C++ and C# keep their signs."""
    return _NAME_WORD.findall(_APOSTROPHES.sub("", fold(text)))


def normalise_name(text: str) -> str:
    """Return the form in which two spellings of one name are equal; a name of only signs keeps them."""
    return " ".join(name_words(text)) or " ".join(fold(text).split())


_PLAIN_SIGNS: Final = {
    **dict.fromkeys("\n\t\u00a0\u2002\u2003\u2009\u202f\u3000", " "),
    **dict.fromkeys("\u2018\u2019\u02bc", "'"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015", "-"),
    **dict.fromkeys("\u201c\u201d", '"'),
}


class _FoldedCharacters(dict[int, str]):
    """A table for `str.translate` that folds each character when it is first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        folded = _PLAIN_SIGNS.get(character) or fold(character)
        self[code] = folded
        return folded


_FOLDED: Final = _FoldedCharacters()


def fold_name(name: str) -> str:
    """Return a name as it is looked for: folded, with single blanks."""
    folded = name.lower() if name.isascii() else name.translate(_FOLDED)
    return " ".join(folded.split())


def fold_text(text: str) -> tuple[str, list[int] | None]:
    """Return the folded text and, where folding moved characters, the original offset of each folded one."""
    if text.isascii():
        return text.lower().replace("\n", " ").replace("\t", " "), None
    # Most texts fold character for character, so their offsets need no list.
    if all(len(_FOLDED[code]) == 1 for code in map(ord, set(text))):
        return text.translate(_FOLDED), None
    parts = [_FOLDED[code] for code in map(ord, text)]
    offsets = [offset for offset, part in enumerate(parts) for _ in part]
    return "".join(parts), [*offsets, len(text)]


# --- search terms ------------------------------------------------------------------------------------------


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


# --- other spellings of a question -------------------------------------------------------------------------

ENGLISH_CARDINALS: Final = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
ENGLISH_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_LEAST_NUMBER: Final = 3
"""Smaller numbers are seldom meant as numbers: "the one that", "on the other hand"."""
_NUMBERS_BY_WORD: Final = {
    word: number for number, word in enumerate(ENGLISH_CARDINALS.split(), start=1) if number >= _LEAST_NUMBER
} | {word: 10 * number for number, word in enumerate(ENGLISH_TENS.split(), start=2)}
_WORDS_BY_NUMBER: Final = {str(number): word for word, number in _NUMBERS_BY_WORD.items()}
_MIN_JOINED_CHARACTERS: Final = 5
"""Two words that are shorter together make no word of their own, such as "is it"."""
_SIMPLE_WORD: Final = re.compile(r"(?<![\w.-])(?:[A-Za-z]+|\d+)(?![\w-]|\.\d)")
_VERSION: Final = re.compile(r"(?<![\w.-])(v?)(\d+(?:\.\d+)+)(?![\w-]|\.\d)", re.IGNORECASE)
_MONTH_NAMES: Final = "january february march april may june july august september october november december"
_MONTHS: Final = tuple(_MONTH_NAMES.split())
_MONTH: Final = "|".join([f"{month[:3]}(?:{month[3:]})?" for month in _MONTHS])
_DAY: Final = r"(\d{1,2})(?:st|nd|rd|th)?"
_DATE: Final = (
    rf"\b(?:(\d{{4}})-(\d{{2}})-(\d{{2}})|({_MONTH})\.? {_DAY},? (\d{{4}})|{_DAY}\.? ({_MONTH})\.?,? (\d{{4}}))\b"
)


def spell_otherwise(question: str) -> list[tuple[tuple[str, ...], str]]:
    """Return parts of a question, by their terms, each with a term for it as other people write it.

    "Back up" is also backup, HTTP/3 http3, ninety 90, v2.0 is 2.0, and March 5, 2024 is 2024-03-05; each the other
    way round too but for joined words, whose parts no dictionary tells here.
    """
    words = [word.lower() for word in _SIMPLE_WORD.findall(question)]
    joined = [
        (f"{first} {second}", first + second)
        for first, second in pairwise(words)
        if first not in STOP_WORDS and len(first + second) >= _MIN_JOINED_CHARACTERS and first.isalpha()
    ]
    numbers = [(word, _WORDS_BY_NUMBER.get(word) or _NUMBERS_BY_WORD.get(word)) for word in words]
    versions = [
        (f"{sign}{number}", number if sign else f"v{number}") for sign, number in _VERSION.findall(question)
    ]
    written = [*joined, *((word, str(other)) for word, other in numbers if other), *versions]
    return [
        (tuple(analyze(part)), term)
        for part, other in (*written, *_spell_dates(question))
        for term in analyze(other)[:1]
    ]


def _spell_dates(question: str) -> Iterable[tuple[str, str]]:
    """Yield every written date with its digits, and every date in digits with its month and with its year."""
    if not any(character.isdigit() for character in question):
        return
    for found in re.finditer(_DATE, question, re.IGNORECASE):
        year, number, _, month, day, year_behind, day_before, month_behind, year_last = found.groups()
        if year is None:
            name = (month or month_behind).lower()
            place = next(place for place, each in enumerate(_MONTHS, start=1) if each.startswith(name[:3]))
            yield found[0], f"{year_behind or year_last}-{place:02}-{int(day or day_before):02}"
        elif 1 <= int(number) <= len(_MONTHS):
            yield from ((found[0], other) for other in (_MONTHS[int(number) - 1], year))
