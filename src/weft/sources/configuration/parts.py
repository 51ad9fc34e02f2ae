"""Split a long configuration file at its tables, keys, targets or messages, by lines and without parsing it."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

_MAX_WHOLE_CHARACTERS: Final = 4_000
"""A file up to this long stays whole: about a thousand tokens, which a page can show as they are."""
_MAX_PART_CHARACTERS: Final = 2_500
"""A longer part is split once more, and neighbours are joined up to this."""
_MAX_DEPTH: Final = 3
"""How often a part is split again: below that, what stands together is better read together."""
_MAX_JOINED_NAMES: Final = 3
"""Names that the title of joined parts lists."""
_MAX_TITLE_CHARACTERS: Final = 60
_MAX_SEARCHED_CHARACTERS: Final = 300
"""How much of a line is searched for a title; the patterns backtrack, and no title stands further right."""

_TABLE: Final = re.compile(r"\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY: Final = re.compile(r"""(["']?)([^\s"'#:{}\[\],][^"'#:{}]*)\1\s*:(?:\s|$)""")
_ENTRY: Final = re.compile(r"-\s+(?:[\w-]+:\s*)?[\"']?([^\"'{}\[\]]{0,60})")
_TARGET: Final = re.compile(r"([\w./%$()-][\w ./%$(){}-]*?)\s*::?(?!=)")
_STAGE: Final = re.compile(r"FROM\s+(?:--\S+\s+)?(\S+)(?:\s+AS\s+(\S+))?", re.IGNORECASE)
_MESSAGE: Final = re.compile(r"(?:message|service|enum|extend|struct|type|input|interface|union)\s+([\w.]+)")
_BLOCK: Final = re.compile(r"(\w+(?:\s+\"[^\"]+\")*)\s*\{")
_COMMENT: Final = re.compile(r"\s*(?:#|//|;|$)")


class Part(Struct, frozen=True):
    """Some lines of a file, from 1 and both included, and the name of what they hold."""

    title: str
    first: int
    last: int


FindTitle = Callable[[str], str | None]
"""Returns the title of the part that a line begins, or None if it begins none."""


def split_parts(lines: Sequence[str], language: str) -> tuple[Part, ...]:
    """Return the parts of a file in order; none where it is short or has nothing to split at.

    Lines before the first part belong to the file itself.
    """
    if sum(map(len, lines)) + len(lines) <= _MAX_WHOLE_CHARACTERS:
        return ()
    parts = list(_split(lines, Part("", 1, len(lines)), language, 1))
    return tuple(_join_small(parts, lines)) if len(parts) > 1 else ()


def list_titles(lines: Sequence[str], language: str) -> list[str]:
    """Return the names of the tables, keys, targets or messages at the top of a file, each once."""
    return list(dict.fromkeys(part.title for part in _cut(lines, Part("", 1, len(lines)), language)))


def _split(lines: Sequence[str], whole: Part, language: str, depth: int) -> Iterator[Part]:
    """Cut a part at what stands highest in it, and what is still too long once more."""
    for part in _cut(lines, whole, language):
        titled = Part(f"{whole.title}.{part.title}" if whole.title else part.title, part.first, part.last)
        inner = [titled]
        if _size(titled, lines) > _MAX_PART_CHARACTERS and depth < _MAX_DEPTH:
            inner = list(_split(lines, titled, language, depth + 1)) or [titled]
            # The line that opens the part stays with the first thing inside it.
            inner[0] = Part(inner[0].title, titled.first, inner[0].last)
        yield from inner


def _cut(lines: Sequence[str], whole: Part, language: str) -> list[Part]:
    """Return the parts directly inside some lines of a file."""
    find_title = _TITLES.get(language)
    nested = whole.title != ""
    if find_title is None:
        inside = range(whole.first + nested, whole.last + 1)
        indent = _least_indent(lines, inside) if language in _INDENTED else None
        if indent is None:
            return []
        starts = [
            (number, title)
            for number in inside
            if _indent(lines[number - 1]) == indent and (title := _indented_title(lines[number - 1]))
        ]
    else:
        # A table or target has no inner ones that begin a line.
        starts = [
            (number, title)
            for number in range(whole.first, whole.last + 1)
            if not nested and (title := find_title(lines[number - 1][:_MAX_SEARCHED_CHARACTERS]))
        ]
    if not starts:
        return []
    starts = [(_with_comments(lines, number, whole.first), title) for number, title in starts]
    ends = [*(number - 1 for number, _ in starts[1:]), whole.last]
    return [
        Part(title[:_MAX_TITLE_CHARACTERS], first, last)
        for (first, title), last in zip(starts, ends, strict=True)
        if first <= last
    ]


def _join_small(parts: Sequence[Part], lines: Sequence[str]) -> Iterator[Part]:
    """Join neighbours that are small together; each part is named after what it holds."""
    group: list[Part] = []
    for part in parts:
        if group and _size(Part("", group[0].first, part.last), lines) > _MAX_PART_CHARACTERS:
            yield _joined(group)
            group = []
        group.append(part)
    if group:
        yield _joined(group)


def _joined(group: Sequence[Part]) -> Part:
    titles = list(dict.fromkeys(part.title for part in group))
    more = f" and {len(titles) - _MAX_JOINED_NAMES} more" if len(titles) > _MAX_JOINED_NAMES else ""
    return Part(", ".join(titles[:_MAX_JOINED_NAMES]) + more, group[0].first, group[-1].last)


def _size(part: Part, lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines[part.first - 1 : part.last])


def _with_comments(lines: Sequence[str], number: int, first: int) -> int:
    """Return the first of the comment lines right above a line, or the line itself."""
    while number > first and lines[number - 2].strip() and _COMMENT.match(lines[number - 2]):
        number -= 1
    return number


def _least_indent(lines: Sequence[str], numbers: range) -> int | None:
    """Return the smallest indentation of a line with a key or an entry, or None if there is none."""
    indents = (_indent(lines[number - 1]) for number in numbers if _indented_title(lines[number - 1]))
    return min(indents, default=None)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _indented_title(line: str) -> str | None:
    line = line.strip()[:_MAX_SEARCHED_CHARACTERS]
    if line.startswith("#"):
        return None
    if key := _KEY.match(line):
        return key[2].strip()
    entry = _ENTRY.match(line)
    return entry[1].strip() or "entry" if entry else None


def _table_title(line: str) -> str | None:
    found = _TABLE.match(line)
    return found[1] if found else None


def _target_title(line: str) -> str | None:
    found = _TARGET.match(line) if not line.startswith(("\t", "#", " ")) else None
    return found[1].strip() if found and not found[1].startswith(".") else None


def _stage_title(line: str) -> str | None:
    found = _STAGE.match(line)
    return (found[2] or found[1]) if found else None


def _message_title(line: str) -> str | None:
    found = _MESSAGE.match(line)
    return found[1] if found else None


def _block_title(line: str) -> str | None:
    found = _BLOCK.match(line)
    return found[1].replace('"', "") if found else None


_INDENTED: Final = frozenset({"json", "jsonc", "yaml"})
"""Languages whose structure shows in the indentation of their keys."""
_TITLES: Final[dict[str, FindTitle]] = {
    "dockerfile": _stage_title,
    "graphql": _message_title,
    "hcl": _block_title,
    "ini": _table_title,
    "makefile": _target_title,
    "protobuf": _message_title,
    "terraform": _block_title,
    "thrift": _message_title,
    "toml": _table_title,
}
