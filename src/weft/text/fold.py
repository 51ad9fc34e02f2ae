"""One spelling for texts that differ only in case, accents or compatibility forms."""

import re
import unicodedata

# Only accents and points: removing every combining mark would turn Japanese が into か and break Hindi.
_ACCENTS = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670\u1ab0-\u1aff]"
)
_UNDECOMPOSED = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t"}
)
_APOSTROPHES = re.compile("['\u2018\u2019\u02bc]")
_NAME_WORD = re.compile(r"[^\W_]+(?:\+\+|#)?")


def fold(text: str) -> str:
    """The text in lower case, without accents, in compatibility form: Café and CAFE are both cafe."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", folded))
    return unicodedata.normalize("NFKC", bare).translate(_UNDECOMPOSED)


def name_words(text: str) -> list[str]:
    """The folded words of a name, without punctuation; C++ and C# keep their signs."""
    return _NAME_WORD.findall(_APOSTROPHES.sub("", fold(text)))


def normalise_name(text: str) -> str:
    """The form in which two spellings of one name are equal; a name of only signs keeps them."""
    return " ".join(name_words(text)) or " ".join(fold(text).split())
