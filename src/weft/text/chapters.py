"""Find the chapters and scenes of a book, whatever way its headings and numbers are written.

Headings are looked for in the plainest way first (`Chapter 7`), then as lone numbers, Markdown headings, numbered
titles and divisions; a book without any comes in parts. Scenes end at their breaks, and long ones between
paragraphs.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

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
_CONTENTS_HEADINGS: Final = 3
"""So many headings in a row with nothing between them are a table of contents."""
_MAX_HEADING_CHARACTERS: Final = 90
_MAX_TITLE_WORDS: Final = 2
"""A heading of more words has its title already; behind a shorter one, `Chapter 7`, it may be on the next line."""
_MIN_SPEECHES: Final = 3
"""Speeches that show a text with chapters to be a story."""
_LONG_TEXT_CHARACTERS: Final = 25_000
_CHARACTERS_PER_SPEECH: Final = 4_000
"""A long text without chapters is a story if somebody speaks in it at least so often."""

_CARDINALS: Final = """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty
"""
_ORDINALS: Final = """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
"""
_TENS: Final = {
    word: 10 * number
    for number, word in enumerate(("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty"), start=2)
}
_NUMBER_WORDS: Final = {
    word: number for row in (_CARDINALS, _ORDINALS) for number, word in enumerate(row.split(), start=1)
} | _TENS
_HAN_DIGITS: Final = {sign: value for value, sign in enumerate("〇一二三四五六七八九")} | {
    "零": 0,
    "两": 2,
    "兩": 2,
}
_HAN_UNITS: Final = {"十": 10, "百": 100, "千": 1000}
_HAN_NUMBER: Final = f"[{''.join([*_HAN_DIGITS, *_HAN_UNITS])}]{{1,8}}"
"""The pattern of a number as Chinese and Japanese books write it."""
_ROMAN: Final = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}

_NUMBER: Final = r"(?:\d{1,4}|[ivxlc]{1,9}|(?:the\s+)?[a-z]+(?:-[a-z]+)?)"

_CHAPTER_HEADING: Final = re.compile(
    rf"(?:chapter|chap\.|canto|stave|letter|adventure|kapitel|chapitre|cap[ií]tulo|capitolo|глава)\s+({_NUMBER})\b"
    r"\s*[.:—–-]*\s*(.*)",
    re.IGNORECASE,
)
_EASTERN_HEADING: Final = re.compile(
    rf"[第제]\s*({_HAN_NUMBER}|\d{{1,4}})\s*[章回節节話话幕장화]\s*[.:：—–-]*\s*(.*)"
)
_NAMED_HEADING: Final = re.compile(
    r"(prologue|epilogue|preface|foreword|introduction|interlude|afterword|conclusion)\s*[.:—–-]*\s*(.{0,60})",
    re.IGNORECASE,
)
_DIVISION_HEADING: Final = re.compile(
    rf"(?:book|part|volume|vol\.)\s+({_NUMBER})\b\s*[.:—–-]*\s*(.*)", re.IGNORECASE
)
_LONE_NUMBER: Final = re.compile(r"(\d{1,3}|[IVXLC]{1,8})\.?")
_NUMBERED_HEADING: Final = re.compile(r"(\d{1,3}|[IVXLC]{1,8})[.:)]\s+(\S.{0,70})")
_MARKDOWN_HEADING: Final = re.compile(r"#{1,3}\s+(\S.*)")
_SPEECH: Final = re.compile(
    r"[,.!?—-][\"”’'»]+\s+(?:\w+\s+){0,2}(?:said|asked|cried|replied|answered|whispered|shouted)\b"
)
_LIBRARY_START: Final = re.compile(r"^\*\*\*\s*START OF TH.*$", re.MULTILINE)
_LIBRARY_END: Final = re.compile(r"^(?:\*\*\*\s*END OF TH|End of (?:the )?Project Gutenberg).*$", re.MULTILINE)
_LINE: Final = re.compile(r"^[^\n]*$", re.MULTILINE)
_SCENE_BREAK: Final = re.compile(r"^[^\w\n]*[*#~=§⁂•·–—-][^\w\n]*$", re.MULTILINE)
_BLANK_LINES: Final = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE_END: Final = re.compile(r"\n|[.!?…]+[\"'”’»)\]]*\s|[。！？｡]+[」』”’）]*")
_SUBTITLE: Final = re.compile(r"\s*([^\n]{2,60})\n[ \t]*\n")

Span = tuple[int, int]


class Chapter(Struct, frozen=True):
    """A chapter: its number in the story, its title, and the span of its text without the heading."""

    number: int
    title: str
    start: int
    end: int
    has_heading: bool = True


class _Heading(Struct, frozen=True):
    start: int
    end: int
    title: str
    number: int | None
    shares_number: bool = False
    """Whether it takes the number of the chapter before it, as an interlude does."""


def find_chapters(text: str) -> tuple[Chapter, ...]:
    """Return the chapters of a book in order; a book without any comes in parts of about 3,000 words."""
    low, high = _find_book(text)
    bodies = _with_bodies(text, _find_headings(text, low, high), low, high)
    if not any(heading for heading, _ in bodies):
        return _split_parts(text, low, high)
    return tuple(_number_chapters(text, bodies))


def has_chapters(text: str) -> bool:
    """Return whether a text is headed as books are: at least two headings with prose behind them."""
    return sum(chapter.has_heading for chapter in find_chapters(text)) > 1


def is_story(text: str) -> bool:
    """Return whether a text reads like a story: chapters or great length, and people who speak in it."""
    speeches = len(_SPEECH.findall(text))
    if len(text) >= _LONG_TEXT_CHARACTERS and speeches * _CHARACTERS_PER_SPEECH >= len(text):
        return True
    return speeches >= _MIN_SPEECHES and has_chapters(text)


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
    if counted := re.search(f"第({_HAN_NUMBER})", name):
        return _read_han(counted.group(1))
    # Roman numerals are not tried here: `I` and `mix` are words in the names of files.
    for word in re.findall(r"\d+|[^\W\d_]+", name):
        number = int(word) if word.isdigit() else _NUMBER_WORDS.get(word.lower())
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


def _find_headings(text: str, low: int, high: int) -> list[_Heading]:
    """Return the headings by the plainest way in which this book has any."""
    lines = list(_candidate_lines(text, low, high))
    # Where chapters are called so, numbered lines are verses, lists or letters and no headings.
    explicit = [heading for line in lines if (heading := _read_explicit(text, line))]
    if explicit:
        return explicit
    # One numbered line may be part of a list; of the other ways one heading is enough.
    for pattern, least in (
        (_LONE_NUMBER, 1),
        (_MARKDOWN_HEADING, 1),
        (_NUMBERED_HEADING, 2),
        (_DIVISION_HEADING, 1),
    ):
        found = [
            _make_heading(pattern, text, line) for line in lines if pattern.fullmatch(text[line[0] : line[1]])
        ]
        if len(found) >= least:
            return found
    return []


def _candidate_lines(text: str, low: int, high: int) -> Iterator[Span]:
    """Yield the short lines that stand after a blank one (if the book has any), without decoration."""
    has_no_blank_lines, after_blank = text.find("\n\n", low, high) < 0, True
    for match in _LINE.finditer(text, low, high):
        line = match.group()
        stripped = line.strip().strip("*_= ")
        if stripped and after_blank and len(stripped) <= _MAX_HEADING_CHARACTERS:
            start = match.start() + line.index(stripped)
            yield start, start + len(stripped)
        # `Book One` may stand directly above `Chapter 1`.
        after_blank = (
            has_no_blank_lines
            or not line.strip()
            or (after_blank and _DIVISION_HEADING.fullmatch(stripped.lstrip("# ")) is not None)
        )


def _read_explicit(text: str, line: Span) -> _Heading | None:
    """Return the heading in a line that says `Chapter`, `Prologue`, `Book` or the like."""
    start, end = line
    written = text[start:end].lstrip("# ")
    if match := _CHAPTER_HEADING.fullmatch(written) or _EASTERN_HEADING.fullmatch(written):
        number = _read_number(match.group(1))
        # A line that ends with such a mark is a sentence: `Chapter two of his life was over,`
        if number is None or match.group(2)[-1:] in (*",;，；。",):
            return None
        return _Heading(start, end, _clean_title(written), number)
    if (
        (match := _NAMED_HEADING.fullmatch(written))
        and written[0].isupper()
        and match.group(2)[-1:] not in (".", ",")
    ):
        return _Heading(start, end, _clean_title(written), None, match.group(1).lower() == "interlude")
    if (match := _DIVISION_HEADING.fullmatch(written)) and _read_number(match.group(1)) is not None:
        return _Heading(start, end, _clean_title(written), None)
    return None


def _make_heading(pattern: re.Pattern[str], text: str, line: Span) -> _Heading:
    """Make a heading of a line that a pattern matches; the first group is its number, except in Markdown."""
    start, end = line
    written = text[start:end]
    match = pattern.fullmatch(written)
    first = match.group(1) if match else written
    number = _read_number(first) if pattern is not _MARKDOWN_HEADING else None
    return _Heading(start, end, _clean_title(written.lstrip("# ")), number)


def _clean_title(written: str) -> str:
    """Return a heading in one line, without marks at its end; CHAPTER becomes Chapter, and XIV stays."""
    plain = " ".join(written.split()).rstrip(".:—–- ")
    first, _, rest = plain.partition(" ")
    return f"{first.capitalize()} {rest}".strip() if first.isupper() and _read_number(first) is None else plain


def _with_bodies(
    text: str, headings: Sequence[_Heading], low: int, high: int
) -> list[tuple[_Heading | None, Span]]:
    """Return each heading with what stands behind it; those of a table of contents are left out."""
    found: list[tuple[_Heading | None, Span]] = []
    first = headings[0].start if headings else high
    if len(text[low:first].strip()) >= _MIN_FOREWORD_CHARACTERS:
        found.append((None, (low, first)))
    empty_in_a_row = 0
    for index, heading in enumerate(headings):
        end = headings[index + 1].start if index + 1 < len(headings) else high
        is_empty = len(text[heading.end : end].strip()) < _MIN_BODY_CHARACTERS
        # The last line of a table of contents has the first pages behind it.
        if not is_empty and empty_in_a_row < _CONTENTS_HEADINGS:
            found.append((heading, (heading.end, end)))
        empty_in_a_row = empty_in_a_row + 1 if is_empty else 0
    return found


def _number_chapters(text: str, bodies: Sequence[tuple[_Heading | None, Span]]) -> Iterator[Chapter]:
    """Yield the chapters with their printed numbers as long as these go up, else counted on."""
    last = 0
    for index, (heading, (start, end)) in enumerate(bodies):
        if heading is None:
            yield Chapter(0, "Opening", *_inner_span(text, start, end), has_heading=False)
            continue
        if heading.number is not None:
            # Numbers that begin again, as in a second volume, are counted on: a sequence must never go back.
            last = heading.number if heading.number > last else last + 1
        elif index > 0 and not heading.shares_number:
            last += 1
        title, low = _read_subtitle(text, heading, start, end)
        yield Chapter(last, title, *_inner_span(text, low, end))


def _read_subtitle(text: str, heading: _Heading, start: int, end: int) -> tuple[str, int]:
    """Return the heading with the title on the line below it, if there is one, and where the text begins then."""
    match = _SUBTITLE.match(text, start, end)
    if match is None or len(heading.title.split()) > _MAX_TITLE_WORDS:
        return heading.title, start
    line = match.group(1).strip().strip("*_")
    if not line or line[-1] in ".,;:!?\"”'’" or not line[0].isupper() or not line[0].isalpha():
        return heading.title, start
    return f"{heading.title}: {line}", match.end()


def _inner_span(text: str, start: int, end: int) -> Span:
    return next(_trimmed(text, start, end), (start, start))


def _split_parts(text: str, low: int, high: int) -> tuple[Chapter, ...]:
    """Return a book without chapters as parts of whole paragraphs."""
    return tuple(
        Chapter(number, f"Part {number}", start, end, has_heading=False)
        for number, (start, end) in enumerate(_pack_paragraphs(text, low, high, _PART_CHARACTERS), start=1)
    )


# --- numbers ---------------------------------------------------------------------------------------------


def _read_number(written: str) -> int | None:
    """Return the number that digits, Roman or Chinese numerals, or words tell."""
    plain = written.lower().removeprefix("the ").strip()
    if plain.isdigit():
        return int(plain)
    if plain in _NUMBER_WORDS:
        return _NUMBER_WORDS[plain]
    tens, _, unit = plain.partition("-")
    if tens in _TENS and unit in _NUMBER_WORDS:
        return _TENS[tens] + _NUMBER_WORDS[unit]
    if re.fullmatch(_HAN_NUMBER, plain):
        return _read_han(plain)
    if plain and all(letter in _ROMAN for letter in plain):
        values = [_ROMAN[letter] for letter in plain]
        # A numeral before a larger one is subtracted: IV is four.
        return sum(-here if here < after else here for here, after in pairwise([*values, 0]))
    return None


def _read_han(written: str) -> int:
    """Return the value of a Chinese number: digits before a unit multiply it, and a bare unit counts once."""
    total = digits = 0
    for sign in written:
        if sign in _HAN_DIGITS:
            digits = 10 * digits + _HAN_DIGITS[sign]
        else:
            total, digits = total + (digits or 1) * _HAN_UNITS[sign], 0
    return total + digits
