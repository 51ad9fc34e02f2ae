"""Nodes as texts to read; an entity with its ties and the sentences that name it, in the order of the story."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from weft.interfaces.describe import node_text, one_line
from weft.model import Edge, Node, View
from weft.story import KINDS, TIES
from weft.text import sentences

if TYPE_CHECKING:
    from weft.api import Weft


_MOST: Final = 5_000
_NAMED: Final = 12
_WIDTH: Final = 300
_TOGETHER: Final = ("co_occurs", "speaks_with")
_FAR: Final = 1 << 30


def whole_text(weft: "Weft", node: Node, view: View) -> str:
    """A node that a view shows, as a text: its facts, its own text, and what the view's stories tell of it."""
    return "\n".join((node_text(node), *_told_of(weft, node, view)))


def _told_of(weft: "Weft", node: Node, view: View) -> list[str]:
    if node.kind not in KINDS:
        return []
    with weft.desk(view) as desk:
        found = desk.snapshot.edges([node.id], _MOST)
        ids = {number for source, target, _ in found for number in (source, target)} - {node.id}
        others = {row.node.key: row.node for row in desk.snapshot.nodes(sorted(ids)).values()}
    edges = [edge for _, _, edge in found]
    return [*_ties(node, edges, others), *_company(node, edges, others), *_places(node, edges, others)]


def _ties(node: Node, edges: Sequence[Edge], others: Mapping[str, Node]) -> Iterator[str]:
    """The relations that are stated, each with what states it."""
    lines = []
    for edge in edges:
        other = edge.target if edge.source == node.key else edge.source
        if edge.type in TIES and other in others:
            arrow = "→" if edge.source == node.key else "←"
            said = one_line(edge.evidence.partition("\n")[0], _WIDTH)
            line = f"  {edge.type} {arrow} {one_line(others[other].title)}"
            lines.append(f"{line}: {said}" if said else line)
    yield from ("\nRelations:", *dict.fromkeys(lines)) if lines else ()


def _company(node: Node, edges: Sequence[Edge], others: Mapping[str, Node]) -> Iterator[str]:
    """Those who share its scenes most."""
    weights: dict[str, float] = {}
    for edge in edges:
        other = edge.target if edge.source == node.key else edge.source
        if edge.type in _TOGETHER and other in others:
            weights[other] = weights.get(other, 0.0) + edge.weight
    near = sorted(weights, key=lambda key: (-weights[key], key))[:_NAMED]
    if near:
        yield "\nMost often with: " + ", ".join(one_line(others[key].title) for key in near)


def _places(node: Node, edges: Sequence[Edge], others: Mapping[str, Node]) -> Iterator[str]:
    """Of each text that names it, in the order of the story, the first sentence that does."""
    first: dict[str, int] = {}
    for edge in edges:
        text = others.get(edge.source)
        if edge.type == "mentions" and edge.target == node.key and text is not None and text.sequence is not None:
            first[edge.source] = min(first.get(edge.source, _FAR), _offset(edge.evidence))
    told = sorted((others[key] for key in first), key=lambda each: (each.sequence or 0, each.key))
    if told:
        yield "\nNamed in:"
    for each in told:
        yield f"  {one_line(each.title or each.key)}: {one_line(_sentence(each.text, first[each.key]), _WIDTH)}"


def _offset(evidence: str) -> int:
    """Where a mention stands in its text, as its evidence says."""
    place = evidence.rpartition("@")[2]
    return int(place) if place.isdigit() else 0


def _sentence(text: str, offset: int) -> str:
    """The sentence around an offset, with what was said where it only names the speaker."""
    before = 0
    for start, end in sentences(text):
        if end > offset:
            return text[before if text[start : start + 1].islower() else start : end]
        before = start
    return ""
