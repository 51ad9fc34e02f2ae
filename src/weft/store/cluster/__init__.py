"""Keep a store on several PostgreSQL servers: every tenant lives on one shard, found by its name.

A `ClusterStore` holds one `PostgresStore` per shard and passes every call on to the shard of its tenant. Which one
that is, the `ClusterMap` says: a hash of the name, and the few tenants that are elsewhere. Every shard has a copy
of it, and every reading and write compares versions, so that no process goes on with an old one.
"""

from weft.store.cluster.index import ClusterIndex
from weft.store.cluster.store import ClusterStore

__all__ = ["ClusterIndex", "ClusterStore"]
