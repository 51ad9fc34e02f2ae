"""What a store is given to write, and what a whole store is copied as."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from weft.frozen import dataclass
from weft.model import AliasSet, Edge, EdgeSet, Filter, Node, Passage, View
from weft.ports.rows import Adjacency, NameRow, NodeRow, PassageRow, StoreStatus, Tail, TermStatistics

if TYPE_CHECKING:
    from weft.ports.arrays import Ids, Vectors


@dataclass(frozen=True, slots=True)
class PreparedPassage:
    """A passage with what is derived from it: hashed terms with counts, its length in terms and its vector.

    `term_hashes` are ascending little-endian uint32 hashes of the distinct terms; `term_counts` has one byte a
    term: the count in title and headings in the high four bits, in the body in the low four, each at most 15.
    `vector` is the int8-quantised unit vector (its scale is 1 / its own norm), or empty when there is none.
    """

    passage: Passage
    term_hashes: bytes
    term_counts: bytes
    length: int
    vector: bytes = b""


@dataclass(frozen=True, slots=True)
class PreparedNode:
    """A node ready to be stored: hash of its content, passages, token count and near-duplicate sketch."""

    node: Node
    content_hash: str
    passages: tuple[PreparedPassage, ...]
    text_tokens: int
    sketch: bytes
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """One atomic write. Units list the stamps to remember; `removes` are (tenant, key)."""

    upserts: tuple[PreparedNode, ...] = ()
    removes: tuple[tuple[str, str], ...] = ()
    edges: tuple[EdgeSet, ...] = ()
    aliases: tuple[AliasSet, ...] = ()
    units: tuple[tuple[str, str, str, str], ...] = ()
    """(tenant, source, unit, stamp) seen; an empty stamp forgets the unit."""
    importance: Mapping[tuple[str, str], float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Portion:
    """Some nodes of a store with all that starts at them, for another store to take in; `last` is the last id."""

    last: int
    changes: Changes


@dataclass(frozen=True, slots=True)
class Books:
    """What a store remembers beside nodes and edges."""

    identity: str
    sequence: int
    nodes: int
    embedder: tuple[str, int] | None
    units: tuple[tuple[str, str, str, str], ...]
    """(tenant, source, unit, stamp) of everything that was indexed."""
    shared: Mapping[str, tuple[str, ...]]
    """Into which other tenants each tenant's links may lead."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """How many nodes and edges a store holds, and one digest of them all."""

    nodes: int
    edges: int
    digest: str


class Snapshot(Protocol):
    """A consistent reading of the store for one view; nothing outside the view can be seen through it."""

    view: View
    sequence: int

    @property
    def identity(self) -> str:
        """What tells the store from every other; derived files carry it."""
        ...

    def nodes(self, ids: Sequence[int]) -> dict[int, NodeRow]:
        """Nodes by id; ids outside the view are absent."""
        ...

    def find(self, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Ids for each name that is a node's id, its key (with or without source prefix), exact title or alias."""
        ...

    def passages(self, ids: Sequence[int]) -> list[PassageRow]:
        """Passages by id, in the order asked; those that are gone or outside the view are left out."""
        ...

    def passages_of(self, node_ids: Sequence[int]) -> list[PassageRow]:
        """All passages of the nodes, by node as asked and by ordinal."""
        ...

    def words(self) -> list[tuple[int, int, bytes, bytes]]:
        """(passage id, node id, term hashes, term counts) of every passage of the view, in any order."""
        ...

    def vectors(self, passage_ids: Sequence[int]) -> "Vectors":
        """Unit vectors by passage, zero rows where there is none."""
        ...

    def statistics(self, term_hashes: Sequence[int]) -> TermStatistics:
        """Term statistics of exactly this view."""
        ...

    def adjacency(self, ids: Sequence[int], fan_out: int) -> Adjacency:
        """The strongest `fan_out` neighbours of each node."""
        ...

    def edges(self, ids: Sequence[int], limit: int = 1000) -> list[tuple[int, int, Edge]]:
        """Full edges touching the nodes: (source id, target id, edge), strongest first."""
        ...

    def matching(self, filter: Filter) -> "Ids":
        """Sorted ids of nodes that pass the filter."""
        ...

    def tail(self, since: int, limit: int) -> Tail:
        """What changed after a sequence number."""
        ...

    def embedder(self) -> tuple[str, int] | None:
        """Name and dimensions of the embedder whose vectors are stored."""
        ...


class Store(Protocol):
    """The truth: nodes, edges, passages, vectors and one change sequence."""

    def write(self, changes: Changes) -> int:
        """Apply the changes atomically and return the sequence number after them."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """Hold the right to write across several writes; a second writer waits for it."""
        ...

    def snapshot(self, view: View) -> AbstractContextManager[Snapshot]: ...

    def everything(self) -> AbstractContextManager[Snapshot]:
        """A snapshot of all tenants, for derived indexes and maintenance only, never for a reader."""
        ...

    def hashes(self, tenant: str, keys: Sequence[str]) -> dict[str, str]:
        """Content hash by key for the nodes that exist."""
        ...

    def units(self, tenant: str, source: str) -> dict[str, str]:
        """Remembered stamp of each unit of a source."""
        ...

    def unit_keys(self, source: str, unit: str) -> tuple[tuple[str, str], ...]:
        """(tenant, key) of the nodes a unit brought; units are named `<owning tenant>/<unit>` on nodes."""
        ...

    def drawn(self, beginning: str) -> tuple[tuple[str, str], ...]:
        """(maker, tenant) of all edges whose maker's name begins so."""
        ...

    def iterate(self, tenant: str, after_id: int = 0) -> Iterator[NodeRow]:
        """All nodes of a tenant in id order, without holding a transaction open for the writer."""
        ...

    def names(self, tenant: str) -> Iterator[NameRow]:
        """What every node of a tenant is called, in id order, without reading the nodes themselves."""
        ...

    def tagged(self, tenant: str, tag: str) -> tuple[str, ...]:
        """The keys of a tenant's nodes that carry a tag, in order."""
        ...

    def share(self, tenant: str, shared: Sequence[str]) -> None:
        """Declare which other tenants this tenant's links may point to."""
        ...

    def shared(self, tenant: str) -> tuple[str, ...]:
        """The tenants that this tenant's links may point to."""
        ...

    def sharing(self, tenant: str) -> tuple[str, ...]:
        """The tenants whose links may point to this one."""
        ...

    def remember_embedder(self, name: str, dimensions: int) -> None:
        """Fix the embedder of this store; raises EmbedderMismatch when another one's vectors are stored."""
        ...

    def status(self, view: View | None = None) -> StoreStatus: ...

    def close(self) -> None: ...


class Exporting(Protocol):
    """A store that hands itself out, to be copied into another."""

    def books(self) -> Books: ...

    def left(self, after_id: int) -> int:
        """How many nodes come after an id."""
        ...

    def portion(self, after_id: int, limit: int) -> Portion | None:
        """The next nodes by id, or None when there are no more."""
        ...

    def strays(self) -> Changes:
        """The edges that start at keys without a node."""
        ...

    def fingerprint(self) -> Fingerprint: ...
