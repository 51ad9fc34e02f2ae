"""Find the tests that a question asks for: of what it names, or else by its words, with their siblings."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from msgspec.structs import replace

from weft.model import Node
from weft.pipeline.by_symbol import find_definitions, shared_words, span_of_lines, window_around
from weft.pipeline.excerpt import find_declaration
from weft.pipeline.outline import file_members
from weft.pipeline.plan import Plan
from weft.pipeline.query import Query, Reading
from weft.pipeline.retrieve import measure_nodes, search
from weft.pipeline.shape_phrases import Shape
from weft.pipeline.shapes import TEST_TAG, Wanted
from weft.pipeline.uses import find_uses
from weft.profiles.types import Probe

_MAX_TESTS: Final = 12
_FOUND_VALUE: Final = 0.6
"""How much a test is wanted that matches all words of the question."""
_SUPPORT_FACTOR: Final = 0.5
"""The factor for what stands in test files and asserts nothing: their heads, and measurements of speed."""
_SIBLING_VALUES: Final = (0.9, 0.6, 0.4)
"""How much the siblings of the best tests are wanted, which have no match of their own to speak for them."""
_MAX_SIBLINGS: Final = 6
_MIN_SHARED_WORDS: Final = 3
_MIN_SHARED: Final = 0.6
"""The words, and the share of them, with which the names of siblings begin alike."""
_HEAD_LINES: Final = 9
_SHORT_LINES: Final = 12
"""Lines of a test up to which it is shown whole; of a longer one these first ones are."""
_BENCHMARK: Final = re.compile(r"(?i)bench(?:mark)?|perf(?:ormance)?(?:_|\b)")
_NAME_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def find_tests(names: Sequence[str], plan: Plan, query: Query, reading: Reading) -> Iterator[Wanted]:
    """Yield the tests of what the question names, or else the tests that match its words."""
    tests: list[Wanted] = []
    for name in names:
        definitions = find_definitions(name, reading)
        uses = [use for use in find_uses(name, definitions, reading, ("tests", "calls")) if use.is_test]
        relevance = measure_nodes([use.row.node.id for use in uses], query, plan.profile.fusion, reading.snapshot)
        # A test that bears the name was written for it, others may only need it; of several, what else is asked.
        uses.sort(
            key=lambda use: (shared_words(name, use.row.node.title), relevance.get(use.row.node.id, 0.0)),
            reverse=True,
        )
        for rank, use in enumerate(uses[:_MAX_TESTS]):
            part = window_around(use.row.node.text, use.spans)
            tests.append(Wanted(use.row, Shape.TESTS, 1.0 - 0.03 * rank, part))
    if not tests:
        tests = _find_by_words(plan, query, reading)
        tests += _find_siblings(tests, reading)
    yield from tests


def _find_by_words(plan: Plan, query: Query, reading: Reading) -> list[Wanted]:
    """Return the test code that matches the question, best first."""
    filter = replace(plan.request.filter, tags=(*plan.request.filter.tags, TEST_TAG))
    probe = Probe("tests", limit=_MAX_TESTS)
    found = search(query, probe, filter, plan.profile.fusion, reading.snapshot, reading.index)
    stored = reading.snapshot.nodes([one.node.id for one in found.candidates])
    asks_speed = _BENCHMARK.search(query.text) is not None
    tests = []
    for one in found.candidates:
        row = stored[one.node.id]
        is_support = row.node.kind == "file" or (_is_benchmark(row.node) and not asks_speed)
        head = span_of_lines(row.node.text, 0, _HEAD_LINES)
        part = head if row.node.text.count("\n") > _SHORT_LINES else None
        value = _FOUND_VALUE * one.parts["relevance"] * (_SUPPORT_FACTOR if is_support else 1.0)
        tests.append(Wanted(row, Shape.TESTS, value, part))
    return sorted(tests, key=lambda test: -test.value)


def _is_benchmark(node: Node) -> bool:
    return _BENCHMARK.search(node.origin.file or "") is not None


def _find_siblings(tests: Sequence[Wanted], reading: Reading) -> Iterator[Wanted]:
    """Yield the tests whose names begin as those of the best: each checks another case of the same."""
    known = {test.row.node.id for test in tests}
    leading = [test for test in tests if test.row.node.kind != "file"]
    for value, test in zip(_SIBLING_VALUES, leading, strict=False):
        node = test.row.node
        shared = {
            each.id: _shared_start(node, each) for each in file_members(node, reading) if each.id not in known
        }
        enough = max(_MIN_SHARED_WORDS, _MIN_SHARED * len(_NAME_WORD.findall(node.title)))
        siblings = sorted((id for id in shared if shared[id] >= enough), key=lambda id: -shared[id])[
            :_MAX_SIBLINGS
        ]
        known.update(siblings)
        for row in reading.snapshot.nodes(siblings).values():
            head = find_declaration(row.node.text, str(row.node.fields.get("signature") or ""))
            yield Wanted(row, Shape.TESTS, value, head)


def _shared_start(one: Node, other: Node) -> int:
    """Return with how many words the names of two tests begin alike; titles begin alike in the whole suite."""
    if one.kind != other.kind or " " in one.title:
        return 0
    words = zip(*(_NAME_WORD.findall(node.title) for node in (one, other)), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], words))
