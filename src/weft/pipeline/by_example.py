"""Find what to follow when something is added: an example of its kind that is already there, and its registration.

Definitions of one kind form a family: classes with one base, definitions whose names end in the same word, methods
of one class that call the same function. Where one place names a family, a new member has to be added there.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from weft.model import Candidate, Node
from weft.pipeline.by_kind import Kind, choose_member, find_kind, find_naming, name_kind
from weft.pipeline.by_symbol import last_part, span_of_lines
from weft.pipeline.outline import ALL_EDGES, file_members
from weft.pipeline.query import Reading
from weft.pipeline.score import is_sample, name_share
from weft.pipeline.shapes import DEFINITION_KINDS, Span
from weft.ports import NodeRow
from weft.text import analyze

_MAX_FILES: Final = 6
"""Files of the best finds in which families are looked for."""
_MAX_FINDS: Final = 30
_MIN_MEMBERS: Final = 3
"""Two definitions that end in the same word are a coincidence more often than a family."""
_MAX_MEMBERS: Final = 60
_MAX_FORM_LINES: Final = 12
"""A longer method does more than to hand on what it takes."""
_TYPE_KINDS: Final = frozenset({"class", "interface", "type"})
_NAME_VALUE: Final = 0.4
"""For a family whose common word, base or class the question names, beside the relevance of its best members."""
_COUNTED_MEMBERS: Final = 3
_MIN_WORTH: Final = 0.25
"""A family that is worth less is there for other reasons than the question's."""
_MARGIN_LINES: Final = 2
_MAX_PLACES: Final = 2
_MAX_PLACE_LINES: Final = 24
"""Lines from the first to the last name in one place that are shown together; a longer list is cut."""
_BASES: Final = re.compile(r"\(([\w.,\s\[\]]+)\)\s*:?\Z|\b(?:extends|implements|:)\s+([\w.,\s<>]+)")
_METHOD_CALL: Final = re.compile(r"\b\w+(?:\.|->|::)(\w+)\(")
_ADDING_TERMS: Final = frozenset(
    analyze(
        "add adding write writing create creating implement implementing register registering define introduce"
        " extend extending support new another custom own further example existing copy follow smallest simplest"
    )
)
"""Terms that ask for an example, and say nothing about which one."""
_LAST_WORD: Final = re.compile(r"[A-Z][a-z0-9]+\Z|(?<=_)[a-z0-9]+\Z")


class Example(Struct, frozen=True):
    """A definition to follow, what it needs of its own elsewhere, and the places that name its whole family."""

    row: NodeRow
    parts: tuple[NodeRow, ...]
    places: tuple[tuple[NodeRow, Span | None], ...]


class _Family(Struct, frozen=True):
    name: str
    members: tuple[Node, ...]


def find_example(
    found: Sequence[Candidate],
    question: str,
    names: Sequence[str],
    reading: Reading,
    *,
    smallest: bool,
) -> Example | None:
    """Return the example for a question about adding something: of the kind that it names, or of what was found.

    What the question calls by one of the `names` is what the new thing is to be like.
    """
    words = name_kind(question)
    kind = find_kind(words, found, reading) if words and not names else None
    if kind is not None:
        return _example_of(kind, words, question, found, reading, smallest=smallest)
    return _find_among(found, frozenset(analyze(question)), names, reading, smallest=smallest)


def _example_of(
    kind: Kind, words: str, question: str, found: Sequence[Candidate], reading: Reading, *, smallest: bool
) -> Example:
    """Return a member of a kind, and the places that name most of them."""
    further = set(analyze(question)) - set(analyze(words)) - _ADDING_TERMS
    relevance = {one.node.id: one.parts.get("relevance", 0.0) for one in found} if further else {}
    best, *others = choose_member(kind, relevance, smallest=smallest)
    own = {row.node.id for rows in kind.members for row in rows}
    rows = [row for row in find_naming(kind.names, reading) if row.node.id not in own]
    return Example(best, (*others, *kind.bases), tuple(_find_places(kind.names, kind.name_of(best), rows)))


def _find_among(
    found: Sequence[Candidate], terms: frozenset[str], names: Sequence[str], reading: Reading, *, smallest: bool
) -> Example | None:
    """Return an example from the families of what a search has found."""
    finds = [one for one in found if one.node.kind in DEFINITION_KINDS and not is_sample(one.node)]
    finds = sorted(finds, key=lambda one: (-one.parts.get("relevance", 0.0), *one.node.ref))[:_MAX_FINDS]
    relevance = {one.node.id: one.parts.get("relevance", 0.0) for one in finds}
    files = list(
        {(one.node.tenant, one.node.origin.source, one.node.origin.file): one.node for one in finds}.values()
    )
    known = {node.id: node for file in files[:_MAX_FILES] for node in file_members(file, reading)}
    # What is said about a method speaks for its class too.
    by_title = {(node.origin.file, node.title): node.id for node in known.values()}
    for one in finds:
        owner = by_title.get((one.node.origin.file, one.node.title.rpartition(".")[0]))
        if owner is not None:
            relevance[owner] = max(relevance.get(owner, 0.0), relevance[one.node.id])
    called = {last_part(name) for name in names}
    relevance |= {number: 1.0 for number, node in known.items() if last_part(node.title) in called}
    families = [family for family in _find_families(known.values()) if len(family.members) >= _MIN_MEMBERS]
    family = max(families, key=lambda each: (_worth(each, relevance, terms), each.name), default=None)
    if family is None or _worth(family, relevance, terms) < _MIN_WORTH:
        return None
    rows = reading.snapshot.nodes([node.id for node in family.members])
    needs = _find_needs(rows, reading)
    # An example is made as most of its family are: with a type of its own, or without.
    usual = 2 * len(needs) > len(rows)
    typical = [row for row in rows.values() if (row.node.id in needs) == usual]
    best = min(typical, key=lambda row: (0 if smallest else -relevance.get(row.node.id, 0.0), *_size(row, needs)))
    own = {node.id for node in family.members}
    near = {node.id for node in known.values()} | {
        source
        for source, target, edge in reading.snapshot.edges(sorted(own), ALL_EDGES)
        if target in own and edge.type in ("references", "calls")
    }
    naming = reading.snapshot.nodes(sorted(near - own)).values()
    names = [last_part(node.title) for node in family.members]
    places = _find_places(names, last_part(best.node.title), naming)
    return Example(best, needs.get(best.node.id, ()), tuple(places))


