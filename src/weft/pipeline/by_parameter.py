"""Find what a question about a parameter or a default wants: where it is declared, and where its value goes.

A parameter of a named function or class is the one that the question spells, or the one whose words it has. Of a
default without a named function, the attributes in the code that was found tell the name: where `self._max_size`
is read, the default stands in the signature that has `max_size=`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from weft.model import Node
from weft.pipeline.by_error import find_errors
from weft.pipeline.by_symbol import find_definitions, first_line_of, rows_with_terms, rows_with_word
from weft.pipeline.excerpt import find_declaration
from weft.pipeline.outline import OUTLINED_KINDS, find_members
from weft.pipeline.score import is_sample, name_share
from weft.pipeline.shape_phrases import Shape
from weft.pipeline.shape_subject import Subject
from weft.pipeline.shapes import CODE_KINDS, DEFINITION_KINDS, Span, Wanted
from weft.ports import NodeRow
from weft.text import analyze

_DECLARED_VALUE: Final = 0.7
"""How much the line of a signature is wanted that declares the parameter."""
_READ_VALUE: Final = 0.6
"""The same of a place that reads it."""
_LATER: Final = 0.1
"""The amount by which each further place is wanted less than the one before it."""
_MAX_PARAMETERS: Final = 2
_MAX_READ: Final = 2
"""Places that are shown of those that read a parameter: its own file comes first."""
_MAX_PROPOSED: Final = 60
_MAX_LOOKED_THROUGH: Final = 8
"""Definitions that match a question best, in which the name of a limit or a setting is looked for."""
_LEAST_SHARE: Final = 0.5
"""The share of a parameter's words that a question has which does not spell it."""
_LEAST_WORDS: Final = 2
"""Words of an attribute that a question must have: one word, such as `size`, is in most names."""
_SHORTEST_WORD: Final = 3
"""Letters of the shortest word of a name that may be the beginning of a longer one in the question."""
_LONG_SIGNATURE_LINES: Final = 10
"""Lines of a signature of which only the parameter that is asked about is shown."""
_CONSTRUCTORS: Final = frozenset({"__init__", "constructor", "initialize", "new", "__construct", "init"})
_ATTRIBUTE: Final = re.compile(r"(?<=[\w)\]])(?:\.|->)_{0,2}([a-z]\w+)\b")
_PARAMETER: Final = re.compile(r"(?:[(,]\s*|\*)\*{0,2}([A-Za-z_]\w+)\s*(?=[:=,)])")
_ASKS_DEFAULT: Final = re.compile(r"(?i)\bdefaults?\b")


def find_parameters(subject: Subject) -> Iterator[Wanted]:
    """Yield where the parameters that a question asks about are declared, and where their values are read."""
    terms = frozenset(analyze(subject.query.text))
    named = [row for name in subject.shapes.names for row in find_definitions(name, subject.reading)[:1]]
    found = [pair for row in named if not is_sample(row.node) for pair in _list_asked(row, subject, terms)]
    for row, name in found[:_MAX_PARAMETERS]:
        yield Wanted(row, Shape.PARAMETER, _DECLARED_VALUE, _line_declaring(name, row.node))
        yield from _readers(name, row.node, subject)
    if not found and _ASKS_DEFAULT.search(subject.query.text):
        yield from _find_defaults(subject, terms)


def declares_asked(row: NodeRow, subject: Subject) -> bool:
    """Return whether the constructor of a class has a parameter that the question asks about."""
    return bool(_list_asked(row, subject, frozenset(analyze(subject.query.text))))


def line_asked_for(row: NodeRow, subject: Subject) -> Span | None:
    """Return the line of a long signature that declares the one parameter that a question asks about."""
    start, end = _declared_span(row.node)
    if row.node.text.count("\n", start, end) < _LONG_SIGNATURE_LINES:
        return None
    names = [name for _, name in _list_asked(row, subject, frozenset(analyze(subject.query.text)))]
    return _line_declaring(names[0], row.node) if len(names) == 1 else None


def _list_asked(row: NodeRow, subject: Subject, terms: frozenset[str]) -> list[tuple[NodeRow, str]]:
    """Return the parameters of a function or class that a question asks about, each with what declares it."""
    return [
        (each, name)
        for each in _callables_of(row, subject)
        for name in _asked_parameters(each.node, subject, terms)
    ]


def _callables_of(row: NodeRow, subject: Subject) -> list[NodeRow]:
    """Return a function, or what makes an object of a class."""
    if row.node.kind not in OUTLINED_KINDS:
        return [row]
    members = [each for each in find_members(row.node, subject.reading) if _last_part(each) in _CONSTRUCTORS]
    return list(subject.reading.snapshot.nodes([each.id for each in members]).values())


def _last_part(node: Node) -> str:
    return re.split(r"\.|::", node.title)[-1]


