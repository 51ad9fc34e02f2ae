"""Titles that a text repeats as its first line."""

from weft.text.folding import fold, is_code, looks_like_code, name_words, normalise_name
from weft.text.passages import split_passages
from weft.text.proper_nouns import named_in, proper_names, spellings
from weft.text.sentences import is_blank, is_inside, sentences
from weft.text.terms import analyze

__all__ = [
    "analyze",
    "below_title",
    "fold",
    "is_blank",
    "is_code",
    "is_inside",
    "looks_like_code",
    "name_words",
    "named_in",
    "normalise_name",
    "proper_names",
    "sentences",
    "spellings",
    "split_passages",
]


def below_title(text: str, title: str) -> int:
    """Where the text goes on after a first line that only repeats the title; 0 where there is none."""
    start = len(text) - len(text.lstrip())
    end = text.find("\n", start)
    told = text[start : end if end >= 0 else len(text)].strip().strip("#").strip()
    if end < 0 or not told or told != title.strip():
        return 0
    return end + 1
