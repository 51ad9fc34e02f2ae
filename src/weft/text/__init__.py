"""Text analysis shared by index and query: terms, names, sentences, passages."""

from weft.text.fold import fold, name_words, normalise_name
from weft.text.languages import is_code, looks_like_code
from weft.text.naming import named_in, spellings
from weft.text.passages import split_passages
from weft.text.proper import proper_names
from weft.text.sentences import is_blank, is_inside, sentences
from weft.text.terms import analyze
from weft.text.titles import below_title

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
