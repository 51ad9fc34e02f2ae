"""Fold text so that spellings of one word are equal, and tell code from prose.

The ranges of characters that are written without spaces between words are parts of a regex class.
"""

import re
import unicodedata
from functools import cache
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
