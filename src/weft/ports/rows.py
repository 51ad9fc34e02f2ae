"""What a store answers with."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from weft.frozen import dataclass
from weft.model import Alias, Node, Passage

if TYPE_CHECKING:
    from weft.ports.arrays import Ids, Scores


@dataclass(frozen=True, slots=True)
class PassageRow:
    """What ordering needs to know about one passage; hashes and counts as in PreparedPassage."""

    id: int
    node_id: int
    passage: Passage
    length: int
    term_hashes: bytes
    term_counts: bytes


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """Exact statistics of a view: passages in all, their mean length, and passages per term hash."""

    passages: int
    mean_length: float
    frequency: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A stored node with what was derived from it."""

    node: Node
    text_tokens: int
    sketch: bytes


@dataclass(frozen=True, slots=True)
class NameRow:
    """What one node is called."""

    tenant: str
    key: str
    title: str
    aliases: tuple[Alias, ...] = ()
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The neighbours of some nodes that the view may see, as parallel arrays, strongest first per node.

    `owner` and `neighbour` are node ids; `tag` is a stable 64-bit hash of the neighbour's tenant and key, the
    same in every store; `edge_type` and `kind` index into `edge_types` and `kinds`; `outward` is 1 where the
    edge leads from owner to neighbour. `degree` maps owner to how many edges it has in the view, including
    those beyond the fan-out limit.
    """

    owner: "Ids"
    neighbour: "Ids"
    tag: "Ids"
    weight: "Scores"
    edge_type: "Ids"
    kind: "Ids"
    outward: "Ids"
    degree: Mapping[int, int]
    edge_types: tuple[str, ...]
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TailPassage:
    """A changed passage as an index needs it."""

    id: int
    node_id: int
    tenant: str
    facets: tuple[str, ...]
    """`kind:…`, `tag:…`, `source:…` and `field:name=value`, for filters."""
    sequence: int | None
    known_from: int | None
    time: datetime | None
    term_hashes: bytes
    term_counts: bytes
    vector: bytes


@dataclass(frozen=True, slots=True)
class Tail:
    """Changes after a sequence number: ids whose old passages are void, and the passages they have now."""

    sequence: int
    changed_nodes: tuple[int, ...]
    passages: tuple[TailPassage, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """Counts and versions for `weft status`."""

    location: str
    schema_version: int
    sequence: int
    nodes: int
    passages: int
    edges: int
    vectors: int
    embedder: str | None
    bytes: int
    by_tenant: Mapping[str, int]
    by_kind: Mapping[str, int]
    by_source: Mapping[str, int]
    by_edge_type: Mapping[str, int]
