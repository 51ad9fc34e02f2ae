"""Declare the contract of a storage engine: what it writes, what it returns, and how it is copied."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct, field

from weft.model import Alias, AliasSet, Edge, EdgeSet, Filter, Node, Passage, View

# Everything imports the ports, and start-up does without numpy: the array types exist for the type checker only.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]
    Ids: TypeAlias = NDArray[np.int64]
    Scores: TypeAlias = NDArray[np.float64]


# --- what a store writes ---------------------------------------------------------------------------------


class PreparedPassage(Struct, frozen=True):
    """A passage with its derived values: hashed terms with counts, its length in terms and its vector.

    `term_hashes` are ascending little-endian uint32 hashes of the distinct terms; `term_counts` has one byte
    per term: the count in title and headings in the high four bits, in the body in the low four, each at most
    15. `vector` is the int8-quantised unit vector (its scale is 1 / its own norm), or empty if the passage
    has none. `snippets` are its smallest printable pieces, packed by `weft.scoring.snippets`.
    """

    passage: Passage
    # Packed bytes instead of lists: a store holds millions of passages, and numpy reads these without parsing.
    term_hashes: bytes
    term_counts: bytes
    length: int
    vector: bytes = b""
    snippets: bytes = b""


class PreparedNode(Struct, frozen=True):
    """A node ready to be stored, with its content hash, passages, token count and near-duplicate sketch."""

    node: Node
    content_hash: str
    passages: tuple[PreparedPassage, ...]
    text_tokens: int
    sketch: bytes
    # Decides which indexing run removes the node; it is not part of the content hash.
    unit: str = ""


class Changes(Struct, frozen=True):
    """One atomic write; `removes` lists nodes by (tenant, key), `importance` maps the same pairs to a score."""

    upserts: tuple[PreparedNode, ...] = ()
    removes: tuple[tuple[str, str], ...] = ()
    edges: tuple[EdgeSet, ...] = ()
    aliases: tuple[AliasSet, ...] = ()
    units: tuple[tuple[str, str, str, str], ...] = ()
    """The (tenant, source, unit, stamp) to remember; an empty stamp forgets the unit."""
    # Apart from the nodes: linkers weigh all nodes at once, and no node counts as changed by that.
    importance: Mapping[tuple[str, str], float] = field(default_factory=dict)


# --- what a store returns --------------------------------------------------------------------------------


class PassageRow(Struct, frozen=True, gc=False):
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


class NodeRow(Struct, frozen=True, gc=False):
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


class Graph(Struct, frozen=True):
    """All nodes of a tenant and all links between them, both in any order.

    `source` and `target` are indexes into `keys`, and `has_own` says which nodes have an importance of their own.
    """

    keys: Sequence[str]
    has_own: Sequence[bool]
    source: "Ids"
    target: "Ids"
    weight: "Scores"


class Adjacency(Struct, frozen=True):
    """The neighbours of some nodes within a view, as parallel arrays, strongest first for each node.

    Each position describes one edge. `owner` is the id of the node that was asked for, `neighbour` the id at
    the other end; `tag` is a 64-bit hash of the neighbour's tenant and key, which breaks ties the same way in
    every store; `edge_type` and `kind` (of the neighbour) index into `edge_types` and `kinds`; `outward` is 1
    if the edge leads from owner to neighbour, else 0. `degree` maps an owner to the number of its edges in
    the view, including those beyond the fan-out limit.
    """

    # Arrays instead of one record per edge: a walk meets tens of thousands of edges in one question.
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


class QualityState(Struct, frozen=True):
    """The embedder of a store's second vectors, and whether all passages had one when it was last run."""

    embedder: str
    dimensions: int
    is_complete: bool = False


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
    quality_vectors: int | None = None
    """Passages with a vector of the better embedder; None where the store was not asked to have any."""


# --- the protocols ---------------------------------------------------------------------------------------


