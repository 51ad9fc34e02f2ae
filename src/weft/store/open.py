"""Open the store that a location names, a folder or a PostgreSQL URL, together with an index over it.

A URL is one as libpq takes it, with a few parameters of Weft's own (`Address`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from msgspec import Struct

from weft.errors import InvalidInput, MissingExtra, UnknownName
from weft.store.embedded.index import EmbeddedIndex
from weft.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from weft.store.cluster import ClusterIndex, ClusterStore
    from weft.store.milvus import MilvusIndex
    from weft.store.postgres import PostgresIndex, PostgresStore

    AnyStore: TypeAlias = SqliteStore | PostgresStore | ClusterStore
    AnyIndex: TypeAlias = EmbeddedIndex | PostgresIndex | MilvusIndex | ClusterIndex


SERVER: Final = "server"
FILES: Final = "files"
MILVUS: Final = "milvus://"
INDEXES: Final = (SERVER, FILES, f"{MILVUS}...")
"""The indexes that `--index` may name: in the server itself, in files on this machine, or in Milvus."""
_DERIVED_FOLDER: Final = "derived"
"""The folder of derived files; deleting it loses nothing."""
_SCHEMES: Final = ("postgresql://", "postgres://")
"""Both that libpq takes."""
_WORD_SEARCHES: Final = ("auto", "bm25", "tsvector")
"""Ways to search words in PostgreSQL; `auto` takes BM25 where its extension is installed."""
_DEFAULT_CONNECTIONS: Final = 16
"""Connections that one process opens at most; PostgreSQL allows 100 for all processes unless it is set
otherwise."""
_EXAMPLE_CANDIDATES: Final = 400
"""The number of candidates that an error message shows as an example."""
_MAX_PARAMETER: Final = 1000
"""The largest number of connections or candidates; pgvector walks its graph for at most 1000 candidates."""
_MAX_SCHEMA_LENGTH: Final = 63
"""Bytes that PostgreSQL keeps of a name; it would cut a longer one silently."""
_MAX_SHARD_LENGTH: Final = 40
"""Characters of the name of a shard, which stands in lists and messages."""
OWN_PARAMETERS: Final = ("schema", "replica", "words", "connections", "candidates", "shard")
"""Parameters of a URL that are read here; libpq would refuse them."""


class Address(Struct, frozen=True):
    """A server, the schema of the store in its database, and how it is used."""

    server: str
    schema: str = "weft"
    replica: str = ""
    words: str = "auto"
    """The way to search words: by pg_textsearch (`bm25`), by `tsvector`, or by the first that the server has."""
    connections: int = _DEFAULT_CONNECTIONS
    candidates: int | None = None
    """The number of nearest vectors that the graph is walked for: more find more of the true ones, and cost more.
    None lets the number of passages decide."""
    shard: str = ""
    """The name of this part of a cluster: tenants are placed by it, so it stays when servers are replaced."""

    @property
    def display(self) -> str:
        """The address without a password, as people may see it."""
        parts = urlsplit(self.server)
        host = parts.netloc.rpartition("@")[2]
        user = f"{parts.username}@" if parts.username else ""
        # libpq also takes the host, often the folder of a socket, as a parameter.
        other_host = dict(parse_qsl(parts.query)).get("host", "") if not host else ""
        visible = [(name, value) for name, value in (("host", other_host), ("schema", self.schema)) if value]
        return f"{parts.scheme}://{user}{host}{parts.path}?{urlencode(visible, safe='/,')}"


def is_address(text: str) -> bool:
    """Return whether a text names a PostgreSQL server and not a folder; refuse a server without its slashes."""
    scheme = text.partition(":")[0]
    if f"{scheme}://" in _SCHEMES and ":" in text and not text.startswith(_SCHEMES):
        raise InvalidInput(
            f"What begins with {scheme}: is no folder, and as an address it lacks slashes. Write "
            f"{scheme}://USER@HOST/DATABASE."
        )
    return text.startswith(_SCHEMES)


def read_address(text: str) -> Address:
    """Return the address in a URL; parameters that are not Weft's are left to libpq."""
    parts = urlsplit(text)
    parameters = parse_qsl(parts.query, keep_blank_values=True)
    own = {name: value for name, value in parameters if name in OWN_PARAMETERS}
    # libpq refuses parameters that it does not know, so ours are taken out.
    rest = urlencode([pair for pair in parameters if pair[0] not in own], quote_via=quote)
    server = urlunsplit((parts.scheme, parts.netloc, parts.path, rest, ""))
    if parts.scheme and not parts.netloc and not server.startswith(f"{parts.scheme}://"):
        # urlunsplit drops the slashes of an empty host, which libpq reads as the local socket.
        server = server.replace(f"{parts.scheme}:", f"{parts.scheme}://", 1)
    words = own.get("words", "auto")
    schema = _check_schema(own.get("schema", "weft"))
    if words not in _WORD_SEARCHES:
        raise UnknownName("way to search words", words, _WORD_SEARCHES)
    return Address(
        server,
        schema,
        own.get("replica", ""),
        words,
        _read_number("connections", own, _DEFAULT_CONNECTIONS),
        _read_number("candidates", own, _EXAMPLE_CANDIDATES) if "candidates" in own else None,
        _check_shard(own.get("shard", "")),
    )


