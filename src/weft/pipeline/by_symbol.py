"""Find code by the names in a question: definitions, their callers and tests, the frames of a traceback, call flows.

Names are looked up in the search index, because a method is stored under the name of its class as well. Callers come
from edges and from the text of the code: a resolver cannot know what every variable holds.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct

from weft.model import Filter, Node
from weft.pipeline.query import Reading
from weft.pipeline.shapes import Frame
from weft.ports import NodeRow
from weft.scoring.bm25 import term_hash
from weft.text import analyze

Span = tuple[int, int]

DEFINITION_KINDS: Final = ("class", "function", "interface", "method", "type")
CODE_KINDS: Final = (*DEFINITION_KINDS, "file", "module")
TEST_TAG: Final = "test-code"
"""The tag that the code source gives to everything in test files."""

_MAX_PROPOSED: Final = 64
"""Passages that are looked at for the definition of a name; those that hold it in their title come first."""
_MAX_USES: Final = 200
"""Passages that are looked at for uses of a name; a name in more of them is one that many things have."""
_MAX_EDGES: Final = 2_000
_MARGIN_LINES: Final = 3
"""Lines shown before and after a call: what is passed to it, and what is done with the result."""
_MAX_CALL_LINES: Final = 16
"""The most lines from the first to the last of several calls in one function that are shown together."""
_SHORT_LINES: Final = 12
"""A definition of no more lines is shown whole."""
_MAX_SAME_NAME: Final = 8
"""A name that more definitions have says little about which one is meant."""
_MAX_FLOW: Final = 10
_MAX_FLOW_DEPTH: Final = 3
_MIN_FLOW_WEIGHT: Final = 0.5
"""Calls that a resolver only guessed weigh less, and lead astray when they are followed."""
_LINE_EVIDENCE: Final = re.compile(r"line (\d+)")
_DOCSTRING: Final = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''|/\*.*?\*/", re.DOTALL)


class Use(Struct, frozen=True):
    """A definition, or a part of a file, that uses something, and where in its text it does."""

    row: NodeRow
    spans: tuple[Span, ...]
    linked: bool

    @property
    def is_test(self) -> bool:
        """Whether the use stands in test code."""
        return TEST_TAG in self.row.node.tags


def last_part(name: str) -> str:
    """Return the name of a definition without the class or module that it belongs to."""
    return re.split(r"::|->|\.", name)[-1]


def find_definitions(name: str, reading: Reading) -> list[NodeRow]:
    """Return the definitions with this name, those outside of tests first, and the longest code before wrappers."""
    parts = re.split(r"::|->|\.", name)
    rows = _rows_with_word(parts[-1], DEFINITION_KINDS, _MAX_PROPOSED, reading)
    found = [row for row in rows if last_part(row.node.title) == parts[-1]]
    # Somebody may write a name in small letters; what is spelt the same comes first.
    found = found or [row for row in rows if last_part(row.node.title).lower() == parts[-1].lower()]
    owned = [row for row in found if len(parts) > 1 and row.node.title.endswith(".".join(parts[-2:]))]
    return sorted(owned or found, key=_definition_order)[:_MAX_SAME_NAME]


def _definition_order(row: NodeRow) -> tuple[bool, int, str, str]:
    node = row.node
    return TEST_TAG in node.tags, -_count_code_lines(node.text), node.tenant, node.key


def _count_code_lines(text: str) -> int:
    lines = (line.strip() for line in _DOCSTRING.sub("", text).split("\n"))
    return sum(1 for line in lines if line and not line.startswith(("#", "//")))


def _rows_with_word(word: str, kinds: tuple[str, ...], limit: int, reading: Reading) -> list[NodeRow]:
    """Return the nodes of these kinds whose passages hold a word as it is written, most promising first."""
    terms = analyze(word)
    if not terms:
        return []
    # The first term is the whole name; the others are its parts, which many names share.
    found = reading.index.lexical(reading.snapshot, (term_hash(terms[0]),), Filter(kinds=kinds), limit)
    passages = reading.snapshot.passages(found.passage_ids.tolist())
    stored = reading.snapshot.nodes(list(dict.fromkeys(row.node_id for row in passages)))
    return list(stored.values())


def find_uses(name: str, definitions: Sequence[NodeRow], reading: Reading, types: Sequence[str]) -> list[Use]:
    """Return everything that calls or refers to the definitions, over edges of these types or in its text.

    Uses outside of tests come first, then those that edges lead to, by file and line.
    """
    own = {row.node.id for row in definitions}
    lines = _linked_lines(own, reading, types)
    rows = {row.node.id: row for row in _rows_with_word(last_part(name), CODE_KINDS, _MAX_USES, reading)}
    rows |= reading.snapshot.nodes(sorted(lines.keys() - rows.keys()))
    word = re.escape(last_part(name))
    call = re.compile(rf"(?<!\w){word}\s*\(|@(?:\w+\.)*{word}\b")
    uses = []
    for node_id, row in rows.items():
        if node_id in own:
            continue
        spans = tuple(match.span() for match in call.finditer(row.node.text))
        spans = spans or tuple(_line_spans(row.node, lines.get(node_id, ())))
        if spans:
            uses.append(Use(row, spans, node_id in lines))
    return sorted(uses, key=_use_order)


def _use_order(use: Use) -> tuple[bool, bool, str, int, str]:
    origin = use.row.node.origin
    return use.is_test, not use.linked, origin.file or "", origin.first_line or 0, use.row.node.key


def _linked_lines(targets: set[int], reading: Reading, types: Sequence[str]) -> dict[int, list[int]]:
    """Return the nodes from which an edge of these types leads to the targets, with the lines that it names."""
    lines: dict[int, list[int]] = {}
    for source, target, edge in reading.snapshot.edges(sorted(targets), _MAX_EDGES) if targets else ():
        if target in targets and source not in targets and edge.type in types:
            found = _LINE_EVIDENCE.search(edge.evidence)
            lines.setdefault(source, []).extend([int(found[1])] if found else [])
    return lines


def _line_spans(node: Node, lines: Iterable[int]) -> Iterator[Span]:
    """Yield the spans of these lines of the file in the text of a node; its beginning where there are none."""
    first = node.origin.first_line or 1
    spans = [line_span(node.text, line - first) for line in lines]
    yield from [span for span in spans if span is not None] or [(0, min(len(node.text), 1))]


def line_span(text: str, index: int) -> Span | None:
    """Return the span of a line, counted from 0; None where the text has no such line."""
    lines = text.split("\n")
    if not 0 <= index < len(lines):
        return None
    start = sum(len(line) + 1 for line in lines[:index])
    return start, start + len(lines[index])


def window_around(text: str, spans: Sequence[Span]) -> Span | None:
    """Return the lines around the spans that are worth showing alone; None for a text that is short enough."""
    count = text.count("\n") + 1
    if count <= _SHORT_LINES:
        return None
    ordered = sorted(spans)
    first = text.count("\n", 0, ordered[0][0])
    last = max(text.count("\n", 0, span[1]) for span in ordered)
    return span_of_lines(text, first - _MARGIN_LINES, min(last, first + _MAX_CALL_LINES) + _MARGIN_LINES)


def span_of_lines(text: str, first: int, last: int) -> Span:
    """Return the span from the beginning of one line to the end of another, counted from 0, within the text."""
    lines = text.split("\n")
    low, high = max(first, 0), min(last, len(lines) - 1)
    start = sum(len(line) + 1 for line in lines[:low])
    return start, start + sum(len(line) + 1 for line in lines[low : high + 1]) - 1


# --- flows -------------------------------------------------------------------------------------------------


def follow_calls(root: NodeRow, reading: Reading) -> list[tuple[NodeRow, Span | None]]:
    """Return a function and those that it calls, in the order of the calls, each with the lines that call on."""
    found: dict[int, tuple[NodeRow, Span | None]] = {}
    waiting = [(root, 0)]
    while waiting and len(found) < _MAX_FLOW:
        row, depth = waiting.pop(0)
        if row.node.id in found:
            continue
        calls = _calls_of(row, reading)
        found[row.node.id] = (row, _calling_part(row.node, [line for _, line in calls]))
        if depth < _MAX_FLOW_DEPTH:
            # Depth first: what a call does comes before the call after it.
            waiting = [(callee, depth + 1) for callee, _ in calls] + waiting
    return list(found.values())


def _calls_of(row: NodeRow, reading: Reading) -> list[tuple[NodeRow, int]]:
    """Return what a function calls, outside of tests, with the line of the file, in the order of the lines."""
    node_id = row.node.id
    lines: dict[int, int] = {}
    for source, target, edge in reading.snapshot.edges([node_id], _MAX_EDGES):
        line = _LINE_EVIDENCE.search(edge.evidence)
        if source == node_id != target and edge.type == "calls" and edge.weight >= _MIN_FLOW_WEIGHT and line:
            lines[target] = min(int(line[1]), lines.get(target, int(line[1])))
    stored = reading.snapshot.nodes(sorted(lines))
    calls = [(callee, lines[number]) for number, callee in stored.items() if TEST_TAG not in callee.node.tags]
    return sorted(calls, key=lambda call: (call[1], call[0].node.key))


def _calling_part(node: Node, lines: Sequence[int]) -> Span | None:
    """Return the part of a long function from its first to its last call, or else its beginning."""
    if node.text.count("\n") < _SHORT_LINES:
        return None
    first = node.origin.first_line or 1
    spans = [span for span in (line_span(node.text, line - first) for line in lines) if span is not None]
    if spans:
        return window_around(node.text, spans)
    # What stands in front of the code says how to use it, which nobody asked for here.
    documented = _DOCSTRING.search(node.text)
    start = node.text.count("\n", 0, documented.end()) if documented else 0
    return span_of_lines(node.text, start, start + _SHORT_LINES)


# --- places ------------------------------------------------------------------------------------------------


def find_places(frames: Sequence[Frame], reading: Reading) -> list[tuple[NodeRow, Span | None]]:
    """Return the definitions at these places that the store holds, in their order, with the line in each.

    A file counts as the same if the last two parts of its path are; files of other projects are left out.
    """
    names = {frame: PurePosixPath(frame.file.replace("\\", "/")).name for frame in frames}
    found = reading.snapshot.find(sorted(set(names.values()) - {""}))
    stored = reading.snapshot.nodes(sorted({number for numbers in found.values() for number in numbers}))
    places: dict[int, tuple[NodeRow, Span | None]] = {}
    for frame, name in names.items():
        files = [stored[number] for number in found.get(name, ()) if number in stored]
        rows = _definitions_at(frame, _same_files(frame, files), reading)
        if not frame.file and frame.function:
            rows = find_definitions(frame.function, reading)[:1]
        for row in rows:
            places.setdefault(row.node.id, (row, _frame_span(frame, row.node)))
    return list(places.values())


def _same_files(frame: Frame, files: Sequence[NodeRow]) -> list[NodeRow]:
    """Return the files that share most of the end of a frame's path, if that is enough to be the same file."""
    shared = {row.node.id: _shared_parts(frame.file, row.node.origin.file or "") for row in files}
    most = max(shared.values(), default=0)
    parts = len(PurePosixPath(frame.file.replace("\\", "/")).parts)
    # A file in the root has no folder to compare, nor has a frame that names only a file.
    return [
        row
        for row in files
        if shared[row.node.id] == most > 0 and (most > 1 or parts == 1 or "/" not in (row.node.origin.file or ""))
    ]


