"""Numbers as headings write them: in digits, Roman or Chinese numerals, or words."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from weft.frozen import dataclass

_COUNTED: Final = """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty
"""
_ORDERED: Final = """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
"""
_TENS: Final = {
    word: 10 * number
    for number, word in enumerate(("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty"), start=2)
}
_WORDED: Final = {
    word: number for row in (_COUNTED, _ORDERED) for number, word in enumerate(row.split(), start=1)
} | _TENS
_HAN: Final = {sign: value for value, sign in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}
_HAN_UNITS: Final = {"十": 10, "百": 100, "千": 1000}
HAN_NUMBER: Final = f"[{''.join([*_HAN, *_HAN_UNITS])}]{{1,8}}"
"""A number as Chinese and Japanese books write it, as a pattern."""
_ROMAN: Final = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}


def value_of(written: str) -> int | None:
    """The number that digits, Roman numerals or words tell."""
    plain = written.lower().removeprefix("the ").strip()
    if plain.isdigit():
        return int(plain)
    if plain in _WORDED:
        return _WORDED[plain]
    tens, _, unit = plain.partition("-")
    if tens in _TENS and unit in _WORDED:
        return _TENS[tens] + _WORDED[unit]
    if re.fullmatch(HAN_NUMBER, plain):
        return _han_value(plain)
    if plain and all(letter in _ROMAN for letter in plain):
        values = [_ROMAN[letter] for letter in plain]
        return sum(-here if here < after else here for here, after in pairwise([*values, 0]))
    return None


def _han_value(written: str) -> int:
    total = digits = 0
    for sign in written:
        if sign in _HAN:
            digits = 10 * digits + _HAN[sign]
        else:
            total, digits = total + (digits or 1) * _HAN_UNITS[sign], 0
    return total + digits


def number_in(name: str) -> int | None:
    """The number in the name of a chapter's file: `07 The Ferry`, `chapter-seven`, `第七章`."""
    if counted := re.search(f"第({HAN_NUMBER})", name):
        return _han_value(counted.group(1))
    for word in re.findall(r"\d+|[^\W\d_]+", name):
        number = int(word) if word.isdigit() else _WORDED.get(word.lower())
        if number is not None:
            return number
    return None


Span = tuple[int, int]

STRETCH: Final = 2_200
"""Characters of a scene after which it is parted at the next paragraph: about 400 words."""
_CRAMMED: Final = 3 * STRETCH
"""Characters of a paragraph that goes on for pages, or of a file that is one line: it is parted inside."""
_PART: Final = 18_000
"""Characters of a part where a book has no chapters."""
_EMPTY: Final = 40
_FOREWORD: Final = 1_200
_LISTED: Final = 3
"""So many headings in a row with nothing between them are a table of contents."""
_LONGEST: Final = 90

_NUMBER: Final = r"(?:\d{1,4}|[ivxlc]{1,9}|(?:the\s+)?[a-z]+(?:-[a-z]+)?)"

