"""Find the headings of chapters in a book, whatever way they are written.

Every short line after a blank one is read once: as a chapter (`Chapter 7`, `Erstes Kapitel`, `第七章`), a division
that holds chapters (`Book I`, `Act II`), a named piece (`Prologue`), a lone number, a numbered title, a Markdown
heading, or as a last resort a line in capitals or a date. The plainest kind that the book has gives its chapters.
"""

import re
from collections.abc import Iterator, Sequence
from string import capwords
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.text.numerals import HAN_NUMBER, read_number, read_number_word

_MAX_HEADING_CHARACTERS: Final = 90
_MAX_MARKED_CHARACTERS: Final = 400
"""A heading that the file itself marks, or that says it is a chapter, may be a long sentence."""
_MIN_MARKED: Final = 3
"""So many headings that the file marks are its structure; fewer may be the title of a book and of its parts."""
_MAX_NUMBER_WORDS: Final = 5
"""`one hundred and twenty one` has no more words."""

_CHAPTER_WORDS: Final = (
    r"chapter|chap\.?|ch\.?|canto|stave|letter|adventure|kapitel|kap\.|chapitre|chap|cap[ií]tulo|cap\.|capitolo|глава"
    r"|rozdział|hoofdstuk|kapitola|fejezet|luku|bölüm|κεφάλαιο"
)
_CHAPTER_FIRST: Final = re.compile(rf"(?:{_CHAPTER_WORDS})(?:[\s.:#№-]+|(?=\d))(\S.*)", re.IGNORECASE)
_CHAPTER_LAST: Final = re.compile(
    r"(?:(?:the|das|le|el|il) )?(\S+)\s+(?:chapter|kapitel|capítulo|chapitre|capitolo|глава)\b\s*[.:—–-]*\s*(.*)",
    re.IGNORECASE,
)
_CHAPTER_ALONE: Final = re.compile(rf"(?:{_CHAPTER_WORDS})\s*[.:]?", re.IGNORECASE)
_EASTERN: Final = re.compile(rf"[第제]\s*({HAN_NUMBER}|\d{{1,4}})\s*[章回節节話话幕장화]\s*[.:：—–-]*\s*(.*)")
_NAMED: Final = re.compile(
    r"(prologue?|epilogue?|preface|foreword|introduction|interlude|afterword|conclusion|prolog|epilog|prólogo"
    r"|epílogo|prologo|epilogo|épilogue|vorwort|nachwort|пролог|эпилог|préface|прологъ"
    r"|序章|楔子|引子|尾声|尾聲|终章|終章|プロローグ|エピローグ)\s*[.:：—–-]*\s*(.{0,60})",
    re.IGNORECASE,
)
_INTERLUDE: Final = "interlude"
_DIVISION: Final = re.compile(
    r"(?:book|part|volume|vol\.|act|buch|teil|band|akt|aufzug|livre|partie|tome|acte|libro|parte|tomo|acto|atto|книга|часть"
    r"|том|действие)\s+(\S.*)",
    re.IGNORECASE,
)
_ORDINAL_DIVISION: Final = re.compile(
    r"(\S+)\s+(?:book|part|volume|act|buch|teil|band|akt|aufzug|livre|partie|acte|libro|parte|acto|atto|книга|часть"
    r"|действие)\b\s*[.:—–-]*\s*(.*)",
    re.IGNORECASE,
)
_EASTERN_DIVISION: Final = re.compile(
    rf"(?:第\s*({HAN_NUMBER}|\d{{1,3}})\s*[卷部集]|[卷部]\s*({HAN_NUMBER}|\d{{1,3}}))(?:[\s:：]\s*(.{{0,30}}))?"
)
_SCENE_WORDS: Final = r"scene|szene|auftritt|scène|escena|scena|сцена|явление"
_SCENE: Final = re.compile(rf"(?:{_SCENE_WORDS})\s+(\S.*)", re.IGNORECASE)
_SCENE_LAST: Final = re.compile(rf"(\S+)\s+(?:{_SCENE_WORDS})\b\s*[.:—–-]*\s*(.*)", re.IGNORECASE)
_COUNTED_WORDS: Final = (
    r"day|night|episode|entry|section|tag|nacht|folge|jour|nuit|épisode|día|noche"
    r"|episodio|giorno|notte|день|ночь"
)
_COUNTED: Final = re.compile(rf"(?:{_COUNTED_WORDS})\s+(\S.*)", re.IGNORECASE)
_COUNTED_LAST: Final = re.compile(rf"(?:the\s+)?(\S+)\s+(?:{_COUNTED_WORDS})\b\s*[.:—–-]*\s*(.*)", re.IGNORECASE)
_MONTH: Final = (
    r"(?:jan|feb|mar|märz|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez|janv|févr|mars|avr|juin|juil|août|déc)"
    r"[a-zéû]*\.?"
)
_DATE: Final = re.compile(
    rf"(?:\w+,? )?(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{_MONTH}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?)"
    r"(?:,? \d{4})?\.?",
    re.IGNORECASE,
)
_MAX_TITLE_CHARACTERS: Final = 50
_MIN_TITLED: Final = 3
"""So many lines in capitals or dates that stand alone are headings of a book that has no others."""
_MIN_TITLED_CHARACTERS: Final = 300
"""The text that the middle one of them has behind it at least: less, and they are labels, signs or letters."""
_ORNAMENTED: Final = re.compile(r"[~<•·–—-]+[ \t]*(\S.*?)[ \t]*[~>•·–—-]+")
"""A line with the same kind of ornament at both ends: - 7 -, ~ The Ferry ~."""
_LONE_NUMBER: Final = re.compile(r"[№#§(]?\s*(\d{1,3}|[IVXLC]{1,8})\s*[.)]?")
_SMALL_NUMERAL: Final = re.compile(r"\(?([ivxlc]{1,8})[.)]?")
_UNDERLINE: Final = re.compile(r"\n[ \t]*([=~*_-])\1{2,}[ \t]*(?=\n|$)")
_NUMBERED: Final = re.compile(
    r"(\d{1,3}|[IVXLC]{1,8})\s*(?:[.:)]|\s[—–-])\s*(?=\S)(?!\d)(.{1,70})|(\d{1,3}) (?=[^\Wa-z_]{2})[^a-z]{2,60}"
)
"""7. The Ferry; without a mark behind the number the rest must be in capitals: 7 ORLA."""
_MARKDOWN: Final = re.compile(r"#{1,3}\s+(\S.*)")
_LINE: Final = re.compile(r"^[^\n]*$", re.MULTILINE)
_SEPARATOR: Final = re.compile(r"\s*[.:,—–\])-]+\s*")
_OF_SO_MANY: Final = re.compile(r"(?:of|/|von|de|di|из)\s*\w+", re.IGNORECASE)
"""How many there are, behind the number of one: Part 2 of 3, Chapter 2/3."""
_CONTINUED: Final = (",", ";", "，", "；", "。")
"""Marks at the end of a line that is a sentence, or the first line of a long heading."""

