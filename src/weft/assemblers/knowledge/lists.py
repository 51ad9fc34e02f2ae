"""Define the records in the lists of a knowledge answer, for the service and its client alike."""

from collections.abc import Mapping
from dataclasses import dataclass

from weft.model import Json, Node
from weft.sources.values import to_labelled_lines


@dataclass(frozen=True, slots=True)
class ListedNode:
    """The values that entry points and context nodes have in common."""

    id: int
    node_type: str
    title: str
    summary: str | None
    content: Mapping[str, Json]
    tags: tuple[str, ...]
    score: float


@dataclass(frozen=True, slots=True)
class EntryPoint(ListedNode):
    """A node that matches the question; `match_source` names the search that found it."""

    match_source: str


@dataclass(frozen=True, slots=True)
class ContextNode(ListedNode):
    """A node reached from an entry point, with its distance, the ids of its path and the last edge's type."""

    distance: int
    path: tuple[int, ...]
    edge_type: str | None


@dataclass(frozen=True, slots=True)
class Entity:
    """A business object among the nodes or one step from them."""

    id: int
    title: str
    entity_path: str
    related_schemas: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnowledgeStats:
    """The numbers of nodes considered, reached and returned, and of tokens spent."""

    nodes_searched: int = 0
    nodes_expanded: int = 0
    max_depth_reached: int = 0
    entry_points_found: int = 0
    context_nodes_found: int = 0
    total_tokens: int | None = None
    tokens_used: Mapping[str, int] | None = None


def node_content(node: Node) -> dict[str, Json]:
    """Return the structured fields, with the text under `text` if it says more than they do."""
    fields = dict(node.fields)
    if not node.text or _have_same_lines(node.text, to_labelled_lines(fields)):
        return fields
    return {"text": node.text, **fields}


def _have_same_lines(one: str, other: str) -> bool:
    """Tell whether two texts differ at most in the order of their lines, as fields may in theirs."""
    return len(one) == len(other) and (one == other or sorted(one.split("\n")) == sorted(other.split("\n")))


def split_content(content: Mapping[str, Json]) -> tuple[str, dict[str, Json]]:
    """Split a content object into the node's text (`text`, or all of it made readable) and the other fields."""
    fields = dict(content)
    text = fields.get("text")
    if isinstance(text, str):
        del fields["text"]
        return text, fields
    return to_labelled_lines(fields), fields
