"""Read text: its terms, sentences, passages and names. These are tools without I/O, used for indexing and asking
alike."""

from weft.text.passages import split_passages, split_snippets
from weft.text.sentences import (
    find_body_start,
    find_end_without_opening,
    find_fences,
    find_name_spans,
    find_proper_names,
    find_signature,
    is_blank,
    is_inside_sentence,
    name_spellings,
    split_sentences,
    without_anchor,
)
from weft.text.terms import analyze, fold, is_code, looks_like_code, name_words, normalise_name

__all__ = [
    "analyze",
    "find_body_start",
    "find_end_without_opening",
    "find_fences",
    "find_name_spans",
    "find_proper_names",
    "find_signature",
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
    "without_anchor",
]
