"""Keep views of a store as of a point of its stories: built from nothing later, on first use, beside the store.

A view is a small store of its own. Cutting later chapters out of an answer would not do: entities, relations and
importance are derived from the whole story, so a view indexes again what was known at its point.
"""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Final

import xxhash
from msgspec import Struct, field
from msgspec.structs import replace

from weft.indexing.ingest import IndexingContext, ingest
from weft.indexing.prepare import PREPARATION
from weft.indexing.stories import STORY_VERSION, copy_settings
from weft.model import FOUND_ENTITY, Edge, Node, View
from weft.ports import Embedder, Source, TokenCounter, Unit
from weft.store import EmbeddedIndex, SqliteStore

if TYPE_CHECKING:
    from weft.store.open import AnyStore


_MAX_VIEWS_ON_DISK: Final = 12
"""Views that stay on disk; those used longest ago go first. Each is at most about as large as the store."""
_MAX_OPEN_VIEWS: Final = 4
"""Views that stay open for the next question: each holds a database and an index in memory."""
_ROWS_PER_PAGE: Final = 5_000
"""Nodes or edges that are read from the store at a time."""
_SOURCE_MAKERS: Final = ("source:", "put@")
"""The prefixes of makers whose edges come from outside; all other edges are derived, and a view derives its
own."""
_BUILDING_PREFIX: Final = "making-"
"""The names of folders in which a view is being built begin like this."""


class _OpenView(Struct):
    """A view in use, or kept open for the next question."""

    store: SqliteStore
    index: EmbeddedIndex
    readers: int = 0

    def close(self) -> None:
        """Close its files."""
        self.index.close()
        self.store.close()


class Views(Struct):
    """The views of one store, for all threads: of those that want the same view, one builds it."""

    store: "AnyStore"
    folder: Path
    embed: Embedder | None
    count: TokenCounter
    max_on_disk: int = _MAX_VIEWS_ON_DISK
    _open_views: dict[str, _OpenView] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _scratch: TemporaryDirectory[str] | None = None

    @contextmanager
    def at(self, view: View) -> Iterator[tuple[SqliteStore, EmbeddedIndex]]:
        """Open the store and index as of the view's point, in which everything may be seen."""
        with self._lock:
            # Built under the lock: of several threads that ask for the same view, only one indexes it.
            open_view = self._open(self._name(view), view)
            open_view.readers += 1
        try:
            yield open_view.store, open_view.index
        finally:
            with self._lock:
                open_view.readers -= 1

    def close(self) -> None:
        """Close the open views and remove temporary ones."""
        with self._lock:
            for open_view in self._open_views.values():
                open_view.close()
            self._open_views.clear()
            if self._scratch is not None:
                self._scratch.cleanup()
                self._scratch = None

    def _name(self, view: View) -> str:
        """Return a name that differs for every last write, choice of tenants, point and version of indexing."""
        with self.store.snapshot(View(view.tenants)) as snapshot:
            written = f"{snapshot.identity} {snapshot.sequence}"
        embedder = self.embed.name if self.embed is not None else ""
        parts = [written, *sorted(view.tenants), str(view.as_of), STORY_VERSION, PREPARATION, embedder]
        return xxhash.xxh3_128_hexdigest("\n".join(parts).encode())

    def _open(self, name: str, view: View) -> _OpenView:
        """Return the view, opened now if need be, and close others that are idle and too many."""
        open_view = self._open_views.pop(name, None)
        if open_view is None:
            folder = self._find_or_build(name, view)
            open_view = _OpenView(SqliteStore.open(folder, create=False), EmbeddedIndex(folder / "derived"))
        # The mapping is in order of use, so the first ones were used longest ago.
        idle = [other for other, candidate in self._open_views.items() if not candidate.readers]
        # Views with readers are never closed, so there may be more open ones for a while.
        for other in idle[: max(0, len(self._open_views) - _MAX_OPEN_VIEWS + 1)]:
            self._open_views.pop(other).close()
        self._open_views[name] = open_view
        return open_view

    def _find_or_build(self, name: str, view: View) -> Path:
        """Return the folder of a view, which is built whole elsewhere and then moved to its name."""
        home = self._views_folder()
        folder = home / name
        if not folder.is_dir():
            unfinished = Path(mkdtemp(prefix=_BUILDING_PREFIX, dir=home))
            try:
                self._build(unfinished, view)
                # Another process may have been quicker; its view is the same.
                with suppress(OSError):
                    unfinished.rename(folder)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
            _remove_oldest(home, folder, self.max_on_disk)
        # The time of last use decides which views are removed.
        folder.touch()
        return folder

    def _views_folder(self) -> Path:
        """Return the folder of all views; for a store that takes no writes, one that goes with this process."""
        if not self.store.read_only:
            self.folder.mkdir(parents=True, exist_ok=True)
            return self.folder
        if self._scratch is None:
            self._scratch = TemporaryDirectory(prefix="weft-views-")
        return Path(self._scratch.name)

    def _build(self, folder: Path, view: View) -> None:
        """Index what the view may see into a new store in the folder."""
        store, index = SqliteStore.open(folder), EmbeddedIndex(folder / "derived")
        try:
            indexing = IndexingContext(store, index, self.embed, self.count)
            for tenant in view.tenants:
                copy_settings(self.store, store, tenant)
                # A tenant outside the view must not show through what is shared with those inside it.
                store.share(tenant, [other for other in self.store.shared(tenant) if other in view.tenants])
                ingest(list(_stored_sources(self.store, replace(view, tenants=(tenant,)))), indexing, tenant)
        finally:
            index.close()
            store.close()


