"""Read text: its terms, sentences, passages and names. These are tools without I/O, used for indexing and asking
alike."""

from weft.text.folding import fold, is_code, looks_like_code, name_words, normalise_name
from weft.text.passages import split_passages
from weft.text.proper_nouns import find_name_spans, find_proper_names, name_spellings
from weft.text.sentences import is_blank, is_inside_sentence, split_sentences
from weft.text.snippets import split_snippets
from weft.text.terms import analyze

__all__ = [
    "analyze",
    "find_body_start",
    "find_name_spans",
    "find_proper_names",
    "fold",
    "is_blank",
    "is_code",
    "is_inside_sentence",
    "looks_like_code",
    "name_spellings",
    "name_words",
    "normalise_name",
    "split_passages",
    "split_sentences",
    "split_snippets",
]


def find_body_start(text: str, title: str) -> int:
    """Return where the text goes on after a first line that only repeats the title; 0 where there is none."""
    start = len(text) - len(text.lstrip())
    end = text.find("\n", start)
    if end < 0:
        return 0
    first_line = text[start:end].strip().strip("#").strip()
    return end + 1 if first_line and first_line == title.strip() else 0
