"""Find the chapters and scenes of a book, whatever way its headings and numbers are written.

Headings are looked for in the plainest way first (`Chapter 7`), then as lone numbers, Markdown headings, numbered
titles and divisions; a book without any comes in parts. Scenes end at their breaks, and long ones between
paragraphs.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.text.headings import CHAPTER, DIVISION, MARKDOWN, NAMED, TITLED, Heading, clean_title, find_headings
from weft.text.numerals import HAN_NUMBER, read_han, read_number_word

SCENE_CHARACTERS: Final = 2_200
"""Characters of a scene after which it is split at the next paragraph: about 400 words, a readable passage."""
_MAX_PARAGRAPH_CHARACTERS: Final = 3 * SCENE_CHARACTERS
"""A longer paragraph goes on for pages, or is a file in one line: it is split inside."""
_PART_CHARACTERS: Final = 18_000
"""Characters of a part where a book has no chapters: about 3,000 words, as long as a chapter."""
_MIN_BODY_CHARACTERS: Final = 40
"""A heading with less behind it heads nothing: a line of a table of contents, or a division."""
_MIN_FOREWORD_CHARACTERS: Final = 1_200
"""So much text before the first heading is an opening of the story and not a title page."""
_MAX_CHAPTER_CHARACTERS: Final = 100_000
_MAX_CHAPTER_RATIO: Final = 8
"""A chapter longer than this, and so many times as long as the middle one, may hold headings that were missed."""
_CONTENTS_HEADINGS: Final = 3
"""So many headings in a row with nothing between them are a table of contents."""
_MAX_TITLE_WORDS: Final = 2
"""A heading of more words has its title already; behind a shorter one, `Chapter 7`, it may be on the next line."""
_MIN_SPEECHES: Final = 3
"""Speeches that show a text with chapters to be a story."""
_LONG_TEXT_CHARACTERS: Final = 25_000
_CHARACTERS_PER_SPEECH: Final = 4_000
"""A long text without chapters is a story if somebody speaks in it at least so often."""
_NUMBER_JOINTS: Final = frozenset({"the", "and", "hundred"})

_SPEECH: Final = re.compile(
    r"[,.!?—-]?[\"”’'»«“]+,?\s+(?:\w+\s+){0,2}(?:said|asked|cried|replied|answered|whispered|shouted|sagte|fragte|rief"
    r"|antwortete|erwiderte|dit|demanda|répondit|cria|dijo|preguntó|respondió|disse|chiese|rispose|perguntou"
    r"|respondeu|сказал|сказала|спросил|спросила|ответил|ответила)\b"
    # A dash that opens a paragraph, and the brackets of Chinese and Japanese, are speech by themselves.
    r"|^[ \t]*[—–―][ \t]*\w|「[^」\n]+」|”[一-鿿]{1,4}(?:说|问|道|答)",
    re.MULTILINE,
)
_LABEL: Final = re.compile(r"^[ \t]*([A-ZÀ-ÖØ-ÞА-ЯЁ][A-ZÀ-ÖØ-ÞА-ЯЁ .'’-]{1,30})[.:][ \t]+\S", re.MULTILINE)
_STAGE: Final = re.compile(
    r"\b(?:acts?|scene|akt|aufzug|szene|auftritt|acte|scène|acto|escena|atto|scena|действие|сцена|явление)\b",
    re.IGNORECASE,
)
_MIN_LABELS: Final = 3
"""So many speeches of one label, and so many again of another, show the parts of a play."""
_LIBRARY_START: Final = re.compile(r"^\*\*\*\s*START OF TH.*$", re.MULTILINE)
_LIBRARY_END: Final = re.compile(r"^(?:\*\*\*\s*END OF TH|End of (?:the )?Project Gutenberg).*$", re.MULTILINE)
_SCENE_BREAK: Final = re.compile(r"^[^\w\n]*[*#~=§⁂•·–—-][^\w\n]*$", re.MULTILINE)
_BLANK_LINES: Final = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE_END: Final = re.compile(r"\n|[.!?…]+[\"'”’»)\]]*\s|[。！？｡]+[」』”’）]*")
_WRAPPED: Final = re.compile(r"(?<=[\w,;])[ \t]*\n(?=[ \t]*\w)((?:[^\n]{1,80}\n){1,4})[ \t]*\n")
"""Up to four lines that follow a heading directly."""
_SUBTITLE: Final = re.compile(r"\s*([^\n]{2,60})\n[ \t]*\n")

Span = tuple[int, int]


class Chapter(Struct, frozen=True):
    """A chapter: its number in the story, its title, and the span of its text without the heading."""

    number: int
    title: str
    start: int
    end: int
    has_heading: bool = True
    division: str = ""
    """The book, part or act to which it belongs."""
    printed: int | None = None
    """The number that the heading prints."""
    is_guess: bool = False
    """Whether its heading is only a line in capitals or a date."""


class Headings(Struct, frozen=True):
    """The lines of a book of which somebody said that a chapter begins there, or that none does."""

    begin: frozenset[str] = frozenset()
    passed: frozenset[str] = frozenset()


def find_chapters(text: str, corrections: Headings = Headings()) -> tuple[Chapter, ...]:  # noqa: B008  (frozen)
    """Return the chapters of a book in order; a book without any comes in parts of about 3,000 words."""
    low, high = _find_book(text)
    bodies = _with_bodies(text, _correct(text, find_headings(text, low, high), corrections), low, high)
    if not any(body.heading for body in bodies):
        return _split_parts(text, low, high)
    return tuple(_number_chapters(text, bodies))


def _correct(text: str, headings: Sequence[Heading], corrections: Headings) -> list[Heading]:
    """Return the headings without those that are none, and with the lines that are."""
    kept = [
        each for each in headings if not {each.title, plain_line(text[each.start : each.end])} & corrections.passed
    ]
    taken = {each.start for each in kept}
    for match in re.finditer(r"[^\n]+", text) if corrections.begin else ():
        title = plain_line(match.group())
        start = match.start() + len(match.group()) - len(match.group().lstrip())
        if title in corrections.begin and start not in taken:
            kept.append(Heading(start, match.end(), CHAPTER, title))
    return sorted(kept, key=lambda each: each.start)


def plain_line(line: str) -> str:
    """Return a line as it is compared with others: without marks of Markdown, and with single spaces."""
    return " ".join(line.strip().strip("#*_= ").split())


def find_doubt(chapters: Sequence[Chapter]) -> str:
    """Return why the chapters of a book may be wrong, or "" where nothing speaks against them."""
    if not any(chapter.has_heading for chapter in chapters):
        return "no headings were found, so the text was cut into parts of about 3,000 words"
    if any(chapter.is_guess for chapter in chapters):
        return "no heading has a number, so lines in capitals and dates were taken for headings"
    for before, after in pairwise(chapter for chapter in chapters if chapter.printed is not None):
        if after.printed not in (1, (before.printed or 0) + 1):
            return f"behind {before.title!r} comes {after.title!r}"
    lengths = sorted(chapter.end - chapter.start for chapter in chapters)
    longest, middle = lengths[-1], lengths[len(lengths) // 2]
    if len(lengths) > 2 and longest > max(_MAX_CHAPTER_CHARACTERS, _MAX_CHAPTER_RATIO * middle):
        chapter = next(each for each in chapters if each.end - each.start == longest)
        return f"{chapter.title!r} is far longer than the others, as if headings in it were missed"
    return ""


def has_chapters(text: str) -> bool:
    """Return whether a text is headed as books are: at least two headings with prose behind them."""
    return sum(chapter.has_heading for chapter in find_chapters(text)) > 1


def is_story(text: str) -> bool:
    """Return whether a text reads like a story: chapters or great length, and people who speak in it."""
    speeches = len(_SPEECH.findall(text))
    if len(text) >= _LONG_TEXT_CHARACTERS and speeches * _CHARACTERS_PER_SPEECH >= len(text):
        return True
    return (speeches >= _MIN_SPEECHES and has_chapters(text)) or _is_play(text)


def _is_play(text: str) -> bool:
    """Return whether a text has acts or scenes, and at least two people with speeches behind their names."""
    labels = Counter(label for label in _LABEL.findall(text) if not _STAGE.search(label))
    if sum(count >= _MIN_LABELS for count in labels.values()) < 2:
        return False
    headed = [chapter for chapter in find_chapters(text) if chapter.has_heading]
    return len(headed) > 1 and all(_STAGE.search(f"{each.title} {each.division}") for each in headed)


def split_scenes(text: str, start: int, end: int) -> tuple[Span, ...]:
    """Return the scenes of a stretch of text; long ones are split between paragraphs."""
    found: list[Span] = []
    last = start
    for match in [*_SCENE_BREAK.finditer(text, start, end), None]:
        stop = end if match is None else match.start()
        found += _pack_paragraphs(text, last, stop, SCENE_CHARACTERS)
        last = end if match is None else match.end()
    return tuple(found)


def find_number(name: str) -> int | None:
    """Return the number in the name of a chapter's file: `07 The Ferry`, `chapter-seven`, `第七章`."""
    if counted := re.search(f"第({HAN_NUMBER})", name):
        return read_han(counted.group(1))
    # Roman numerals are not tried here: `I` and `mix` are words in the names of files.
    for word in re.findall(r"\d+|[^\W\d_]+", name):
        number = int(word) if word.isdigit() else read_number_word(word)
        if number is not None:
            return number
    return None


