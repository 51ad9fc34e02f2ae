"""Define the lists of a knowledge answer: their records, how candidates become them, and their token budget.

The records are those of the service and of its client alike. The budget goes to entry points (60 %), context
(30 %) and entities (10 %), and what one of them leaves goes to the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import orjson
import xxhash
from msgspec import Struct

from weft.model import Candidate, Json, Node
from weft.ports import Snapshot, TokenCounter
from weft.sources.values import to_labelled_lines
from weft.tokens import DEFAULT_ENCODING

MAX_NEIGHBOURS: Final = 256
"""Edges of one node to look at for entities and links; only hubs have more, and the strongest come first."""
SHARES_PERCENT: Final = {"entry_points": 60.0, "context_nodes": 30.0, "entities": 10.0}
"""The share of the budget that each list may spend first, as the design fixes it; keys as in `tokens_used`."""
EdgeType = Literal["related", "parent", "example_of", "shared_tag", "similar"]
"""The types of edges that an answer names, as the design fixes them."""
_GENERAL_EDGE: Final[EdgeType] = "related"
"""The type that stands for every other: a link of which the answer says no more."""
_EDGE_TYPES: Final[Mapping[str, EdgeType]] = {
    **{name: name for name in get_args(EdgeType)},
    # Sources draw this from a document to its sections, as the design draws `parent`.
    "contains": "parent",
}
"""Types of stored edges that an answer names, with the names that they get."""
_BEST_LIST: Final = "entry_points"
"""The list whose best item may take of the whole budget, before the rest of it is shared."""

_MAX_REMEMBERED_COUNTS: Final = 50_000
"""Token counts kept in memory, at about 100 bytes each; more would only help services with very many nodes."""
_remembered_counts: dict[tuple[str, bytes], int] = {}


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
    edge_type: EdgeType | None


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
    # Nodes made from fields alone have a text generated from them: it would be sent twice.
    if not node.text or _have_same_lines(node.text, to_labelled_lines(fields)):
        return fields
    return {"text": node.text, **fields}


def _have_same_lines(one: str, other: str) -> bool:
    """Return whether two texts differ at most in the order of their lines, as fields may in theirs."""
    # The lengths decide nearly always, without sorting.
    return len(one) == len(other) and (one == other or sorted(one.split("\n")) == sorted(other.split("\n")))


def split_content(content: Mapping[str, Json]) -> tuple[str, dict[str, Json]]:
    """Split a content object into the node's text (`text`, or all of it made readable) and the other fields."""
    fields = dict(content)
    text = fields.get("text")
    if isinstance(text, str):
        del fields["text"]
        return text, fields
    return to_labelled_lines(fields), fields


# --- candidates become records ---


def closeness(candidate: Candidate) -> float:
    """Return 1 / (distance + 1) times the weight of the last edge: the formula of the design."""
    return round(candidate.parts.get("edge", 1.0) / (candidate.distance + 1), 6)


def make_entry_point(candidate: Candidate) -> EntryPoint:
    """Convert a candidate that the search found."""
    # On a page, `score` has other signals in it than those of the search.
    score = round(candidate.parts.get("relevance", candidate.score), 6)
    return EntryPoint(*_common_values(candidate.node), score, candidate.match_source or "hybrid")


def make_context_node(
    candidate: Candidate, root_ids: Mapping[str, Sequence[int]], snapshot: Snapshot
) -> ContextNode:
    """Convert a candidate that the walk reached; `root_ids` are the ids, by key, of where walks started."""
    steps = [step.id for step in candidate.path]
    # A path holds the steps only; callers expect it to begin with the entry point.
    start = _find_start(root_ids.get(candidate.root, ()), steps, snapshot)
    return ContextNode(
        *_common_values(candidate.node),
        score=closeness(candidate),
        distance=candidate.distance,
        path=(*start, *steps),
        edge_type=_EDGE_TYPES.get(candidate.path[-1].edge_type, _GENERAL_EDGE) if candidate.path else None,
    )


def _common_values(node: Node) -> tuple[int, str, str, str | None, dict[str, Json], tuple[str, ...]]:
    """Return the values of `ListedNode` up to the score, in the order of its fields."""
    return node.id, node.kind, node.title, node.summary or None, node_content(node), node.tags


def _find_start(ids: Sequence[int], steps: Sequence[int], snapshot: Snapshot) -> tuple[int, ...]:
    """Return the start of a path; if two tenants use its key, the one that is linked with the first step."""
    if len(ids) <= 1 or not steps:
        return tuple(ids[:1])
    near = snapshot.adjacency(ids, MAX_NEIGHBOURS)
    linked = {
        owner
        for owner, other in zip(near.owner.tolist(), near.neighbour.tolist(), strict=True)
        if other == steps[0]
    }
    return next(((node_id,) for node_id in ids if node_id in linked), (ids[0],))


def make_entity(candidate: Candidate) -> Entity:
    """Convert a candidate whose kind is `entity`."""
    fields = candidate.node.fields
    schemas = fields.get("related_schemas")
    # Sources write one schema or several.
    listed = schemas if isinstance(schemas, list | tuple) else [schemas] if schemas else []
    path = fields.get("entity_path")
    return Entity(
        id=candidate.node.id,
        title=candidate.node.title,
        entity_path="" if path is None else str(path),
        related_schemas=tuple(str(schema) for schema in listed),
    )


# --- the token budget ---


