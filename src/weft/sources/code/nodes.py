"""Turn an outline and its text into nodes (the file, its definitions, the parts between them) and edges."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import PurePosixPath
from typing import Final

from weft.model import Alias, Edge, Json, Node, Origin
from weft.sources.code.outline import Outline, Symbol
from weft.sources.code.resolve import PACKAGE_FILES, RUST_TESTS, Link, Target, is_test
from weft.sources.files import SourceSettings

_CONTAINS: Final = "contains"
_TEST_TAG: Final = "test-code"
"""The tag of everything in test files, by which a lens can tell it from what is tested."""

_CONTAINS_WEIGHT: Final = 0.5
_RUST_TEST: Final = re.compile(r"(?:\s*(?://[^\n]*|#\[[^\n]*)\n)*?\s*#\[(?:(?:\w+::)?test\b|cfg\(test\))")
"""The attribute of a test, or of what is only built for tests, before its definition."""
_EDGE_WEIGHTS: Final = {"imports": 0.5, "references": 0.7, "tests": 0.7}
"""Weights by type of edge, 1 for the others: a call says more about two definitions than an import of a file."""
_CODE_LINE: Final = re.compile(r"^(?!\s*(?:#(?!define|include)|//|/?\*|--)).*\w+\W+\w")
"""A line with at least two words that is no comment."""
_MAX_LISTED_NAMES: Final = 12
"""How many definitions the summary of a file without text of its own lists: about as many as fit on two lines."""
_FILE_NAME_CONFIDENCE: Final = 0.9
_FULL_NAME_CONFIDENCE: Final = 1.0
"""Confidence of an alias: a bare file name is more often shared by several files than `module.name`."""

LineRange = tuple[int, int]
"""First and last line, from 1."""


def file_nodes(path: str, text: str, outline: Outline, settings: SourceSettings) -> tuple[Node, ...]:
    """Return the nodes of a file: itself, then its definitions in order, each followed by its parts."""
    lines = text.split("\n")
    maker = _NodeMaker(path, lines, outline.language, settings)
    ranges = _own_ranges(len(lines), outline)
    # Blank lines between definitions belong to the file by number, and would make empty parts.
    own = [found for found in ranges.get(0, ()) if any(map(str.strip, lines[found[0] - 1 : found[1]]))]
    nodes = [maker.file(outline, own[0] if own else None)]
    nodes += maker.parts(path, "", own[1:])
    # A class of one line may lose all its lines to a member on the same line; it then keeps them all.
    for number, symbol in enumerate(outline.symbols, 1):
        own = ranges.get(number) or [(symbol.first_line, symbol.last_line)]
        nodes.append(maker.symbol(symbol, own[0]))
        nodes += maker.parts(symbol.name, symbol.name, own[1:])
    return tuple(nodes)


def containment_edges(
    path: str, nodes: Sequence[Node], outline: Outline, settings: SourceSettings
) -> Iterator[Edge]:
    """Iterate over the edges from a file to its definitions, from classes to members, and from both to parts."""
    parents = {node_key(settings, Target(path, symbol.name)): symbol.parent for symbol in outline.symbols}
    for node in nodes[1:]:
        parent = parents.get(node.key)
        if parent is None:
            # A part has no symbol; its key ends in `/part-2` after the name of its owner.
            parent = node.key.removeprefix(f"{settings.source}:{path}#").rpartition("/")[0]
        yield Edge(
            node_key(settings, Target(path, parent)),
            node.key,
            _CONTAINS,
            weight=_CONTAINS_WEIGHT,
            tenant=settings.tenant,
        )


def link_edges(links: Iterable[Link], settings: SourceSettings) -> Iterator[Edge]:
    """Turn resolved references into edges; the weight of a guess is reduced by its confidence."""
    for link in links:
        yield Edge(
            source=node_key(settings, link.source),
            target=node_key(settings, link.target),
            type=link.type,
            weight=round(_EDGE_WEIGHTS.get(link.type, 1.0) * link.confidence, 3),
            confidence=round(link.confidence, 3),
            evidence=f"line {link.line}",
            tenant=settings.tenant,
        )


def node_key(settings: SourceSettings, target: Target) -> str:
    """Return the key of a file, or of a definition in it."""
    return f"{settings.source}:{target.path}#{target.name}" if target.name else f"{settings.source}:{target.path}"


class _NodeMaker:
    """A maker of the nodes of one file."""

    def __init__(self, path: str, lines: Sequence[str], language: str, settings: SourceSettings) -> None:
        self.path, self.lines, self.language, self.settings = path, lines, language, settings
        self.tags = (_TEST_TAG,) if is_test(path) else ()

    def file(self, outline: Outline, head: LineRange | None) -> Node:
        """Return the node of the file with its first own lines; a file without any lists its definitions."""
        name = PurePosixPath(self.path).name
        names = dict.fromkeys((name, _module_name(self.path)))
        aliases = tuple(
            Alias(alias, self.settings.maker, _FILE_NAME_CONFIDENCE) for alias in names if alias != self.path
        )
        summary = outline.summary or ("" if head else _list_definitions(outline))
        return self._node("", "file", self.path, head or (1, 0), summary, aliases=aliases)

    def symbol(self, symbol: Symbol, own_lines: LineRange) -> Node:
        """Return the node of a definition with its own lines."""
        # The path is a field of every definition, because a question about `budget.py` is one about its content.
        fields: dict[str, Json] = {"module": self.path}
        if symbol.signature:
            fields["signature"] = symbol.signature
        # The number of a second definition of the same name is part of its key and not of its name.
        title = symbol.name.partition("~")[0]
        aliases = (Alias(f"{_module_name(self.path)}.{title}", self.settings.maker, _FULL_NAME_CONFIDENCE),)
        return self._node(
            symbol.name, symbol.kind, title, own_lines, symbol.summary, fields=fields, aliases=aliases
        )

    def parts(self, title: str, name: str, ranges: Iterable[LineRange]) -> list[Node]:
        """Return the nodes of the lines between and after the definitions of a file or a class."""
        kept = [lines for lines in ranges if any(map(_CODE_LINE.search, self.lines[lines[0] - 1 : lines[1]]))]
        prefix = f"{name}/" if name else ""
        return [
            self._node(f"{prefix}part-{number}", "file", f"{title}, part {number}", lines, "")
            for number, lines in enumerate(kept, 2)
        ]

    def _node(
        self,
        name: str,
        kind: str,
        title: str,
        lines: LineRange,
        summary: str,
        *,
        fields: dict[str, Json] | None = None,
        aliases: tuple[Alias, ...] = (),
    ) -> Node:
        first, last = _trim_blank_lines(lines, self.lines)
        text = "\n".join(self.lines[first - 1 : last])
        return Node(
            key=node_key(self.settings, Target(self.path, name)),
            kind=kind,
            tenant=self.settings.tenant,
            title=title,
            summary=summary,
            text=text,
            language=self.language,
            fields=fields or {},
            tags=self.tags or _tags_within(name, self.language, text),
            aliases=aliases,
            origin=Origin(self.settings.source, self.path, first, last),
        )


def _tags_within(name: str, language: str, text: str) -> tuple[str, ...]:
    """Return the tags of a definition in a file that is none of tests: Rust keeps tests beside what they test."""
    is_inner = name == RUST_TESTS or name.startswith(f"{RUST_TESTS}.")
    return (_TEST_TAG,) if language == "rust" and (is_inner or _RUST_TEST.match(text)) else ()


def _list_definitions(outline: Outline) -> str:
    """Return a summary with the first definitions of a file by name, and how many more there are."""
    names = [symbol.name for symbol in outline.symbols if not symbol.parent]
    more = f" and {len(names) - _MAX_LISTED_NAMES:,} more" if len(names) > _MAX_LISTED_NAMES else ""
    return f"Defines {', '.join(names[:_MAX_LISTED_NAMES])}{more}." if names else ""


def _module_name(path: str) -> str:
    """Return the name by which a file is imported: its stem, or its folder's name if it stands for the folder."""
    parts = PurePosixPath(path)
    stem = parts.name.split(".", 1)[0]
    return parts.parent.name if stem in PACKAGE_FILES and parts.parent.name else stem


def _trim_blank_lines(range_: LineRange, lines: Sequence[str]) -> LineRange:
    """Return the range without blank lines at its ends."""
    first, last = range_
    while first < last and not lines[first - 1].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return first, last


def _own_ranges(count: int, outline: Outline) -> dict[int, list[LineRange]]:
    """Return the lines of each definition without those of inner ones, by its number; those of the file by 0."""
    owner = [0] * (count + 1)
    # Outer definitions come first, so inner ones overwrite their lines.
    for number, symbol in enumerate(outline.symbols, 1):
        last = min(symbol.last_line, count)
        owner[symbol.first_line : last + 1] = [number] * (last + 1 - symbol.first_line)
    for line in outline.framing:
        if line <= count and owner[line] == 0:
            # Lines such as `impl X {` belong to nobody: alone they would be parts that say nothing.
            owner[line] = -1
    ranges: dict[int, list[LineRange]] = {}
    for number, group in groupby(range(1, count + 1), owner.__getitem__):
        lines = list(group)
        ranges.setdefault(number, []).append((lines[0], lines[-1]))
    return ranges
