"""Cut words into the pieces of a WordPiece vocabulary, in plain Python: greedily, longest known piece first."""

import re
import unicodedata
from collections.abc import Iterator, Mapping

from weft.text.folding import compile_once

MAX_WORD_LETTERS = 100
"""Letters of a word that is cut; BERT has the same limit, and longer ones are data."""
_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_WORD = rf"[{_CJK}]|[^\W_{_CJK}]+"
_CASE_CHANGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CJK_CHARACTER = f"[{_CJK}]"
_ASCII_MARKS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def fold(text: str) -> str:
    """Return the text in lower case and without accents, as the vocabulary spells it."""
    lowered = text.lower()
    if lowered.isascii():
        return lowered
    decomposed = unicodedata.normalize("NFD", lowered)
    return "".join(character for character in decomposed if unicodedata.category(character) != "Mn")


def words_of(text: str) -> list[str]:
    """Return the words of a text as written; each CJK character is a word, punctuation is none."""
    if text.isascii():
        return _ASCII_WORD.findall(text)
    return compile_once(_WORD).findall(unicodedata.normalize("NFC", text))


def split_bert_words(text: str) -> list[str]:
    """Return the folded words and single punctuation marks of a text, in order, exactly as BERT splits them."""
    return "".join(map(_spaced, fold(text))).split()


def cut(word: str, vocabulary: Mapping[str, int]) -> tuple[int, ...]:
    """Return the ids of the longest known pieces that spell a folded word, or nothing when one is missing."""
    if len(word) > MAX_WORD_LETTERS:
        return ()
    ids: list[int] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = word[start:end] if start == 0 else "##" + word[start:end]
            found = vocabulary.get(piece)
            if found is not None:
                ids.append(found)
                start = end
                break
        else:
            return ()
    return tuple(ids)


def cut_identifier(word: str, vocabulary: Mapping[str, int]) -> tuple[int, ...]:
    """Return the ids of a word as written; one that is not known whole is first cut where its case changes."""
    folded = fold(word)
    known = vocabulary.get(folded)
    if known is not None:
        return (known,)
    return tuple(found for part in _case_parts(word) for found in cut(fold(part), vocabulary))


def _case_parts(word: str) -> Iterator[str]:
    """Yield the parts of camelCase and HTTPServer."""
    start = 0
    for change in _CASE_CHANGE.finditer(word):
        yield word[start : change.start()]
        start = change.start()
    yield word[start:]


def _spaced(character: str) -> str:
    """Return a character with blanks around it where BERT makes it a word, and "" where BERT drops it."""
    category = unicodedata.category(character)
    if character in "\t\n\r" or category.startswith("Z"):
        return " "
    if category.startswith("C") or character == "\ufffd":
        return ""
    is_word = (
        character in _ASCII_MARKS or category.startswith("P") or compile_once(_CJK_CHARACTER).match(character)
    )
    return f" {character} " if is_word else character
