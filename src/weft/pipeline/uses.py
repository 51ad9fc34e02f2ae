"""Find what uses a definition: over the links that were drawn to it, and in the text of the code.

A resolver cannot know what every variable holds, and a text does not say which of several things is meant.
"""

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from weft.pipeline.by_symbol import (
    DOCSTRING,
    LINE_EVIDENCE,
    MAX_EDGES,
    find_definitions,
    last_part,
    line_spans,
    rows_with_terms,
    rows_with_word,
)
from weft.pipeline.query import Reading
from weft.pipeline.score import is_sample
from weft.pipeline.shape_phrases import Shape
from weft.pipeline.shapes import CODE_KINDS, TEST_TAG, Shapes, Span
from weft.ports import NodeRow
from weft.text import analyze, looks_like_code

_MAX_USES: Final = 200
"""Passages that are looked at for uses of a name; a name in more of them is one that many things have."""
_MAX_SHORT_WORDS: Final = 8
"""Words of a question that asks for nothing else; a longer one may ask what the thing does, too."""
_MAX_CHAIN_CHARACTERS: Final = 1_500
"""Characters before a call in which the class may stand at the beginning of a chain of calls."""
_RELATIONS: Final = ("calls", "references", "inherits", "imports")
_CALLS: Final = ("calls", "tests")
"""Links that are calls: of a call in test code the resolver draws that it tests what it calls."""
_CALL_WORDS: Final = re.compile(r"(?i)\b(?:call(?:s|ed|ing|ers?|[ -]?sites?)?|invo(?:ke[sd]?|king|cations?))\b")
_REMARK: Final = re.compile(rf"{DOCSTRING.pattern}|(?:#|//)[^\n]*", re.DOTALL)


class Use(Struct, frozen=True):
    """A definition, or a part of a file, that uses something, and where in its text it does."""

    row: NodeRow
    spans: tuple[Span, ...]
    is_call: bool
    is_linked: bool = False
    """Whether the resolver has found it, and not only its text."""
    names_owner: bool = False
    """Whether it is called on the class that the question names with it."""

    @property
    def is_test(self) -> bool:
        """Whether the use stands in test code."""
        return TEST_TAG in self.row.node.tags


def asks_only_users(question: str, shapes: Shapes) -> bool:
    """Return whether a short question asks what uses or tests something, and not what that is."""
    asked = shapes.asked & {Shape.CALLERS, Shape.TESTS, Shape.DEFINITION, Shape.FLOW, Shape.HISTORY}
    return asked in ({Shape.CALLERS}, {Shape.TESTS}) and len(question.split()) <= _MAX_SHORT_WORDS


def list_users(name: str, question: str, reading: Reading) -> list[Use]:
    """Return what uses the definition that a question names, or only what calls it if that is the question."""
    asks_calls = _CALL_WORDS.search(question) is not None
    uses = find_uses(name, find_definitions(name, reading), reading, _CALLS if asks_calls else _RELATIONS)
    is_linked = any(use.is_linked for use in uses)
    # A plain word, and a name that several have, also stands where something else is called. What the resolver
    # found is certain, and what only the text has is taken where the resolver found nothing, or where the class
    # stands beside it.
    sure = [use for use in uses if use.is_linked or (use.names_owner and use.is_call)]
    listed = sure if sure and not _is_own_name(name, reading) else uses
    return [use for use in listed if use.is_linked or use.is_call or not (asks_calls and is_linked)]


def _is_own_name(name: str, reading: Reading) -> bool:
    """Return whether a name is spelt as no word is, and only one definition has it."""
    last = last_part(name)
    return looks_like_code(last) and len(find_definitions(last, reading)) == 1