class Snapshot(Protocol):
    """One consistent reading of the store through one view.

    An engine must guarantee that every method answers from the same moment, whatever is written meanwhile,
    and that nothing outside the view shows: neither in results nor in counts, statistics or the order of
    results.
    """

    view: View
    sequence: int

    @property
    def identity(self) -> str:
        """The identity of the store; derived files carry it, so that they are never used for another store."""
        ...

    def nodes(self, ids: Sequence[int]) -> dict[int, NodeRow]:
        """Return the nodes by id, in the order of `ids`; ids that do not exist in the view are absent."""
        ...

    def find(self, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Return the node ids for each name that is known in the view; other names are absent.

        A name is first looked up as a full key; then as a key without source prefix, a title or an alias; and only
        then as an id, because a note called "2024" must not depend on how many nodes were stored before it.
        """
        ...

    def passages(self, ids: Sequence[int]) -> list[PassageRow]:
        """Return the passages in the order of `ids`; ids that do not exist in the view are left out."""
        ...

    def passages_of_nodes(self, node_ids: Sequence[int]) -> list[PassageRow]:
        """Return all passages of the nodes, in the order of `node_ids` and by ordinal within a node."""
        ...

    def all_terms(self) -> list[tuple[int, int, bytes, bytes]]:
        """Return (passage id, node id, term hashes, term counts) for every passage of the view, in any order."""
        ...

    def vectors(self, passage_ids: Sequence[int]) -> "Vectors":
        """Return one row per passage id: its unit vector, or zeros if the passage has none."""
        ...

    def snippets(self, passage_ids: Sequence[int]) -> dict[int, bytes]:
        """Return the packed snippets by passage id; passages stored by an older Weft have none."""
        ...

    def statistics(self, term_hashes: Sequence[int]) -> TermStatistics:
        """Return exact statistics of the terms over the passages of this view."""
        ...

    def adjacency(self, ids: Sequence[int], fan_out: int) -> Adjacency:
        """Return the `fan_out` strongest neighbours of each node that lie in the view."""
        ...

    def edges(self, ids: Sequence[int], limit: int = 1000) -> list[tuple[int, int, Edge]]:
        """Return (source id, target id, edge) for the edges that touch the nodes, strongest first."""
        ...

    def matching_ids(self, filter: Filter) -> "Ids":
        """Return the ids of the nodes that pass the filter, sorted."""
        ...

    def kinds(self) -> tuple[str, ...]:
        """Return the names of all kinds of the store, sorted, for filters only: other tenants may have some."""
        ...

    def sources(self) -> tuple[str, ...]:
        """Return the names of all sources of the store, sorted, for filters only: other tenants may have some."""
        ...

    def changes_since(self, since: int, limit: int) -> RecentChanges:
        """Return the changes after a sequence number, of about `limit` nodes.

        The changes of one write are never split. Reading on from the result's own sequence number misses nothing.
        """
        ...

    def embedder(self) -> tuple[str, int] | None:
        """Return name and dimensions of the embedder whose vectors are stored, or None if there are no vectors."""
        ...

    def quality(self) -> "QualityState | None":
        """Return the state of the second vectors; None where the store has none."""
        ...

    def quality_vectors(self, passage_ids: Sequence[int]) -> Mapping[int, bytes]:
        """Return the second vectors of those passages that have them: its own, then those of its snippets."""
        ...


@runtime_checkable
class WritesNow(Protocol):
    """A store that can be written to without waiting for other writers."""

    def writing_now(self) -> AbstractContextManager[bool]:
        """Hold the right to write during the block if nobody else has it, and yield whether it is held."""
        ...


class Store(Protocol):
    """A storage engine: the only lasting home of nodes, edges, passages and vectors.

    An engine must apply every write completely or not at all, and number the writes with one increasing sequence;
    everything derived (indexes, caches) is rebuilt from the store and compares sequence numbers to know its age.
    """

    def write(self, changes: Changes) -> int:
        """Apply the changes atomically and return the sequence number after them."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """Hold the right to write during the block, across several writes; other writers wait.

        Each write inside commits on its own.
        """
        ...

    def snapshot(self, view: View) -> AbstractContextManager[Snapshot]:
        """Open a consistent reading through the view for the duration of the block."""
        ...

    def snapshot_of_all_tenants(self) -> AbstractContextManager[Snapshot]:
        """Open a reading of all tenants, for derived indexes and maintenance; never answer a question from it."""
        ...

    def hashes(self, tenant: str, keys: Sequence[str]) -> dict[str, str]:
        """Return the content hash by key for those keys that have a node."""
        ...

    def units(self, tenant: str, source: str) -> dict[str, str]:
        """Return the remembered stamp of each unit of a source, by unit name."""
        ...

    def unit_keys(self, source: str, unit: str) -> tuple[tuple[str, str], ...]:
        """Return (tenant, key) of the nodes that came from a unit, named `<owning tenant>/<unit>` as on nodes."""
        ...

    def edge_makers(self, prefix: str) -> tuple[tuple[str, str], ...]:
        """Return the distinct (maker, tenant) of all edges whose maker's name starts with `prefix`."""
        ...

    def iterate(self, tenant: str, after_id: int = 0) -> Iterator[NodeRow]:
        """Yield all nodes of a tenant in id order, without keeping a transaction open between pages of nodes."""
        ...

    def names(self, tenant: str, words: Collection[str] | None = None) -> Iterator[NameRow]:
        """Yield the names of all nodes of a tenant in id order, without reading the nodes themselves.

        With words, a store may leave out nodes of whose names, in lower case, none is made of these words alone.
        """
        ...

    def graph(self, tenant: str) -> Graph:
        """Return the nodes of a tenant and the links between them, without reading the nodes themselves."""
        ...

    def keys_with_tag(self, tenant: str, tag: str, kinds: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the sorted keys of a tenant's nodes that carry the tag, if given only those of some kinds."""
        ...

    def share(self, tenant: str, shared: Sequence[str]) -> None:
        """Replace the list of other tenants that this tenant's links may point to."""
        ...

    def shared(self, tenant: str) -> tuple[str, ...]:
        """Return the tenants that this tenant's links may point to, by name."""
        ...

    def linking_tenants(self, tenant: str) -> tuple[str, ...]:
        """Return the tenants whose links may point to this one, by name."""
        ...

    def remember_embedder(self, name: str, dimensions: int) -> None:
        """Record the embedder of this store; raise EmbedderMismatch if vectors of another one are stored."""
        ...

    def status(self, view: View | None = None) -> StoreStatus:
        """Return counts and versions; with a view, count only what the view contains."""
        ...

    def close(self) -> None:
        """Release files and connections; snapshots that are still open end with their blocks."""
        ...


# --- copying ---------------------------------------------------------------------------------------------


class ExportBatch(Struct, frozen=True):
    """One batch of a store's nodes with their passages and outgoing edges, ready to be written to another store.

    `last_id` is the id of the last node: the next batch begins after it.
    """

    last_id: int
    changes: Changes


class StoreState(Struct, frozen=True):
    """The state of a store apart from its nodes and edges, as a copy must take it over."""

    identity: str
    sequence: int
    nodes: int
    embedder: tuple[str, int] | None
    units: tuple[tuple[str, str, str, str], ...]
    """The (tenant, source, unit, stamp) of everything that was indexed."""
    shared: Mapping[str, tuple[str, ...]]
    """The other tenants that each tenant's links may point to."""


class Fingerprint(Struct, frozen=True):
    """The number of nodes and edges in a store and one digest over all of them, to compare two stores."""

    nodes: int
    edges: int
    digest: str


class ExportableStore(Protocol):
    """A store that can be read in batches, to be copied into another store."""

    def state(self) -> StoreState:
        """Return the state of the store apart from nodes and edges."""
        ...

    def count_nodes_after(self, after_id: int) -> int:
        """Return the number of nodes with a greater id."""
        ...

    def next_batch(self, after_id: int, limit: int) -> ExportBatch | None:
        """Return the next `limit` nodes by id as one batch, or None if there are no more."""
        ...

    def dangling_edges(self) -> Changes:
        """Return the edges that start at keys without a node, which no batch contains."""
        ...

    def fingerprint(self) -> Fingerprint:
        """Return counts and a digest of all nodes and edges; equal stores have equal fingerprints."""
        ...
