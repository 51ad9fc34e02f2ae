"""Weigh candidates by the shape of a question.

The parts of a candidate say how much it is wanted (`shape`, and `shape_callers` or the like, so that the ledger
tells which shape was understood), and the factor of its kind (`shape_factor`): commits count for less where nobody
asked for history. `by_shape.py`, which finds what is wanted, is loaded only for questions that have a shape.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.model import Candidate
from weft.pipeline.plan import Plan
from weft.pipeline.shape_phrases import Shape
from weft.pipeline.shapes import Shapes
from weft.ports import NodeRow

Span = tuple[int, int]

COMMIT: Final = "commit"
TEST_TAG: Final = "test-code"
"""The tag that the code source gives to everything in test files."""

_UNASKED_COMMIT_FACTOR: Final = 0.5
"""The factor for commits where nobody asks for history: they repeat the words of what they changed."""
_ASKED_TESTS_FACTOR: Final = 1.6
"""The factor for test code where tests are asked for; it takes back what profiles lower tests by."""
_CHANGE_LOG_VALUE: Final = 0.15
"""Change logs are raised a little where a release or a change is asked for."""
_CHANGE_LOG: Final = re.compile(
    r"(?i)(?:^|/)(?:changelog|changes|history|news|release[-_]?notes|releases?)\b[^/]*\Z"
)


class Wanted(Struct, frozen=True):
    """A node that a shape wants, how much (0 to 1), and the part of it that is wanted, if not all.

    With `alone` nothing but that part is shown; otherwise it is shown first.
    """

    row: NodeRow
    shape: Shape
    value: float
    part: Span | None = None
    alone: bool = True


def weighs_shapes(plan: Plan) -> bool:
    """Return whether the profile of a plan weighs shapes at all; others do not look for any."""
    rules = [plan.profile.score, *(section.score for section in plan.sections() if section.score)]
    return any("shape" in rule.weights or "shape" in rule.boosts for rule in rules)


def kinds_to_leave_out(plan: Plan) -> tuple[str, ...]:
    """Return the kinds that the search for a question leaves out, unless it finds next to nothing without them."""
    # Most repositories hold more commits than anything else: they would crowd the code out of the search. Where
    # history is asked for, they are searched for apart.
    return (COMMIT,) if not plan.request.filter.kinds else ()


def add_wanted(
    candidates: Sequence[Candidate], wanted: Mapping[int, Sequence[Wanted]], plan: Plan
) -> list[Candidate]:
    """Return the candidates, and new ones for what is wanted and was not found."""
    known = {candidate.node.id for candidate in candidates}
    probe = plan.profile.probes[0].name
    fresh = [each[0] for number, each in wanted.items() if number not in known]
    return [
        *candidates,
        *(
            Candidate(
                each.row.node,
                probe=probe,
                match_source="shape",
                root=each.row.node.key,
                text_tokens=each.row.text_tokens,
                sketch=each.row.sketch,
            )
            for each in fresh
        ),
    ]


def weigh_by_shape(
    candidates: Sequence[Candidate], wanted: Mapping[int, Sequence[Wanted]], shapes: Shapes
) -> tuple[Candidate, ...]:
    """Return the candidates with the part `shape` where a shape wants them, and the factor of their kind."""
    # Decided once: most candidates get nothing, and a page has hundreds.
    asks_history = bool(shapes.asked & {Shape.HISTORY, Shape.RECENT, Shape.COMMIT})
    asks_changes = bool(shapes.asked & {Shape.HISTORY, Shape.RELEASES})
    asks_tests = Shape.TESTS in shapes.asked

    def weigh(candidate: Candidate) -> Candidate:
        node = candidate.node
        if node.kind == COMMIT and not asks_history:
            candidate = _with_parts(candidate, {"shape_factor": _UNASKED_COMMIT_FACTOR})
        elif asks_tests and TEST_TAG in node.tags:
            candidate = _with_parts(candidate, {"shape_factor": _ASKED_TESTS_FACTOR})
        elif asks_changes and _CHANGE_LOG.search(node.origin.file or ""):
            raised = {"shape": _CHANGE_LOG_VALUE, f"shape_{Shape.RELEASES}": _CHANGE_LOG_VALUE}
            candidate = _with_parts(candidate, raised)
        each = wanted.get(node.id)
        return candidate if each is None else _apply(each, candidate)

    return tuple([weigh(candidate) for candidate in candidates])


def _with_parts(candidate: Candidate, parts: Mapping[str, float]) -> Candidate:
    return replace(candidate, parts={**candidate.parts, **parts})


def _apply(by_shape: Sequence[Wanted], candidate: Candidate) -> Candidate:
    """Return a candidate with what the shapes say about it: its worth, and the part to show."""
    wanted, parts = by_shape[0], {}
    for each in reversed(by_shape):
        parts[f"shape_{each.shape}"] = round(each.value, 6)
    value = round(max(wanted.value, candidate.parts.get("shape", 0.0)), 6)
    # What was asked for by its shape is an item of its own, whatever way the walk went to it.
    weighed = replace(
        candidate,
        parts={**candidate.parts, **parts, "shape": value},
        path=(),
        distance=0,
        root=candidate.node.key,
    )
    if wanted.part is None:
        return weighed
    if not wanted.alone:
        return replace(weighed, spans=(wanted.part, *candidate.spans))
    # The stored count is that of the whole text.
    return replace(weighed, spans=(wanted.part,), window=wanted.part, text_tokens=None)
