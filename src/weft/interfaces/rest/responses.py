"""The bodies that the service answers with."""

from typing import Any, Literal

from pydantic import BaseModel

from weft.assemblers.knowledge.lists import EdgeType

MatchSource = Literal["bm25", "vector", "hybrid"]


class ListedNodeResult(BaseModel):
    """A node as both lists hold it."""

    id: int
    node_type: str
    title: str
    summary: str | None
    content: dict[str, Any]
    tags: list[str]
    score: float


class EntryPointResult(ListedNodeResult):
    """A node that matches the query."""

    match_source: MatchSource


class ContextNodeResult(ListedNodeResult):
    """A node reached from an entry point."""

    distance: int
    path: list[int]
    edge_type: EdgeType | None


class EntityResult(BaseModel):
    """A business object among the nodes or one step away."""

    id: int
    title: str
    entity_path: str
    related_schemas: list[str]


class ContextStats(BaseModel):
    """Counts of the nodes considered, reached and returned, and of tokens spent."""

    nodes_searched: int
    nodes_expanded: int
    max_depth_reached: int
    entry_points_found: int
    context_nodes_found: int
    total_tokens: int | None
    tokens_used: dict[str, int] | None


class ContextResponse(BaseModel):
    """The answer; the printed page, its ledger and manifest are there only where a page was asked for."""

    entry_points: list[EntryPointResult]
    context: list[ContextNodeResult]
    entities: list[EntityResult]
    stats: ContextStats
    notes: list[str]
    text: str | None = None
    format: str | None = None
    profile: str | None = None
    token_model: str | None = None
    hash: str | None = None
    sources: list[dict[str, Any]] | None = None
    ledger: list[dict[str, Any]] | None = None
    manifest: list[dict[str, Any]] | None = None


class NodeOutput(BaseModel):
    """A stored node."""

    id: int
    key: str
    tenant_id: str
    node_type: str
    title: str
    summary: str | None
    content: dict[str, Any]
    tags: list[str]
    aliases: list[str]
    created: str | None
    modified: str | None


class BatchOutput(BaseModel):
    """The result of a batch, with the ids in the order given."""

    ids: list[int]
    written: int
    unchanged: int


class NodePage(BaseModel):
    """Some nodes by id; `next_cursor` is null at the end."""

    nodes: list[NodeOutput]
    next_cursor: str | None


class EdgeOutput(BaseModel):
    """A stored edge; `makers` are the sources and linkers that drew it."""

    id: str
    source_id: int
    target_id: int
    edge_type: str
    weight: float
    confidence: float
    evidence: str
    makers: list[str]


class EdgePage(BaseModel):
    """Some edges; `next_cursor` is null at the end."""

    edges: list[EdgeOutput]
    next_cursor: str | None


class SearchResult(NodeOutput):
    """A node that matches."""

    score: float
    match_source: MatchSource


class SearchResponse(BaseModel):
    """The nodes that match, best first."""

    results: list[SearchResult]
    notes: list[str]


class GraphNode(NodeOutput):
    """A node of a neighbourhood, with its distance."""

    distance: int


class GraphResponse(BaseModel):
    """A node's neighbourhood: nodes by distance, and the edges between them."""

    nodes: list[GraphNode]
    edges: list[EdgeOutput]
    notes: list[str]


class ProfileOutput(BaseModel):
    """A kind of page and what it takes."""

    name: str
    description: str
    max_tokens: int | None
    format: str
    lenses: list[str]
    presets: list[str]
    parameters: list[str]


class ProfileList(BaseModel):
    """The kinds of page there are."""

    profiles: list[ProfileOutput]


class ProblemDocument(BaseModel):
    """An error (RFC 9457): which field, what is allowed, what to do."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    errors: list[dict[str, str]]