class Lists(Struct, frozen=True):
    """The candidates of an answer by the list that they belong to, best first."""

    entry_points: tuple[Candidate, ...] = ()
    context: tuple[Candidate, ...] = ()
    entities: tuple[Candidate, ...] = ()

    def by_name(self) -> dict[str, tuple[Candidate, ...]]:
        """Return the lists under the names of `tokens_used`."""
        return dict(zip(SHARES_PERCENT, (self.entry_points, self.context, self.entities), strict=True))


class Spending(Struct, frozen=True):
    """The kept candidates, their tokens in total and by list, and the tokens of each list's smallest dropped one.

    Without a budget nothing is counted, and everything but `kept` is None.
    """

    kept: Lists
    total: int | None = None
    by_list: Mapping[str, int] | None = None
    smallest_dropped: Mapping[str, int] | None = None
    best_entry: int | None = None
    """The tokens of the best entry point, if it was dropped: with that budget it is shown."""


def spend(lists: Lists, budget: int | None, count: TokenCounter) -> Spending:
    """Keep what fits into the budget; an oversize item does not starve the rest, and unused shares move on.

    The best entry point that fits at all is kept: with a larger budget it must not give way to lesser items.
    """
    if budget is None:
        return Spending(lists)
    candidates, costs = lists.by_name(), _Costs(count)
    taken: dict[tuple[str, int], int] = {}
    for index, entry in enumerate(lists.entry_points):
        if costs.fits(_BEST_LIST, entry, budget):
            taken[_BEST_LIST, index] = costs.exact(_BEST_LIST, entry.node)
            break
    # First every list spends its own share, then what is left is offered to all in turn.
    for shares in (SHARES_PERCENT, dict.fromkeys(SHARES_PERCENT, 100.0)):
        for name, members in candidates.items():
            left = budget - sum(taken.values())
            spent = sum(cost for (owner, _), cost in taken.items() if owner == name)
            available = min(int(budget * shares[name] / 100) - spent, left)
            # Goes on after one that does not fit: a smaller one further down may.
            for index, candidate in enumerate(members):
                if (name, index) not in taken and costs.fits(name, candidate, available):
                    taken[name, index] = cost = costs.exact(name, candidate.node)
                    available -= cost
    return _summarise(candidates, taken, costs)


def _summarise(
    candidates: Mapping[str, tuple[Candidate, ...]], taken: Mapping[tuple[str, int], int], costs: "_Costs"
) -> Spending:
    kept, used, smallest_dropped = {}, dict.fromkeys(SHARES_PERCENT, 0), {}
    for name, members in candidates.items():
        kept[name] = tuple(each for index, each in enumerate(members) if (name, index) in taken)
        used[name] = sum(cost for (owner, _), cost in taken.items() if owner == name)
        dropped = [each for index, each in enumerate(members) if (name, index) not in taken]
        if dropped:
            smallest_dropped[name] = costs.smallest(name, dropped)
    best = next(iter(candidates[_BEST_LIST]), None)
    is_dropped = best is not None and (_BEST_LIST, 0) not in taken
    best_entry = costs.exact(_BEST_LIST, best.node) if best is not None and is_dropped else None
    return Spending(Lists(*kept.values()), sum(used.values()), used, smallest_dropped, best_entry)


class _Costs:
    """The tokens of items, each counted at most once."""

    def __init__(self, count: TokenCounter) -> None:
        self._count, self._known = count, dict[tuple[str, int], int]()

    def fits(self, name: str, candidate: Candidate, available: int) -> bool:
        """Return whether an item of a list costs no more than the available tokens."""
        # In the order of their cost: the exact count is needed only if the lower bound fits.
        return (
            available > 0
            and self._text_tokens(name, candidate) <= available
            and self.exact(name, candidate.node) <= available
        )

    def smallest(self, name: str, candidates: Sequence[Candidate]) -> int:
        """Return the tokens of the smallest of some items of a list."""
        return min(self.exact(name, candidate.node) for candidate in candidates)

    def _text_tokens(self, name: str, candidate: Candidate) -> int:
        """Return the stored count of the text, a lower bound, if the same tokenizer made it; else 0."""
        # An entity is counted without its text, which may be longer than all that is listed of it.
        is_bound = name != "entities" and self._count.name == DEFAULT_ENCODING
        return (candidate.text_tokens or 0) if is_bound else 0

    def exact(self, name: str, node: Node) -> int:
        """Return the tokens of an item of a list."""
        # By list too: an entity is counted by other fields than the same node elsewhere.
        key = (name, node.id)
        if key not in self._known:
            text = entity_text(node) if name == "entities" else node_text(node)
            self._known[key] = _count_remembered(self._count, text)
        return self._known[key]


def _count_remembered(count: TokenCounter, text: str) -> int:
    """Count the tokens of a text, remembering the count: the same nodes come up in many answers."""
    key = (count.name, xxhash.xxh3_128_digest(text.encode("utf-8", "surrogatepass")))
    known = _remembered_counts.get(key)
    if known is None:
        if len(_remembered_counts) >= _MAX_REMEMBERED_COUNTS:
            # Emptied as a whole: cheaper than keeping an order, and it fills again within a few answers.
            _remembered_counts.clear()
        known = _remembered_counts[key] = count.count(text)
    return known


def node_text(node: Node) -> str:
    """Return the text by which a node is counted: title, summary and content."""
    content = orjson.dumps(node_content(node), option=orjson.OPT_NON_STR_KEYS).decode()
    return "\n".join(part for part in (node.title, node.summary, content) if part)


def entity_text(node: Node) -> str:
    """Return the text by which an entity is counted: title, path and schemas."""
    values = [node.title, node.fields.get("entity_path"), node.fields.get("related_schemas")]
    return orjson.dumps([value for value in values if value]).decode()