def _shared_parts(left: str, right: str) -> int:
    count = 0
    for a, b in zip(reversed(re.split(r"[/\\]", left)), reversed(right.split("/")), strict=False):
        if a != b:
            break
        count += 1
    return count


def _definitions_at(frame: Frame, files: Sequence[NodeRow], reading: Reading) -> list[NodeRow]:
    """Return the definition that a frame names, or the one that holds its line, in one of the files."""
    inside = [row for row in _contained(files, reading) if row.node.origin.first_line]
    function = last_part(frame.function)
    named = [row for row in inside if function and last_part(row.node.title) == function]
    if named:
        # Lines differ between versions, so the nearest one is taken.
        return [min(named, key=lambda row: (abs((row.node.origin.first_line or 0) - frame.line), row.node.key))]
    # A file of the same name in the root of another project has other functions.
    if function and files and all("/" not in (row.node.origin.file or "") for row in files):
        return []
    holding = [row for row in inside if _holds_line(row.node, frame.line)]
    # Of nested definitions the innermost, which begins last.
    return [max(holding, key=lambda row: row.node.origin.first_line or 0)] if holding else list(files[:1])


def _holds_line(node: Node, line: int) -> bool:
    return (node.origin.first_line or 0) <= line <= (node.origin.last_line or 0)


def _contained(files: Sequence[NodeRow], reading: Reading) -> list[NodeRow]:
    """Return the files, their definitions and parts, and those of their classes."""
    known = {row.node.id: row for row in files}
    frontier = list(known)
    for _ in range(2):
        near = reading.snapshot.adjacency(frontier, 256)
        contains = [name == "contains" for name in near.edge_types]
        inner = [
            number
            for number, kind, outward in zip(
                near.neighbour.tolist(), near.edge_type.tolist(), near.outward.tolist(), strict=True
            )
            if outward and contains[kind] and number not in known
        ]
        fresh = reading.snapshot.nodes(list(dict.fromkeys(inner)))
        known |= fresh
        frontier = [number for number, row in fresh.items() if row.node.kind not in ("function", "method")]
    return list(known.values())


def _frame_span(frame: Frame, node: Node) -> Span | None:
    span = line_span(node.text, frame.line - (node.origin.first_line or 1)) if frame.line else None
    return window_around(node.text, [span]) if span else None
