"""`weft cluster`: look at the shards of a cluster, move tenants between them, and let a standby take over."""

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from weft import config
from weft.errors import InvalidInput, StoreUnreachable
from weft.interfaces.audit import AuditLog
from weft.interfaces.cli import AsJson, StoreFolder, output
from weft.interfaces.cli.output import show_progress
from weft.interfaces.request import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weft.store.cluster import ClusterStore
    from weft.store.cluster.move import Moved

ShardName = Annotated[str, typer.Argument(metavar="SHARD", help="The name of a shard, as shard=NAME says.")]


def make_cluster_group(decorated: bool) -> typer.Typer:
    """Build the commands under `weft cluster`."""
    return output.make_group(
        "Show the shards of a cluster, move tenants between them, and promote a standby.",
        decorated,
        status=show_cluster,
        rebalance=rebalance,
        move=move,
        drain=drain,
        promote=promote,
    )


@contextmanager
def _open_cluster(store: str | None) -> "Iterator[tuple[ClusterStore, AuditLog]]":
    with config.open_weft(store, embedder="none", create=True) as weft:
        from weft.store.sqlite.store import SqliteStore

        no_cluster = InvalidInput(
            f"{weft.location} is no cluster. Give --store the URLs of all shards, between spaces, each with "
            "shard=NAME."
        )
        # Without a server, its driver need not be installed.
        if isinstance(weft.store, SqliteStore):
            raise no_cluster
        from weft.store.cluster import ClusterStore

        if not isinstance(weft.store, ClusterStore):
            raise no_cluster
        yield weft.store, AuditLog(weft.folder)


def show_cluster(store: StoreFolder = None, as_json: AsJson = False) -> None:
    """List the shards: whether they answer, how many tenants and nodes they hold, how far a standby is behind."""
    with _open_cluster(store) as (cluster, _):
        rows = [_describe(cluster, name) for name in cluster.shards]
        waiting, apart = len(cluster.map.waiting), cluster.shared_apart()
    if as_json:
        output.write_json(
            {"version": cluster.map.version, "waiting": waiting, "shared_apart": apart, "shards": rows}
        )
        return
    names = ("shard", "state", "tenants", "nodes", "standby_lag", "address")
    table = [tuple(str(row[name]) for name in names) for row in rows]
    output.write_table(("shard", "state", "tenants", "nodes", "standby lag", "address"), table)
    if waiting:
        tenants = output.count_noun(waiting, "tenant")
        output.write_note(f"{tenants} on another shard than its name says. `weft cluster rebalance` moves them.")
    for tenant, other in apart:
        output.write_note(
            f"{tenant} shares with {other} on another shard, where its links do not lead. `weft cluster move` "
            "brings them together."
        )


def _describe(cluster: "ClusterStore", name: str) -> dict[str, str | int | None]:
    shard = cluster.shards[name]
    told: dict[str, str | int | None] = {"shard": name, "address": shard.address.display}
    try:
        with shard.using() as held:
            counts = {
                tenant: count
                for tenant, count in held.status(None).by_tenant.items()
                if cluster.map.locate(tenant) == name
            }
            lag = held.engine().get("replica_lag", "-")
    except StoreUnreachable:
        return {**told, "state": "away", "tenants": "-", "nodes": "-", "standby_lag": "-"}
    state = "up" if name in cluster.map.members else "unused"
    return {**told, "state": state, "tenants": len(counts), "nodes": sum(counts.values()), "standby_lag": lag}


def rebalance(store: StoreFolder = None, as_json: AsJson = False) -> None:
    """Take in new shards, and move to them their share of the tenants while these are used."""
    from weft.store.cluster import move

    with _open_cluster(store) as (cluster, audit):
        with show_progress("moving") as progress:
            moved = move.rebalance(cluster, progress)
        _report(moved, audit, as_json)


def move(
    shard: ShardName,
    tenants: Annotated[
        list[str], typer.Argument(metavar="TENANT...", help="Tenants; those that share, together.")
    ],
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Move tenants to a shard while they are used, and let them stay there."""
    from weft.store.cluster.move import move_tenant

    named = [clean(tenant) for tenant in tenants]
    with _open_cluster(store) as (cluster, audit):
        with show_progress("moving") as progress:
            moved = [move_tenant(cluster, tenant, shard, progress, together=named) for tenant in named]
        _report(moved, audit, as_json)


def drain(shard: ShardName, store: StoreFolder = None, as_json: AsJson = False) -> None:
    """Move every tenant of a shard to the others, so that its address can be left out."""
    from weft.store.cluster import move

    with _open_cluster(store) as (cluster, audit):
        with show_progress("moving") as progress:
            moved = move.drain(cluster, shard, progress)
        _report(moved, audit, as_json)


def _report(moved: "list[Moved]", audit: AuditLog, as_json: bool) -> None:
    for each in moved:
        audit.write("tenant_moved", tenant=each.tenant, source=each.source, target=each.target, keys=each.keys)
    if as_json:
        output.write_json({"moved": [output.as_dict(each) for each in moved]})
        return
    for each in moved:
        output.write(f"{each.tenant}: {each.source} to {each.target}, {output.count_noun(each.keys, 'key')}.")
    output.write(f"{output.count_noun(len(moved), 'tenant')} moved.")


def promote(shard: ShardName, store: StoreFolder = None, as_json: AsJson = False) -> None:
    """Let the standby of a shard take over; make sure before that its primary is off, and stays off."""
    with _open_cluster(store) as (cluster, audit):
        if shard not in cluster.shards or not cluster.shards[shard].address.replica:
            known = ", ".join(name for name, each in cluster.shards.items() if each.address.replica) or "none"
            raise InvalidInput(
                f"Shard {shard!r} has no standby. Name its URL with replica=URL; shards with one: {known}."
            )
        cluster.shards[shard].promote()
        audit.write("promoted", shard=shard)
    if as_json:
        output.write_json({"promoted": shard})
    else:
        output.write(f"The standby of {shard} takes over. Writers find it where its host is in the shard's URL.")
