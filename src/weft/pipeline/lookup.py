"""Find what a name means that somebody copied from a page or typed: a place in a file, a hash, a definition."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from weft.model import Node
from weft.pipeline.by_history import find_commits
from weft.pipeline.by_symbol import find_definitions
from weft.pipeline.outline import file_members
from weft.pipeline.query import Reading

_PLACE: Final = re.compile(
    r"(?P<file>[^\s:][^:]*?|[^:]+:[^:]+?):L?(?P<first>\d{1,7})(?:\s*[-–]\s*L?(?P<last>\d{1,7}))?"
)
"""`path:12`, `path:12-40`, or the same with the name of a source before it."""
_HASH: Final = re.compile(r"(?:commit[ /])?([0-9a-f]{7,40})", re.IGNORECASE)
_SYMBOL: Final = re.compile(r"[\w.:$>-]+(?:\(\))?")
_CITED_MARK: Final = re.compile(r"\s*\((?:changed|deleted) since it was read\)$")


class Place(Struct, frozen=True):
    """Lines of a file, both ends included; `last` is None for a single line, whose definition is meant."""

    file: str
    first: int
    last: int | None = None


def read_place(name: str) -> Place | None:
    """Return the place that a name such as `src/app.py:10-40` is, or None."""
    match = _PLACE.fullmatch(_CITED_MARK.sub("", name.strip()).strip("*` "))
    if match is None:
        return None
    first, last = int(match["first"]), int(match["last"]) if match["last"] else None
    return Place(match["file"], first, last if last is None else max(first, last))


def find_file_nodes(file: str, reading: Reading) -> list[Node]:
    """Return the nodes that stand for the files of a path, a key or the end of a path, shortest path first."""
    snapshot = reading.snapshot
    bare = file.removeprefix("./").strip("/")
    name = bare.rpartition("/")[2]
    found = snapshot.find(list(dict.fromkeys((file, bare, name))))
    rows = snapshot.nodes(sorted({id for ids in found.values() for id in ids}))
    wanted = f"/{bare.partition(':')[2] or bare}"
    # A definition may be called like a file; it stands in a file of another name.
    nodes = [row.node for row in rows.values() if f"/{row.node.origin.file or ''}".endswith(wanted)]
    return sorted(nodes, key=lambda node: (len(node.origin.file or ""), node.tenant, node.key))


def definition_at(line: int, members: Sequence[Node]) -> Node | None:
    """Return the smallest of the nodes of a file that holds a line."""
    holding = [
        node
        for node in members
        if node.origin.first_line is not None and node.origin.first_line <= line <= (node.origin.last_line or 0)
    ]
    return min(
        holding, key=lambda node: (node.origin.last_line or 0) - (node.origin.first_line or 0), default=None
    )


def look_up(name: str, reading: Reading) -> tuple[Node, ...]:
    """Return the nodes that a name means.

    A key, id, title or alias; else a place in a file, the beginning of a hash, the last part of a definition's
    name, or the end of a path.
    """
    snapshot = reading.snapshot
    known = snapshot.nodes(snapshot.find([name]).get(name, ()))
    if known:
        # `CookieJar` is the class, and not also the file cookiejar.py.
        spelt = [row.node for row in known.values() if name in (row.node.title, row.node.key)]
        return tuple(spelt) or tuple(row.node for row in known.values())
    place = read_place(name)
    if place is not None:
        return tuple(_nodes_at(place, reading))
    hash = _HASH.fullmatch(name.strip())
    commits = find_commits([hash[1].lower()], reading) if hash is not None else []
    if commits:
        return tuple(row.node for row in commits)
    definitions = find_definitions(name.removesuffix("()"), reading) if _SYMBOL.fullmatch(name) else []
    return tuple(row.node for row in definitions) or tuple(find_file_nodes(name, reading)[:1])


def _nodes_at(place: Place, reading: Reading) -> Iterator[Node]:
    for file in find_file_nodes(place.file, reading)[:1]:
        yield definition_at(place.first, file_members(file, reading)) or file
