"""The truth and the search derived from it; every engine keeps the contract of `weft.ports.Store`."""

from weft.store.addresses import is_address, read_address
from weft.store.embedded.index import EmbeddedIndex
from weft.store.open import INDEXES, Opened, open_pair
from weft.store.sqlite.store import SqliteStore

__all__ = ["INDEXES", "EmbeddedIndex", "Opened", "SqliteStore", "is_address", "open_pair", "read_address"]
