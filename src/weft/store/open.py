"""Open the store that a location names, a folder or a PostgreSQL URL, together with an index over it."""

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from weft.errors import InvalidInput, MissingExtra, UnknownName
from weft.frozen import dataclass
from weft.store.addresses import is_address, read_address
from weft.store.embedded.index import EmbeddedIndex
from weft.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from weft.store.milvus import MilvusIndex
    from weft.store.postgres import PostgresIndex, PostgresStore

    AnyStore: TypeAlias = SqliteStore | PostgresStore
    AnyIndex: TypeAlias = EmbeddedIndex | PostgresIndex | MilvusIndex


SERVER: Final = "server"
FILES: Final = "files"
MILVUS: Final = "milvus://"
INDEXES: Final = (SERVER, FILES, f"{MILVUS}...")
_DERIVED_FOLDER: Final = "derived"


@dataclass(frozen=True, slots=True)
class OpenedStore:
    """A store, the index over it, and the folder on this machine for what belongs to it."""

    store: "AnyStore"
    index: "AnyIndex"
    folder: Path


def open_store(
    location: str | Path, folder: Path, *, index: str = "", create: bool = True, read_only: bool = False
) -> OpenedStore:
    """Open the store in a folder or at the URL of a server, with the named index or the one that goes with it.

    `folder` holds the keys, profiles and kept contexts of a store on a server; an embedded store has them in its
    own.
    """
    if is_address(str(location)):
        return _open_on_server(str(location), folder, index or SERVER, create, read_only)
    if index not in ("", FILES):
        raise InvalidInput(
            f"{index!r} cannot search the embedded store in {location}, which keeps its own files for that. Leave "
            "--index out, or name a PostgreSQL store with --store."
        )
    store = SqliteStore.open(Path(location), create=create, read_only=read_only)
    # An index that does not know the store never makes its files by itself.
    derived = EmbeddedIndex(Path(location) / _DERIVED_FOLDER, None if read_only else store)
    return OpenedStore(store, derived, Path(location))


def _open_on_server(location: str, folder: Path, index: str, create: bool, read_only: bool) -> OpenedStore:
    if index not in (SERVER, FILES) and not index.startswith(MILVUS):
        raise UnknownName("index", index, INDEXES)
    # The drivers are extras, and load only for the stores that need them.
    try:
        from weft.store.postgres import PostgresIndex, PostgresStore
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in ("psycopg", "psycopg_pool"):
            raise MissingExtra("A PostgreSQL store", "postgres") from error
        raise
    store = PostgresStore.open(read_address(location), create=create, read_only=read_only)
    if index == FILES:
        return OpenedStore(store, EmbeddedIndex(folder / _DERIVED_FOLDER, store), folder)
    if index.startswith(MILVUS):
        return OpenedStore(store, _open_milvus(index), folder)
    return OpenedStore(store, PostgresIndex(store), folder)


def _open_milvus(address: str) -> "MilvusIndex":
    try:
        from weft.store.milvus import MilvusIndex
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "pymilvus":
            raise MissingExtra("Searching in Milvus", "milvus") from error
        raise
    return MilvusIndex(address)
