"""Find the errors that a question asks about, and the places that raise them: "which exception results if …"."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from weft.model import Candidate
from weft.pipeline.by_symbol import window_around
from weft.pipeline.query import Reading
from weft.pipeline.score import is_sample
from weft.pipeline.shape_phrases import Shape
from weft.pipeline.shapes import Wanted
from weft.pipeline.uses import Use, find_uses
from weft.ports import NodeRow

_MAX_ERRORS: Final = 4
"""Errors that are followed to where they are raised: the words of a question seldom are those of the error."""
_MAX_PLACES: Final = 3
"""Places that are shown of one error; a general one is raised everywhere, which tells nothing."""
_PLACE_VALUE: Final = 0.8
_TYPE_VALUE: Final = 0.5
"""How much the type itself is wanted: its name already stands where it is raised."""
_LATER: Final = 0.15
"""The amount by which each error is wanted less than the one before it."""
_ERROR: Final = re.compile(r"(?:Error|Exception|Failure|Fault|Throwable|Warning)\b")
"""The ending of an error's name, or of the one that it extends."""
_HEAD: Final = re.compile(r"[:{]")
"""The end of the beginning of a class, which has what it extends."""


def find_errors(found: Sequence[Candidate], reading: Reading) -> Iterator[Wanted]:
    """Yield the places where the errors that match a question best are raised, and the errors themselves."""
    for rank, row in enumerate(_find_types(found, reading)):
        places = _find_places(row, reading)
        if not places:
            # A base is never raised itself.
            kinds = find_uses(row.node.title, [row], reading, ("inherits",))
            own = [use.row for use in kinds if use.is_linked and not use.is_test and not is_sample(use.row.node)]
            places = [place for each in own for place in _find_places(each, reading)[:1]]
        for position, use in enumerate(places[:_MAX_PLACES]):
            value = _PLACE_VALUE - _LATER * rank - 0.03 * position
            yield Wanted(use.row, Shape.ERRORS, value, window_around(use.row.node.text, use.spans))
        yield Wanted(row, Shape.ERRORS, max(_TYPE_VALUE - _LATER * rank, 0.0))


def _find_places(row: NodeRow, reading: Reading) -> list[Use]:
    """Return the places outside of tests and examples that make an error."""
    uses = find_uses(row.node.title, [row], reading, ("calls", "references"))
    return [use for use in uses if use.is_call and not use.is_test and not is_sample(use.row.node)]


def _find_types(found: Sequence[Candidate], reading: Reading) -> list[NodeRow]:
    """Return the types of errors that were found, or of which a method was, best first."""
    best = sorted(found, key=lambda one: (-one.parts.get("relevance", 0.0), *one.node.ref))
    titles = dict.fromkeys(
        one.node.title if one.node.kind == "class" else one.node.title.rpartition(".")[0]
        for one in best
        if one.node.kind in ("class", "method") and not is_sample(one.node)
    )
    by_title = reading.snapshot.find([title for title in titles if title])
    stored = reading.snapshot.nodes(sorted({number for numbers in by_title.values() for number in numbers}))
    types = {
        row.node.title: row
        for row in stored.values()
        if row.node.kind == "class" and not is_sample(row.node) and _ERROR.search(_HEAD.split(row.node.text)[0])
    }
    return [types[title] for title in titles if title in types][:_MAX_ERRORS]
