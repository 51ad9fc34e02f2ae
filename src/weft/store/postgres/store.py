"""The truth in a PostgreSQL schema: any number of processes and machines read it while one at a time writes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, Self, TypeVar

from weft.cache import Recent
from weft.errors import EmbedderMismatch, StoreReadOnly
from weft.model import Edge, View
from weft.ports import Changes, NameRow, NodeRow, StoreStatus
from weft.store.addresses import Address
from weft.store.export import HandingOut, Shelf, names_in_pages, nodes_in_pages
from weft.store.postgres import listing, maintenance, search
from weft.store.postgres.connection import EVERYTHING, Link, Writing, explained, rows_of
from weft.store.postgres.copy_rows import from_half_precision
from weft.store.postgres.encode import name_digest
from weft.store.postgres.filters import Names, Seen
from weft.store.postgres.maintenance import read_engine, read_status
from weft.store.postgres.nodes import stored_keys
from weft.store.postgres.pool import Readers
from weft.store.postgres.schema import prepare
from weft.store.postgres.snapshot import PostgresSnapshot, Remembered, State
from weft.store.postgres.write import apply_changes, declare_shared, names_by_number, next_sequence
from weft.store.sqlite.listing import ListedEdge, Place
from weft.store.statistics import RememberedScans

T = TypeVar("T")
_STATE: Final = "identity, sequence, embedder, dimensions, space"
_PATIENCE: Final = 10.0
"""Seconds that a reader waits for a server that is away, or for a connection; writers wait longer."""
_VIEWS: Final = 16
"""Of so many views the statistics are remembered."""


class PostgresStore(HandingOut):
    """The truth at one address; keep it open as long as you like and use it from any thread."""

    def __init__(self, address: Address, words: str, busy_seconds: float, read_only: bool) -> None:
        self.address, self.words, self.read_only = address, words, read_only
        self._lock = Writing(address, busy_seconds)
        self.readers = Readers(address, min(busy_seconds, _PATIENCE))
        self._remembered = Remembered(Names(), RememberedScans(), Recent(_VIEWS))

    @classmethod
    def open(
        cls, address: Address, *, create: bool = True, read_only: bool = False, busy_seconds: float = 60.0
    ) -> Self:
        """The store at the address, made or brought up to date if need be and allowed."""
        with explained(address):
            words = prepare(address, create=create and not read_only, read_only=read_only)
        return cls(address, words, busy_seconds, read_only)

    @property
    def location(self) -> str:
        """Where the store is, as people may see it."""
        return self.address.shown

    def close(self) -> None:
        """Let go of the connections; snapshots that are still open end with their blocks."""
        self.readers.close()
        self._lock.close()

    # --- writing -----------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the right to write across several writes, each of which commits on its own."""
        self._check_writable()
        with explained(self.address), self._lock.held():
            yield

    def _check_writable(self) -> None:
        if self.read_only:
            raise StoreReadOnly(f"{self.location} was opened read-only. Open it for writing to change it.")

    def write(self, changes: Changes) -> int:
        """Apply the changes atomically and return the sequence number after them."""
        return self.transact(lambda link: apply_changes(link, changes))

    def transact(self, work: Callable[[Link], T]) -> T:
        """What the work returns, done inside one transaction by the holder of the right to write."""
        self._check_writable()
        with explained(self.address):
            return self._lock.transact(work)

    def execute_alone(self, statement: str) -> None:
        """Execute a statement that must stand outside a transaction, under the right to write."""
        self._check_writable()
        with explained(self.address):
            self._lock.direct(statement)

    def share(self, tenant: str, shared: Sequence[str]) -> None:
        """Declare which other tenants this tenant's links may point to."""
        self.transact(lambda link: declare_shared(link, tenant, shared))

    def remember_embedder(self, name: str, dimensions: int) -> None:
        """Fix the embedder of this store; raises EmbedderMismatch when another one's vectors are stored."""
        known = self._rows("SELECT embedder, dimensions FROM state")[0]
        if known != (name, dimensions):
            self.transact(lambda link: self._remember_embedder(link, name, dimensions))

    def _remember_embedder(self, link: Link, name: str, dimensions: int) -> None:
        (known,) = rows_of(link, "SELECT embedder, dimensions, space FROM state FOR UPDATE")
        if known[0] and rows_of(link, "SELECT 1 FROM vectors WHERE space = %s LIMIT 1", (known[2],)):
            raise EmbedderMismatch(
                f"The vectors in {self.location} were made by {known[0]} ({known[1]} dimensions), not by {name} "
                f"({dimensions}). Use {known[0]} again, index into another store (--store), or move to it with "
                f"`weft jobs add embed --embedder SPEC`."
            )
        link.execute("UPDATE state SET embedder = %s, dimensions = %s", (name, dimensions))

    def forget_vectors(self) -> None:
        """Drop all vectors and their embedder, and let the next indexing read and embed everything anew."""

        def forget(link: Link) -> None:
            sequence = next_sequence(link, names_by_number(link, "tenants"))
            link.execute("UPDATE state SET embedder = NULL, dimensions = NULL")
            link.execute("DELETE FROM vectors")
            link.execute("DELETE FROM units")
            link.execute("UPDATE nodes SET content_hash = '', changed = %s", (sequence,))

        self.transact(forget)

    def rebuild_derived(self) -> None:
        """Derive neighbour lists, names, facets and statistics anew from nodes, passages and edges."""

        def rebuilt(link: Link) -> None:
            maintenance.rebuild_derived(link)
            # Nobody, in whatever process, may go on with what was derived before.
            next_sequence(link, names_by_number(link, "tenants"))

        self.transact(rebuilt)

    # --- reading -----------------------------------------------------------------------------------------

    def snapshot(self, view: View) -> AbstractContextManager[PostgresSnapshot]:
        """A consistent reading through a view, held for the block."""
        return self._snapshot(view)

    def everything(self) -> AbstractContextManager[PostgresSnapshot]:
        """A snapshot of all tenants, for derived indexes and maintenance only, never for a reader."""
        return self._snapshot(None)

    @contextmanager
    def _snapshot(self, view: View | None) -> Iterator[PostgresSnapshot]:
        seen = None if view is None else self._seen(view)
        lender = self.readers.best("" if view is None else view.consistency)
        with explained(self.address), lender.reading(self._opening(seen)) as (link, row):
            if seen is None or view is None:
                seen, view = self._remembered.names.everything(link)
            yield PostgresSnapshot(link, view, seen, State(*row), self._remembered, lender)

    @contextmanager
    def beside(self, snapshot: PostgresSnapshot) -> Iterator[PostgresSnapshot | None]:
        """The same moment on a second connection; None where none is idle or the store has moved on meanwhile."""
        with snapshot.lender.spare(self._opening(snapshot.seen)) as lent:
            same = lent is not None and State(*lent[1]) == snapshot.state
            yield snapshot.through(lent[0]) if lent is not None and same else None

    def _opening(self, seen: Seen | None) -> str:
        """What begins a transaction that sees these tenants, None for all, and answers with the store's state."""
        whole = seen is None or seen.whole
        tenants = EVERYTHING if seen is None or whole else seen.setting
        owned = f"(SELECT max(v.sequence) FROM tenant_versions v WHERE v.tenant_id = ANY('{tenants}'::integer[]))"
        version = "sequence" if whole else f"coalesce({owned}, 0)"
        told = f"{_STATE}, {version}, {search.breadth(self.address.candidates)}"
        return f"SET LOCAL weft.tenants = '{tenants}'; SELECT {told} FROM state"

    def _seen(self, view: View) -> Seen:
        """The numbers of a view's tenants, which are looked up once in the life of a process."""
        known = self._remembered.names.known(view)
        if known is not None:
            return known
        with explained(self.address), self.readers.best().reading("SELECT 1") as (link, _):
            return self._remembered.names.seen(link, view)

    @contextmanager
    def _reading(self) -> Iterator[Link]:
        """A connection in a transaction that sees all tenants."""
        with explained(self.address), self.readers.best().reading(self._opening(None)) as (link, _):
            yield link

    def iterate(self, tenant: str, after_id: int = 0) -> Iterator[NodeRow]:
        """All nodes of a tenant in id order, a page at a time, so that no transaction stays open in between."""
        return nodes_in_pages(lambda: self.snapshot(View((tenant,))), after_id)

    def names(self, tenant: str) -> Iterator[NameRow]:
        """What every node of a tenant is called, a page at a time."""
        return names_in_pages(lambda: self.snapshot(View((tenant,))))

    def hashes(self, tenant: str, keys: Sequence[str]) -> dict[str, str]:
        """Content hash by key for the nodes that exist."""
        with self._reading() as link:
            tenants = rows_of(link, "SELECT id FROM tenants WHERE md5(name) = %s", (name_digest(tenant),))
            stored = stored_keys(link, [(number, key) for (number,) in tenants for key in keys])
        return {key: one.content_hash for (_, key), one in stored.items() if one.content_hash is not None}

    def units(self, tenant: str, source: str) -> dict[str, str]:
        """Remembered stamp of each unit of a source."""
        with self._reading() as link:
            return listing.stamps(link, tenant, source)

    def unit_keys(self, source: str, unit: str) -> tuple[tuple[str, str], ...]:
        """(tenant, key) of the nodes a unit brought."""
        with self._reading() as link:
            return listing.keys_of_unit(link, source, unit)

    def edges_after(
        self, view: View, after: Place, limit: int, ends: tuple[int | None, int | None] = (None, None)
    ) -> list[ListedEdge]:
        """The next edges of a view; `ends` asks for those of one source or target."""
        with self.snapshot(view) as snapshot:
            return listing.page_of_edges(snapshot, after, limit, ends)

    def edges_drawn(self, tenant: str, key: str, maker: str) -> tuple[Edge, ...]:
        """Every edge that a maker drew from one key."""
        with self._reading() as link:
            return listing.drawn_edges(link, tenant, key, maker)

    def tagged(self, tenant: str, tag: str) -> tuple[str, ...]:
        """The keys of a tenant's nodes that carry a tag, in order."""
        with self.snapshot(View((tenant,))) as snapshot:
            return listing.tagged_keys(snapshot, tag)

    def reached(self) -> int:
        """The number of the last write that changed something."""
        return int(self._rows("SELECT sequence FROM state")[0][0])

    def tenants(self) -> tuple[str, ...]:
        """The names of all tenants, for those who may see all."""
        return tuple(name for (name,) in self._rows("SELECT name FROM tenants ORDER BY name"))

    def versions(self, view: View) -> tuple[tuple[str, int], ...]:
        """The last write that touched each tenant of the view that holds nodes; pages stay true until the next."""
        with self.snapshot(view) as snapshot:
            return listing.tenant_versions(snapshot)

    def drawn(self, beginning: str) -> tuple[tuple[str, str], ...]:
        """(maker, tenant) of all edges whose maker's name begins so."""
        with self._reading() as link:
            return listing.makers_of_edges(link, beginning)

    def shared(self, tenant: str) -> tuple[str, ...]:
        """The tenants that this tenant's links may point to, by name."""
        with self._reading() as link:
            return listing.shared_by(link, tenant)

    def sharing(self, tenant: str) -> tuple[str, ...]:
        """The tenants whose links may point to this one, by name."""
        with self._reading() as link:
            return listing.sharing_with(link, tenant)

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._reading() as link:
            return rows_of(link, query, values or None)

    def status(self, view: View | None = None) -> StoreStatus:
        """Counts and versions; with a view, only what it sees is counted."""
        with self._snapshot(view) as snapshot:
            return read_status(snapshot, self.address)

    def verify(self) -> tuple[str, ...]:
        """What is inconsistent in the store, in words; nothing when it is sound."""
        with self._snapshot(None) as snapshot:
            return maintenance.verify(snapshot)

    def engine(self) -> dict[str, str | int]:
        """What holds the store: versions of the server and its extensions, and how far a replica is behind."""
        with self._reading() as link:
            told = read_engine(link)
        if not self.address.replica:
            return told
        behind = self.readers.lag()
        return {**told, "replica_lag": "unknown" if behind is None else behind}

    # --- handing out -------------------------------------------------------------------------------------

    @contextmanager
    def shelf(self) -> Iterator[Shelf]:
        """The whole store as exporting reads it."""

        def rows(query: str) -> list[Any]:
            return rows_of(snapshot.link, query)

        def vectors(after: int, last: int) -> dict[int, bytes]:
            sent = rows(
                f"SELECT v.passage_id, halfvec_send(v.vector) FROM vectors v WHERE v.space = {snapshot.space}"
                f" AND v.node_id > {after} AND v.node_id <= {last}"
            )
            return {number: from_half_precision(vector) for number, vector in sent}

        with self.everything() as snapshot:
            kinds = names_by_number(snapshot.link, "kinds")
            yield Shelf(snapshot, rows, snapshot.seen.tenants, kinds, "marks", vectors)
