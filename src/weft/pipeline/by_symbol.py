"""Find code by the names in a question: definitions, callers and tests, the frames of a traceback, call flows.

Names are looked up in the search index, because a method is stored under the name of its class as well. Callers
come from edges and from the text of the code: a resolver cannot know what every variable holds.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct

from weft.model import Filter, Node
from weft.pipeline.outline import file_members
from weft.pipeline.query import Reading
from weft.pipeline.score import find_export, is_sample
from weft.pipeline.shapes import DEFINITION_KINDS, TEST_TAG, Frame, Span
from weft.pipeline.walk import Relevance
from weft.ports import NodeRow
from weft.scoring.bm25 import term_hash
from weft.text import analyze

_MAX_PROPOSED: Final = 64
"""Passages that are looked at for the definition of a name; those that hold it in their title come first."""
MAX_EDGES: Final = 2_000
_MARGIN_LINES: Final = 3
"""Lines shown before and after a call: what is passed to it, and what is done with the result."""
_MAX_CALL_LINES: Final = 16
"""The most lines from the first to the last of several calls in one function that are shown together."""
_SHORT_LINES: Final = 12
"""A definition of no more lines is shown whole."""
_MAX_SAME_NAME: Final = 8
"""A name that more definitions have says little about which one is meant."""
_MAX_FLOW: Final = 10
_MAX_FLOW_DEPTH: Final = 5
_MAX_EXPLORED: Final = 60
"""Functions of each step of a flow that are looked at; a page shows far fewer."""
_MAX_DOCUMENTED: Final = 0.5
"""The share of a function's text that may be documentation before only its code is shown in a flow."""
_MIN_FLOW_WEIGHT: Final = 0.5
"""Calls that a resolver only guessed weigh less, and lead astray when they are followed."""
LINE_EVIDENCE: Final = re.compile(r"line (\d+)")
DOCSTRING: Final = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''|/\*.*?\*/", re.DOTALL)


def last_part(name: str) -> str:
    """Return the name of a definition without the class or module that it belongs to."""
    return re.split(r"::|->|\.", name)[-1]


def shared_words(name: str, title: str) -> int:
    """Return how many words of a name a title has."""
    words = set(re.split(r"[\W_]+", title.lower()))
    return sum(word in words for word in set(re.split(r"[\W_]+", name.lower())))


def find_definitions(name: str, reading: Reading) -> list[NodeRow]:
    """Return the definitions with this name, those outside of tests first, long code before thin wrappers."""
    parts = re.split(r"::|->|\.", name)
    rows = rows_with_word(parts[-1], DEFINITION_KINDS, _MAX_PROPOSED, reading)
    # A name such as `repr` stands in more passages than are looked at; as a title it is looked up.
    known = {row.node.id for row in rows}
    titled = {
        number for numbers in reading.snapshot.find([".".join(parts)]).values() for number in numbers
    } - known
    rows += [row for row in reading.snapshot.nodes(sorted(titled)).values() if row.node.kind in DEFINITION_KINDS]
    found = [row for row in rows if last_part(row.node.title) == parts[-1]]
    # Somebody may write a name in small letters; what is spelt the same comes first.
    found = found or [row for row in rows if last_part(row.node.title).lower() == parts[-1].lower()]
    owner = "." + ".".join(parts[-2:])
    owned = [row for row in found if len(parts) > 1 and f".{row.node.title}".endswith(owner)]
    return sorted(owned or found, key=_definition_order)[:_MAX_SAME_NAME]


def find_exports(name: str, reading: Reading) -> list[tuple[NodeRow, Span]]:
    """Return the files that hand on a name which another package defines, each with the statement that does."""
    rows = rows_with_word(last_part(name), ("file",), _MAX_PROPOSED, reading)
    found = [(row, export.span()) for row in rows if (export := find_export(last_part(name), row.node))]
    return sorted(found, key=lambda each: _definition_order(each[0]))[:_MAX_SAME_NAME]


def _definition_order(row: NodeRow) -> tuple[bool, int, str, str]:
    node = row.node
    return TEST_TAG in node.tags, -_count_code_lines(node.text), node.tenant, node.key


def _count_code_lines(text: str) -> int:
    lines = (line.strip() for line in DOCSTRING.sub("", text).split("\n"))
    return sum(1 for line in lines if line and not line.startswith(("#", "//")))


