"""Parse plain text and reStructuredText: headings are underlined, numbered, or in capitals between blank lines."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import ClassVar, Final

from msgspec import Struct

from weft.sources.documents import DocumentFiles, ParsedDocument, title_from_name
from weft.sources.documents.sections import Document, Heading
from weft.sources.files import clean, decode, resolve_link
from weft.sources.walk_files import File

_ADORNMENT: Final = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*")
_NUMBERED: Final = re.compile(r"(\d{1,2}(?:\.\d{1,3})*)\.?[ \t]+(?=[^\W\d_])\S.{0,78}")
_ENDS_A_SENTENCE: Final = re.compile(r"[.,;:!?]\s*$")
_MAX_HEADING_CHARACTERS: Final = 90
"""A longer line is a sentence; headings fit on one line of a page."""
_MIN_CAPITALS: Final = 4
"""The shortest line in capitals that is a heading; shorter ones are mostly abbreviations."""
_COMMENT_OR_DIRECTIVE: Final = re.compile(r"\.\. ")
_DOCUMENT_NAME: Final = re.compile(
    r"(?:authors|changelog|changes|citation|contributing|contributors|copying|copyright|credits|history|install"
    r"|licen[cs]e|maintainers|news|notice|patents|readme|security|thanks|todo|version)(?:[-_]\w+)?",
    re.IGNORECASE,
)
_DOC_ROLE: Final = re.compile(r":doc:`(?:[^`<]*<)?([^`<>]+)>?`")


def is_document_name(path: str) -> bool:
    """Return whether a file without suffix is a text that people read: a readme, a licence, a list of changes."""
    return _DOCUMENT_NAME.fullmatch(PurePosixPath(path).name) is not None


class _Line(Struct, frozen=True):
    text: str
    start: int


class PlainText(DocumentFiles):
    """The text files of a source; a line that looks like a heading begins a section."""

    suffixes: ClassVar[frozenset[str]] = frozenset({".txt", ".text", ""})

    def takes(self, file: File) -> bool:
        """Take every file with a suffix of text, and a readme, a licence and the like without one."""
        return bool(PurePosixPath(file.name).suffix) or is_document_name(file.name)

    def parse(self, name: str, content: bytes) -> ParsedDocument:
        """Return the text with its headings."""
        decoded, problems = decode(content, name)
        text = clean(decoded)
        lines = _split_lines(text)
        headings = [*_find_underlined(lines), *_find_freestanding(lines)]
        headings.sort(key=lambda heading: heading.start)
        return Document(_choose_title(headings, name), text, tuple(headings)), problems


class RestructuredText(DocumentFiles):
    """The reStructuredText files of a source; levels follow from the order in which adornments first appear."""

    suffixes: ClassVar[frozenset[str]] = frozenset({".rst", ".rest"})

    def parse(self, name: str, content: bytes) -> ParsedDocument:
        """Return the text with its headings, and the documents it refers to."""
        decoded, problems = decode(content, name)
        text = clean(decoded)
        headings = tuple(_find_underlined(_split_lines(text)))
        folder = PurePosixPath(name).parent
        targets = (resolve_link(folder, f"{match[1].strip()}.rst") for match in _DOC_ROLE.finditer(text))
        links = tuple(dict.fromkeys(target for target in targets if target))
        return Document(_choose_title(headings, name), text, headings, "rst", links=links), problems


def _choose_title(headings: Sequence[Heading], name: str) -> str:
    """Return the first heading if it stands above all others, or else a title made of the file's name."""
    if headings and all(heading.level > headings[0].level for heading in headings[1:]):
        return headings[0].title
    return title_from_name(name)


def _split_lines(text: str) -> list[_Line]:
    lines = []
    start = 0
    # Not `splitlines`, which also splits at characters that offsets and line numbers do not count.
    for line in text.split("\n"):
        lines.append(_Line(line, start))
        start += len(line) + 1
    return lines


def _find_underlined(lines: Sequence[_Line]) -> Iterator[Heading]:
    """Find the lines with an adornment below, and perhaps the same above, that is about as long as they are."""
    # The same character means another level when it also stands above the title.
    levels: dict[tuple[str, bool], int] = {}
    for index in range(1, len(lines)):
        title, below = lines[index - 1].text, lines[index].text
        if not _is_title(title, below):
            continue
        above = lines[index - 2] if index >= 2 else None
        has_overline = above is not None and above.text.rstrip() == below.rstrip()
        # Without an overline the title must begin its line and its paragraph, or the adornment rules off a table.
        if not has_overline and (title[0] in " \t" or (above is not None and above.text.strip())):
            continue
        # As in reStructuredText, the first adornment that appears is the highest level.
        level = levels.setdefault((below[0], has_overline), len(levels) + 1)
        first = above if has_overline and above is not None else lines[index - 1]
        yield Heading(level, title.strip(), first.start, _end_of_line(lines, index))


def _is_title(title: str, below: str) -> bool:
    """Return whether a line can be a title: it has words, and the adornment is at most one character shorter."""
    return (
        _ADORNMENT.fullmatch(below) is not None
        and bool(title.strip())
        and len(title.strip()) <= min(_MAX_HEADING_CHARACTERS, len(below.rstrip()) + 1)
        and _ADORNMENT.fullmatch(title) is None
        and _COMMENT_OR_DIRECTIVE.match(title) is None
        and any(map(str.isalnum, title))
    )


def _find_freestanding(lines: Sequence[_Line]) -> Iterator[Heading]:
    """Find the numbered lines and the lines in capitals that stand between blank lines."""
    for index, line in enumerate(lines):
        before = lines[index - 1].text.strip() if index else ""
        after = lines[index + 1].text.strip() if index + 1 < len(lines) else ""
        # Numbered lines without blank lines around them are entries of a list.
        if before or after or len(line.text) > _MAX_HEADING_CHARACTERS or _ENDS_A_SENTENCE.search(line.text):
            continue
        numbered = _NUMBERED.fullmatch(line.text.rstrip())
        if numbered:
            level = 1 + numbered[1].count(".")
            yield Heading(level, line.text.strip(), line.start, _end_of_line(lines, index))
        elif line.text.isupper() and line.text[:1].isalpha() and len(line.text) >= _MIN_CAPITALS:
            yield Heading(1, line.text.strip(), line.start, _end_of_line(lines, index))


def _end_of_line(lines: Sequence[_Line], index: int) -> int:
    """Return the offset at which the line after this one begins, or the text ends."""
    return lines[index].start + len(lines[index].text) + (index + 1 < len(lines))