class _StoredSource(Struct):
    """One source as far as it was known at some point, read from the store it was indexed into."""

    name: str
    maker: str
    unit: Unit

    def identity(self) -> str:
        """Return nothing: any place will do for a source that was read already."""
        return ""

    def units(self) -> Iterator[tuple[str, str]]:
        """Yield the only unit, which holds all of it."""
        yield self.unit.name, self.unit.stamp

    def read(self, unit: str) -> Unit:
        """Return the only unit."""
        return self.unit


def _stored_sources(store: "AnyStore", view: View) -> Iterator[Source]:
    """Yield the sources of one tenant with what the view may see of them, without anything derived."""
    nodes: dict[str, list[Node]] = {}
    source_by_key: dict[str, str] = {}
    with store.snapshot(view) as snapshot:
        after = 0
        while rows := snapshot.page_of_nodes(after, _ROWS_PER_PAGE):
            after = rows[-1].node.id
            for row in rows:
                if FOUND_ENTITY not in row.node.key:
                    nodes.setdefault(row.node.origin.source, []).append(_without_derived(row.node))
                    source_by_key[row.node.key] = row.node.origin.source
    edges: dict[str, list[Edge]] = {}
    # Edges are read for all sources at once, and each goes with the node that it leads from.
    for edge in _source_edges(store, view):
        edges.setdefault(source_by_key.get(edge.source, ""), []).append(edge)
    for name in sorted(nodes):
        unit = Unit("copied", "copied", tuple(nodes[name]), tuple(edges.get(name, ())))
        yield _StoredSource(name, f"source:{name}@1", unit)


def _without_derived(node: Node) -> Node:
    """Return a node as its source gave it, without the importance and the names that the whole story gives it."""
    stated = node.fields.get("importance")
    importance = float(stated) if isinstance(stated, int | float) else 0.0
    aliases = tuple(alias for alias in node.aliases if not alias.found)
    return replace(node, id=0, importance=importance, aliases=aliases)


def _source_edges(store: "AnyStore", view: View) -> Iterator[Edge]:
    """Yield the edges of a view that came from outside."""
    after = (0, 0, 0)
    while rows := store.edges_after(view, after, _ROWS_PER_PAGE):
        after = rows[-1].cursor
        yield from (row.edge for row in rows if any(maker.startswith(_SOURCE_MAKERS) for maker in row.makers))


def _remove_oldest(home: Path, latest: Path, max_on_disk: int) -> None:
    """Delete the views used longest ago; another process may be doing the same."""
    with suppress(OSError):
        others = [folder for folder in home.iterdir() if folder.is_dir() and folder != latest]
        finished = [folder for folder in others if not folder.name.startswith(_BUILDING_PREFIX)]
        finished.sort(key=lambda folder: (folder.stat().st_mtime, folder.name))
        # One less than the limit, because the view just built is not among them.
        for folder in finished[: -(max_on_disk - 1)]:
            shutil.rmtree(folder, ignore_errors=True)
