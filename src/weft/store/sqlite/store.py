"""Keep a store in one SQLite file in a folder, which many processes read while one writes."""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import orjson

from weft.errors import EmbedderMismatch, InvalidInput, StoreError, StoreReadOnly
from weft.model import Edge, View
from weft.ports import Changes, Graph, NameRow, NodeRow, StoreStatus
from weft.runtime.cache import LruCache
from weft.store.export import ExportableStore, ExportReader, Selection, names_in_pages, nodes_in_pages
from weft.store.records import MAX_WORDS_LOOKED_UP, EdgeCursor, ListedEdge, not_unicode_error
from weft.store.sqlite import listing, maintenance
from weft.store.sqlite.connection import (
    ReaderPool,
    WriteLock,
    connect_reader,
    connect_writer,
    is_writable,
    read_only_message,
    read_version,
    translate_errors,
)
from weft.store.sqlite.lookup import names_by_number, read_visibility
from weft.store.sqlite.maintenance import read_status
from weft.store.sqlite.nodes import stored_keys
from weft.store.sqlite.schema import SCHEMA_VERSION, migrate
from weft.store.sqlite.snapshot import CACHED_VIEWS, SnapshotCaches, SqliteSnapshot, read_embedder, read_sequence
from weft.store.sqlite.write import apply_changes, declare_shared
from weft.store.statistics import CACHED_SCANS, ScanCache

Result = TypeVar("Result")

FILE_NAME: Final = "weft.sqlite"
"""The file in the folder of a store; SQLite keeps its log beside it under the same name."""