def rows_with_word(word: str, kinds: tuple[str, ...], limit: int, reading: Reading) -> list[NodeRow]:
    """Return the nodes of these kinds whose passages hold a word as it is written, most promising first."""
    # The first term is the whole name; the others are its parts, which many names share.
    return rows_with_terms(analyze(word)[:1], kinds, limit, reading)


def rows_with_terms(terms: Sequence[str], kinds: tuple[str, ...], limit: int, reading: Reading) -> list[NodeRow]:
    if not terms:
        return []
    found = reading.index.lexical(reading.snapshot, [*map(term_hash, terms)], Filter(kinds=kinds), limit)
    passages = reading.snapshot.passages(found.passage_ids.tolist())
    stored = reading.snapshot.nodes(list(dict.fromkeys(row.node_id for row in passages)))
    return list(stored.values())


def line_spans(node: Node, lines: Iterable[int]) -> Iterator[Span]:
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


def first_line_of(text: str, spans: Sequence[Span]) -> Span:
    """Return the line in which the first of the spans begins."""
    line = text.count("\n", 0, min(spans)[0])
    return span_of_lines(text, line, line)


def span_of_lines(text: str, first: int, last: int) -> Span:
    """Return the span from the beginning of one line to the end of another, counted from 0, within the text."""
    lines = text.split("\n")
    low, high = max(first, 0), min(last, len(lines) - 1)
    start = sum(len(line) + 1 for line in lines[:low])
    return start, start + sum(len(line) + 1 for line in lines[low : high + 1]) - 1


# --- flows -------------------------------------------------------------------------------------------------


class FlowStep(Struct, frozen=True):
    """A function of a flow, the lines of it that call on, and whether the flow goes on from it or ends with it."""

    row: NodeRow
    part: Span | None
    leads_on: bool


def follow_calls(roots: Sequence[NodeRow], measure: Relevance, reading: Reading) -> list[FlowStep]:
    """Return the best of the roots and the functions that it calls, in order, each with the lines that call on.

    The best root is relevant itself and leads to what is relevant. Of more functions than a page can show, those
    are kept from which most others are reached: they carry the flow.
    """
    known, calls = {root.node.id: root for root in roots}, dict[int, list[tuple[int, int]]]()
    frontier = list(known)
    for _ in range(_MAX_FLOW_DEPTH):
        calls |= _calls_of(frontier, reading)
        fresh = [callee for number in frontier for callee, _ in calls.get(number, ()) if callee not in known]
        stored = reading.snapshot.nodes(list(dict.fromkeys(fresh))[:_MAX_EXPLORED])
        # Making an object is no step of a flow, and a class prints long.
        known |= {number: row for number, row in stored.items() if _is_function(row)}
        frontier = [number for number in stored if number in known]
    calls = {number: [call for call in called if call[0] in known] for number, called in calls.items()}
    flows = [_choose_flow(root.node.id, calls) for root in roots]
    # A function that calls next to nothing is no flow.
    flows = [flow for flow in flows if len(flow) > 2]
    relevance = measure(sorted({number for flow in flows for number in flow}))
    flow = max(flows, key=lambda flow: _flow_worth(flow, relevance), default=[])
    depths = _flow_depths(flow, calls)
    deepest = max(depths.values(), default=0)
    return [
        FlowStep(
            known[number],
            _flow_part(known[number].node, flow, calls),
            depths[number] == deepest or any(callee in flow for callee, _ in calls.get(number, ())),
        )
        for number in flow
    ]


def _flow_depths(flow: Sequence[int], calls: Mapping[int, Sequence[tuple[int, int]]]) -> dict[int, int]:
    """Return by how many calls each function of a flow is away from its root."""
    depths = dict.fromkeys(flow[:1], 0)
    waiting = list(depths)
    for number in waiting:
        fresh = [callee for callee, _ in calls.get(number, ()) if callee in flow and callee not in depths]
        depths |= dict.fromkeys(fresh, depths[number] + 1)
        waiting += fresh
    return depths


