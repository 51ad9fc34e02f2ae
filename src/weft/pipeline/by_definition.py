"""Find the definitions that a question names, by a name spelt as code or by neighbouring words that make one."""

from collections.abc import Iterator, Sequence
from typing import Final

from weft.model import Node
from weft.pipeline.by_symbol import find_definitions, find_exports, window_around
from weft.pipeline.by_text import find_texts_with
from weft.pipeline.outline import OUTLINED_KINDS, find_members, part_asked_for, shown_first
from weft.pipeline.retrieve import measure_nodes
from weft.pipeline.score import is_sample
from weft.pipeline.shape_phrases import Shape
from weft.pipeline.shape_subject import Subject, members_of
from weft.pipeline.shapes import CODE_KINDS, DEFINITION_KINDS, TEST_TAG, Span, Wanted
from weft.pipeline.uses import asks_only_users, find_uses
from weft.ports import NodeRow

_MAX_CALLERS_OF_DEFINITION: Final = 3
_SPELLED_VALUE: Final = 0.35
"""How much a definition is wanted whose name is made by words of the question that may only stand together."""
_SPELLED_TYPE_VALUE: Final = 0.5
"""The same for a class, which is shown with its members, and for the method of it that is asked about."""
_MAX_SPELLED: Final = 4


def find_named(subject: Subject) -> Iterator[Wanted]:
    """Yield the definitions of the names in a question; where they are asked for, also a few callers of each."""
    asked = Shape.DEFINITION in subject.shapes.asked
    is_beside = asks_only_users(subject.query.text, subject.shapes)
    if subject.shapes.type:
        yield from _find_type(subject)
    # A question about a commit tells what it changed in plain words, and wants no definitions of them.
    if asked or Shape.HISTORY not in subject.shapes.asked:
        yield from _find_spelled(subject)
    for position, name in enumerate(subject.shapes.names):
        definitions = find_definitions(name, subject.reading)
        # A name that several definitions share, or that comes later in a long question, says less.
        top = (1.0 if asked else 0.5) / (1 + 0.3 * position)
        for rank, row in enumerate(definitions):
            value = top * max(1.0 - 0.15 * rank, 0.3) * (0.6 if TEST_TAG in row.node.tags else 1.0)
            value /= 1 if asked or len(definitions) < 4 else 2
            # Only the first is outlined: a name that several have is seldom asked about for all of them.
            members = members_of(row.node, subject) if asked and not rank else ()
            is_aside = is_beside or _is_told_by_constructor(row, subject)
            line = _asked_parameter(row, subject)
            part = line or part_asked_for(row.node, subject.query.text, asked=asked, is_beside=is_aside)
            alone = is_aside or line is not None
            yield Wanted(row, Shape.DEFINITION, value, part, alone=alone, members=members)
        if not definitions:
            for row, part in find_exports(name, subject.reading):
                yield Wanted(row, Shape.DEFINITION, top, part, alone=False)
        if asked:
            yield from _uses_of_named(name, definitions, subject)


def _is_told_by_constructor(row: NodeRow, subject: Subject) -> bool:
    """Return whether a question asks for a parameter of a class, which stands in its constructor."""
    if Shape.PARAMETER not in subject.shapes.asked or row.node.kind not in OUTLINED_KINDS:
        return False
    from weft.pipeline.by_parameter import declares_asked

    return declares_asked(row, subject)


def _asked_parameter(row: NodeRow, subject: Subject) -> Span | None:
    """Return the line of a function's long signature that a question asks about."""
    if Shape.PARAMETER not in subject.shapes.asked or row.node.kind in OUTLINED_KINDS:
        return None
    from weft.pipeline.by_parameter import line_asked_for

    return line_asked_for(row, subject)


def _find_type(subject: Subject) -> Iterator[Wanted]:
    """Yield the classes that bear the one word that a question is about, outside of tests and examples."""
    found = find_definitions(subject.shapes.type, subject.reading)
    types = [row for row in found if row.node.kind in OUTLINED_KINDS and not is_sample(row.node)]
    for rank, row in enumerate(row for row in types if row.node.title == subject.shapes.type):
        members = members_of(row.node, subject) if not rank else ()
        yield Wanted(
            row,
            Shape.DEFINITION,
            max(1.0 - 0.15 * rank, 0.3),
            shown_first(row.node),
            alone=False,
            members=members,
        )


def _find_spelled(subject: Subject) -> Iterator[Wanted]:
    """Yield the definitions whose names neighbouring words of the question make."""
    for row in list_spelled(subject):
        is_type = row.node.kind in OUTLINED_KINDS
        value = _SPELLED_TYPE_VALUE if is_type else _SPELLED_VALUE
        part = shown_first(row.node) if is_type else None
        yield Wanted(row, Shape.DEFINITION, value, part, alone=False, members=members_of(row.node, subject))
        if is_type:
            yield from _asked_method(row.node, subject)


def list_spelled(subject: Subject) -> list[NodeRow]:
    """Return the definitions that neighbouring words of the question name, outside of tests and examples."""
    snapshot, spelled = subject.reading.snapshot, subject.shapes.spelled
    found = snapshot.find(spelled) if spelled else {}
    stored = snapshot.nodes(list(dict.fromkeys(number for numbers in found.values() for number in numbers)))
    named = [row for row in stored.values() if row.node.kind in DEFINITION_KINDS and not is_sample(row.node)]
    return named[:_MAX_SPELLED]


def _asked_method(node: Node, subject: Subject) -> Iterator[Wanted]:
    """Yield the method of a class that matches the question best: the class itself is only outlined."""
    snapshot, fusion = subject.reading.snapshot, subject.plan.profile.fusion
    methods = [each for each in find_members(node, subject.reading) if each.kind == "method"]
    relevance = measure_nodes([each.id for each in methods], subject.query, fusion, snapshot)
    # Of equals the first in the file.
    best = sorted(methods, key=lambda each: -relevance.get(each.id, 0.0))[:1]
    for row in snapshot.nodes([each.id for each in best]).values():
        yield Wanted(row, Shape.DEFINITION, _SPELLED_TYPE_VALUE, shown_first(row.node), alone=False)


def _uses_of_named(name: str, definitions: Sequence[NodeRow], subject: Subject) -> Iterator[Wanted]:
    """Yield a few uses of a definition; of a name without one, such as that of a setting, where it is read."""
    if definitions:
        uses = find_uses(name, definitions[:2], subject.reading, ("calls",))
        for rank, use in enumerate(uses[:_MAX_CALLERS_OF_DEFINITION]):
            part = window_around(use.row.node.text, use.spans)
            yield Wanted(use.row, Shape.CALLERS, 0.3 - 0.05 * rank, part)
        return
    for rank, (row, part) in enumerate(find_texts_with([name], subject.reading, CODE_KINDS)):
        yield Wanted(
            row, Shape.DEFINITION, max(0.6 - 0.1 * rank, 0.1) * (0.4 if TEST_TAG in row.node.tags else 1), part
        )
