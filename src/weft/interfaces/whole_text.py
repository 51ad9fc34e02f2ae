"""A node as text to read; an entity of a story also with its relations and the sentences that mention it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from weft.interfaces.describe import node_text, one_line
from weft.model import Edge, Node, View
from weft.story import KINDS, TIES
from weft.text import split_sentences

if TYPE_CHECKING:
    from weft.api import Weft


_MAX_EDGES: Final = 5_000
"""Edges read of one entity: enough for the hero of a long novel, and a bound on the work for a hub with more."""
_MAX_COMPANIONS: Final = 12
"""Entities named under "Most often with": those after them share only a scene or two."""
_SENTENCE_WIDTH: Final = 300
"""Characters of a quoted sentence; longer ones are cut, so that each stays a line or three."""
_COMPANY_EDGES: Final = ("co_occurs", "speaks_with")


def whole_text(weft: "Weft", node: Node, view: View) -> str:
    """Return a node's facts and text and, for an entity, what the stories visible in the view say about it."""
    lines = [node_text(node)]
    if node.kind in KINDS:
        with weft.reading(view) as reading:
            found = reading.snapshot.edges([node.id], _MAX_EDGES)
            ids = {id for source, target, _ in found for id in (source, target)} - {node.id}
            others = {row.node.key: row.node for row in reading.snapshot.nodes(sorted(ids)).values()}
        edges = [edge for _, _, edge in found]
        lines += _relation_lines(node, edges, others)
        lines += _companion_lines(node, edges, others)
        lines += _mention_lines(node, edges, others)
    return "\n".join(lines)


def _relation_lines(node: Node, edges: Sequence[Edge], others: Mapping[str, Node]) -> Iterator[str]:
    """Yield the relations that a text states, each with the sentence that states it."""
    lines = []
    for edge in edges:
        other = edge.target if edge.source == node.key else edge.source
        if edge.type in TIES and other in others:
            arrow = "→" if edge.source == node.key else "←"
            # Only the first line of the evidence is the sentence.
            evidence = one_line(edge.evidence.partition("\n")[0], _SENTENCE_WIDTH)
            line = f"  {edge.type} {arrow} {one_line(others[other].title)}"
            lines.append(f"{line}: {evidence}" if evidence else line)
    if lines:
        yield "\nRelations:"
        yield from dict.fromkeys(lines)


def _companion_lines(node: Node, edges: Sequence[Edge], others: Mapping[str, Node]) -> Iterator[str]:
    """Yield a line with the entities that share most scenes with the node."""
    weights: dict[str, float] = {}
    for edge in edges:
        other = edge.target if edge.source == node.key else edge.source
        if edge.type in _COMPANY_EDGES and other in others:
            weights[other] = weights.get(other, 0.0) + edge.weight
    companions = sorted(weights, key=lambda key: (-weights[key], key))[:_MAX_COMPANIONS]
    if companions:
        yield "\nMost often with: " + ", ".join(one_line(others[key].title) for key in companions)


def _mention_lines(node: Node, edges: Sequence[Edge], others: Mapping[str, Node]) -> Iterator[str]:
    """Yield, in the order of the story, the first sentence of each chapter or scene that mentions the node."""
    first_offsets: dict[str, int] = {}
    for edge in edges:
        text = others.get(edge.source)
        if edge.type == "mentions" and edge.target == node.key and text is not None and text.sequence is not None:
            offset = _mention_offset(edge.evidence)
            first_offsets[edge.source] = min(first_offsets.get(edge.source, offset), offset)
    texts = sorted((others[key] for key in first_offsets), key=lambda text: (text.sequence or 0, text.key))
    if texts:
        yield "\nNamed in:"
    for text in texts:
        sentence = _sentence_at(text.text, first_offsets[text.key])
        yield f"  {one_line(text.title or text.key)}: {one_line(sentence, _SENTENCE_WIDTH)}"


def _mention_offset(evidence: str) -> int:
    """Return the offset of a mention in its text, which its evidence ends with, as in `Alice @120`."""
    offset = evidence.rpartition("@")[2]
    return int(offset) if offset.isdigit() else 0


def _sentence_at(text: str, offset: int) -> str:
    """Return the sentence around an offset; with the one before it, if it only continues that one."""
    previous = 0
    for start, end in split_sentences(text):
        if end > offset:
            # "…" she said: a sentence that begins in lower case says who spoke, the one before what was said.
            return text[previous if text[start : start + 1].islower() else start : end]
        previous = start
    return ""
