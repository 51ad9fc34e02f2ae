"""Split long texts into passages of readable size, and passages into snippets, the smallest pieces a page prints.

Search finds passages, because a question and its answer are seldom in one sentence. A page prints snippets of
them, some thirty words in whole sentences, because a passage that holds the answer is mostly about other things.
Neither cuts a sentence that fits.
"""

import re
from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from weft.model import Passage
from weft.text.sentences import OPENING_LINE, Block, Span, split_blocks, without_anchor
from weft.text.terms import UNSPACED, compile_once

_WORD = rf"[{UNSPACED}]|[^\s{UNSPACED}]+"
_CHARACTERS_PER_WORD = 8
"""The size in words of a text without spaces (base64, minified code), which has hardly a word, comes from its
length. Above the usual five or six letters and a blank, so that prose is counted by its words."""
_CLOSING = re.compile(r"\s*(?:```+|~~~+|/{3}|:{3})\s*")
"""A line that closes a fence or a box, and never stands at the beginning of a snippet."""
_HEADING_TEXT = re.compile(r"\s{0,3}(#{1,6})\s+(.*?)\s*#*$")

SNIPPET_WORDS: Final = 30
"""Words from which on a snippet ends with its paragraph. Of 20 to 80 words, 30 answered most questions on small
pages."""
_MAX_SNIPPET_WORDS: Final = 48
"""Words that a snippet does not exceed, unless one sentence does."""
_MIN_HEADING_WORDS: Final = 6
"""A snippet with fewer words takes the heading below it along: it is a heading itself, or leads to it."""
_MIN_SNIPPET_WORDS: Final = 12
"""A last snippet with fewer words joins the one before it: alone it would be a fragment."""


_Unit = tuple[int, int, int]
"""Start, end and words of a sentence or a line."""


class _Chunk(Struct, frozen=True):
    """Units that belong together: a paragraph, or as much of a long one as makes a passage."""

    start: int
    end: int
    size: int
    heading_path: tuple[str, ...]
    opens_section: bool = False


def split_passages(text: str, *, target: int = 200, limit: int = 320, markdown: bool = False) -> list[Passage]:
    """Return the passages of a text: about `target` words each and, but for an unsplittable run, at most `limit`.

    Spans are in order, do not overlap and hold all that is not blank. Paragraphs stay together where they
    fit, and with `markdown` a heading opens a new passage once the current one has substance.
    """
    # Most nodes are short, and finding their sentences would only show that they fit.
    if _surely_fits(text, limit, markdown):
        whole = text.rstrip()
        only = _Chunk(len(whole) - len(whole.lstrip()), len(whole), 0, ())
        return [_passage(text, 0, [only], [match.start() for match in re.finditer("\n", text)])]
    chunks = list(_chunks(text, target, limit, markdown))
    if sum(chunk.size for chunk in chunks) <= limit:
        groups = [chunks] if chunks else []
    else:
        groups = list(_packed(chunks, target, limit))
    newlines = [match.start() for match in re.finditer("\n", text)]
    return [_passage(text, ordinal, group, newlines) for ordinal, group in enumerate(groups)]


def _surely_fits(text: str, limit: int, markdown: bool) -> bool:
    """Return whether a text makes one passage however its sentences fall, judged without finding them."""
    if len(text) > limit * _CHARACTERS_PER_WORD or not text.isascii() or (markdown and "#" in text):
        return False
    words = text.split()
    letters = sum(map(len, words))
    # No way to cut a text makes its parts larger together than its single words, each with the blank behind it.
    blanks = max(len(text) - letters - len(words), 0)
    return bool(words) and len(words) + letters // _CHARACTERS_PER_WORD + blanks <= limit


def _chunks(text: str, target: int, limit: int, markdown: bool) -> Iterator[_Chunk]:
    """Yield every paragraph as a chunk, or as several when it is over the limit."""
    path: tuple[tuple[int, str], ...] = ()
    for block in split_blocks(text):
        opens = markdown and block.heading
        if opens:
            path = _next_path(path, text[block.units[0][0] : block.units[0][1]])
        names = tuple(name for _, name in path)
        for start, end, size in _parts(text, block, target, limit):
            yield _Chunk(start, end, size, names, opens)


def _next_path(path: tuple[tuple[int, str], ...], line: str) -> tuple[tuple[int, str], ...]:
    """Return the headings above a text that begins with this one."""
    match = _HEADING_TEXT.match(line)
    if match is None:
        return path
    level = len(match.group(1))
    return (*(entry for entry in path if entry[0] < level), (level, without_anchor(match.group(2))))


def _parts(text: str, block: Block, target: int, limit: int) -> Iterator[tuple[int, int, int]]:
    """Yield the block as one span with its size, or its sentences gathered up to the target."""
    sized = [(start, end, _size(text[start:end])) for start, end in block.units]
    total = sum(size for _, _, size in sized)
    if total <= limit:
        yield block.units[0][0], block.units[-1][1], total
        return
    gathered: tuple[int, int, int] | None = None
    for start, end, size in _cut_long(text, sized, limit):
        if gathered and gathered[2] + size <= target:
            gathered = (gathered[0], end, gathered[2] + size)
        else:
            if gathered:
                yield gathered
            gathered = (start, end, size)
    if gathered:
        yield gathered


def _cut_long(text: str, sized: Iterable[tuple[int, int, int]], limit: int) -> Iterator[tuple[int, int, int]]:
    """Yield the sentences, those over the limit cut between words, and a run without words between characters."""
    for start, end, size in sized:
        if size <= limit:
            yield start, end, size
            continue
        for low, high in _word_runs(text, start, end, limit):
            yield low, high, _size(text[low:high])


