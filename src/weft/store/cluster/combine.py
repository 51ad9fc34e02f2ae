"""Split one write among shards, add up what several shards say of themselves, and export them as one store."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

import xxhash
from msgspec.structs import replace

from weft.ports import Changes, ExportBatch, Fingerprint, StoreState, StoreStatus
from weft.store.cluster.shard import Shard
from weft.store.postgres.store import PostgresStore

T = TypeVar("T")
_HALF: Final = 16
"""Hexadecimal digits of each half of a digest; halves are sums of hashes of 64 bits."""
_64_BITS: Final = (1 << 64) - 1
_ID_BITS: Final = 48
"""Bits of an id of a node while a whole cluster is exported; the bits above are the number of the shard."""


def tenants_of(changes: Changes) -> tuple[str, ...]:
    """Return the tenants that changes are about."""
    named = [
        *(each.node.tenant for each in changes.upserts),
        *(tenant for tenant, _ in changes.removes),
        *(each.tenant for each in changes.edges),
        *(each.tenant for each in changes.aliases),
        *(tenant for tenant, *_ in changes.units),
        *(tenant for tenant, _ in changes.importance),
    ]
    return tuple(dict.fromkeys(named))


def split_changes(changes: Changes, locate: Callable[[str], str]) -> list[tuple[str, Changes]]:
    """Return the changes by shard, in the order in which they are to be written."""
    shards = sorted({locate(tenant) for tenant in tenants_of(changes)})
    if len(shards) == 1:
        return [(shards[0], changes)]
    parts = []
    for shard in shards:

        def is_here(tenant: str, shard: str = shard) -> bool:
            return locate(tenant) == shard

        part = Changes(
            upserts=tuple(each for each in changes.upserts if is_here(each.node.tenant)),
            removes=tuple(each for each in changes.removes if is_here(each[0])),
            edges=tuple(each for each in changes.edges if is_here(each.tenant)),
            aliases=tuple(each for each in changes.aliases if is_here(each.tenant)),
            importance={ref: value for ref, value in changes.importance.items() if is_here(ref[0])},
        )
        parts.append((shard, part))
    # Stamps come last: a unit whose nodes did not reach another shard must be read again.
    stamps = [
        (shard, Changes(units=tuple(unit for unit in changes.units if locate(unit[0]) == shard)))
        for shard in shards
    ]
    return [(shard, part) for shard, part in [*parts, *stamps] if tenants_of(part)]


def add_statuses(statuses: Sequence[StoreStatus], location: str) -> StoreStatus:
    """Return the counts of several shards as those of one store."""

    def added(name: str) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for status in statuses:
            counts.update(getattr(status, name))
        return dict(sorted(counts.items()))

    return StoreStatus(
        location=location,
        schema_version=min(status.schema_version for status in statuses),
        sequence=sum(status.sequence for status in statuses),
        nodes=sum(status.nodes for status in statuses),
        passages=sum(status.passages for status in statuses),
        edges=sum(status.edges for status in statuses),
        vectors=sum(status.vectors for status in statuses),
        embedder=next((status.embedder for status in statuses if status.embedder), None),
        bytes=sum(status.bytes for status in statuses),
        by_tenant=added("by_tenant"),
        by_kind=added("by_kind"),
        by_source=added("by_source"),
        by_edge_type=added("by_edge_type"),
    )


def add_states(states: Sequence[StoreState]) -> StoreState:
    """Return the state of several shards as that of one store."""
    shared: Mapping[str, tuple[str, ...]] = {
        name: others for each in states for name, others in each.shared.items()
    }
    return StoreState(
        identity=xxhash.xxh3_128_hexdigest(" ".join(state.identity for state in states).encode()),
        sequence=sum(state.sequence for state in states),
        nodes=sum(state.nodes for state in states),
        embedder=next((state.embedder for state in states if state.embedder), None),
        units=tuple(sorted(unit for state in states for unit in state.units)),
        shared=dict(sorted(shared.items())),
    )


def add_fingerprints(prints: Sequence[Fingerprint]) -> Fingerprint:
    """Return the fingerprint of all that several shards hold: sums of hashes can be added."""
    halves = [
        sum(int(each.digest[start : start + _HALF], 16) for each in prints) & _64_BITS for start in (0, _HALF)
    ]
    return Fingerprint(
        sum(each.nodes for each in prints),
        sum(each.edges for each in prints),
        "".join(f"{half:016x}" for half in halves),
    )


class ExportableCluster:
    """Shards that are read whole, one after the other, to be copied into another store."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards = {shard.name: shard for shard in shards}

    def everywhere(self, work: Callable[[PostgresStore], T]) -> Iterator[tuple[str, T]]:
        """Yield what the work gives on each shard; every shard has to answer."""
        for name, shard in self.shards.items():
            with shard.using() as store:
                yield name, work(store)

    def state(self) -> StoreState:
        """Return the state of all shards apart from nodes and edges."""
        return add_states([state for _, state in self.everywhere(lambda store: store.state())])

    def count_nodes_after(self, after_id: int) -> int:
        """Return the number of nodes that are exported after an id."""
        number, local = divmod(after_id, 1 << _ID_BITS)
        later = 0
        for place, shard in list(enumerate(self.shards.values()))[number:]:
            with shard.using() as store:
                later += store.count_nodes_after(local if place == number else 0)
        return later

    def next_batch(self, after_id: int, limit: int) -> ExportBatch | None:
        """Return the next nodes, shard by shard."""
        number, local = divmod(after_id, 1 << _ID_BITS)
        for place, shard in list(enumerate(self.shards.values()))[number:]:
            with shard.using() as store:
                batch = store.next_batch(local if place == number else 0, limit)
            if batch is not None:
                return replace(batch, last_id=(place << _ID_BITS) + batch.last_id)
        return None

    def dangling_edges(self) -> Changes:
        """Return the edges that start at keys without a node."""
        parts = [changes.edges for _, changes in self.everywhere(lambda store: store.dangling_edges())]
        return Changes(edges=tuple(edge_set for part in parts for edge_set in part))

    def fingerprint(self) -> Fingerprint:
        """Return counts and a digest of all nodes and edges."""
        return add_fingerprints([each for _, each in self.everywhere(lambda store: store.fingerprint())])
