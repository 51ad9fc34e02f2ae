"""Route every call to the shard of its tenant, and answer for the others while one is away."""

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Final, Self, TypeVar, cast

import xxhash
from msgspec.structs import replace

from weft.errors import InvalidInput, StoreUnreachable
from weft.model import Edge, View
from weft.ports import Changes, Graph, NameRow, NodeRow, StoreStatus
from weft.store.cluster.combine import ExportableCluster, add_statuses, split_changes, tenants_of
from weft.store.cluster.merged import MergedSnapshot
from weft.store.cluster.placement import ClusterMap, read_map, read_version, write_map
from weft.store.cluster.shard import Shard
from weft.store.export import nodes_in_pages
from weft.store.open import Address
from weft.store.postgres.connection import Connection
from weft.store.postgres.snapshot import PostgresSnapshot
from weft.store.postgres.store import PostgresStore
from weft.store.postgres.write import apply_changes
from weft.store.records import EdgeCursor, ListedEdge

T = TypeVar("T")
AnySnapshot = PostgresSnapshot | MergedSnapshot
_SHARD_BITS: Final = 16
"""Bits by which the version of a tenant tells its shard: two shards count their writes apart."""
_THREADS: Final = 16
"""Threads that wait for shards, for all questions that go to several of them."""


class MapChangedError(Exception):
    """A write that found a newer map on its shard, and is done again with that one."""


