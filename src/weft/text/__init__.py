"""Text analysis shared by index and query: terms, names, sentences, passages."""

from weft.text.fold import fold, name_words, normalise_name
from weft.text.passages import split_passages
from weft.text.sentences import sentences
from weft.text.terms import analyze

__all__ = ["analyze", "fold", "name_words", "normalise_name", "sentences", "split_passages"]
