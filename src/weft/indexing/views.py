"""A store as it was at a point of its stories: made of nothing later, on first use, and kept beside the store."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Final

import xxhash

from weft.frozen import dataclass
from weft.indexing.ingest import Workshop, ingest
from weft.indexing.prepare import PREPARATION
from weft.indexing.stories import VERSION, hand_on
from weft.model import FOUND_ENTITY, Edge, Node, View
from weft.ports import Embedder, Source, TokenCounter, Unit
from weft.store import EmbeddedIndex, SqliteStore

if TYPE_CHECKING:
    from weft.store.open import AnyStore


_KEPT: Final = 12
"""Views that stay on disk; those used longest ago go first."""
_OPEN: Final = 4
_PAGE: Final = 5_000
_DRAWN_OUTSIDE: Final = ("source:", "put@")
"""Who draws what the world says; all other edges are derived, and drawn anew."""


@dataclass(slots=True)
class _Opened:
    """A view in use or ready for the next question."""

    store: SqliteStore
    index: EmbeddedIndex
    readers: int = 0

    def close(self) -> None:
        """Let go of its files."""
        self.index.close()
        self.store.close()


@dataclass(slots=True)
class Views:
    """The views of one store; from any thread, each is made by one of those who want it."""

    store: "AnyStore"
    folder: Path
    embed: Embedder | None
    count: TokenCounter
    _opened: dict[str, _Opened] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _scratch: TemporaryDirectory[str] | None = None

    @contextmanager
    def at(self, view: View) -> Iterator[tuple[SqliteStore, EmbeddedIndex]]:
        """The store as of the view's point, in which everything may be seen."""
        with self._lock:
            mine = self._ready(self._name(view), view)
            mine.readers += 1
        try:
            yield mine.store, mine.index
        finally:
            with self._lock:
                mine.readers -= 1

    def _ready(self, name: str, view: View) -> _Opened:
        """The view, opened now if need be; of the others only some stay open."""
        mine = self._opened.pop(name, None)
        if mine is None:
            folder = self._made(name, view)
            mine = _Opened(SqliteStore.open(folder, create=False), EmbeddedIndex(folder / "derived"))
        idle = [each for each, opened in self._opened.items() if not opened.readers]
        for each in idle[: max(0, len(self._opened) - _OPEN + 1)]:
            self._opened.pop(each).close()
        self._opened[name] = mine
        return mine

    def close(self) -> None:
        """Let go of the open views."""
        with self._lock:
            for each in self._opened.values():
                each.close()
            self._opened.clear()
            if self._scratch is not None:
                self._scratch.cleanup()
                self._scratch = None

    def _name(self, view: View) -> str:
        """What tells this view from every other: the store's last write, tenants, point, and how it is made."""
        with self.store.snapshot(View(view.tenants)) as snapshot:
            written = f"{snapshot.identity} {snapshot.sequence}"
        maker = self.embed.name if self.embed is not None else ""
        told = [written, *sorted(view.tenants), str(view.as_of), VERSION, PREPARATION, maker]
        return xxhash.xxh3_128_hexdigest("\n".join(told).encode())

    def _made(self, name: str, view: View) -> Path:
        """The folder of a view, made whole elsewhere and then moved to its place."""
        home = self._home()
        place = home / name
        if not place.is_dir():
            making = Path(mkdtemp(prefix="making-", dir=home))
            try:
                self._make(making, view)
                # Another process may have been quicker; its view is the same.
                with suppress(OSError):
                    making.rename(place)
            finally:
                shutil.rmtree(making, ignore_errors=True)
            _prune(home, place)
        place.touch()
        return place

    def _home(self) -> Path:
        """Where views are kept; beside a store that takes no writes, a folder that goes with this process."""
        if not self.store.read_only:
            self.folder.mkdir(parents=True, exist_ok=True)
            return self.folder
        if self._scratch is None:
            self._scratch = TemporaryDirectory(prefix="weft-views-")
        return Path(self._scratch.name)

    def _make(self, folder: Path, view: View) -> None:
        store, index = SqliteStore.open(folder), EmbeddedIndex(folder / "derived")
        try:
            shop = Workshop(store, index, self.embed, self.count)
            for tenant in view.tenants:
                hand_on(self.store, store, tenant)
                store.share(tenant, [each for each in self.store.shared(tenant) if each in view.tenants])
                ingest(list(_copies(self.store, replace(view, tenants=(tenant,)))), shop, tenant)
        finally:
            index.close()
            store.close()


@dataclass(slots=True)
class Copy:
    """One source as far as it was known at some point, read from the store it was indexed into."""

    name: str
    maker: str
    unit: Unit

    def identity(self) -> str:
        """The copy stands for the place its source had."""
        return ""

    def units(self) -> Iterator[tuple[str, str]]:
        """All of it at once."""
        yield self.unit.name, self.unit.stamp

    def read(self, unit: str) -> Unit:
        """All of it."""
        return self.unit


def _copies(store: "AnyStore", view: View) -> Iterator[Source]:
    """The sources of one tenant with what the view may see of them and nobody derived."""
    nodes: dict[str, list[Node]] = {}
    sources: dict[str, str] = {}
    with store.snapshot(view) as snapshot:
        after = 0
        while rows := snapshot.page_of_nodes(after, _PAGE):
            after = rows[-1].node.id
            for row in rows:
                if FOUND_ENTITY not in row.node.key:
                    nodes.setdefault(row.node.origin.source, []).append(_given(row.node))
                    sources[row.node.key] = row.node.origin.source
    edges: dict[str, list[Edge]] = {}
    for edge in _edges(store, view):
        edges.setdefault(sources.get(edge.source, ""), []).append(edge)
    for name in sorted(nodes):
        unit = Unit("copied", "copied", tuple(nodes[name]), tuple(edges.get(name, ())))
        yield Copy(name, f"source:{name}@1", unit)


def _given(node: Node) -> Node:
    """A node as its source gave it, without the importance and the names that the whole story gives it."""
    given = node.fields.get("importance")
    importance = float(given) if isinstance(given, int | float) else 0.0
    named = tuple(alias for alias in node.aliases if not alias.found)
    return replace(node, id=0, importance=importance, aliases=named)


def _edges(store: "AnyStore", view: View) -> Iterator[Edge]:
    """The edges of a view that the world drew."""
    after = (0, 0, 0)
    while listed := store.edges_after(view, after, _PAGE):
        after = listed[-1].place
        yield from (each.edge for each in listed if any(maker.startswith(_DRAWN_OUTSIDE) for maker in each.makers))


def _prune(home: Path, latest: Path) -> None:
    """Delete the views used longest ago; another process may be doing the same."""
    with suppress(OSError):
        others = [each for each in home.iterdir() if each.is_dir() and each != latest]
        others = [each for each in others if not each.name.startswith("making-")]
        others.sort(key=lambda each: (each.stat().st_mtime, each.name))
        for each in others[: -(_KEPT - 1)]:
            shutil.rmtree(each, ignore_errors=True)