class SqliteStore(ExportableStore):
    """The store in one folder; it may stay open for as long as the process runs, and any thread may use it."""

    # Locked at once: a transaction that begins as a reader may be refused when it starts to write.
    _begin, _keep, _undo = "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"

    def __init__(self, path: Path, busy_seconds: float, read_only: bool) -> None:
        self.path, self.file, self.read_only = path, path / FILE_NAME, read_only
        self.busy_seconds = busy_seconds
        self._lock = WriteLock(path, busy_seconds)
        self._pool = ReaderPool(self.file, busy_seconds)
        self._writer: sqlite3.Connection | None = None
        self._caches = SnapshotCaches(ScanCache(CACHED_SCANS), LruCache(CACHED_VIEWS))

    @classmethod
    def open(cls, path: Path, *, create: bool = True, read_only: bool = False, busy_seconds: float = 60.0) -> Self:
        """Open the store in the folder `path`; make it or bring it up to date where that is needed and allowed."""
        file = path / FILE_NAME
        if not file.exists():
            _make_folder(path, create and not read_only)
        # A store on a disk that takes no writes can still be asked.
        store = cls(path, busy_seconds, read_only or not is_writable(path, file))
        with translate_errors(file):
            store._prepare()
        return store

    @property
    def location(self) -> str:
        """The folder of the store."""
        return str(self.path)

    def _prepare(self) -> None:
        # Looking first without the lock lets readers open a store while somebody writes to it.
        if self._current_version() == SCHEMA_VERSION:
            return
        if self.read_only:
            raise StoreReadOnly(f"{self.file} has an older schema. {read_only_message(self.file)}")
        with self._lock.held():
            connection = self._writing_connection()
            # Another process may have migrated the file while this one waited for the lock.
            migrate(connection, read_version(connection, str(self.file)))

    def _current_version(self) -> int:
        if not self.file.exists():
            return 0
        connection = connect_reader(self.file, self.busy_seconds)
        try:
            return read_version(connection, str(self.file))
        finally:
            connection.close()

    def close(self) -> None:
        """Close the file; snapshots that are still open end with their blocks."""
        self._pool.close()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    # --- writing -----------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the right to write across several writes, each of which commits on its own."""
        if self.read_only:
            raise StoreReadOnly(read_only_message(self.file))
        with self._lock.held():
            yield

    @contextmanager
    def writing_now(self) -> Iterator[bool]:
        """Hold the right to write if nobody else has it, and yield whether it is held."""
        if self.read_only:
            yield False
            return
        with ExitStack() as stack:
            try:
                stack.enter_context(self._lock.held(wait_seconds=0.0))
                is_held = True
            except StoreError:
                is_held = False
            yield is_held

    def write(self, changes: Changes) -> int:
        """Apply the changes atomically and return the sequence number after them."""
        with self._transaction() as connection:
            return apply_changes(connection, changes)

    def share(self, tenant: str, shared: Sequence[str]) -> None:
        """Declare which other tenants this tenant's links may point to."""
        with self._transaction() as connection:
            declare_shared(connection, tenant, shared)

    def remember_embedder(self, name: str, dimensions: int) -> None:
        """Fix the embedder of this store; raises EmbedderMismatch when another one's vectors are stored."""
        # Mostly it is remembered already, and then nobody has to wait for the right to write.
        with self._reading() as connection:
            known = read_embedder(connection)
        if known == (name, dimensions):
            return
        with self._transaction() as connection:
            known = read_embedder(connection)
            if known and connection.execute("SELECT 1 FROM vectors LIMIT 1").fetchone():
                raise EmbedderMismatch(
                    f"The vectors in {self.path} were made by {known[0]} ({known[1]} dimensions), not by {name} "
                    f"({dimensions}). Use {known[0]} again, index into a new folder (--store), or embed the store "
                    "anew with: weft reembed --embedder SPEC"
                )
            value = orjson.dumps([name, dimensions]).decode()
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('embedder', ?)", (value,))

    def transact(self, change: Callable[[sqlite3.Connection], Result]) -> Result:
        """Make a change in one transaction and return what it returns."""
        with self._transaction() as connection:
            return change(connection)

    def read(self, question: Callable[[sqlite3.Connection], Result]) -> Result:
        """Return what a function reads from the file, whoever it belongs to: for maintenance only."""
        with self._reading() as connection:
            return question(connection)

    def rebuild_derived(self) -> None:
        """Derive neighbour lists, names, facets and statistics anew from nodes, passages and edges."""
        with self._transaction() as connection:
            maintenance.rebuild_derived(connection)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with translate_errors(self.file), self.writing():
            connection = self._writing_connection()
            connection.execute(self._begin)
            is_kept = False
            try:
                yield connection
                connection.execute(self._keep)
                is_kept = True
            except UnicodeEncodeError as error:
                raise not_unicode_error(error) from error
            except OverflowError as error:
                raise InvalidInput(
                    f"A number cannot be stored ({error}). Allowed are whole numbers of at most 64 bits with "
                    "sign: correct the source that gave it."
                ) from error
            finally:
                # After any error, interrupts included, because the connection is used for the next write.
                if not is_kept and connection.in_transaction:
                    connection.execute(self._undo)

    def _writing_connection(self) -> sqlite3.Connection:
        if self._writer is None:
            self._writer = connect_writer(self.file, self.busy_seconds)
        return self._writer

    # --- reading -----------------------------------------------------------------------------------------

    def snapshot(self, view: View) -> AbstractContextManager[SqliteSnapshot]:
        """Open one consistent reading through a view, held for the block."""
        return self._open_snapshot(view)

    def snapshot_of_all_tenants(self) -> AbstractContextManager[SqliteSnapshot]:
        """Open a snapshot of all tenants, for derived indexes and maintenance only, never for a reader."""
        return self._open_snapshot(None)

    @contextmanager
    def _open_snapshot(self, view: View | None) -> Iterator[SqliteSnapshot]:
        with translate_errors(self.file), self._pool.reading() as connection:
            visible = read_visibility(connection, view)
            # Caches are keyed by the view, so that of all tenants must name them.
            named_view = View(tuple(sorted(visible.tenants.values()))) if view is None else view
            yield SqliteSnapshot(connection, named_view, visible, self._caches)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with translate_errors(self.file), self._pool.reading() as connection:
            yield connection

    def iterate(self, tenant: str, after_id: int = 0) -> Iterator[NodeRow]:
        """Yield all nodes of a tenant in id order, in pages, so that no transaction stays open in between."""
        return nodes_in_pages(lambda: self.snapshot(View((tenant,))), after_id)

    def names(self, tenant: str, words: Collection[str] | None = None) -> Iterator[NameRow]:
        """Yield the key, title, aliases and language of every node of a tenant, a page at a time.

        With few words, only nodes are read that have a name made of these words.
        """
        if words is not None and len(words) <= MAX_WORDS_LOOKED_UP:
            with self.snapshot(View((tenant,))) as snapshot:
                return iter(snapshot.names_of_words(words))
        return names_in_pages(lambda: self.snapshot(View((tenant,))))

    def graph(self, tenant: str) -> Graph:
        """Return the nodes of a tenant and the links between them."""
        with self._reading() as connection:
            return listing.read_graph(connection, tenant)

    def hashes(self, tenant: str, keys: Sequence[str]) -> dict[str, str]:
        """Return the content hash by key for the nodes that exist."""
        with self._reading() as connection:
            row = connection.execute("SELECT id FROM tenants WHERE name = ?", (tenant,)).fetchone()
            stored = stored_keys(connection, int(row[0]), keys) if row else {}
        return {key: state.content_hash for key, state in stored.items() if state.content_hash is not None}

    def units(self, tenant: str, source: str) -> dict[str, str]:
        """Return the remembered stamp of each unit of a source."""
        with self._reading() as connection:
            return listing.read_unit_stamps(connection, tenant, source)

    def unit_keys(self, source: str, unit: str) -> tuple[tuple[str, str], ...]:
        """Return (tenant, key) of the nodes that a unit brought."""
        with self._reading() as connection:
            return listing.read_unit_keys(connection, source, unit)

    def edges_after(
        self, view: View, after: EdgeCursor, limit: int, ends: tuple[int | None, int | None] = (None, None)
    ) -> list[ListedEdge]:
        """Return the next edges of a view; `ends` asks for those of one source or target."""
        with self._reading() as connection:
            return listing.page_of_edges(connection, read_visibility(connection, view), after, limit, ends)

    def edges_by_maker(self, tenant: str, key: str, maker: str) -> tuple[Edge, ...]:
        """Return every edge that a maker drew from one key."""
        with self._reading() as connection:
            return listing.drawn_edges(connection, tenant, key, maker)

    def keys_with_tag(self, tenant: str, tag: str, kinds: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the keys of a tenant's nodes that carry a tag, in order, if given only those of some kinds."""
        with self._reading() as connection:
            return listing.tagged_keys(connection, tenant, tag, kinds)

    def last_sequence(self) -> int:
        """Return the number of the last write that changed something."""
        with self._reading() as connection:
            return read_sequence(connection)

    def tenants(self) -> tuple[str, ...]:
        """Return the names of all tenants, for callers that may see all."""
        with self._reading() as connection:
            return tuple(name for (name,) in connection.execute("SELECT name FROM tenants ORDER BY name"))

    def tenant_versions(self, view: View) -> tuple[tuple[str, int], ...]:
        """Return the last write that touched each tenant of the view that holds nodes.

        What was read through the view stays true until one of these numbers changes.
        """
        with self._reading() as connection:
            return listing.tenant_versions(connection, read_visibility(connection, view))

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

    def status(self, view: View | None = None) -> StoreStatus:
        """Return counts and versions; with a view, only what it sees is counted."""
        with self._reading() as connection:
            return read_status(connection, self.file, read_visibility(connection, view))

    # --- exporting and checking --------------------------------------------------------------------------

    @contextmanager
    def open_for_export(self) -> Iterator[ExportReader]:
        """Open the whole store as exporting reads it, at one moment, for the block."""

        def rows(query: str) -> list[Any]:
            return snapshot.connection.execute(query).fetchall()

        def vectors(selected: Selection) -> dict[int, bytes]:
            return dict(
                rows(
                    "SELECT p.id, v.vector FROM passages p JOIN vectors v ON v.passage_id = p.id"
                    f" WHERE {selected('p.node_id')}"
                )
            )

        with self.snapshot_of_all_tenants() as snapshot:
            kinds = names_by_number(snapshot.connection, "kinds")
            yield ExportReader(snapshot, rows, snapshot.visible.tenants, kinds, "importance", vectors)

    def engine(self) -> dict[str, str | int]:
        """Return the name and version of the database engine."""
        return {"engine": "SQLite", "version": sqlite3.sqlite_version}

    def verify(self) -> tuple[str, ...]:
        """Return what is inconsistent in the store, in words; nothing when it is sound."""
        with self._reading() as connection:
            return maintenance.verify(connection)


def _make_folder(path: Path, create: bool) -> None:
    if not create:
        raise StoreError(f"There is no Weft store in {path}. Make one with `weft index PATH --store {path}`.")
    try:
        path.mkdir(parents=True, exist_ok=True)
        ignore_file = path / ".gitignore"
        if not ignore_file.exists():
            # A store inside a repository is never meant to be committed with it.
            ignore_file.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise StoreReadOnly(
            f"The folder {path} cannot be made ({error.strerror}). Choose another one with --store."
        ) from error