_EXPLICIT: Final = re.compile(
    rf"(?:chapter|chap\.|canto|stave|letter|adventure|kapitel|chapitre|cap[ií]tulo|capitolo|глава)\s+({_NUMBER})\b"
    r"\s*[.:—–-]*\s*(.*)",
    re.IGNORECASE,
)
_EASTERN: Final = re.compile(rf"[第제]\s*({HAN_NUMBER}|\d{{1,4}})\s*[章回節节話话幕장화]\s*[.:：—–-]*\s*(.*)")
_NAMED: Final = re.compile(
    r"(prologue|epilogue|preface|foreword|introduction|interlude|afterword|conclusion)\s*[.:—–-]*\s*(.{0,60})",
    re.IGNORECASE,
)
_DIVISION: Final = re.compile(rf"(?:book|part|volume|vol\.)\s+({_NUMBER})\b\s*[.:—–-]*\s*(.*)", re.IGNORECASE)
_ALONE: Final = re.compile(r"(\d{1,3}|[IVXLC]{1,8})\.?")
_NUMBERED: Final = re.compile(r"(\d{1,3}|[IVXLC]{1,8})[.:)]\s+(\S.{0,70})")
_MARKED: Final = re.compile(r"#{1,3}\s+(\S.*)")
_SPOKEN: Final = re.compile(
    r"[,.!?—-][\"”’'»]+\s+(?:\w+\s+){0,2}(?:said|asked|cried|replied|answered|whispered|shouted)\b"
)
_FEW_SPEECHES: Final = 3
_LONG: Final = 25_000
_SPEECH_EVERY: Final = 4_000
_START: Final = re.compile(r"^\*\*\*\s*START OF TH.*$", re.MULTILINE)
_END: Final = re.compile(r"^(?:\*\*\*\s*END OF TH|End of (?:the )?Project Gutenberg).*$", re.MULTILINE)
_LINE: Final = re.compile(r"^[^\n]*$", re.MULTILINE)
_BREAK: Final = re.compile(r"^[^\w\n]*[*#~=§⁂•·–—-][^\w\n]*$", re.MULTILINE)
_BLANK: Final = re.compile(r"\n[ \t]*\n\s*")
_CLOSE: Final = re.compile(r"\n|[.!?…]+[\"'”’»)\]]*\s|[。！？｡]+[」』”’）]*")


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter: its number in the story, its title, and where its text stands without the heading."""

    number: int
    title: str
    start: int
    end: int
    headed: bool = True


@dataclass(frozen=True, slots=True)
class _Heading:
    start: int
    end: int
    title: str
    number: int | None
    shares: bool = False
    """Whether it takes the number of the chapter before it, as an interlude does."""


def chapters(text: str) -> tuple[Chapter, ...]:
    """The chapters of a book in order; a book without any comes in parts of about 3,000 words."""
    low, high = _body(text)
    bodies = _with_bodies(text, _headings(text, low, high), low, high)
    if not any(heading for heading, _ in bodies):
        return _parts(text, low, high)
    return tuple(_numbered(text, bodies))


def has_chapters(text: str) -> bool:
    """Whether a text is headed as books are: at least twice `Chapter` or a number alone, with prose behind."""
    return sum(chapter.headed for chapter in chapters(text)) > 1


def is_told(text: str) -> bool:
    """Whether a text reads like a story: chapters or great length, and people who speak in it."""
    spoken = len(_SPOKEN.findall(text))
    if len(text) >= _LONG and spoken * _SPEECH_EVERY >= len(text):
        return True
    return spoken >= _FEW_SPEECHES and has_chapters(text)


def scenes(text: str, start: int, end: int) -> tuple[Span, ...]:
    """The scenes of a stretch of text; long ones are parted between paragraphs."""
    found: list[Span] = []
    last = start
    for match in [*_BREAK.finditer(text, start, end), None]:
        stop = end if match is None else match.start()
        found += _stretches(text, last, stop)
        last = end if match is None else match.end()
    return tuple(found)


def _stretches(text: str, start: int, end: int) -> Iterator[Span]:
    """Whole paragraphs up to about the length of a page."""
    opened, closed = start, start
    for low, high in _paragraphs(text, start, end):
        if closed > opened and high - opened > STRETCH:
            yield from _trimmed(text, opened, closed)
            opened = low
        closed = high
    yield from _trimmed(text, opened, end)


def _paragraphs(text: str, start: int, end: int) -> Iterator[Span]:
    breaks = [match.span() for match in _BLANK.finditer(text, start, end)]
    if not breaks:
        breaks = [(place, place + 1) for place in range(start, end) if text[place] == "\n"]
    edges = [start, *(edge for span in breaks for edge in span), end]
    for low, high in zip(edges[::2], edges[1::2], strict=True):
        yield from _pieces(text, low, high)


def _pieces(text: str, start: int, end: int) -> Iterator[Span]:
    """A paragraph as it is; one that never ends in pieces, each up to where a line, a sentence or a word ends."""
    most = STRETCH if end - start > _CRAMMED else _CRAMMED
    while end - start > most:
        low, high = start + STRETCH // 2, start + STRETCH
        ends = [match.end() for match in _CLOSE.finditer(text, low, high)]
        cut = ends[-1] if ends else text.rfind(" ", low, high) + 1 or high
        yield start, cut
        start = cut
    yield start, end


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    inside = text[start:end]
    low = start + len(inside) - len(inside.lstrip())
    high = end - (len(inside) - len(inside.rstrip()))
    if high > low:
        yield low, high


# --- headings --------------------------------------------------------------------------------------------


def _body(text: str) -> Span:
    """The book itself, without what a library wrapped around it."""
    start, end = _START.search(text), _END.search(text)
    low = start.end() if start else 0
    return low, end.start() if end and end.start() > low else len(text)


def _headings(text: str, low: int, high: int) -> list[_Heading]:
    """The headings by the plainest way in which this book has any."""
    lines = list(_lines(text, low, high))
    explicit = [heading for line in lines if (heading := _explicit(text, line))]
    if explicit:
        return explicit
    for pattern, least in ((_ALONE, 1), (_MARKED, 1), (_NUMBERED, 2), (_DIVISION, 1)):
        found = [_matched(pattern, text, line) for line in lines if pattern.fullmatch(text[line[0] : line[1]])]
        if len(found) >= least:
            return found
    return []


def _lines(text: str, low: int, high: int) -> Iterator[Span]:
    """The short lines that stand after a blank one (if the book has any), without decoration."""
    always, blank = text.find("\n\n", low, high) < 0, True
    for match in _LINE.finditer(text, low, high):
        line = match.group()
        stripped = line.strip().strip("*_= ")
        if stripped and blank and len(stripped) <= _LONGEST:
            start = match.start() + line.index(stripped)
            yield start, start + len(stripped)
        blank = always or not line.strip() or (blank and _is_division(stripped))


def _is_division(line: str) -> bool:
    return _DIVISION.fullmatch(line.lstrip("# ")) is not None


def _explicit(text: str, line: Span) -> _Heading | None:
    written = text[line[0] : line[1]].lstrip("# ")
    if match := _EXPLICIT.fullmatch(written) or _EASTERN.fullmatch(written):
        number = value_of(match.group(1))
        if number is None or match.group(2)[-1:] in (*",;，；。",):
            return None
        return _Heading(line[0], line[1], _title(written), number)
    if (match := _NAMED.fullmatch(written)) and written[0].isupper() and match.group(2)[-1:] not in (".", ","):
        return _Heading(line[0], line[1], _title(written), None, match.group(1).lower() == "interlude")
    if (match := _DIVISION.fullmatch(written)) and value_of(match.group(1)) is not None:
        return _Heading(line[0], line[1], _title(written), None)
    return None


def _matched(pattern: re.Pattern[str], text: str, line: Span) -> _Heading:
    written = text[line[0] : line[1]]
    match = pattern.fullmatch(written)
    first = match.group(1) if match else written
    return _Heading(
        line[0], line[1], _title(written.lstrip("# ")), value_of(first) if pattern is not _MARKED else None
    )


def _title(written: str) -> str:
    plain = " ".join(written.split()).rstrip(".:—–- ")
    first, _, rest = plain.partition(" ")
    return f"{first.capitalize()} {rest}".strip() if first.isupper() and value_of(first) is None else plain


def _with_bodies(
    text: str, headings: Sequence[_Heading], low: int, high: int
) -> list[tuple[_Heading | None, Span]]:
    """Each heading with what stands behind it; those of a table of contents are left out."""
    found: list[tuple[_Heading | None, Span]] = []
    first = headings[0].start if headings else high
    if len(text[low:first].strip()) >= _FOREWORD:
        found.append((None, (low, first)))
    listed = 0
    for number, heading in enumerate(headings):
        end = headings[number + 1].start if number + 1 < len(headings) else high
        empty = len(text[heading.end : end].strip()) < _EMPTY
        if not empty and listed < _LISTED:
            found.append((heading, (heading.end, end)))
        listed = listed + 1 if empty else 0
    return found


def _numbered(text: str, bodies: Sequence[tuple[_Heading | None, Span]]) -> Iterator[Chapter]:
    """The chapters with their printed numbers as long as these go up, else counted on."""
    last = 0
    for place, (heading, (start, end)) in enumerate(bodies):
        if heading is None:
            yield Chapter(0, "Opening", *_inside(text, start, end), headed=False)
            continue
        if heading.number is not None:
            last = heading.number if heading.number > last else last + 1
        elif place > 0 and not heading.shares:
            last += 1
        title, low = _subtitle(text, heading, start, end)
        yield Chapter(last, title, *_inside(text, low, end))


def _subtitle(text: str, heading: _Heading, start: int, end: int) -> tuple[str, int]:
    """The heading with the title on the line below it, if there is one, and where the text begins then."""
    match = re.compile(r"\s*([^\n]{2,60})\n[ \t]*\n").match(text, start, end)
    if match is None or len(heading.title.split()) > 2:
        return heading.title, start
    line = match.group(1).strip().strip("*_")
    if not line or line[-1] in ".,;:!?\"”'’" or not line[0].isupper() or not line[0].isalpha():
        return heading.title, start
    return f"{heading.title}: {line}", match.end()


def _inside(text: str, start: int, end: int) -> Span:
    return next(_trimmed(text, start, end), (start, start))


def _parts(text: str, low: int, high: int) -> tuple[Chapter, ...]:
    """Stretches of whole paragraphs as parts."""
    found: list[Span] = []
    opened, closed = low, low
    for start, end in _paragraphs(text, low, high):
        if closed > opened and end - opened > _PART:
            found += _trimmed(text, opened, closed)
            opened = start
        closed = end
    found += _trimmed(text, opened, high)
    return tuple(
        Chapter(number, f"Part {number}", start, end, headed=False)
        for number, (start, end) in enumerate(found, start=1)
    )
