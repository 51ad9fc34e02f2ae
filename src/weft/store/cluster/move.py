"""Move tenants from one shard to another while they are read and written.

A tenant is copied while its shard goes on. Then its writers wait for a moment: what changed meanwhile is copied,
both sides are compared, and the map changes. Readers never wait; whoever has the old map is told by the shard it
asks.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from typing import Final

from msgspec import Struct

from weft.errors import InvalidInput, StoreError
from weft.model import AliasSet, EdgeSet
from weft.ports import Changes
from weft.store.cluster.placement import write_map
from weft.store.cluster.shard import Shard
from weft.store.cluster.store import ClusterStore
from weft.store.export import read_keys, read_selected
from weft.store.postgres.connection import fetch_rows
from weft.store.postgres.encode import name_md5
from weft.store.postgres.store import PostgresStore

_KEYS_PER_PORTION: Final = 1000
"""Keys that are read and written together: some megabytes."""
_MAX_ROUNDS: Final = 5
"""Rounds of copying before the writers have to wait: each copies what changed during the one before."""
_FEW_KEYS: Final = 200
"""Changed keys that are copied while the writers wait: a fraction of a second."""
# Both sides compute it, so that only what differs crosses the network. Edges are compared by what they say and not
# by their numbers, which every shard gives by itself.
_DIGESTS: Final = """
SELECT k.key, k.id, k.node_id, coalesce(n.content_hash, '') || ' ' || coalesce(n.unit, '') || ' '
    || coalesce(i.value::text, '') || ' ' || coalesce(i.aliases, '') || ' ' || coalesce(e.digest::text, '')
FROM keys k LEFT JOIN nodes n ON n.id = k.node_id LEFT JOIN marks i ON i.node_id = k.node_id
LEFT JOIN (
    SELECT e.source_key, bit_xor(hashtextextended(concat_ws(chr(1), m.name, y.name, t.name, b.key,
        e.weight::text, e.confidence::text, e.evidence), 0)) AS digest
    FROM keys a JOIN edges e ON e.source_key = a.id JOIN makers m ON m.id = e.maker_id
    JOIN edge_types y ON y.id = e.type_id JOIN keys b ON b.id = e.target_key JOIN tenants t ON t.id = b.tenant_id
    WHERE a.tenant_id = ANY(SELECT id FROM tenants WHERE md5(name) = %(tenant)s) GROUP BY e.source_key
) e ON e.source_key = k.id
WHERE k.tenant_id = ANY(SELECT id FROM tenants WHERE md5(name) = %(tenant)s)
    AND (k.node_id IS NOT NULL OR e.digest IS NOT NULL)
