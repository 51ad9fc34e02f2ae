"""A Tana workspace export, recognised by its content, as a format of files."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import orjson
import xxhash

from weft.ports import Problem, Unit
from weft.sources.files import File, Naming, read_bytes
from weft.sources.tana_docs import Docs, looks_like_tana, read_docs
from weft.sources.tana_graph import Graph, Told

_MAX_FILE: Final = 1_000_000_000
_GROUPS: Final = 64
"""Notes are grouped by their id into this many units, always: groups that did not change are not read in again,
and an export that cannot be read has the same groups as the one before it, so that nothing is lost."""
_SNIFF: Final = 65_536


class Tana:
    """Exports of Tana among the files of one source."""

    suffixes = frozenset({".json"})

    def __init__(self, naming: Naming) -> None:
        self.naming = naming
        self._units: dict[str, Unit] = {}

    def takes(self, file: File) -> bool:
        """Whether the file begins like an export of Tana."""
        try:
            with file.path.open("rb") as stream:
                return looks_like_tana(stream.read(_SNIFF))
        except OSError:
            return False

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """The (name, hash of the content) of each group of notes; of an unreadable export, of all there can be."""
        self._units.clear()
        for file in files:
            for unit in self._understood(file):
                self._units[unit.name] = unit
                yield unit.name, unit.stamp or "unreadable"

    def read(self, unit: str) -> Unit:
        """The notes of one group."""
        return self._units[unit]

    def _understood(self, file: File) -> Iterator[Unit]:
        content, problem = read_bytes(file, _MAX_FILE)
        docs, problems = read_docs(content, file.name) if problem is None else (None, (problem,))
        if docs is None:
            yield from _unreadable(file, problems)
            return
        groups: dict[int, list[Told]] = {}
        for told in Graph(Docs(docs), self.naming, file.name).told():
            groups.setdefault(_group_of(told.node.key), []).append(told)
        for number, members in sorted(groups.items()):
            yield _unit(f"{file.name}#{number}", members)
        if problems:
            yield Unit(f"{file.name}#problems", _digest(problems), problems=problems)


def _group_of(key: str) -> int:
    return xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass")) % _GROUPS


def _unit(name: str, members: Sequence[Told]) -> Unit:
    nodes = tuple(told.node for told in members)
    edges = tuple(edge for told in members for edge in told.edges)
    return Unit(name, _digest([nodes, edges]), nodes, edges)


def _digest(content: object) -> str:
    return xxhash.xxh3_128_hexdigest(orjson.dumps(content, default=str))


def _unreadable(file: File, problems: tuple[Problem, ...]) -> Iterator[Unit]:
    """All groups there can be, none of them readable: what was stored of them stays."""
    first = Unit(f"{file.name}#0", "", problems=problems)
    yield first
    for number in range(1, _GROUPS):
        yield replace(first, name=f"{file.name}#{number}", problems=())