CHAPTER: Final = "chapter"
DIVISION: Final = "division"
NAMED: Final = "named"
SCENE: Final = "scene"
NUMBER: Final = "number"
WORD: Final = "word"
MARKDOWN: Final = "markdown"
NUMBERED: Final = "numbered"
COUNTED: Final = "counted"
"""A day, a night, a scene or an episode with its number; a chapter only in a book that has no others."""
TITLED: Final = "titled"
"""A line in capitals or a date; a chapter only in a book without any other heading."""

Span = tuple[int, int]


class Heading(Struct, frozen=True):
    """A heading: its span, its kind, its title in one line, and its number if it has one."""

    start: int
    end: int
    kind: str
    title: str
    number: int | None = None
    shares_number: bool = False
    """Whether it takes the number of the chapter before it, as an interlude does."""


def find_headings(text: str, low: int, high: int) -> list[Heading]:
    """Return the headings of chapters and divisions in the plainest way in which this book has any."""
    read = _join_numbers(
        [heading for line in _candidate_lines(text, low, high) for heading in _read_line(text, line)]
    )
    # What the file itself marks comes first: then a line with a number alone is a scene, a verse or a list.
    marked = [heading for heading in read if text[heading.start : heading.end].lstrip().startswith("#")]
    called = [heading for heading in read if heading.kind == CHAPTER and heading not in marked]
    if len(marked) >= _MIN_MARKED and len(called) < len(marked):
        read = marked
    by_kind: dict[str, list[Heading]] = {}
    for heading in read:
        by_kind.setdefault(heading.kind, []).append(heading)
    divisions = by_kind.get(DIVISION, [])
    # Where chapters are called so, numbered lines are verses, lists or letters and no headings.
    for kind, least, must_count in (
        (CHAPTER, 1, False),
        (SCENE, 2 if divisions else len(read) + 1, False),
        (NUMBER, 1, False),
        (WORD, 2, True),
        (MARKDOWN, 1, False),
        (NUMBERED, 2, False),
        (COUNTED, 2, True),
        (SCENE, 2, True),
        (DIVISION, 1, False),
        (TITLED, _MIN_TITLED, False),
        (NAMED, 1, False),
    ):
        found = by_kind.get(kind, [])
        if len(found) < least or (must_count and not _go_up(found)):
            continue
        if kind != TITLED or _have_bodies(found, high):
            return [heading for heading in read if heading.kind in (kind, NAMED, DIVISION)]
    return []


