"""Find every line that holds a text or matches a regular expression, in all that the view holds."""

import re
import time
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

import regex
from msgspec import Struct

from weft.errors import InvalidInput
from weft.model import Filter, Node
from weft.pipeline.query import Reading
from weft.pipeline.score import is_sample
from weft.pipeline.shapes import CODE_KINDS, DEFINITION_KINDS

_NODES_PER_READ: Final = 2_000
"""Nodes whose texts are in memory at a time."""
_MAX_SECONDS: Final = 10.0
"""Seconds that one search may take: some expressions take hours, and the library `re` cannot be stopped."""
_HISTORY_KINDS: Final = ("commit",)
"""Kinds that are searched only if the filter names them: whoever asks for all uses means the files."""
_DELIMITED: Final = re.compile(r"/(.+)/(i?)", re.DOTALL)
"""How a regular expression is written, with an `i` behind it to ignore case."""
_NAME: Final = re.compile(r"[^\W\d]\w*")


class ExactHit(Struct, frozen=True):
    """One line that matches: its node, its number in the file (or in the node's text), and its words.

    `around` are the lines of the node's text around it, each with its number.
    """

    node: Node
    line: int
    text: str
    around: tuple[tuple[int, str], ...] = ()


def read_pattern(written: str) -> regex.Pattern[str]:
    """Return the pattern of a text, or of a regular expression between slashes."""
    delimited = _DELIMITED.fullmatch(written)
    if delimited is None:
        return regex.compile(regex.escape(written))
    try:
        return regex.compile(delimited[1], regex.MULTILINE | (regex.IGNORECASE if delimited[2] else 0))
    except regex.error as error:
        raise InvalidInput(
            f"{written!r} is no regular expression ({error}). Write it between slashes, as in /def \\w+_lock/, or "
            "leave the slashes out to look for the text itself."
        ) from error


def find_exact(
    written: str,
    filter: Filter,
    reading: Reading,
    path: str = "",
    around: int = 0,
    max_seconds: float = _MAX_SECONDS,
) -> tuple[ExactHit, ...]:
    """Return every line with a match: of code, of documents, of tests and examples, each by file and line.

    Of a name, lines of code that define it come first, then those that use it, and imports and lists of it behind.
    A `path` is a folder, a file or a pattern such as `src/*.py`; with `around`, hits hold so many lines more.
    """
    pattern, ends = read_pattern(written), time.monotonic() + max_seconds
    hits: dict[tuple[str, str, int], ExactHit] = {}
    for node in _nodes(filter, reading):
        if path and not _is_under(node.origin.file or "", path):
            continue
        try:
            found = list(_hits_in(node, pattern, around, max(ends - time.monotonic(), 0.001)))
        except TimeoutError:
            raise InvalidInput(
                f"{written!r} took more than {max_seconds:g} seconds. Leave out repetitions within repetitions."
            ) from None
        for hit in found:
            origin = node.origin
            place = (origin.source, origin.file or node.key, hit.line)
            # A file, a class and a method may hold the same line: the innermost says most about it.
            known = hits.get(place)
            if known is None or _innermost_order(node) > _innermost_order(known.node):
                hits[place] = hit
    name = written if _NAME.fullmatch(written) else ""
    return tuple(sorted(hits.values(), key=lambda hit: _order(hit, name)))


def _is_under(file: str, path: str) -> bool:
    """Return whether a file is a path, stands below it, or matches it as a pattern."""
    path = path.removeprefix("./").rstrip("/")
    return file == path or file.startswith(f"{path}/") or PurePosixPath(file).match(path)


def _innermost_order(node: Node) -> tuple[bool, int, str]:
    return node.kind in DEFINITION_KINDS, node.origin.first_line or 0, node.key


def _order(hit: ExactHit, name: str) -> tuple[bool, bool, bool, int, float, str, int]:
    """Order code before documents and both before tests and examples; what has no file last, newest first."""
    node = hit.node
    is_document = node.kind not in CODE_KINDS
    rank = _rank_use(hit, name) if name and not is_document else 0
    age = -node.created.timestamp() if node.origin.file is None and node.created is not None else 0.0
    place = node.origin.file or node.key, hit.line
    return node.origin.file is None, is_sample(node), is_document, rank, age, *place


def _rank_use(hit: ExactHit, name: str) -> int:
    """Return 0 for a line that defines a name, 1 for one that uses it, 2 for others, 3 for a longer name."""
    if not re.search(rf"\b{name}\b", hit.text):
        return 3
    is_inside = hit.node.kind in DEFINITION_KINDS
    is_named = is_inside and hit.node.title.rpartition(".")[2] == name
    # A constant, a field or a parameter; an argument of a call has no blank before its sign.
    is_assigned = re.match(rf"{name}(?:\s*:(?!:)|\s+:?=\s)", hit.text)
    return 0 if is_named or is_assigned else 1 if is_inside else 2


def _nodes(filter: Filter, reading: Reading) -> Iterator[Node]:
    snapshot = reading.snapshot
    if not filter.kinds:
        filter = Filter(
            tuple(kind for kind in snapshot.kinds() if kind not in _HISTORY_KINDS),
            *(filter.tags, filter.sources, filter.where),
        )
    ids = snapshot.matching_ids(filter).tolist()
    for start in range(0, len(ids), _NODES_PER_READ):
        yield from (row.node for row in snapshot.nodes(ids[start : start + _NODES_PER_READ]).values())


def _hits_in(node: Node, pattern: regex.Pattern[str], around: int, seconds: float) -> Iterator[ExactHit]:
    first = node.origin.first_line if node.origin.file and node.origin.first_line is not None else 1
    last_start = -1
    for match in pattern.finditer(node.text, timeout=seconds):
        start = node.text.rfind("\n", 0, match.start()) + 1
        # Several matches on a line are one hit.
        if start == last_start:
            continue
        last_start = start
        end = node.text.find("\n", match.start())
        line = node.text.count("\n", 0, start)
        words = node.text[start : end if end >= 0 else None].strip()
        yield ExactHit(node, first + line, words, tuple(_lines_around(node.text, line, around, first)))


def _lines_around(text: str, index: int, around: int, first: int) -> Iterator[tuple[int, str]]:
    """Yield the lines before and behind a line, and itself, with their numbers; none where none are asked for."""
    lines = text.split("\n") if around else []
    for number in range(max(index - around, 0), min(index + around + 1, len(lines))):
        yield first + number, lines[number].rstrip()
