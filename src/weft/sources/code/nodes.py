"""An outline and its text as nodes: the file, its definitions, and what stands between them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import PurePosixPath
from typing import Final

from weft.model import Alias, Edge, Json, Node, Origin
from weft.sources.code.modules import PACKAGE_FILES
from weft.sources.code.outline import Outline, Symbol
from weft.sources.code.resolve import Link, Target, is_test
from weft.sources.files import Naming

CONTAINS: Final = "contains"
TEST_TAG: Final = "test-code"
"""The tag of everything in files of tests, by which a lens can tell it from what is tested."""

_WEIGHTS: Final = {"imports": 0.5, "references": 0.7, "tests": 0.7}
_SUBSTANCE: Final = re.compile(r"^(?!\s*(?:#(?!define|include)|//|/?\*|--)).*\w+\W+\w")
"""A line with a word or two that is no comment."""
_NAMED: Final = 12
"""How many definitions stand for a file that says nothing itself."""
_BASENAME: Final = 0.9
_QUALIFIED: Final = 1.0

Run = tuple[int, int]
"""First and last line, from 1."""


def nodes_of(path: str, text: str, outline: Outline, naming: Naming) -> tuple[Node, ...]:
    """The nodes of a file: itself, then definitions in order, each followed by its parts."""
    lines = text.split("\n")
    writer = _Writer(path, lines, outline.language, naming)
    runs = _runs(len(lines), outline)
    own = [run for run in runs.get(0, ()) if any(map(str.strip, lines[run[0] - 1 : run[1]]))]
    nodes = [writer.file(outline, own[0] if own else None)]
    nodes += writer.parts(path, "", own[1:])
    for place, symbol in enumerate(outline.symbols, 1):
        own = runs.get(place) or [(symbol.first_line, symbol.last_line)]
        nodes.append(writer.symbol(symbol, own[0]))
        nodes += writer.parts(symbol.name, symbol.name, own[1:])
    return tuple(nodes)


def contained(path: str, nodes: Sequence[Node], outline: Outline, naming: Naming) -> Iterator[Edge]:
    """The edges from a file to what it defines, from classes to their members, and to their parts."""
    parents = {key_of(naming, Target(path, each.name)): each.parent for each in outline.symbols}
    for node in nodes[1:]:
        parent = parents.get(node.key)
        if parent is None:
            parent = node.key.removeprefix(f"{naming.source}:{path}#").rpartition("/")[0]
        yield Edge(key_of(naming, Target(path, parent)), node.key, CONTAINS, weight=0.5, tenant=naming.tenant)


def drawn(links: Iterable[Link], naming: Naming) -> Iterator[Edge]:
    """Resolved references as edges; a guess weighs as much less as it is less sure."""
    for link in links:
        yield Edge(
            source=key_of(naming, link.source),
            target=key_of(naming, link.target),
            type=link.type,
            weight=round(_WEIGHTS.get(link.type, 1.0) * link.confidence, 3),
            confidence=round(link.confidence, 3),
            evidence=f"line {link.line}",
            tenant=naming.tenant,
        )


def key_of(naming: Naming, target: Target) -> str:
    """The key of a file or of a definition in it."""
    return f"{naming.source}:{target.path}#{target.name}" if target.name else f"{naming.source}:{target.path}"


class _Writer:
    """Nodes of one file."""

    def __init__(self, path: str, lines: Sequence[str], language: str, naming: Naming) -> None:
        self.path, self.lines, self.language, self.naming = path, lines, language, naming
        self.tags = (TEST_TAG,) if is_test(path) else ()

    def file(self, outline: Outline, head: Run | None) -> Node:
        """The file by its own first lines; one that only holds definitions is told by their names."""
        name = PurePosixPath(self.path).name
        names = dict.fromkeys((name, _module(self.path)))
        aliases = tuple(Alias(each, self.naming.maker, _BASENAME) for each in names if each != self.path)
        summary = outline.summary or ("" if head else _defines(outline))
        return self._node("", "file", self.path, head or (1, 0), summary, aliases=aliases)

    def symbol(self, symbol: Symbol, own: Run) -> Node:
        # The file's name is searched with all that it holds: who asks about `budget.py` asks about what is in it.
        fields: dict[str, Json] = {"module": self.path}
        if symbol.signature:
            fields["signature"] = symbol.signature
        title = symbol.name.partition("~")[0]
        aliases = (Alias(f"{_module(self.path)}.{title}", self.naming.maker, _QUALIFIED),)
        return self._node(symbol.name, symbol.kind, title, own, symbol.summary, fields=fields, aliases=aliases)

    def parts(self, title: str, name: str, runs: Iterable[Run]) -> list[Node]:
        """What a file or a class says between and after its definitions."""
        told = [run for run in runs if any(map(_SUBSTANCE.search, self.lines[run[0] - 1 : run[1]]))]
        prefix = f"{name}/" if name else ""
        return [
            self._node(f"{prefix}part-{number}", "file", f"{title}, part {number}", run, "")
            for number, run in enumerate(told, 2)
        ]

    def _node(
        self,
        name: str,
        kind: str,
        title: str,
        run: Run,
        summary: str,
        *,
        fields: dict[str, Json] | None = None,
        aliases: tuple[Alias, ...] = (),
    ) -> Node:
        first, last = _trimmed(run, self.lines)
        return Node(
            key=key_of(self.naming, Target(self.path, name)),
            kind=kind,
            tenant=self.naming.tenant,
            title=title,
            summary=summary,
            text="\n".join(self.lines[first - 1 : last]),
            language=self.language,
            fields=fields or {},
            tags=self.tags,
            aliases=aliases,
            origin=Origin(self.naming.source, self.path, first, last),
        )


def _defines(outline: Outline) -> str:
    """The first definitions of a file by name, and how many more there are."""
    names = [each.name for each in outline.symbols if not each.parent]
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"Defines {', '.join(names[:_NAMED])}{more}." if names else ""


def _module(path: str) -> str:
    """What a file is called by those who import it: its stem, or its folder for the file of a folder."""
    parts = PurePosixPath(path)
    stem = parts.name.split(".", 1)[0]
    return parts.parent.name if stem in PACKAGE_FILES and parts.parent.name else stem


def _trimmed(run: Run, lines: Sequence[str]) -> Run:
    """The run without blank lines at its ends."""
    first, last = run
    while first < last and not lines[first - 1].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return first, last


def _runs(count: int, outline: Outline) -> dict[int, list[Run]]:
    """The lines that belong to each definition itself, by its number; to the file, by 0."""
    owner = [0] * (count + 1)
    for place, symbol in enumerate(outline.symbols, 1):
        last = min(symbol.last_line, count)
        owner[symbol.first_line : last + 1] = [place] * (last + 1 - symbol.first_line)
    for line in outline.framing:
        if line <= count and owner[line] == 0:
            owner[line] = -1
    runs: dict[int, list[Run]] = {}
    for place, group in groupby(range(1, count + 1), owner.__getitem__):
        lines = list(group)
        runs.setdefault(place, []).append((lines[0], lines[-1]))
    return runs
