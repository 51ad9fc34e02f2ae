"""Keep a store in a PostgreSQL schema: any number of processes and machines read it while one at a time writes.

The store opens the transactions inside which the other modules of this package work.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, Self, TypeVar

from weft.errors import EmbedderMismatch, StoreReadOnly
from weft.model import Edge, View
from weft.ports import Changes, Graph, NameRow, NodeRow, StoreStatus
from weft.runtime.cache import LruCache
from weft.store.export import ExportableStore, ExportReader, Selection, names_in_pages, nodes_in_pages
from weft.store.open import Address
from weft.store.postgres import listing, maintenance, search
from weft.store.postgres.connection import ALL_TENANTS, Connection, WriteLock, fetch_rows, translate_errors
from weft.store.postgres.encode import from_halfvec, name_md5
from weft.store.postgres.lookup import NameCache, Visibility, names_by_number
from weft.store.postgres.maintenance import read_engine, read_status
from weft.store.postgres.nodes import stored_keys
from weft.store.postgres.pool import ReaderPools
from weft.store.postgres.schema import prepare_schema
from weft.store.postgres.snapshot import PostgresSnapshot, SnapshotCaches, StateRow
from weft.store.postgres.write import apply_changes, declare_shared, next_sequence
from weft.store.records import MAX_WORDS_LOOKED_UP, EdgeCursor, ListedEdge
from weft.store.statistics import CACHED_SCANS, ScanCache

T = TypeVar("T")
# The first fields of StateRow, in their order.
_STATE_COLUMNS: Final = "identity, sequence, embedder, dimensions, space"
_MAP_VERSION: Final = "coalesce((SELECT m.version FROM cluster_map m), 0)"
_MAX_READER_WAIT_SECONDS: Final = 10.0
"""The longest wait of a reader for a server that is away or for a connection: somebody sits before the question,
while a writer loses its work when it gives up, and waits for `busy_seconds`."""
_CACHED_VIEWS: Final = 16
"""The number of views whose term statistics are kept; each view of a busy service should find its own."""


class PostgresStore(ExportableStore):
    """The store at one address; keep it open as long as you like and use it from any thread.

    `word_search` is the engine of its word searches, `bm25` or `tsvector`.
    """

    def __init__(
        self,
        address: Address,
        word_search: str,
        busy_seconds: float,
        read_only: bool,
        reader_seconds: float = _MAX_READER_WAIT_SECONDS,
    ) -> None:
        self.address, self.word_search, self.read_only = address, word_search, read_only
        self.busy_seconds = busy_seconds
        self._lock = WriteLock(address, busy_seconds)
        self.pools = ReaderPools(address, min(busy_seconds, reader_seconds))
        self._caches = SnapshotCaches(NameCache(), ScanCache(CACHED_SCANS), LruCache(_CACHED_VIEWS))

    @classmethod
    def open(
        cls,
        address: Address,
        *,
        create: bool = True,
        read_only: bool = False,
        busy_seconds: float = 60.0,
        reader_seconds: float = _MAX_READER_WAIT_SECONDS,
    ) -> Self:
        """Open the store at the address; create it or bring it up to date where needed and allowed.

        Writers wait up to `busy_seconds` for their turn or for a server that is away, readers `reader_seconds`.
        """
        with translate_errors(address):
            word_search = prepare_schema(address, create=create and not read_only, read_only=read_only)
        return cls(address, word_search, busy_seconds, read_only, reader_seconds)

    @property
    def location(self) -> str:
        """The address of the store without its password."""
        return self.address.display

    def servers(self) -> "tuple[PostgresStore, ...]":
        """Return the stores that this one is made of: itself."""
        return (self,)

    def close(self) -> None:
        """Close the connections; snapshots that are still open end with their blocks."""
        self.pools.close()
        self._lock.close()

    # --- writing -----------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the write lock across several writes, each of which commits on its own."""
        self._check_writable()
        with translate_errors(self.address), self._lock.held():
            yield

    def _check_writable(self) -> None:
        if self.read_only:
            raise StoreReadOnly(f"{self.location} was opened read-only. Open it for writing to change it.")

    def write(self, changes: Changes) -> int:
        """Apply the changes atomically and return the sequence number after them."""
        return self.transact(lambda connection: apply_changes(connection, changes))

    def transact(self, work: Callable[[Connection], T]) -> T:
        """Do the work inside one transaction under the write lock, and return its result.

        The work may be done more than once: a transaction that the server undid starts again.
        """
        self._check_writable()
        with translate_errors(self.address):
            return self._lock.transact(work)

    def execute_outside_transaction(self, statement: str) -> None:
        """Execute a statement that the server refuses inside a transaction, under the write lock."""
        self._check_writable()
        with translate_errors(self.address):
            self._lock.execute_outside_transaction(statement)

    def share(self, tenant: str, shared: Sequence[str]) -> None:
        """Declare which other tenants this tenant's links may point to."""
        self.transact(lambda connection: declare_shared(connection, tenant, shared))

    def remember_embedder(self, name: str, dimensions: int) -> None:
        """Fix the embedder of this store; raises EmbedderMismatch when another one's vectors are stored."""
        # Asked at every indexing: the write lock is only taken where something is to be written.
        if self._rows("SELECT embedder, dimensions FROM state")[0] != (name, dimensions):
            self.transact(lambda connection: self._set_embedder(connection, name, dimensions))

    def _set_embedder(self, connection: Connection, name: str, dimensions: int) -> None:
        ((known, width, space),) = fetch_rows(
            connection, "SELECT embedder, dimensions, space FROM state FOR UPDATE"
        )
        if known and fetch_rows(connection, "SELECT 1 FROM vectors WHERE space = %s LIMIT 1", (space,)):
            raise EmbedderMismatch(
                f"The vectors in {self.location} were made by {known} ({width} dimensions), not by {name} "
                f"({dimensions}). Use {known} again, index into another store (--store), or move to it with "
                f"`weft jobs add embed --embedder SPEC`."
            )
        connection.execute("UPDATE state SET embedder = %s, dimensions = %s", (name, dimensions))

    def rebuild_derived(self) -> None:
        """Derive neighbour lists, names, facets and statistics anew from nodes, passages and edges."""

        def rebuild(connection: Connection) -> None:
            maintenance.rebuild_derived(connection)
            # A new sequence number makes every process drop what it cached of the derived tables.
            next_sequence(connection, names_by_number(connection, "tenants"))

        self.transact(rebuild)

    # --- reading -----------------------------------------------------------------------------------------

    def snapshot(self, view: View) -> AbstractContextManager[PostgresSnapshot]:
        """Return a consistent reading through a view, which lasts for the block."""
        return self._snapshot(view)

    def snapshot_of_all_tenants(self) -> AbstractContextManager[PostgresSnapshot]:
        """Return a snapshot of all tenants, for derived indexes and maintenance only, never for a reader."""
        return self._snapshot(None)

    @contextmanager
    def _snapshot(self, view: View | None) -> Iterator[PostgresSnapshot]:
        visible = None if view is None else self._visibility(view)
        pool = self.pools.choose("" if view is None else view.consistency)
        with translate_errors(self.address), pool.reading(self._first_statements(visible)) as (connection, row):
            if visible is None or view is None:
                visible, view = self._caches.names.all_tenants(connection)
            yield PostgresSnapshot(connection, view, visible, StateRow(*row), self._caches, pool)

    @contextmanager
    def second_snapshot(self, snapshot: PostgresSnapshot) -> Iterator[PostgresSnapshot | None]:
        """Yield the same moment on a second connection, or None where none is idle or a write came in between."""
        with snapshot.pool.spare_reading(self._first_statements(snapshot.visible)) as spare:
            # Two connections cannot begin at one moment, so a write in between is noticed by its sequence.
            is_same = spare is not None and StateRow(*spare[1]) == snapshot.state
            yield snapshot.on_connection(spare[0]) if spare is not None and is_same else None

    def _first_statements(self, visible: Visibility | None) -> str:
        """Return the statements that a read transaction begins with; None shows all tenants.

        They tell row-level security which tenants to show, and end with the row of a `StateRow`.
        """
        sees_all = visible is None or visible.sees_all
        tenants = ALL_TENANTS if visible is None or sees_all else visible.setting
        # In the statement that begins the snapshot, so that it costs no round trip of its own.
        owned = f"(SELECT max(v.sequence) FROM tenant_versions v WHERE v.tenant_id = ANY('{tenants}'::integer[]))"
        version = "sequence" if sees_all else f"coalesce({owned}, 0)"
        columns = f"{_STATE_COLUMNS}, {version}, {search.set_candidates(self.address.candidates)}, {_MAP_VERSION}"
        return f"SET LOCAL weft.tenants = '{tenants}'; SELECT {columns} FROM state"

    def _visibility(self, view: View) -> Visibility:
        known = self._caches.names.known_visibility(view)
        if known is not None:
            return known
        with translate_errors(self.address), self.pools.choose().reading("SELECT 1") as (connection, _):
            return self._caches.names.read_visibility(connection, view)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Give the block a connection in a transaction that sees all tenants."""
        pool = self.pools.choose()
        with translate_errors(self.address), pool.reading(self._first_statements(None)) as (connection, _):
            yield connection

    def read_whole(self, work: Callable[[Connection], T]) -> T:
        """Return what the work reads in a transaction that sees all tenants."""
        with self._reading() as connection:
            return work(connection)

    def iterate(self, tenant: str, after_id: int = 0) -> Iterator[NodeRow]:
        """Yield all nodes of a tenant in id order, read in pages so that no transaction stays open in between."""
        return nodes_in_pages(lambda: self.snapshot(View((tenant,))), after_id)

    def names(self, tenant: str, words: Collection[str] | None = None) -> Iterator[NameRow]:
        """Yield the names of every node of a tenant, read in pages; with few words, of those made of them."""
        if words is not None and len(words) <= MAX_WORDS_LOOKED_UP:
            with self.snapshot(View((tenant,))) as snapshot:
                return iter(snapshot.names_of_words(words))
        return names_in_pages(lambda: self.snapshot(View((tenant,))))

    def graph(self, tenant: str) -> Graph:
        """Return the nodes of a tenant and the links between them."""
        with self.snapshot(View((tenant,))) as snapshot:
            return listing.read_graph(snapshot)

    def hashes(self, tenant: str, keys: Sequence[str]) -> dict[str, str]:
        """Return the content hash by key for the nodes that exist."""
        with self._reading() as connection:
            tenants = fetch_rows(connection, "SELECT id FROM tenants WHERE md5(name) = %s", (name_md5(tenant),))
            stored = stored_keys(connection, [(number, key) for (number,) in tenants for key in keys])
        return {key: entry.content_hash for (_, key), entry in stored.items() if entry.content_hash is not None}

    def units(self, tenant: str, source: str) -> dict[str, str]:
        """Return the stored stamp of each unit of a source."""
        with self._reading() as connection:
            return listing.read_unit_stamps(connection, tenant, source)

    def unit_keys(self, source: str, unit: str) -> tuple[tuple[str, str], ...]:
        """Return (tenant, key) of the nodes that a unit brought."""
        with self._reading() as connection:
            return listing.read_unit_keys(connection, source, unit)

    def edges_after(
        self, view: View, after: EdgeCursor, limit: int, ends: tuple[int | None, int | None] = (None, None)
    ) -> list[ListedEdge]:
        """Return the next edges of a view; `ends` limits them to one source or target."""
        with self.snapshot(view) as snapshot:
            return listing.page_of_edges(snapshot, after, limit, ends)

    def edges_by_maker(self, tenant: str, key: str, maker: str) -> tuple[Edge, ...]:
        """Return every edge that a maker drew from one key."""
        with self._reading() as connection:
            return listing.drawn_edges(connection, tenant, key, maker)

    def keys_with_tag(self, tenant: str, tag: str, kinds: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the keys of a tenant's nodes that carry a tag, in order, if given only those of some kinds."""
        with self.snapshot(View((tenant,))) as snapshot:
            return listing.tagged_keys(snapshot, tag, kinds)

    def last_sequence(self) -> int:
        """Return the number of the last write that changed something."""
        return int(self._rows("SELECT sequence FROM state")[0][0])

    def tenants(self) -> tuple[str, ...]:
        """Return the names of all tenants, for callers that may see all."""
        return tuple(name for (name,) in self._rows("SELECT name FROM tenants ORDER BY name"))

    def tenant_versions(self, view: View) -> tuple[tuple[str, int], ...]:
        """Return the last write that touched each tenant of the view with nodes; pages hold until the next."""
        with self.snapshot(view) as snapshot:
            return listing.tenant_versions(snapshot)

    def edge_makers(self, prefix: str) -> tuple[tuple[str, str], ...]:
        """Return (maker, tenant) of all edges whose maker's name begins with a prefix."""
        with self._reading() as connection:
            return listing.read_edge_makers(connection, prefix)

    def shared(self, tenant: str) -> tuple[str, ...]:
        """Return the tenants that this tenant's links may point to, by name."""
        with self._reading() as connection:
            return listing.read_shared_tenants(connection, tenant)

    def linking_tenants(self, tenant: str) -> tuple[str, ...]:
        """Return the tenants whose links may point to this one, by name."""
        with self._reading() as connection:
            return listing.read_linking_tenants(connection, tenant)

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._reading() as connection:
            return fetch_rows(connection, query, values or None)

    def status(self, view: View | None = None) -> StoreStatus:
        """Return counts and versions; with a view, only the rows that it sees are counted."""
        with self._snapshot(view) as snapshot:
            return read_status(snapshot, self.address)

    def verify(self) -> tuple[str, ...]:
        """Return a sentence for each inconsistency in the store; none when it is sound."""
        with self._snapshot(None) as snapshot:
            return maintenance.verify(snapshot)

    def engine(self) -> dict[str, str | int]:
        """Return the versions of the server and its extensions, and how far a replica is behind."""
        with self._reading() as connection:
            engine = read_engine(connection)
        if not self.address.replica:
            return engine
        lag = self.pools.lag()
        return {**engine, "replica_lag": "unknown" if lag is None else lag}

    # --- exporting ---------------------------------------------------------------------------------------

    @contextmanager
    def open_for_export(self) -> Iterator[ExportReader]:
        """Yield the whole store in the form that exporting reads."""

        def rows(query: str) -> list[Any]:
            return fetch_rows(snapshot.connection, query)

        def vectors(selected: Selection) -> dict[int, bytes]:
            sent = rows(
                f"SELECT v.passage_id, halfvec_send(v.vector) FROM vectors v WHERE v.space = {snapshot.space}"
                f" AND {selected('v.node_id')}"
            )
            return {number: from_halfvec(vector) for number, vector in sent}

        with self.snapshot_of_all_tenants() as snapshot:
            kinds = names_by_number(snapshot.connection, "kinds")
            yield ExportReader(snapshot, rows, snapshot.visible.tenants, kinds, "marks", vectors)
