"""The truth and the search derived from it; every engine keeps the contract of `weft.ports.Store`."""

from weft.store.index import EmbeddedIndex
from weft.store.sqlite import SqliteStore

__all__ = ["EmbeddedIndex", "SqliteStore"]