def _asked_parameters(node: Node, subject: Subject, terms: frozenset[str]) -> list[str]:
    """Return the parameters of a function that a question spells, or else those that share most words with it."""
    parameters = list(dict.fromkeys(_PARAMETER.findall(_declaration(node))))
    spelt = [name for name in parameters if name in subject.shapes.names]
    # The words of the function's own name say nothing about its parameters.
    further = terms - frozenset(analyze(node.title))
    shares = {name: name_share(name, further) for name in parameters}
    most = max(shares.values(), default=0.0)
    return spelt or [name for name in parameters if shares[name] == most >= _LEAST_SHARE]


def _declaration(node: Node) -> str:
    """Return the declaration as it is written; what is stored as the signature is cut after some length."""
    start, end = _declared_span(node)
    return node.text[start:end]


def _declared_span(node: Node) -> Span:
    return find_declaration(node.text, str(node.fields.get("signature") or ""))


def _line_declaring(name: str, node: Node) -> Span:
    """Return the line of a declaration that holds a parameter."""
    start, end = _declared_span(node)
    match = re.compile(rf"\b{name}\b").search(node.text, start, end)
    return first_line_of(node.text, [match.span() if match else (start, end)])


def _readers(name: str, node: Node, subject: Subject) -> Iterator[Wanted]:
    """Yield the places that read an attribute of a parameter's name, those in the same file first."""
    # Of `self._quote_cookie` the index has the words, and the name only together with what stands before it.
    rows = rows_with_terms(analyze(name)[1:] or analyze(name), CODE_KINDS, _MAX_PROPOSED, subject.reading)
    # Setting an attribute keeps the value; calling one of that name may be calling a method.
    read = re.compile(rf"(?<=[\w)\]])(?:\.|->)(?:_{name}\b(?!\s*=(?!=))|{name}\b(?!\s*(?:=(?!=)|\()))")
    places = {row.node.id: (row, [match.span() for match in read.finditer(row.node.text)]) for row in rows}
    file, title = node.origin.file, node.title.rpartition(".")[0]

    def distance(place: tuple[NodeRow, Sequence[Span]]) -> tuple[bool, bool, bool, str, int, str]:
        other, origin = place[0].node, place[0].node.origin
        is_getter = _last_part(other).strip("_") == name.strip("_")
        is_other_class = other.title.rpartition(".")[0] != title
        return is_getter, origin.file != file, is_other_class, origin.file or "", origin.first_line or 0, other.key

    kept = [(row, spans) for row, spans in places.values() if spans and not is_sample(row.node)]
    for rank, (row, spans) in enumerate(sorted(kept, key=distance)[:_MAX_READ]):
        part = first_line_of(row.node.text, spans)
        yield Wanted(row, Shape.PARAMETER, _READ_VALUE - _LATER * rank, part, alone=False)


def _find_defaults(subject: Subject, terms: frozenset[str]) -> Iterator[Wanted]:
    """Yield the signature that gives a default to what the code that was found reads as an attribute."""
    relevance = {one.node.id: one.parts.get("relevance", 0.0) for one in subject.found}
    code = [one.node for one in subject.found if one.node.kind in CODE_KINDS and not is_sample(one.node)]
    best = sorted(code, key=lambda node: (-relevance[node.id], *node.ref))[:_MAX_LOOKED_THROUGH]
    asks_errors = Shape.ERRORS in subject.shapes.asked
    # A limit is read where the error is raised that enforces it.
    raising = [each.row.node for each in find_errors(subject.found, subject.reading)] if asks_errors else []
    for name in _likely_attributes(raising, terms) or _likely_attributes(best, terms):
        declared = re.compile(rf"(?<!\w){name}\b[^,=()]*=(?!=)")
        rows = rows_with_word(name, DEFINITION_KINDS, _MAX_PROPOSED, subject.reading)
        giving = [row for row in rows if declared.search(_declaration(row.node)) and not is_sample(row.node)]
        if giving:
            # What makes an object sets its limits; other functions of that parameter change or copy them.
            row = min(giving, key=lambda row: (_last_part(row.node) not in _CONSTRUCTORS, *row.node.ref))
            yield Wanted(row, Shape.PARAMETER, _DECLARED_VALUE, _line_declaring(name, row.node))
            return


def _likely_attributes(nodes: Sequence[Node], terms: frozenset[str]) -> list[str]:
    """Return the attributes that definitions read whose names have most words of a question, at most a few."""
    # Of names with as many words, the one that most of these read; of such the first.
    attributes = Counter(name for node in nodes for name in dict.fromkeys(_ATTRIBUTE.findall(node.text)))
    worth = {name: (_count_words(name, terms), readers) for name, readers in attributes.items()}
    likely = sorted(
        (name for name in worth if worth[name][0] >= _LEAST_WORDS), key=worth.__getitem__, reverse=True
    )
    return likely[:_MAX_PARAMETERS]


def _count_words(name: str, terms: frozenset[str]) -> int:
    """Return how many words of a name a question has, if it has most of them: also `max` for "maximum"."""
    words = set(analyze(name)[1:])
    held = sum(any(term.startswith(word) for term in terms) for word in words if len(word) >= _SHORTEST_WORD)
    return held if held >= _LEAST_SHARE * len(words) else 0