# --- paragraphs ------------------------------------------------------------------------------------------


def _pack_paragraphs(text: str, start: int, end: int, max_characters: int) -> Iterator[Span]:
    """Yield stretches of whole paragraphs up to about a length."""
    opened, closed = start, start
    for low, high in _paragraphs(text, start, end):
        if closed > opened and high - opened > max_characters:
            yield from _trimmed(text, opened, closed)
            opened = low
        closed = high
    yield from _trimmed(text, opened, end)


def _paragraphs(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield what blank lines part; where there are none, every line."""
    breaks = [match.span() for match in _BLANK_LINES.finditer(text, start, end)]
    if not breaks:
        breaks = [(offset, offset + 1) for offset in range(start, end) if text[offset] == "\n"]
    edges = [start, *(edge for span in breaks for edge in span), end]
    for low, high in zip(edges[::2], edges[1::2], strict=True):
        yield from _split_paragraph(text, low, high)


def _split_paragraph(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield a paragraph as it is, or a huge one in pieces that end with a line, a sentence or a word."""
    limit = SCENE_CHARACTERS if end - start > _MAX_PARAGRAPH_CHARACTERS else _MAX_PARAGRAPH_CHARACTERS
    while end - start > limit:
        # The end is looked for in the second half only, so that no piece is much shorter than the others.
        low, high = start + SCENE_CHARACTERS // 2, start + SCENE_CHARACTERS
        ends = [match.end() for match in _SENTENCE_END.finditer(text, low, high)]
        # `rfind` gives -1 where there is no blank, and then `or` chooses the hard limit.
        cut = ends[-1] if ends else text.rfind(" ", low, high) + 1 or high
        yield start, cut
        start = cut
    yield start, end


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the span without the blanks at its ends, or nothing where it is blank."""
    inside = text[start:end]
    low = start + len(inside) - len(inside.lstrip())
    high = end - (len(inside) - len(inside.rstrip()))
    if high > low:
        yield low, high


# --- headings --------------------------------------------------------------------------------------------


def _find_book(text: str) -> Span:
    """Return the span of the book itself, without what a library wrapped around it."""
    start, end = _LIBRARY_START.search(text), _LIBRARY_END.search(text)
    low = start.end() if start else 0
    return low, end.start() if end and end.start() > low else len(text)


class _Body(Struct, frozen=True):
    """A heading (none for an opening before the first one), the division it stands in, and the span behind it."""

    heading: Heading | None
    division: str
    start: int
    end: int


def _with_bodies(text: str, headings: Sequence[Heading], low: int, high: int) -> list[_Body]:
    """Return each heading with what stands behind it; those of a table of contents are left out."""
    found: list[_Body] = []
    first = headings[0].start if headings else high
    if len(text[low:first].strip()) >= _MIN_FOREWORD_CHARACTERS:
        found.append(_Body(None, "", low, first))
    empty_in_a_row, division = 0, ""
    for index, heading in enumerate(headings):
        end = headings[index + 1].start if index + 1 < len(headings) else high
        is_empty = len(text[heading.end : end].strip()) < _MIN_BODY_CHARACTERS
        division = heading.title if heading.kind == DIVISION else division
        # The last line of a table of contents has the first pages behind it.
        if not is_empty and empty_in_a_row < _CONTENTS_HEADINGS:
            found.append(_Body(heading, division, heading.end, end))
        elif heading.kind == MARKDOWN and found and text[heading.end : end].strip():
            # A scene of one line, in a script, is told with the scene before it.
            found[-1] = replace(found[-1], end=end)
        # Divisions have nothing behind them but their first chapter.
        empty_in_a_row = (empty_in_a_row + (heading.kind != DIVISION)) if is_empty else 0
    return found


def _number_chapters(text: str, bodies: Sequence[_Body]) -> Iterator[Chapter]:
    """Yield the chapters with their printed numbers as long as these go up, else counted on."""
    last = 0
    for index, body in enumerate(bodies):
        heading = body.heading
        if heading is None:
            yield Chapter(0, "Opening", *_inner_span(text, body.start, body.end), has_heading=False)
            continue
        if heading.number is not None and heading.kind != DIVISION:
            # Numbers that begin again, as in a second volume, are counted on: a sequence must never go back.
            last = heading.number if heading.number > last or index == 0 else last + 1
        elif not heading.shares_number and (index > 0 or heading.kind != NAMED):
            last += 1
        title, low = _read_subtitle(text, heading, body.start, body.end)
        span = _inner_span(text, low, body.end)
        division = "" if heading.kind == DIVISION else body.division
        is_guess = heading.kind == TITLED
        yield Chapter(last, title, *span, division=division, printed=heading.number, is_guess=is_guess)


def _read_subtitle(text: str, heading: Heading, start: int, end: int) -> tuple[str, int]:
    """Return the heading with the title below it, if there is one, and where the text begins then."""
    if wrapped := _WRAPPED.match(text, start, end):
        # A heading that is longer than a line goes on until the next blank one.
        joint = ", " if text[start - 1] == "," else " " if _has_title(heading) else ": "
        return clean_title(f"{heading.title.rstrip(',')}{joint}{wrapped.group(1)}"), wrapped.end()
    match = _SUBTITLE.match(text, start, end)
    if match is None or _has_title(heading):
        return heading.title, start
    line = match.group(1).strip().strip("*_")
    if not line or line[-1] in ".,;:!?\"”'’" or not line[0].isupper() or not line[0].isalpha():
        return heading.title, start
    return f"{heading.title}: {line}", match.end()


def _has_title(heading: Heading) -> bool:
    words = heading.title.lower().replace("-", " ").split()
    # Chapter the Twenty-First has two words like Chapter 21.
    number_words = sum(word in _NUMBER_JOINTS or read_number_word(word) is not None for word in words)
    return len(words) - max(0, number_words - 1) > _MAX_TITLE_WORDS


def _inner_span(text: str, start: int, end: int) -> Span:
    return next(_trimmed(text, start, end), (start, start))


def _split_parts(text: str, low: int, high: int) -> tuple[Chapter, ...]:
    """Return a book without chapters as parts of whole paragraphs."""
    return tuple(
        Chapter(number, f"Part {number}", start, end, has_heading=False)
        for number, (start, end) in enumerate(_pack_paragraphs(text, low, high, _PART_CHARACTERS), start=1)
    )