class ClusterStore(ExportableCluster):
    """A store on several shards, in which each tenant lies whole on one of them."""

    def __init__(self, shards: Sequence[Shard], read_only: bool) -> None:
        super().__init__(shards)
        self.read_only = read_only
        self._map = ClusterMap()
        self._guard = threading.Lock()
        self._writing = threading.local()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="weft-shard")
        self._embedder: tuple[str, int] | None = None
        self.touched: set[str] = set()
        """The shards that were written to since their indexes last caught up."""

    @classmethod
    def open(
        cls,
        addresses: Sequence[Address],
        *,
        create: bool = True,
        read_only: bool = False,
        busy_seconds: float = 60.0,
    ) -> Self:
        """Open the cluster with those shards that answer; make its map where none of them has one."""
        shards = [Shard(each, create=create, read_only=read_only, busy_seconds=busy_seconds) for each in addresses]
        store = cls(shards, read_only)
        store.reload_map()
        if not store.map.members:
            store.make_map()
        return store

    # --- the map -----------------------------------------------------------------------------------------

    @property
    def map(self) -> ClusterMap:
        """Where tenants are, as far as this process knows."""
        return self._map

    @property
    def location(self) -> str:
        """The addresses of the shards without their passwords."""
        return " ".join(shard.address.display for shard in self.shards.values())

    def reload_map(self) -> None:
        """Take over the newest map that any shard holds."""
        held = [shard.try_using(lambda store: store.read_whole(read_map)) for shard in self.shards.values()]
        if all(each is None for each in held):
            raise StoreUnreachable(
                f"No shard of the cluster answers ({', '.join(self.shards)}). Check that the servers run and can "
                "be connected to; questions go on by themselves once one is back."
            )
        newest = max((each for each in held if each is not None), key=lambda each: each.version)
        with self._guard:
            if newest.version > self._map.version:
                self._map = newest

    def make_map(self) -> None:
        """Make the first map, of all shards; tenants that a shard holds already stay there."""
        self.change_map(lambda old: old if old.members else old.with_members(self.shards, self.tenants_by_shard()))

    def change_map(self, change: Callable[[ClusterMap], ClusterMap]) -> ClusterMap:
        """Replace the map on every shard while none of them is written to; all of them have to answer."""
        with ExitStack() as held:
            for _, shard in sorted(self.shards.items()):
                held.enter_context(held.enter_context(shard.using()).writing())
            maps = [shard.transact(read_map) for shard in self.shards.values()]
            newest = max(maps, key=lambda each: each.version)
            changed = change(newest)
            for shard in self.shards.values():
                shard.transact(lambda connection: write_map(connection, changed))
        self.take_map(changed)
        return changed

    def take_map(self, newer: ClusterMap) -> None:
        """Go on with a map that was written to the shards."""
        with self._guard:
            self._map = max(self._map, newer, key=lambda each: each.version)

    def tenants_by_shard(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the tenants that each shard knows; all shards have to answer."""
        return dict(self.everywhere(lambda store: store.tenants()))

    def shard_of(self, tenant: str) -> Shard:
        """Return the shard on which a tenant is."""
        return self.shard(self._map.locate(tenant))

    def shard(self, name: str) -> Shard:
        """Return the shard of a name."""
        if name not in self.shards:
            raise StoreUnreachable(
                f"The cluster has a shard {name!r}, for which this process has no address. Start it anew with the "
                f"URL of that shard, with shard={name}, in --store."
            )
        return self.shards[name]

    def _check_map(self, seen_version: int) -> bool:
        """Tell whether the map in use is as new as the one that a shard holds; if not, read it anew."""
        if seen_version <= self._map.version:
            return True
        self.reload_map()
        return False

    # --- writing -----------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the right to write during the block, on each shard from its first use on."""
        if getattr(self._writing, "held", None) is not None:
            yield
            return
        with ExitStack() as held:
            self._writing.held, self._writing.names = held, set[str]()
            try:
                yield
            finally:
                self._writing.held = None

    @contextmanager
    def _using(self, shard: Shard, tenants: Sequence[str] = ()) -> Iterator[PostgresStore]:
        """Give the block the store of a shard; where the caller is writing, under the shard's write lock."""
        with shard.using(tenants) as store:
            held: ExitStack | None = getattr(self._writing, "held", None)
            # What is read before it is written must not change in between, so reading takes the lock too.
            if held is not None and shard.name not in self._writing.names:
                held.enter_context(store.writing())
                self._writing.names.add(shard.name)
            yield store

    def write(self, changes: Changes) -> int:
        """Apply the changes, atomically on each shard, and return the last sequence number of those written to."""
        while True:
            parts = split_changes(changes, self._map.locate)
            if not parts:
                return max((each for _, each in self._where_it_answers(lambda s: s.last_sequence())), default=0)
            try:
                return max(self._write_part(*part) for part in parts)
            except MapChangedError:
                # Parts that were written are written again, which changes nothing.
                self.reload_map()

    def _write_part(self, name: str, changes: Changes) -> int:
        def apply(connection: Connection) -> int:
            if read_version(connection) > self._map.version:
                raise MapChangedError
            return apply_changes(connection, changes)

        with self._using(self.shard(name), tenants_of(changes)) as store:
            self._tell_embedder(self.shard(name), store)
            self.touched.add(name)
            return store.transact(apply)

    def remember_embedder(self, name: str, dimensions: int) -> None:
        """Fix the embedder of the shards that answer, and of the others before they are written to."""
        self._embedder = (name, dimensions)
        for shard in self.shards.values():
            shard.try_using(lambda store, shard=shard: self._tell_embedder(shard, store))  # type: ignore[misc]

    def _tell_embedder(self, shard: Shard, store: PostgresStore) -> None:
        if self._embedder is not None and shard.embedder != self._embedder:
            store.remember_embedder(*self._embedder)
            shard.embedder = self._embedder

    def share(self, tenant: str, shared: Sequence[str]) -> None:
        """Replace the tenants that this tenant's links may point to; links lead only to those on its own shard."""
        with self._reading(tenant) as store:
            store.share(tenant, shared)

    def shared_apart(self) -> list[tuple[str, str]]:
        """Return the pairs of tenants that share while they are on different shards, where links do not lead."""
        pairs = [
            (tenant, other)
            for name, state in self._where_it_answers(lambda store: store.state())
            for tenant, others in state.shared.items()
            for other in others
            if self._map.locate(tenant) == name != self._map.locate(other)
        ]
        return sorted(pairs)

    def rebuild_derived(self) -> None:
        """Derive neighbour lists, names, facets and statistics anew on every shard."""
        for _ in self.everywhere(lambda store: store.rebuild_derived()):
            pass

    # --- reading -----------------------------------------------------------------------------------------

    @contextmanager
    def snapshot(self, view: View) -> Iterator[AnySnapshot]:
        """Open a consistent reading through the view: of one shard, or of several at nearly the same moment."""
        while True:
            shards = self._shards_of(view.tenants)
            with ExitStack() as held:
                parts = [
                    held.enter_context(
                        held.enter_context(self._using(shard, tenants)).snapshot(replace(view, tenants=tenants))
                    )
                    for shard, tenants in shards
                ]
                if not self._check_map(max(part.state.map_version for part in parts)):
                    continue
                yield parts[0] if len(parts) == 1 else MergedSnapshot(parts, view, self._threads)
                return

    @contextmanager
    def snapshot_of_all_tenants(self) -> Iterator[AnySnapshot]:
        """Open a reading of all tenants of the shards that answer, for maintenance only."""
        with ExitStack() as held:
            parts: list[PostgresSnapshot] = []
            for shard in self.shards.values():
                with suppress(StoreUnreachable):
                    parts.append(held.enter_context(held.enter_context(shard.using()).snapshot_of_all_tenants()))
            if not parts:
                raise StoreUnreachable(f"No shard of the cluster answers ({', '.join(self.shards)}).")
            yield parts[0] if len(parts) == 1 else MergedSnapshot(parts, View(self.tenants()), self._threads)

    def _shards_of(self, tenants: Sequence[str]) -> list[tuple[Shard, tuple[str, ...]]]:
        """Return the shards of some tenants, each with its own; of nobody's tenants, any shard."""
        by_shard: dict[str, list[str]] = {}
        for tenant in tenants:
            by_shard.setdefault(self._map.locate(tenant), []).append(tenant)
        if not by_shard:
            return [(next(iter(self.shards.values())), ())]
        return [(self.shard(name), tuple(names)) for name, names in sorted(by_shard.items())]

    @contextmanager
    def _reading(self, tenant: str) -> Iterator[PostgresStore]:
        """Give the block the store on which a tenant is now."""
        while True:
            with self._using(self.shard_of(tenant), (tenant,)) as store:
                if not self._check_map(store.read_whole(read_version)):
                    continue
                yield store
                return

    def _where_it_answers(self, work: Callable[[PostgresStore], T]) -> Iterator[tuple[str, T]]:
        """Yield what the work gives on each shard that answers."""
        for name, shard in self.shards.items():
            with suppress(StoreUnreachable), shard.using() as store:
                yield name, work(store)

    def servers(self) -> tuple[PostgresStore, ...]:
        """Return the stores of all shards; every shard has to answer."""
        return tuple(store for _, store in self.everywhere(lambda store: store))

    def answering(self) -> list[PostgresStore]:
        """Return the stores of the shards that answer."""
        return [store for _, store in self._where_it_answers(lambda store: store)]

    def hashes(self, tenant: str, keys: Sequence[str]) -> dict[str, str]:
        """Return the content hash by key for the nodes that exist."""
        with self._reading(tenant) as store:
            return store.hashes(tenant, keys)

    def units(self, tenant: str, source: str) -> dict[str, str]:
        """Return the stored stamp of each unit of a source."""
        with self._reading(tenant) as store:
            return store.units(tenant, source)

    def unit_keys(self, source: str, unit: str) -> tuple[tuple[str, str], ...]:
        """Return (tenant, key) of the nodes that a unit brought, to whatever shards."""
        found = [ref for name, refs in self.everywhere(lambda s: s.unit_keys(source, unit)) for ref in refs]
        return tuple(dict.fromkeys(found))

    def edge_makers(self, prefix: str) -> tuple[tuple[str, str], ...]:
        """Return (maker, tenant) of all edges whose maker's name begins with a prefix."""
        found = [each for _, makers in self.everywhere(lambda s: s.edge_makers(prefix)) for each in makers]
        return tuple(dict.fromkeys(found))

    def iterate(self, tenant: str, after_id: int = 0) -> Iterator[NodeRow]:
        """Yield all nodes of a tenant in id order, without keeping a transaction open between pages."""
        return nodes_in_pages(lambda: self._snapshot_of(tenant), after_id)

    def names(self, tenant: str, words: Collection[str] | None = None) -> Iterator[NameRow]:
        """Yield the names of all nodes of a tenant in id order."""
        with self._reading(tenant) as store:
            yield from store.names(tenant, words)

    def _snapshot_of(self, tenant: str) -> AbstractContextManager[PostgresSnapshot]:
        return cast("AbstractContextManager[PostgresSnapshot]", self.snapshot(View((tenant,))))

    def graph(self, tenant: str) -> Graph:
        """Return the nodes of a tenant and the links between them."""
        with self._reading(tenant) as store:
            return store.graph(tenant)

    def keys_with_tag(self, tenant: str, tag: str, kinds: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the sorted keys of a tenant's nodes that carry the tag."""
        with self._reading(tenant) as store:
            return store.keys_with_tag(tenant, tag, kinds)

    def edges_after(
        self, view: View, after: EdgeCursor, limit: int, ends: tuple[int | None, int | None] = (None, None)
    ) -> list[ListedEdge]:
        """Return the next edges of a view, whose tenants are on one shard."""
        shards = self._shards_of(view.tenants)
        if len(shards) > 1:
            raise InvalidInput(
                f"Edges are listed a shard at a time, and {view.tenants[0]!r} and others are on several. Name one "
                "tenant."
            )
        with self._reading(view.tenants[0]) as store:
            return store.edges_after(view, after, limit, ends)

    def edges_by_maker(self, tenant: str, key: str, maker: str) -> tuple[Edge, ...]:
        """Return every edge that a maker drew from one key."""
        with self._reading(tenant) as store:
            return store.edges_by_maker(tenant, key, maker)

    def shared(self, tenant: str) -> tuple[str, ...]:
        """Return the tenants that this tenant's links may point to, by name."""
        with self._reading(tenant) as store:
            return store.shared(tenant)

    def linking_tenants(self, tenant: str) -> tuple[str, ...]:
        """Return the tenants whose links may point to this one, by name."""
        with self._reading(tenant) as store:
            return store.linking_tenants(tenant)

    def tenants(self) -> tuple[str, ...]:
        """Return the names of the tenants on the shards that answer."""
        held = self._where_it_answers(lambda store: store.tenants())
        return tuple(
            sorted({tenant for name, names in held for tenant in names if self._map.locate(tenant) == name})
        )

    def tenant_versions(self, view: View) -> tuple[tuple[str, int], ...]:
        """Return the last write that touched each tenant of the view; the number tells the shard too."""
        found: list[tuple[str, int]] = []
        for shard, tenants in self._shards_of(view.tenants):
            own = xxhash.xxh64_intdigest(shard.name.encode()) % (1 << _SHARD_BITS)
            with self._using(shard, tenants) as store:
                versions = store.tenant_versions(replace(view, tenants=tenants))
            # A tenant that moved counts on with the writes of another shard, and must not meet an old number.
            found += [(tenant, version << _SHARD_BITS | own) for tenant, version in versions]
        return tuple(sorted(found))

    # --- the cluster as a whole --------------------------------------------------------------------------

    def last_sequence(self) -> int:
        """Return the number of writes on all shards that answer."""
        return sum(sequence for _, sequence in self._where_it_answers(lambda store: store.last_sequence()))

    def status(self, view: View | None = None) -> StoreStatus:
        """Return the counts of the shards that answer; with a view, of those that its tenants are on."""
        if view is not None:
            statuses = []
            for shard, tenants in self._shards_of(view.tenants):
                with self._using(shard, tenants) as store:
                    statuses.append(store.status(replace(view, tenants=tenants)))
            return add_statuses(statuses, self.location)
        held = [status for _, status in self._where_it_answers(lambda store: store.status(None))]
        if not held:
            raise StoreUnreachable(f"No shard of the cluster answers ({', '.join(self.shards)}).")
        return add_statuses(held, self.location)

    def verify(self) -> tuple[str, ...]:
        """Return a sentence for each inconsistency on a shard, and for each shard that is away."""
        found = dict(self._where_it_answers(lambda store: store.verify()))
        away = [f"Shard {name} is away." for name in self.shards if name not in found]
        return (*away, *(f"Shard {name}: {problem}" for name, problems in found.items() for problem in problems))

    def engine(self) -> dict[str, str | int]:
        """Return the versions of the servers, and which shards are away."""
        found = dict(self._where_it_answers(lambda store: store.engine()))
        told: dict[str, str | int] = dict(next(iter(found.values()), {}))
        lags = [each["replica_lag"] for each in found.values() if "replica_lag" in each]
        if lags:
            told["replica_lag"] = "unknown" if "unknown" in lags else max(map(int, lags))
        away = ", ".join(name for name in self.shards if name not in found)
        return {**told, "shards": ", ".join(self.shards), **({"away": away} if away else {})}

    def close(self) -> None:
        """Close the connections to all shards."""
        self._threads.shutdown()
        for shard in self.shards.values():
            shard.close()
