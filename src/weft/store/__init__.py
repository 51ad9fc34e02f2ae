"""Stores, which hold all that was indexed, and the indexes that search them.

Every engine keeps the contracts `weft.ports.Store` and `weft.ports.Index`: `sqlite` with `embedded` in a folder,
`postgres` on a server, and `milvus` as another index beside a server. The modules here are what the engines share.
"""

from weft.store.embedded.index import EmbeddedIndex
from weft.store.open import INDEXES, OpenedStore, is_address, open_store, read_address
from weft.store.sqlite.store import SqliteStore

__all__ = ["INDEXES", "EmbeddedIndex", "OpenedStore", "SqliteStore", "is_address", "open_store", "read_address"]