def _go_up(headings: Sequence[Heading]) -> bool:
    """Return whether lines that need not be headings count chapters: they begin with one, and go up by one."""
    return [heading.number for heading in headings] == list(range(1, len(headings) + 1))


def _have_bodies(titled: Sequence[Heading], high: int) -> bool:
    """Return whether most lines without a number have as much text behind them as a chapter or a letter has."""
    edges = [*(heading.start for heading in titled), high]
    lengths = sorted(after - heading.end for heading, after in zip(titled, edges[1:], strict=True))
    return lengths[len(lengths) // 2] >= _MIN_TITLED_CHARACTERS


def _candidate_lines(text: str, low: int, high: int) -> Iterator[Span]:
    """Yield the lines after a blank one (or all, if there are none) that may be headings, without decoration."""
    has_no_blank_lines, after_blank = text.find("\n\n", low, high) < 0, True
    for match in _LINE.finditer(text, low, high):
        line = match.group()
        stripped = line.strip().strip("*_=[] ")
        if ornamented := _ORNAMENTED.fullmatch(stripped):
            stripped = ornamented[1]
        if stripped and after_blank and len(stripped) <= _MAX_MARKED_CHARACTERS:
            start = match.start() + line.index(stripped)
            yield start, start + len(stripped)
        # `Book One` may stand directly above `Chapter 1`, and `CHAPTER` above its number.
        after_blank = (
            has_no_blank_lines
            or not line.strip()
            or (after_blank and (_read_division(stripped) is not None or bool(_CHAPTER_ALONE.fullmatch(stripped))))
        )


def _read_line(text: str, line: Span) -> Iterator[Heading]:
    """Yield the heading in a line, if it is one."""
    start, end = line
    marked = text[start:end]
    # Decoration around it, the brackets of [Chapter 1], belongs to the heading.
    start = text.rfind("\n", 0, start) + 1
    end = line_end if (line_end := text.find("\n", end)) >= 0 else len(text)
    # So does a line of marks below it.
    end = underline.end() if (underline := _UNDERLINE.match(text, end)) else end
    written = marked.lstrip("# ")
    is_marked = marked.startswith("#") and bool(_MARKDOWN.fullmatch(marked))
    if not written:
        return
    found = _read_chapter(written)
    if found is not None:
        yield Heading(start, end, CHAPTER, clean_title(written), found)
        return
    if len(written) > _MAX_HEADING_CHARACTERS and not is_marked:
        return
    kind, number, shares = _read_other(written, is_marked)
    if kind:
        is_shouted = kind == TITLED and written.isupper()
        yield Heading(start, end, kind, capwords(written) if is_shouted else clean_title(written), number, shares)


def _read_other(written: str, is_marked: bool) -> tuple[str, int | None, bool]:
    """Return kind and number of a line that names no chapter, and whether it shares the number before it."""
    if (match := _NAMED.fullmatch(written)) and not written[0].islower() and match[2][-1:] not in (".", ","):
        return NAMED, None, match[1].lower() == _INTERLUDE
    if _CHAPTER_ALONE.fullmatch(written) and (written[0].isupper() or is_marked):
        return CHAPTER, None, False
    readings = (
        (DIVISION, _read_division(written)),
        (SCENE, _read_scene(written)),
        (NUMBER, _read_pattern(_LONE_NUMBER, written)),
        # What the file marks as a heading is one, whatever it says; a number comes before its words.
        (MARKDOWN, 0 if is_marked else None),
        (WORD, _read_word(written)),
        (NUMBERED, _read_pattern(_NUMBERED, written)),
        (COUNTED, _read_counted(written)),
        (TITLED, 0 if _is_titled(written) else None),
    )
    kind, number = next(((kind, number) for kind, number in readings if number is not None), ("", None))
    return kind, None if kind in (MARKDOWN, TITLED) else number, False


def _read_word(written: str) -> int | None:
    """Return the number of a line that is only a number word, or a Roman numeral in lower case."""
    if match := _SMALL_NUMERAL.fullmatch(written):
        return read_number(match[1])
    return read_number(written.rstrip(".")) if written.isupper() or written.istitle() else None


def _is_titled(written: str) -> bool:
    """Return whether a line is in capitals without the mark of a sentence, or a date."""
    if len(written) > _MAX_TITLE_CHARACTERS:
        return False
    is_in_capitals = written.isupper() and written[0].isalpha() and written[-1] not in ".,;:!?-—–\"”'’)"
    return is_in_capitals or _DATE.fullmatch(written) is not None


def _read_counted(written: str) -> int | None:
    """Return the number of a day, a night, a scene or an episode: Day 1, The Second Night."""
    if match := _COUNTED.fullmatch(written):
        split = _split_number(match[1])
        return split[0] if split is not None and not _is_sentence(*split[1:]) else None
    if (match := _COUNTED_LAST.fullmatch(written)) and written[0].isupper() and not _is_sentence("", match[2]):
        return read_number_word(match[1])
    return None


def _read_scene(written: str) -> int | None:
    if match := _SCENE.fullmatch(written):
        split = _split_number(match[1])
        return split[0] if split else None
    if (match := _SCENE_LAST.fullmatch(written)) and written[0].isupper() and not _is_sentence("", match[2]):
        return read_number_word(match[1])
    return None


def _read_pattern(pattern: re.Pattern[str], written: str) -> int | None:
    match = pattern.fullmatch(written)
    return read_number(match[1] or match[match.lastindex or 1]) if match else None


def _read_chapter(written: str) -> int | None:
    """Return the number of a line that says it is a chapter, or None where it is none."""
    if match := _EASTERN.fullmatch(written):
        return None if match[2].endswith(_CONTINUED) else read_number(match[1])
    # `Book One, Chapter Two` in one line counts by its chapter.
    tail = written.partition(",")[2].strip() if _read_division(written.partition(",")[0]) is not None else written
    if match := _CHAPTER_FIRST.fullmatch(tail):
        split = _split_number(match[1])
        return split[0] if split is not None and not _is_sentence(*split[1:]) else None
    if (match := _CHAPTER_LAST.fullmatch(written)) and written[0].isupper():
        number = read_number_word(match[1]) or read_number(match[1].rstrip("."))
        return number if number is not None and not _is_sentence("", match[2]) else None
    return None


def _is_sentence(separator: str, title: str) -> bool:
    """Return whether what follows a number is a sentence about it: Chapter two was found, and she smiled."""
    if not title:
        return False
    if separator.strip():
        return False
    if _OF_SO_MANY.fullmatch(title):
        return False
    return (title[0].islower() and not title.startswith(("in which", "of the"))) or title.endswith(_CONTINUED)


def _read_division(written: str) -> int | None:
    """Return the number of a book, part, volume or act that a line heads, or None."""
    if match := _EASTERN_DIVISION.fullmatch(written):
        return None if (match[3] or "").endswith(_CONTINUED) else read_number(match[1] or match[2])
    if match := _DIVISION.fullmatch(written):
        split = _split_number(match[1])
        return split[0] if split is not None and not _is_sentence(*split[1:]) else None
    if (match := _ORDINAL_DIVISION.fullmatch(written)) and written[0].isupper() and not match[2].endswith("."):
        return read_number_word(match[1])
    return None


def _split_number(rest: str) -> tuple[int, str, str] | None:
    """Return the number with which some words begin, the mark behind it and the title, or None."""
    words = list(re.finditer(r"[^\s.:,/—–\]()]+", rest))[:_MAX_NUMBER_WORDS]
    # The longest first, so that `twenty one` is not twenty.
    for count in range(len(words), 0, -1):
        end = words[count - 1].end()
        number = read_number(rest[:end])
        if number is not None:
            separator = _SEPARATOR.match(rest, end)
            title_start = separator.end() if separator else end
            return number, separator.group() if separator else "", rest[title_start:].strip()
    return None


def _join_numbers(headings: Sequence[Heading]) -> list[Heading]:
    """Give each `CHAPTER` without a number the number on the line below it; without one it is no heading."""
    joined: list[Heading] = []
    for heading in headings:
        last = joined[-1] if joined else None
        if last is not None and last.kind == CHAPTER and last.number is None:
            joined.pop()
            if heading.kind in (NUMBER, WORD) and heading.number is not None:
                title = f"{last.title} {heading.title}"
                joined.append(replace(heading, start=last.start, kind=CHAPTER, title=title))
                continue
        joined.append(heading)
    return [heading for heading in joined if heading.kind != CHAPTER or heading.number is not None]


def clean_title(written: str) -> str:
    """Return a heading in one line, without marks at its end; CHAPTER ONE becomes Chapter One, and XIV stays."""
    first, *rest = " ".join(written.split()).rstrip(".:—–- ").split(" ")
    if not first.isupper() or len(first) < 2 or read_number(first.rstrip(".:")) is not None:
        return " ".join((first, *rest))
    count = 0
    while count < len(rest) and first[-1] not in ".:" and _is_shouted_number(rest[count]):
        count += 1
        # What stands behind the colon is the title.
        if rest[count - 1][-1] in ".:,":
            break
    return " ".join((first.capitalize(), *map(str.capitalize, rest[:count]), *rest[count:]))


def _is_shouted_number(word: str) -> bool:
    plain = word.rstrip(".:,").lower()
    is_number = plain == "the" or all(read_number_word(part) is not None for part in plain.split("-"))
    return is_number and word.isupper()
