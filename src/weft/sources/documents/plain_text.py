"""Plain text and reStructuredText: headings are underlined, numbered, or in capitals between blank lines."""

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from weft.frozen import dataclass
from weft.sources.documents import DocumentFiles, Understood, beside, stem_of
from weft.sources.documents.sections import Document, Heading
from weft.sources.files import clean, decode

_ADORNMENT: Final = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*")
_NUMBERED: Final = re.compile(r"(\d{1,2}(?:\.\d{1,3})*)\.?[ \t]+(?=[^\W\d_])\S.{0,78}")
_ENDS_A_SENTENCE: Final = re.compile(r"[.,;:!?]\s*$")
_LONGEST: Final = 90
_COMMENT_OR_DIRECTIVE: Final = re.compile(r"\.\. ")
_DOC_ROLE: Final = re.compile(r":doc:`(?:[^`<]*<)?([^`<>]+)>?`")


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    start: int


class PlainText(DocumentFiles):
    """Text files as documents; what looks like a heading begins a section."""

    suffixes: ClassVar[frozenset[str]] = frozenset({".txt", ".text"})

    def understand(self, name: str, content: bytes) -> Understood:
        """The text with its headings."""
        decoded, problems = decode(content, name)
        text = clean(decoded)
        lines = _lines(text)
        found = sorted([*_underlined(lines), *_bare(lines)], key=lambda heading: heading.start)
        return Document(_title(found, name), text, tuple(found)), problems


class RestructuredText(DocumentFiles):
    """reStructuredText as documents; a title's level follows from the order in which adornments appear."""

    suffixes: ClassVar[frozenset[str]] = frozenset({".rst", ".rest"})

    def understand(self, name: str, content: bytes) -> Understood:
        """The text with its headings, and the documents it refers to."""
        decoded, problems = decode(content, name)
        text = clean(decoded)
        found = tuple(_underlined(_lines(text)))
        targets = (beside(name, f"{match[1].strip()}.rst") for match in _DOC_ROLE.finditer(text))
        links = tuple(dict.fromkeys(target for target in targets if target))
        return Document(_title(found, name), text, found, "rst", links=links), problems


def _title(found: Sequence[Heading], name: str) -> str:
    """The one heading above all others, or the file's name."""
    if found and all(each.level > found[0].level for each in found[1:]):
        return found[0].title
    return stem_of(name)


def _lines(text: str) -> list[_Line]:
    lines = []
    start = 0
    for line in text.split("\n"):
        lines.append(_Line(line, start))
        start += len(line) + 1
    return lines


def _underlined(lines: Sequence[_Line]) -> Iterator[Heading]:
    """Lines with an adornment below, and perhaps above, at least as long as they are."""
    levels: dict[tuple[str, bool], int] = {}
    for place in range(1, len(lines)):
        title, below = lines[place - 1].text, lines[place].text
        if not _is_title(title, below):
            continue
        above = lines[place - 2] if place >= 2 else None
        over = above is not None and above.text.rstrip() == below.rstrip()
        if not over and (title[0] in " \t" or (above is not None and above.text.strip())):
            continue
        level = levels.setdefault((below[0], over), len(levels) + 1)
        first = above if over and above is not None else lines[place - 1]
        yield Heading(level, title.strip(), first.start, _next(lines, place))


def _is_title(title: str, below: str) -> bool:
    """Whether a line can be a title: words, not longer than what underlines it by more than a slip."""
    return (
        _ADORNMENT.fullmatch(below) is not None
        and bool(title.strip())
        and len(title.strip()) <= min(_LONGEST, len(below.rstrip()) + 1)
        and _ADORNMENT.fullmatch(title) is None
        and _COMMENT_OR_DIRECTIVE.match(title) is None
        and any(map(str.isalnum, title))
    )


def _bare(lines: Sequence[_Line]) -> Iterator[Heading]:
    """Numbered lines, and lines in capitals, that stand between blank ones."""
    for place, line in enumerate(lines):
        before = lines[place - 1].text.strip() if place else ""
        after = lines[place + 1].text.strip() if place + 1 < len(lines) else ""
        if before or after or len(line.text) > _LONGEST or _ENDS_A_SENTENCE.search(line.text):
            continue
        numbered = _NUMBERED.fullmatch(line.text.rstrip())
        if numbered:
            yield Heading(1 + numbered[1].count("."), line.text.strip(), line.start, _next(lines, place))
        elif line.text.isupper() and line.text[:1].isalpha() and len(line.text) >= 4:
            yield Heading(1, line.text.strip(), line.start, _next(lines, place))


def _next(lines: Sequence[_Line], place: int) -> int:
    """Where the line after this one begins, or the text ends."""
    return lines[place].start + len(lines[place].text) + (place + 1 < len(lines))
