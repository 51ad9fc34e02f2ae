"""Define the records that a store returns to its readers."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from weft.model import Alias, Node, Passage

if TYPE_CHECKING:
    from weft.ports.arrays import Ids, Scores


class PassageRow(Struct, frozen=True):
    """One stored passage with the values that scoring needs; hashes and counts are those of PreparedPassage."""

    id: int
    node_id: int
    passage: Passage
    length: int
    term_hashes: bytes
    term_counts: bytes


class TermStatistics(Struct, frozen=True):
    """Exact statistics of a view: number of passages, their mean length in terms, and passages by term hash."""

    passages: int
    mean_length: float
    frequency: Mapping[int, int]


class NodeRow(Struct, frozen=True):
    """A stored node with its derived values: the tokens of its text and its near-duplicate sketch."""

    node: Node
    text_tokens: int
    sketch: bytes


class NameRow(Struct, frozen=True):
    """The names of one node: its key, title and aliases."""

    tenant: str
    key: str
    title: str
    aliases: tuple[Alias, ...] = ()
    language: str | None = None


class Adjacency(Struct, frozen=True):
    """The neighbours of some nodes within a view, as parallel arrays, strongest first for each node.

    Each position describes one edge. `owner` is the id of the node that was asked for, `neighbour` the id at
    the other end; `tag` is a 64-bit hash of the neighbour's tenant and key, which breaks ties the same way in
    every store; `edge_type` and `kind` (of the neighbour) index into `edge_types` and `kinds`; `outward` is 1
    if the edge leads from owner to neighbour, else 0. `degree` maps an owner to the number of its edges in
    the view, including those beyond the fan-out limit.
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


class ChangedPassage(Struct, frozen=True):
    """One changed passage with everything that a derived index stores of it."""

    id: int
    node_id: int
    tenant: str
    facets: tuple[str, ...]
    """The values that filters compare: `kind:…`, `tag:…`, `source:…` and `field:name=value`."""
    sequence: int | None
    known_from: int | None
    time: datetime | None
    term_hashes: bytes
    term_counts: bytes
    vector: bytes


class RecentChanges(Struct, frozen=True):
    """The changes after a sequence number, up to `sequence`.

    All earlier passages of `changed_nodes` are void; `passages` are the ones that these nodes have now.
    `complete` is False if the limit was reached before all changes were listed.
    """

    sequence: int
    changed_nodes: tuple[int, ...]
    passages: tuple[ChangedPassage, ...]
    complete: bool


class StoreStatus(Struct, frozen=True):
    """The counts and versions that `weft status` prints."""

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
