"""The truth: a store, a consistent reading of it, and a store that can be copied."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from weft.model import Edge, Filter, View
from weft.ports.changes import Books, Changes, Fingerprint, Portion
from weft.ports.rows import Adjacency, NameRow, NodeRow, PassageRow, StoreStatus, Tail, TermStatistics

if TYPE_CHECKING:
    from weft.ports.arrays import Ids, Vectors


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