def _flow_part(node: Node, flow: Sequence[int], calls: Mapping[int, Sequence[tuple[int, int]]]) -> Span | None:
    """Return the lines of a function that call on in the flow; of the last one its code, without documentation."""
    lines = {line: callee for callee, line in reversed(calls.get(node.id, ())) if callee in flow}
    if not lines:
        return _calling_part(node)
    if max(lines) - min(lines) > _MAX_CALL_LINES:
        # Too far apart to be shown together: the call that leads furthest.
        furthest = max(lines, key=lambda line: (_count_reached(lines[line], calls), -line))
        lines = {furthest: lines[furthest]}
    spans = sorted(line_spans(node, lines))
    return spans[0][0], spans[-1][1]


def _is_function(row: NodeRow) -> bool:
    return row.node.kind in ("function", "method") and not is_sample(row.node)


def _flow_worth(flow: Sequence[int], relevance: Mapping[int, float]) -> float:
    """Return how much a flow promises: its root, its length, and the best of what it leads to."""
    further = sorted((relevance.get(number, 0.0) for number in flow[1:]), reverse=True)[:4]
    return round(relevance.get(flow[0], 0.0) + 0.02 * len(flow) + 0.3 * sum(further) / 4, 6)


def _choose_flow(root: int, calls: Mapping[int, Sequence[tuple[int, int]]]) -> list[int]:
    """Return the functions of a flow that are shown, in the order in which they are called."""
    chosen, waiting = [root], [callee for callee, _ in calls.get(root, ())]
    while waiting and len(chosen) < _MAX_FLOW:
        best = max(waiting, key=lambda number: (_count_reached(number, calls), -waiting.index(number)))
        chosen.append(best)
        waiting += [callee for callee, _ in calls.get(best, ())]
        waiting = [number for number in dict.fromkeys(waiting) if number not in chosen]
    ordered: dict[int, None] = {}
    stack = [root]
    while stack:
        number = stack.pop()
        if number in ordered or number not in chosen:
            continue
        ordered[number] = None
        # Depth first: what a call does comes before the call after it.
        stack += [callee for callee, _ in reversed(calls.get(number, ()))]
    return list(ordered)


def _count_reached(root: int, calls: Mapping[int, Sequence[tuple[int, int]]]) -> int:
    seen, waiting = {root}, [root]
    while waiting:
        fresh = [callee for callee, _ in calls.get(waiting.pop(), ()) if callee not in seen]
        seen.update(fresh)
        waiting += fresh
    return len(seen)


def _calls_of(callers: Sequence[int], reading: Reading) -> dict[int, list[tuple[int, int]]]:
    """Return what each function calls, as (function, line of the file), in the order of the lines."""
    asked, lines, keys = set(callers), dict[tuple[int, int], int](), dict[int, tuple[str, str]]()
    for source, target, edge in reading.snapshot.edges(sorted(asked), MAX_EDGES) if asked else ():
        line = LINE_EVIDENCE.search(edge.evidence)
        is_call = edge.type == "calls" and edge.weight >= _MIN_FLOW_WEIGHT
        if source in asked and source != target and is_call and line:
            lines[source, target] = min(int(line[1]), lines.get((source, target), int(line[1])))
            keys[target] = (edge.target_tenant or edge.tenant, edge.target)
    calls: dict[int, list[tuple[int, int]]] = {}
    # By key where two calls share a line: ids depend on the order in which nodes were stored.
    for (source, target), number in sorted(lines.items(), key=lambda item: (item[1], keys[item[0][1]])):
        calls.setdefault(source, []).append((target, number))
    return calls


def _calling_part(node: Node) -> Span | None:
    """Return the code of a function that is mostly documentation; None for one that is mostly code."""
    documented = DOCSTRING.search(node.text)
    if documented is None or documented.end() - documented.start() < _MAX_DOCUMENTED * len(node.text):
        return None
    # What stands in front of the code says how to use it, which nobody asked for here.
    start = node.text.count("\n", 0, documented.end()) + 1
    return span_of_lines(node.text, start, node.text.count("\n"))


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
    inside = [each.id for row in files for each in file_members(row.node, reading)]
    return list(reading.snapshot.nodes(list(dict.fromkeys(inside))).values())


def _frame_span(frame: Frame, node: Node) -> Span | None:
    span = line_span(node.text, frame.line - (node.origin.first_line or 1)) if frame.line else None
    return window_around(node.text, [span]) if span else None
