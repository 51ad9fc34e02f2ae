"""Represent printed lines together with their sources, and keep unprintable characters off every page.

All formats print `Lines`; joining them gives the text of the page, and reading their sources gives its manifest.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from weft.frozen import dataclass
from weft.model import ManifestEntry, Node, Origin

# Controls, line and paragraph separators, direction overrides, surrogates and noncharacters.
_UNPRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_TERMINAL_ESCAPE: Final = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    "|(?:\x1b\\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)"  # window titles and links
    "|\x1b[@-Z\\\\^_]"
)
# These separate words or lines in stored text, so a space takes their place; the other controls just go.
_BREAKING: Final = frozenset("\x0b\x0c\r\x85\u2028\u2029")


def clean(text: str) -> str:
    """Return the text without unprintable characters and with the same number of newlines.

    If nothing changes, the same object is returned, so that callers can compare with `is`.
    """
    # `isprintable` is many times faster than the pattern, and true for almost every text.
    if text.replace("\n", "").isprintable() or _UNPRINTABLE.search(text) is None:
        return text
    return _UNPRINTABLE.sub(_replacement, _TERMINAL_ESCAPE.sub("", text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    """Return the text cleaned and on one line, with every run of white space as a single space."""
    if text.isprintable() and "  " not in text:
        return text.strip()
    return " ".join(clean(text).split())


def _replacement(match: re.Match[str]) -> str:
    character = match[0]
    if character in _BREAKING:
        return " "
    # Half a surrogate pair stood for some character: the replacement character says that one is missing.
    return "\ufffd" if "\ud800" <= character <= "\udfff" else ""


@dataclass(frozen=True, slots=True)
class Lines:
    """One printed line, or several that follow each other on the page as they do in their source.

    `key`, `tenant` and `origin` name the source; `key` is None for lines that Weft itself prints (the frame).
    `source_line` is the source line of the first of them: it counts in `origin.file` if the node knows its first
    line there, else within the node's text. `verbatim` promises that `text` occurs in the node's text character
    for character.
    """

    text: str
    key: str | None = None
    tenant: str | None = None
    origin: Origin | None = None
    source_line: int | None = None
    verbatim: bool = False

    @property
    def count(self) -> int:
        """The number of lines."""
        return self.text.count("\n") + 1

    def split_first(self) -> "list[Lines]":
        """Return the first line and, if there are any, the others as a second element."""
        return self._split(self.text.find("\n"))

    def split_last(self) -> "list[Lines]":
        """Return the last line, with the others (if there are any) as an element before it."""
        return self._split(self.text.rfind("\n"))

    def _split(self, newline: int) -> "list[Lines]":
        if newline < 0:
            return [self]
        first, rest = replace(self, text=self.text[:newline]), replace(self, text=self.text[newline + 1 :])
        if self.source_line is None:
            return [first, rest]
        return [first, replace(rest, source_line=self.source_line + first.count)]


BLANK = Lines("")


def frame_lines(*texts: str) -> tuple[Lines, ...]:
    """Return lines that Weft itself prints, which have no source."""
    return tuple([Lines(text) for text in texts])


def node_line(node: Node, text: str) -> Lines:
    """Return a line that says something about a node without quoting its text."""
    return Lines(text, node.key, node.tenant, node.origin)


def join_lines(lines: Sequence[Lines]) -> str:
    """Return the text of the lines, with no newline after the last one."""
    return "\n".join([each.text for each in lines])


def build_manifest(lines: Sequence[Lines]) -> tuple[ManifestEntry, ...]:
    """Return the source of every line, counted from 1; neighbours from one place are merged into a range."""
    entries: list[ManifestEntry] = []
    printed, start = 0, 0
    for index, current in enumerate(lines):
        printed += current.count
        if index + 1 == len(lines) or not _continues(current, lines[index + 1]):
            first = entries[-1].last_line + 1 if entries else 1
            entries.append(_range_entry(lines[start], current, first, printed))
            start = index + 1
    return tuple(entries)


def _continues(lines: Lines, following: Lines) -> bool:
    """Tell whether the following lines go on in the same source where these end."""
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


def _range_entry(first: Lines, last: Lines, first_line: int, last_line: int) -> ManifestEntry:
    source_end = None if last.source_line is None else last.source_line + last.count - 1
    source = (first.key, first.tenant, first.origin, first.source_line)
    return ManifestEntry(first_line, last_line, *source, source_end, first.verbatim)
