"""Characters that no page prints: controls, terminal escapes, direction overrides, broken Unicode."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from weft.frozen import dataclass
from weft.model import ManifestEntry, Node, Origin

_UNPRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_TERMINAL: Final = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    "|(?:\x1b\\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)"  # window titles and links
    "|\x1b[@-Z\\\\^_]"
)
_SPACES: Final = frozenset("\x0b\x0c\r\x85\u2028\u2029")


def clean(text: str) -> str:
    """The text as it may be printed, with the same number of newlines (the same object when nothing changes)."""
    if text.replace("\n", "").isprintable() or _UNPRINTABLE.search(text) is None:
        return text
    return _UNPRINTABLE.sub(_replacement, _TERMINAL.sub("", text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    """The text cleaned and on one line, every run of white space a single space."""
    if text.isprintable() and "  " not in text:
        return text.strip()
    return " ".join(clean(text).split())


def _replacement(match: re.Match[str]) -> str:
    character = match[0]
    if character in _SPACES:
        return " "
    return "\ufffd" if "\ud800" <= character <= "\udfff" else ""


@dataclass(frozen=True, slots=True)
class Lines:
    """A line, or several that follow each other on the page as in their source; `key` is None for the frame.

    `source_line` is that of the first: it counts in `origin.file` when the node knows its first line there, else
    within the node's text. `verbatim` promises that `text` occurs in the node's text character for character.
    """

    text: str
    key: str | None = None
    tenant: str | None = None
    origin: Origin | None = None
    source_line: int | None = None
    verbatim: bool = False

    @property
    def count(self) -> int:
        """How many lines these are."""
        return self.text.count("\n") + 1

    def first_apart(self) -> "list[Lines]":
        """The first line, and the others if there are any."""
        return self._cut(self.text.find("\n"))

    def last_apart(self) -> "list[Lines]":
        """The last line, behind the others if there are any."""
        return self._cut(self.text.rfind("\n"))

    def _cut(self, place: int) -> "list[Lines]":
        if place < 0:
            return [self]
        first, rest = replace(self, text=self.text[:place]), replace(self, text=self.text[place + 1 :])
        if self.source_line is None:
            return [first, rest]
        return [first, replace(rest, source_line=self.source_line + first.count)]


BLANK = Lines("")


def frame(*texts: str) -> tuple[Lines, ...]:
    """Lines that Weft itself prints."""
    return tuple([Lines(text) for text in texts])


def about(node: Node, text: str) -> Lines:
    """A line that says something about a node without quoting its text."""
    return Lines(text, node.key, node.tenant, node.origin)


def text_of(lines: Sequence[Lines]) -> str:
    """The text of the lines, with no newline after the last one."""
    return "\n".join([each.text for each in lines])


def manifest_of(lines: Sequence[Lines]) -> tuple[ManifestEntry, ...]:
    """The source of every line, counted from 1, neighbours from one place merged into ranges."""
    entries: list[ManifestEntry] = []
    printed, start = 0, 0
    for at, each in enumerate(lines):
        printed += each.count
        if at + 1 == len(lines) or not _continues(each, lines[at + 1]):
            first = entries[-1].last_line + 1 if entries else 1
            entries.append(_entry(lines[start], each, first, printed))
            start = at + 1
    return tuple(entries)


def _continues(lines: Lines, following: Lines) -> bool:
    if following.key is None or lines.key is None:
        return following.key is lines.key
    if lines.source_line is None or following.source_line is None:
        adjacent = lines.source_line is following.source_line
    else:
        adjacent = following.source_line == lines.source_line + lines.count
    return (
        adjacent
        and lines.key == following.key
        and lines.tenant == following.tenant
        and lines.verbatim is following.verbatim
        and lines.origin == following.origin
    )


def _entry(first: Lines, last: Lines, start: int, end: int) -> ManifestEntry:
    ends = None if last.source_line is None else last.source_line + last.count - 1
    source = (first.key, first.tenant, first.origin, first.source_line)
    return ManifestEntry(start, end, *source, ends, first.verbatim)