"""
_ALIAS_MAKERS: Final = """
SELECT DISTINCT m.name FROM aliases a JOIN makers m ON m.id = a.maker_id
WHERE NOT a.own AND a.tenant_id = ANY(SELECT id FROM tenants WHERE md5(name) = %(tenant)s)
"""

Progress = Callable[[str, int, int | None], None]


class Moved(Struct, frozen=True):
    """The outcome of a move: what was copied, and how many keys of it while writers waited."""

    tenant: str
    source: str
    target: str
    keys: int
    copied_while_waiting: int


class _Entry(Struct, frozen=True):
    key_id: int
    node_id: int | None
    digest: str


# --- whole clusters ----------------------------------------------------------------------------------------


def rebalance(cluster: ClusterStore, progress: Progress) -> list[Moved]:
    """Take in the shards that have an address and are no members yet, and move their share of tenants to them.

    What was interrupted is continued.
    """
    if set(cluster.shards) - set(cluster.map.members):
        cluster.change_map(lambda old: old.with_members(cluster.shards, cluster.tenants_by_shard()))
    moved = _move_waiting(cluster, progress)
    _remove_leftovers(cluster)
    return moved


def _remove_leftovers(cluster: ClusterStore) -> None:
    """Remove what a move that was interrupted after the map had changed left on the old shard."""
    held = {name: status.by_tenant for name, status in cluster.everywhere(lambda store: store.status(None))}
    for name, counts in held.items():
        for tenant in counts:
            place = cluster.map.locate(tenant)
            # Only where the tenant is there too: nothing is removed that is nowhere else.
            if place != name and held.get(place, {}).get(tenant):
                with cluster.shards[name].using() as store:
                    _remove(store, tenant)


def drain(cluster: ClusterStore, name: str, progress: Progress) -> list[Moved]:
    """Move every tenant of a shard to the others, so that it can be switched off."""
    rest = [member for member in cluster.map.members if member != name]
    if name not in cluster.shards or not rest:
        raise InvalidInput(
            f"{name!r} cannot be drained. The shards are {', '.join(cluster.shards)}; one has to stay."
        )
    if name in cluster.map.members:
        cluster.change_map(lambda old: old.with_members(rest, cluster.tenants_by_shard()))
    moved = _move_waiting(cluster, progress)
    for tenant in [tenant for tenant, place in cluster.map.pinned.items() if place == name]:
        moved.append(move_tenant(cluster, tenant, cluster.map.home(tenant), progress))
    return moved


def _move_waiting(cluster: ClusterStore, progress: Progress) -> list[Moved]:
    waiting = sorted(cluster.map.waiting)
    moved = []
    for done, tenant in enumerate(waiting):
        progress("moving tenants", done, len(waiting))
        moved.append(move_tenant(cluster, tenant, cluster.map.home(tenant), progress))
    return moved


# --- one tenant --------------------------------------------------------------------------------------------


def move_tenant(
    cluster: ClusterStore, tenant: str, target_name: str, progress: Progress, together: Collection[str] = ()
) -> Moved:
    """Move a tenant to another shard; done twice, the second time changes nothing.

    Tenants that it shares links with have to go there too: `together` names those that are moved next.
    """
    cluster.reload_map()
    if target_name not in cluster.shards:
        raise InvalidInput(f"There is no shard {target_name!r}. The shards are {', '.join(cluster.shards)}.")
    source, target = cluster.shard_of(tenant), cluster.shards[target_name]
    if source is target:
        return Moved(tenant, source.name, target.name, 0, 0)
    with source.using((tenant,)) as giving, target.using() as taking:
        _check_ties(cluster, giving, tenant, target_name, together)
        _prepare(giving, taking)
        copied = 0
        for _ in range(_MAX_ROUNDS):
            differing = _copy_differences(giving, taking, tenant, progress)
            copied += differing
            if differing <= _FEW_KEYS:
                break
        with ExitStack() as held:
            for shard in _to_hold(cluster, source, target):
                held.enter_context(held.enter_context(shard.using()).writing())
            last = _copy_differences(giving, taking, tenant, progress)
            _copy_settings(giving, taking, tenant)
            if _comparable(giving, tenant) != _comparable(taking, tenant):
                raise StoreError(
                    f"{tenant!r} on shard {target.name!r} is not what it is on {source.name!r}; it stays where it "
                    "was. Try again; `weft doctor` looks closer."
                )
            _switch(cluster, tenant, source, target)
        target.index().catch_up(taking)
        _remove(giving, tenant)
    return Moved(tenant, source.name, target.name, copied + last, last)


def _to_hold(cluster: ClusterStore, source: Shard, target: Shard) -> list[Shard]:
    """Return the shards whose writers wait while the map changes, always in the same order.

    The first member is among them: of two moves that change the map, one waits for the other there.
    """
    names = {source.name, target.name, min(cluster.map.members)}
    return [cluster.shards[name] for name in sorted(names)]


def _check_ties(
    cluster: ClusterStore, giving: PostgresStore, tenant: str, target: str, together: Collection[str]
) -> None:
    """Refuse a tenant whose links lead to others that stay: they would end at the border of the shard."""
    tied = {*giving.shared(tenant), *giving.linking_tenants(tenant)} - {tenant}
    goes_too = {name for name in cluster.map.waiting if cluster.map.home(name) == target} | set(together)
    here = cluster.map.locate(tenant)
    apart = sorted(name for name in tied if name not in goes_too and cluster.map.locate(name) == here)
    if apart:
        raise InvalidInput(
            f"{tenant!r} shares links with {', '.join(map(repr, apart))}, and links do not lead from one shard to "
            "another. Name those too, to move them together, or end the sharing first (`weft share`)."
        )


def _prepare(giving: PostgresStore, taking: PostgresStore) -> None:
    embedder = giving.state().embedder
    if embedder is not None:
        taking.remember_embedder(*embedder)


def _switch(cluster: ClusterStore, tenant: str, source: Shard, target: Shard) -> None:
    """Change the map on both shards, the old one first: from then on it sends everybody on."""

    def change(store: PostgresStore) -> None:
        store.transact(lambda connection: write_map(connection, changed))

    cluster.reload_map()
    changed = cluster.map.with_moved(tenant, target.name)
    for shard in (source, target):
        with shard.using() as store:
            change(store)
    cluster.take_map(changed)
    for shard in cluster.shards.values():
        # A shard that is away takes the map over from the others when it is back.
        if shard not in (source, target):
            shard.try_using(change)


def _digests(store: PostgresStore, tenant: str) -> dict[str, _Entry]:
    rows = store.read_whole(lambda connection: fetch_rows(connection, _DIGESTS, {"tenant": name_md5(tenant)}))
    return {key: _Entry(key_id, node_id, digest) for key, key_id, node_id, digest in rows}


def _comparable(store: PostgresStore, tenant: str) -> dict[str, str]:
    return {key: entry.digest for key, entry in _digests(store, tenant).items()}


def _portions(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), _KEYS_PER_PORTION):
        yield keys[start : start + _KEYS_PER_PORTION]


def _copy_differences(giving: PostgresStore, taking: PostgresStore, tenant: str, progress: Progress) -> int:
    """Make the tenant on the second shard what it is on the first; return how many keys differed."""
    here, there = _digests(giving, tenant), _digests(taking, tenant)
    changed = [key for key, entry in here.items() if key not in there or there[key].digest != entry.digest]
    gone = [key for key in there if key not in here]
    # Makers of the other side count too: what one of them no longer draws has to go.
    makers = sorted(
        {maker for store in (giving, taking) for maker, owner in store.edge_makers("") if owner == tenant}
    )
    namers = sorted({name for store in (giving, taking) for name in _alias_makers(store, tenant)})
    for done, keys in enumerate(_portions(changed)):
        progress(f"copying {tenant}", done * _KEYS_PER_PORTION, len(changed))
        taking.write(_export(giving, tenant, keys, here, makers, namers))
    for keys in _portions(gone):
        taking.write(_removal(tenant, keys, makers))
    return len(changed) + len(gone)


def _alias_makers(store: PostgresStore, tenant: str) -> list[str]:
    found = store.read_whole(
        lambda connection: fetch_rows(connection, _ALIAS_MAKERS, {"tenant": name_md5(tenant)})
    )
    return [name for (name,) in found]


def _export(
    giving: PostgresStore,
    tenant: str,
    keys: Sequence[str],
    entries: dict[str, _Entry],
    makers: Sequence[str],
    namers: Sequence[str],
) -> Changes:
    """Return everything about some keys, with an empty set for each maker that draws nothing from them."""
    node_ids = [entries[key].node_id for key in keys if entries[key].node_id is not None]
    key_ids = [entries[key].key_id for key in keys]
    with giving.open_for_export() as reader:
        nodes = read_selected(reader, lambda column: f"{column} IN ({', '.join(map(str, node_ids)) or 'NULL'})")
        edges = read_keys(reader, key_ids)
    drawn = {edge_set.maker: edge_set.edges for edge_set in edges}
    named = {alias_set.maker: alias_set.aliases for alias_set in nodes.aliases}
    return Changes(
        upserts=nodes.upserts,
        edges=tuple(EdgeSet(maker, tenant, drawn.get(maker, ()), tuple(keys)) for maker in makers),
        aliases=tuple(AliasSet(namer, tenant, named.get(namer, {}), tuple(keys)) for namer in namers),
        importance={(tenant, each.node.key): each.node.importance for each in nodes.upserts},
    )


def _copy_settings(giving: PostgresStore, taking: PostgresStore, tenant: str) -> None:
    """Copy what a tenant shares and the stamps of its units, and forget those that are no longer there."""
    taking.share(tenant, giving.shared(tenant))
    here, there = (
        {unit[:3]: unit[3] for unit in store.state().units if unit[0] == tenant} for store in (giving, taking)
    )
    forgotten = {unit: "" for unit in there if unit not in here}
    taking.write(Changes(units=tuple((*unit, stamp) for unit, stamp in {**here, **forgotten}.items())))


def _removal(tenant: str, keys: Sequence[str], makers: Sequence[str]) -> Changes:
    return Changes(
        removes=tuple((tenant, key) for key in keys),
        edges=tuple(EdgeSet(maker, tenant, (), tuple(keys)) for maker in makers),
    )


def _remove(giving: PostgresStore, tenant: str) -> None:
    """Remove what has been moved from its old shard, where nobody reads it any more."""
    makers = [maker for maker, owner in giving.edge_makers("") if owner == tenant]
    for keys in _portions(list(_digests(giving, tenant))):
        giving.write(_removal(tenant, keys, makers))
    giving.share(tenant, ())
    stamps = [unit for unit in giving.state().units if unit[0] == tenant]
    giving.write(Changes(units=tuple((*unit[:3], "") for unit in stamps)))
