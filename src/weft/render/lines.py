"""One printed line and where it came from; the text and the manifest are both made of these."""

from collections.abc import Sequence

from weft.frozen import dataclass
from weft.model import ManifestEntry, Node, Origin


@dataclass(frozen=True, slots=True)
class Line:
    """One printed line without its newline; `key` is None for the frame.

    `source_line` counts in `origin.file` when the node knows its first line there, else within the node's text.
    `verbatim` promises that `text` occurs in the node's text character for character.
    """

    text: str
    key: str | None = None
    tenant: str | None = None
    origin: Origin | None = None
    source_line: int | None = None
    verbatim: bool = False


BLANK = Line("")


def frame(*texts: str) -> tuple[Line, ...]:
    """Lines that Weft itself prints."""
    return tuple(Line(text) for text in texts)


def about(node: Node, text: str) -> Line:
    """A line that says something about a node without quoting its text."""
    return Line(text, node.key, node.tenant, node.origin)


def text_of(lines: Sequence[Line]) -> str:
    """The text of the lines, with no newline after the last one."""
    return "\n".join([line.text for line in lines])


def manifest_of(lines: Sequence[Line]) -> tuple[ManifestEntry, ...]:
    """The source of every line, counted from 1, neighbours from one place merged into ranges."""
    entries: list[ManifestEntry] = []
    start = 0
    for index in range(1, len(lines) + 1):
        if index == len(lines) or not _continues(lines[index - 1], lines[index]):
            entries.append(_entry(lines, start, index))
            start = index
    return tuple(entries)


def _continues(line: Line, following: Line) -> bool:
    if following.key is None or line.key is None:
        return following.key is line.key
    if line.source_line is None or following.source_line is None:
        adjacent = line.source_line is following.source_line
    else:
        adjacent = following.source_line == line.source_line + 1
    return (
        adjacent
        and line.key == following.key
        and line.tenant == following.tenant
        and line.verbatim is following.verbatim
        and line.origin == following.origin
    )


def _entry(lines: Sequence[Line], start: int, end: int) -> ManifestEntry:
    first, last = lines[start], lines[end - 1]
    return ManifestEntry(
        start + 1,
        end,
        first.key,
        first.tenant,
        first.origin,
        first.source_line,
        last.source_line,
        first.verbatim,
    )
