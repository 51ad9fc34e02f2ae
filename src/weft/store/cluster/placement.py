"""Decide on which shard a tenant lives, and keep that decision on every shard."""

from collections.abc import Iterable, Mapping
from typing import Final, Self

import msgspec
import xxhash
from msgspec import Struct, field
from msgspec.structs import replace

from weft.store.postgres.connection import Connection, fetch_rows

GROUP_MARK: Final = "/"
"""The sign that ends the group in a tenant's name: `acme/alice` and `acme/shared` are both placed by `acme`."""


class ClusterMap(Struct, frozen=True):
    """The shards that tenants are hashed to, and the tenants that are elsewhere.

    `waiting` tenants have another home since the members changed, and are moved there; `pinned` ones were put
    where they are by name, and stay.
    """

    version: int = 0
    members: tuple[str, ...] = ()
    waiting: Mapping[str, str] = field(default_factory=dict)
    pinned: Mapping[str, str] = field(default_factory=dict)

    def home(self, tenant: str) -> str:
        """Return the shard that the name of a tenant is hashed to.

        Of all shards the one whose hash with the name is greatest (rendezvous hashing): a shard that is added
        takes its share of tenants from the others, and no tenant changes between those.
        """
        group = tenant.partition(GROUP_MARK)[0]
        return max(self.members, key=lambda name: (xxhash.xxh64_intdigest(f"{name}\0{group}".encode()), name))

    def locate(self, tenant: str) -> str:
        """Return the shard on which a tenant is."""
        return self.pinned.get(tenant) or self.waiting.get(tenant) or self.home(tenant)

    def with_members(self, members: Iterable[str], tenants: Mapping[str, Iterable[str]]) -> Self:
        """Return the next map, with other members; `tenants` are those that each shard holds now.

        Every tenant stays where it is until it is moved.
        """
        new = replace(self, version=self.version + 1, members=tuple(sorted(members)))
        # Read through the map before, because a tenant that was moved leaves its name behind.
        here = {
            tenant: shard
            for shard, names in tenants.items()
            for tenant in names
            if not self.members or self.locate(tenant) == shard
        }
        waiting = {
            tenant: shard
            for tenant, shard in sorted(here.items())
            if tenant not in self.pinned and new.home(tenant) != shard
        }
        return replace(new, waiting=waiting)

    def with_moved(self, tenant: str, shard: str) -> Self:
        """Return the next map, in which the tenant is on another shard."""
        waiting = {name: place for name, place in self.waiting.items() if name != tenant}
        pinned = {name: place for name, place in self.pinned.items() if name != tenant}
        if self.home(tenant) != shard:
            pinned[tenant] = shard
        return replace(self, version=self.version + 1, waiting=waiting, pinned=pinned)


def read_map(connection: Connection) -> ClusterMap:
    """Return the map that a shard holds; one of version 0 where it holds none."""
    rows = fetch_rows(connection, "SELECT document FROM cluster_map")
    return msgspec.json.decode(rows[0][0], type=ClusterMap) if rows else ClusterMap()


def write_map(connection: Connection, cluster_map: ClusterMap) -> None:
    """Let a shard hold the map, unless it holds a newer one."""
    connection.execute(
        "INSERT INTO cluster_map (version, document) VALUES (%s, %s) ON CONFLICT (one) DO UPDATE"
        " SET version = excluded.version, document = excluded.document"
        " WHERE cluster_map.version < excluded.version",
        (cluster_map.version, msgspec.json.encode(cluster_map).decode()),
    )


def read_version(connection: Connection) -> int:
    """Return the version of the map that a shard holds."""
    rows = fetch_rows(connection, "SELECT version FROM cluster_map")
    return int(rows[0][0]) if rows else 0