def _word_runs(text: str, start: int, end: int, limit: int) -> Iterator[Span]:
    """Yield runs of words that are each within the limit."""
    max_characters = limit * _CHARACTERS_PER_WORD
    low, high, words = start, start, 0
    for match in compile_once(_WORD).finditer(text, start, end):
        if words and (words == limit or match.end() - low > max_characters):
            yield low, high
            low, words = match.start(), 0
        # A single word longer than a passage is data, which may be cut anywhere.
        while match.end() - low > max_characters:
            yield low, low + max_characters
            low += max_characters
        high, words = match.end(), words + 1
    if high > low:
        yield low, high


def _size(text: str) -> int:
    """Return the words of a text; a character counts as one where words are written without spaces."""
    return max(len(compile_once(_WORD).findall(text)), -(-len(text) // _CHARACTERS_PER_WORD))


def _packed(chunks: list[_Chunk], target: int, limit: int) -> Iterator[list[_Chunk]]:
    """Yield neighbouring chunks gathered into passages."""
    group: list[_Chunk] = []
    size = 0
    for chunk in chunks:
        grown = size + chunk.size
        # A passage below half the target takes one more paragraph, even beyond the target: better long than torn.
        fits = grown <= target or (size < target // 2 and grown <= limit)
        if group and (not fits or (chunk.opens_section and size >= target // 4)):
            yield group
            group, size = [], 0
        group.append(chunk)
        size += chunk.size
    if group:
        yield group


def _passage(text: str, ordinal: int, group: list[_Chunk], newlines: list[int]) -> Passage:
    """Make a passage of a group; it begins with its line when only blanks come before it."""
    start, end = group[0].start, group[-1].end
    line_start = text.rfind("\n", 0, start) + 1
    # Keeps the indentation of code and lists, without which the first line would look out of place.
    if not text[line_start:start].strip():
        start = line_start
    first, last = bisect_right(newlines, start - 1) + 1, bisect_right(newlines, end - 1) + 1
    return Passage(ordinal, start, end, first, last, group[0].heading_path)


# --- snippets ----------------------------------------------------------------------------------------------


def split_snippets(text: str, start: int, end: int) -> list[Span]:
    """Return the spans of the snippets between two offsets, in order; together they hold all that is not blank."""
    spans: list[Span] = []
    sizes: list[int] = []
    for low, high, size in _snippets(text[start:end]):
        if sizes and size < _MIN_SNIPPET_WORDS and sizes[-1] + size <= _MAX_SNIPPET_WORDS:
            spans[-1], sizes[-1] = (spans[-1][0], start + high), sizes[-1] + size
        else:
            spans.append((_line_start(text, start, start + low), start + high))
            sizes.append(size)
    return spans


def _snippets(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and words of each snippet; one that ends in a lead-in leaves it to the next."""
    units: list[_Unit] = []
    for block in split_blocks(text):
        words = [len(text[low:high].split()) for low, high in block.units]
        closes = _CLOSING.fullmatch(text, *block.units[0]) is not None
        if units and not closes and _ends_before(block, _count_words(units), sum(words)):
            units = yield from _end_snippet(text, units)
        for (low, high), own in zip(block.units, words, strict=True):
            if (
                units
                and _count_words(units) + own > _MAX_SNIPPET_WORDS
                and not _CLOSING.fullmatch(text, low, high)
            ):
                units = yield from _end_snippet(text, units)
            units.append((low, high, own))
    if units:
        yield units[0][0], units[-1][1], _count_words(units)


def _count_words(units: Sequence[_Unit]) -> int:
    return sum([words for _, _, words in units])


def _end_snippet(text: str, units: list[_Unit]) -> Generator[tuple[int, int, int], None, list[_Unit]]:
    """Yield a snippet of these units, and return those at its end that lead to the next one."""
    kept = _without_lead_in(text, units)
    if not kept and _count_words(units) < _MAX_SNIPPET_WORDS:
        return units
    # Alone, what stands before the lead-in would be a fragment, and stays with it.
    if _count_words(units[:kept]) < _MIN_SNIPPET_WORDS:
        kept = len(units)
    yield units[0][0], units[kept - 1][1], _count_words(units[:kept])
    return units[kept:]


def _without_lead_in(text: str, units: Sequence[_Unit]) -> int:
    """Return how many units there are before those at the end that only lead to what follows."""
    kept = len(units)
    while kept and _leads_on(text, *units[kept - 1][:2]):
        kept -= 1
    return kept


def _leads_on(text: str, start: int, end: int) -> bool:
    """Return whether a unit ends in a colon ("as follows:"), or opens a section, a fence or a box."""
    ends_in_colon = text[end - 1] == ":" and not _CLOSING.fullmatch(text, start, end)
    return ends_in_colon or OPENING_LINE.fullmatch(text, start, end) is not None


def _ends_before(block: Block, size: int, words: int) -> bool:
    """Return whether a snippet of this size ends before a paragraph, being full or having to cut it."""
    if block.heading:
        return size >= _MIN_HEADING_WORDS
    return size >= SNIPPET_WORDS or (size >= _MIN_SNIPPET_WORDS and size + words > _MAX_SNIPPET_WORDS >= words)


def _line_start(text: str, bound: int, position: int) -> int:
    """Return where the line begins, if only blanks stand before the position: indentation is part of code."""
    line = max(text.rfind("\n", bound, position) + 1, bound)
    return position if text[line:position].strip() else line