def _worth(family: _Family, relevance: Mapping[int, float], terms: frozenset[str]) -> float:
    best = sorted([relevance.get(node.id, 0.0) for node in family.members], reverse=True)[:_COUNTED_MEMBERS]
    return round(sum(best) / _COUNTED_MEMBERS + _NAME_VALUE * name_share(family.name, terms), 6)


def _find_families(nodes: Iterable[Node]) -> Iterator[_Family]:
    """Yield the families among the definitions of some files."""
    groups: dict[tuple[str, ...], list[Node]] = {}
    methods: list[Node] = []
    for node in nodes:
        if node.kind not in DEFINITION_KINDS:
            continue
        if "." in node.title:
            methods.append(node)
            continue
        last = _LAST_WORD.search(node.title)
        if last and last[0] != node.title:
            groups.setdefault(("word", last[0]), []).append(node)
        bases = _BASES.search(str(node.fields.get("signature") or "")) if node.kind in _TYPE_KINDS else None
        for base in re.findall(r"\w+", (bases[1] or bases[2] or "") if bases else ""):
            groups.setdefault(("base", base), []).append(node)
    for method, callee in _callees_of(methods):
        groups.setdefault(("calls", method.title.rpartition(".")[0], callee), []).append(method)
    for key, members in groups.items():
        yield _Family(" ".join(key[1:2]), tuple(members[:_MAX_MEMBERS]))


def _callees_of(methods: Sequence[Node]) -> Iterator[tuple[Node, str]]:
    """Yield short methods and the names of the methods of the same class that they call: forms of one thing."""
    titles = {node.title for node in methods}
    for node in methods:
        owner = node.title.rpartition(".")[0]
        if node.text.count("\n") <= _MAX_FORM_LINES:
            # From the text, because a resolver does not always know what a receiver is.
            called = dict.fromkeys(_METHOD_CALL.findall(node.text))
            yield from ((node, name) for name in called if f"{owner}.{name}" in titles - {node.title})


def _find_needs(rows: Mapping[int, NodeRow], reading: Reading) -> dict[int, tuple[NodeRow, ...]]:
    """Return for each member the types in other files that only it refers to, and the methods of these."""
    targets: dict[int, set[int]] = {}
    for source, target, edge in reading.snapshot.edges(sorted(rows), ALL_EDGES):
        if source in rows and edge.type in ("references", "calls") and target not in rows:
            targets.setdefault(target, set()).add(source)
    own = {target: min(sources) for target, sources in targets.items() if len(sources) == 1}
    stored = reading.snapshot.nodes(sorted(own))
    needs: dict[int, list[NodeRow]] = {}
    for target, row in stored.items():
        if row.node.kind in ("class", "type") and row.node.origin.file != rows[own[target]].node.origin.file:
            needs.setdefault(own[target], []).append(row)
    return {number: tuple(sorted(some, key=lambda row: row.node.key)) for number, some in needs.items()}


def _size(row: NodeRow, needs: Mapping[int, Sequence[NodeRow]]) -> tuple[int, str]:
    """Return how long a definition and what it needs are, and its key, for those of one length."""
    return len(row.node.text) + sum(len(need.node.text) for need in needs.get(row.node.id, ())), row.node.key


def _find_places(
    members: Sequence[str], example: str, rows: Iterable[NodeRow]
) -> Iterator[tuple[NodeRow, Span | None]]:
    """Yield the places outside of tests that name most of a kind's members, with the lines that do.

    Of many lines those around the example's name are enough.
    """
    known = set(members)
    word = re.compile(rf"(?<![\w-])(?:{'|'.join(sorted(map(re.escape, known)))})(?![\w-])")
    named: list[tuple[int, str, NodeRow, list[re.Match[str]]]] = []
    for row in rows:
        matches = list(word.finditer(row.node.text))
        count = len({match[0] for match in matches})
        # A file's head only imports them, and a test uses them.
        if count >= 2 and not is_sample(row.node) and row.node.kind != "document":
            # The head of a file imports or exports them, which is seldom all.
            is_head = row.node.kind == "file" and row.node.origin.first_line == 1 and 2 * count < len(known)
            named.append((count * (1 if is_head else -1), row.node.key, row, matches))
    for _, _, row, matches in sorted(named, key=lambda each: each[:2])[:_MAX_PLACES]:
        first, last = (row.node.text.count("\n", 0, matches[at].start()) for at in (0, -1))
        if last - first > _MAX_PLACE_LINES:
            own = [row.node.text.count("\n", 0, match.start()) for match in matches if match[0] == example]
            first = own[0] if own else first
            last = min(last, first + _MAX_PLACE_LINES // 2)
        yield row, span_of_lines(row.node.text, first - _MARGIN_LINES, last + _MARGIN_LINES)
