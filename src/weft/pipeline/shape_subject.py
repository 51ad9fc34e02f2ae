"""A question with its shapes and what the search has found for it, as every finder of a shape takes it."""

from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from weft.model import Candidate, Node
from weft.pipeline.outline import OUTLINED_KINDS, choose_members, find_members
from weft.pipeline.plan import Plan
from weft.pipeline.query import Query, Reading
from weft.pipeline.retrieve import measure_nodes
from weft.pipeline.shapes import Shapes


class Subject(Struct, frozen=True):
    """A question with its shapes, what it is put to, and the candidates that the search has found for it."""

    shapes: Shapes
    plan: Plan
    query: Query
    reading: Reading
    found: Sequence[Candidate]


def members_of(node: Node, subject: Subject) -> tuple[Node, ...]:
    """Return the members of a class or file that stand below it on the page."""
    if node.kind not in OUTLINED_KINDS:
        return ()
    reading, fusion = subject.reading, subject.plan.profile.fusion
    measure = partial(measure_nodes, query=subject.query, fusion=fusion, snapshot=reading.snapshot)
    return choose_members(find_members(node, reading), subject.plan.budget, measure)