def read_addresses(text: str) -> tuple[Address, ...]:
    """Return the addresses that a location names: one, or those of the shards of a cluster between spaces."""
    addresses = tuple(read_address(part) for part in text.split())
    names = [address.shard for address in addresses]
    if len(addresses) > 1 and (not all(names) or len(set(names)) < len(names)):
        raise InvalidInput(
            "Several addresses make a cluster, and each names its shard once: add shard=NAME to every URL, such "
            f"as {addresses[0].display}&shard=a, and keep the names when servers change."
        )
    return addresses


def _check_schema(name: str) -> str:
    # The name stands in statements as it is: only names that need no quoting are taken.
    if not (name.isascii() and name.isidentifier() and name == name.lower() and len(name) <= _MAX_SCHEMA_LENGTH):
        raise InvalidInput(
            f"{name!r} cannot name the schema of a store. Give small letters, digits and _, such as schema=weft."
        )
    return name


def _check_shard(name: str) -> str:
    if name and not (name.isascii() and name.replace("-", "").isalnum() and len(name) <= _MAX_SHARD_LENGTH):
        raise InvalidInput(
            f"{name!r} cannot name a shard. Give at most {_MAX_SHARD_LENGTH} letters, digits and -, such as "
            "shard=a."
        )
    return name


def _read_number(name: str, own: Mapping[str, str], default: int) -> int:
    text = own.get(name, str(default))
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= _MAX_PARAMETER):
        raise InvalidInput(
            f"{text!r} is no number of {name}. Give 1 to {_MAX_PARAMETER}, such as {name}={default}."
        )
    return int(text)


class OpenedStore(Struct, frozen=True):
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
    addresses = read_addresses(location)
    if len(addresses) > 1:
        return _open_cluster(addresses, folder, index, create, read_only)
    store = PostgresStore.open(addresses[0], create=create, read_only=read_only)
    if index == FILES:
        return OpenedStore(store, EmbeddedIndex(folder / _DERIVED_FOLDER, store), folder)
    if index.startswith(MILVUS):
        return OpenedStore(store, _open_milvus(index), folder)
    return OpenedStore(store, PostgresIndex(store), folder)


def _open_cluster(
    addresses: Sequence[Address], folder: Path, index: str, create: bool, read_only: bool
) -> OpenedStore:
    if index != SERVER:
        raise InvalidInput(f"A cluster is searched by its servers, not by {index!r}. Leave --index out.")
    from weft.store.cluster import ClusterIndex, ClusterStore

    store = ClusterStore.open(addresses, create=create, read_only=read_only)
    return OpenedStore(store, ClusterIndex(store), folder)


def _open_milvus(address: str) -> "MilvusIndex":
    try:
        from weft.store.milvus import MilvusIndex
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "pymilvus":
            raise MissingExtra("Searching in Milvus", "milvus") from error
        raise
    return MilvusIndex(address)
