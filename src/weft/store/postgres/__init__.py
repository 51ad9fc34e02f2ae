"""A store in PostgreSQL, and its search index by pgvector and BM25 in the same server."""

from weft.store.postgres.index import PostgresIndex
from weft.store.postgres.store import PostgresStore

__all__ = ["PostgresIndex", "PostgresStore"]
