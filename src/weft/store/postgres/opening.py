"""Opening a store: the server must be new enough and have pgvector; the tables are made or brought up to date."""

from typing import Final

from weft.errors import StoreError, StoreReadOnly, StoreTooNew
from weft.store.addresses import Address
from weft.store.postgres.connection import Link, configure, connect, lock_of
from weft.store.postgres.schema import MIGRATIONS, SCHEMA_VERSION

_OLDEST_SERVER: Final = 14
_OLDEST_VECTOR: Final = (0, 8)


def prepare(address: Address, *, create: bool, read_only: bool) -> str:
    """See to it that the store is there and current, and return how its words are searched."""
    with connect(address) as link:
        check_server(link, address)
        version = version_of(link, address)
        if version < SCHEMA_VERSION:
            if not version and not create:
                raise StoreError(
                    f"There is no Weft store at {address.shown}. Make one with `weft index PATH --store URL`."
                )
            if read_only:
                raise StoreReadOnly(f"{address.shown} has an older schema, and was opened read-only.")
            _migrate(link, address)
        return words_of(link, address)


def check_server(link: Link, address: Address) -> None:
    """Refuse a server that cannot hold a store."""
    major = link.info.server_version // 10000
    if major < _OLDEST_SERVER:
        raise StoreError(
            f"The server at {address.shown} is PostgreSQL {major}; Weft needs {_OLDEST_SERVER} or newer. "
            "Upgrade it, or use another server."
        )


def version_of(link: Link, address: Address) -> int:
    """How many steps the schema has seen; 0 when there is no store yet."""
    there = link.execute("SELECT to_regclass(%s)", (f"{address.schema}.migrations",)).fetchone()
    if there is None or there[0] is None:
        return 0
    row = link.execute(f'SELECT max(number) FROM "{address.schema}".migrations').fetchone()
    version = int(row[0] or 0) if row else 0
    if version > SCHEMA_VERSION:
        raise StoreTooNew(
            f"The store at {address.shown} has schema version {version}; this Weft reads up to version "
            f"{SCHEMA_VERSION}. Update Weft (pip install --upgrade weft), or choose another with ?schema=NAME."
        )
    return version


def words_of(link: Link, address: Address) -> str:
    """How words are searched here: as the address says, else by BM25 where the extension is installed."""
    if address.words == "tsvector":
        return address.words
    row = link.execute("SELECT 1 FROM pg_extension WHERE extname = 'pg_textsearch'").fetchone()
    if address.words == "bm25" and not row:
        raise StoreError(
            f"{address.shown} has no pg_textsearch, which words=bm25 asks for. Let an administrator run this in "
            "the database: CREATE EXTENSION pg_textsearch; or leave words=bm25 out to search by tsvector."
        )
    return "bm25" if row else "tsvector"


def _migrate(link: Link, address: Address) -> None:
    """Apply the missing steps, each in a transaction; of several servers that start at once one does so."""
    link.execute("SELECT pg_advisory_lock(%s, %s)", lock_of(address))
    try:
        _install(link, address)
        _make_schema(link, address)
        configure(link, address)
        version = version_of(link, address)
        for number, (name, script) in enumerate(MIGRATIONS, start=1):
            if number > version:
                apply_step(link, number, name, script)
    finally:
        link.execute("SELECT pg_advisory_unlock(%s, %s)", lock_of(address))


def _make_schema(link: Link, address: Address) -> None:
    """Make the schema unless it is there: who may not make any may still own one that others made."""
    import psycopg

    there = link.execute("SELECT to_regnamespace(%s)", (address.schema,)).fetchone()
    if there is not None and there[0] is not None:
        return
    try:
        link.execute(f'CREATE SCHEMA IF NOT EXISTS "{address.schema}"', prepare=False)
    except psycopg.errors.InsufficientPrivilege as error:
        statement = f"CREATE SCHEMA {address.schema} AUTHORIZATION {link.info.user};"
        raise StoreReadOnly(
            f"{address.shown} has no schema {address.schema!r}, and this user may not make it. "
            f"Let an administrator run this in the database: {statement}"
        ) from error


def apply_step(link: Link, number: int, name: str, script: str) -> None:
    """One step, whole or not at all."""
    with link.transaction():
        link.execute("CREATE TABLE IF NOT EXISTS migrations (number integer PRIMARY KEY, name text NOT NULL)")
        link.execute(script, prepare=False)
        link.execute("INSERT INTO migrations VALUES (%s, %s)", (number, name))


def _install(link: Link, address: Address) -> None:
    """Install the extensions that are there; only pgvector is needed."""
    available: dict[str, str] = dict(
        link.execute(
            "SELECT name, coalesce(installed_version, default_version) FROM pg_available_extensions"
            " WHERE name IN ('vector', 'pg_textsearch')"
        ).fetchall()
    )
    if "vector" not in available:
        raise StoreError(
            f"The server at {address.shown} has no pgvector. Install its package on the server, then run this "
            "in the database: CREATE EXTENSION vector;"
        )
    if tuple(int(part) for part in available["vector"].split(".")[:2]) < _OLDEST_VECTOR:
        raise StoreError(
            f"The server at {address.shown} has pgvector {available['vector']}; Weft needs 0.8 or newer. Install "
            "it, then run this in the database: ALTER EXTENSION vector UPDATE;"
        )
    for name in sorted(available, reverse=True):
        _create(link, address, name)


def _create(link: Link, address: Address, name: str) -> None:
    import psycopg

    if link.execute("SELECT 1 FROM pg_extension WHERE extname = %s", (name,)).fetchone():
        return
    try:
        link.execute(f"CREATE EXTENSION IF NOT EXISTS {name} WITH SCHEMA public", prepare=False)
    except psycopg.Error as error:
        if name == "vector":
            raise StoreError(
                f"{address.shown} has no pgvector yet, and this user may not install it "
                f"({' '.join(str(error).split())}). Let an administrator run this in the "
                "database: CREATE EXTENSION vector;"
            ) from error
        # Without pg_textsearch words are searched by tsvector, which every server has.
