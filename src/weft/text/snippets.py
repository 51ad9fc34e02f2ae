"""Cut a passage into snippets, the smallest pieces that a page prints: some thirty words in whole sentences.

Search finds passages, because a question and its answer are seldom in one sentence. A page prints snippets of
them, because a passage that holds the answer is mostly about other things.
"""

from collections.abc import Iterator
from typing import Final

from weft.text.sentences import Block, Span, split_blocks

SNIPPET_WORDS: Final = 30
"""Words from which on a snippet ends with its paragraph. Of 20 to 80 words, 30 answered most questions on small
pages."""
_MAX_WORDS: Final = 48
"""Words that a snippet does not exceed, unless one sentence does."""
_MIN_HEADING_WORDS: Final = 6
"""A snippet with fewer words takes the heading below it along: it is a heading itself, or leads to it."""
_MIN_WORDS: Final = 12
"""A last snippet with fewer words joins the one before it: alone it would be a fragment."""


def split_snippets(text: str, start: int, end: int) -> list[Span]:
    """Return the spans of the snippets between two offsets, in order; together they hold all that is not blank."""
    spans: list[Span] = []
    sizes: list[int] = []
    for low, high, size in _snippets(text[start:end]):
        if sizes and size < _MIN_WORDS and sizes[-1] + size <= _MAX_WORDS:
            spans[-1], sizes[-1] = (spans[-1][0], start + high), sizes[-1] + size
        else:
            spans.append((_line_start(text, start, start + low), start + high))
            sizes.append(size)
    return spans


def _snippets(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and words of each snippet."""
    first = last = size = 0
    for block in split_blocks(text):
        words = [len(text[low:high].split()) for low, high in block.units]
        if size and _ends_before(block, size, sum(words)):
            yield first, last, size
            size = 0
        for (low, high), own in zip(block.units, words, strict=True):
            if size and size + own > _MAX_WORDS:
                yield first, last, size
                size = 0
            first = low if not size else first
            last, size = high, size + own
    if size:
        yield first, last, size


def _ends_before(block: Block, size: int, words: int) -> bool:
    """Whether a snippet of this size ends before a paragraph: it is full, or would have to cut the paragraph."""
    if block.heading:
        return size >= _MIN_HEADING_WORDS
    return size >= SNIPPET_WORDS or (size >= _MIN_WORDS and size + words > _MAX_WORDS >= words)


def _line_start(text: str, bound: int, position: int) -> int:
    """Return where the line begins, if only blanks stand before the position: indentation is part of code."""
    line = max(text.rfind("\n", bound, position) + 1, bound)
    return position if text[line:position].strip() else line