def find_uses(name: str, definitions: Sequence[NodeRow], reading: Reading, types: Sequence[str]) -> list[Use]:
    """Return everything that calls or refers to the definitions, over edges of these types or in its text.

    Uses outside of tests and examples come first, calls before other references, then by file and line.
    """
    own = {row.node.id for row in definitions}
    lines = _linked_lines(own, reading, types)
    twin = _private_twin(last_part(name), types, reading)
    rows = {row.node.id: row for row in rows_with_word(last_part(name), CODE_KINDS, _MAX_USES, reading)}
    if twin:
        # Of `self._quote_cookie` the index has the words, and the name only together with what stands before it.
        found = rows_with_terms(analyze(twin)[1:], CODE_KINDS, _MAX_USES, reading)
        rows |= {row.node.id: row for row in found}
    owner = _owner_of(name)
    if owner:
        # Of a name such as `build` those uses are looked at first that name its class as well.
        found = rows_with_terms(
            [*analyze(owner)[:1], *analyze(last_part(name))[:1]], CODE_KINDS, _MAX_USES, reading
        )
        rows |= {row.node.id: row for row in found}
    rows |= reading.snapshot.nodes(sorted(lines.keys() - rows.keys()))
    word = re.escape(last_part(name))
    # An inner function of the same name is no call.
    call = re.compile(rf"(?<!\w)(?<!def )(?<!func )(?<!function )(?<!fn ){word}\s*\(|@(?:\w+\.)*{word}\b")
    # Properties are read without a call, and functions passed on.
    # Where a class keeps an option it only sets it; elsewhere setting an attribute is using it.
    kept = rf"|{re.escape(twin)}\b(?!\s*=(?!=))" if twin else ""
    attribute = re.compile(rf"(?<=[\w)\]])\.(?:{word}\b{kept})")
    uses = []
    for node_id, row in rows.items():
        # The docstring of a class shows how its methods are called.
        is_around = any(each.node.key.startswith(row.node.key) for each in definitions)
        if node_id in own or (is_around and node_id not in lines):
            continue
        calls = tuple(match.span() for match in call.finditer(row.node.text))
        # Of several calls of that name, those on the class are meant.
        owned = tuple(span for span in calls if owner and _is_called_on(owner, span[0], row.node.text))
        calls = owned or calls
        if node_id not in lines:
            # Examples in documentation and remarks call nothing.
            remarks = [match.span() for match in _REMARK.finditer(row.node.text)] if calls else []
            calls = tuple(span for span in calls if not any(a <= span[0] < b for a, b in remarks))
        spans = calls or tuple(match.span() for match in attribute.finditer(row.node.text))
        if spans or node_id in lines:
            place = spans or tuple(line_spans(row.node, lines[node_id]))
            uses.append(Use(row, place, bool(calls), node_id in lines, bool(owned)))
    return sorted(uses, key=_use_order)


def _owner_of(name: str) -> str:
    """Return the class of a method that is named with it, as in `Queue.take`."""
    parts = re.split(r"::|->|\.", name)
    return parts[-2] if len(parts) > 1 else ""


def _is_called_on(owner: str, start: int, text: str) -> bool:
    """Return whether a call is made on a class, as in `Queue(path).take()`, or on what was made of it."""
    before, owner = text[max(start - _MAX_CHAIN_CHARACTERS, 0) : start], rf"\b{re.escape(owner)}\b"
    # A chain goes on over lines that begin with a dot or close a bracket.
    if re.search(rf"{owner}(?:[^\n;]|\n\s*(?=[.)}}\]])|[({{\[,]\s*\n)*(?:\.|::|->)\s*\Z", before):
        return True
    receiver = re.search(r"(\w+)\s*(?:\.|::|->)\s*\Z", before)
    if receiver is None:
        return False
    return re.search(rf"\b{receiver[1]}\s*(?:=|:)[^\n]*{owner}|{owner}\s+\*?{receiver[1]}\b", text) is not None


def _private_twin(word: str, types: Sequence[str], reading: Reading) -> str:
    """Return the attribute in which a class keeps an option: `quote_cookie` is read as `self._quote_cookie`.

    Who asks for calls wants none of it, and a definition of that name is another thing.
    """
    is_option = "references" in types and not word.startswith("_") and not find_definitions(f"_{word}", reading)
    return f"_{word}" if is_option else ""


def _use_order(use: Use) -> tuple[bool, bool, bool, str, int, str]:
    node = use.row.node
    place = node.origin.file or "", node.origin.first_line or 0, node.key
    return use.is_test, is_sample(node), not use.is_call, *place


def _linked_lines(targets: set[int], reading: Reading, types: Sequence[str]) -> dict[int, list[int]]:
    """Return the nodes from which an edge of these types leads to the targets, with the lines that it names."""
    lines: dict[int, list[int]] = {}
    for source, target, edge in reading.snapshot.edges(sorted(targets), MAX_EDGES) if targets else ():
        if target in targets and source not in targets and edge.type in types:
            found = LINE_EVIDENCE.search(edge.evidence)
            lines.setdefault(source, []).extend([int(found[1])] if found else [])
    return lines
