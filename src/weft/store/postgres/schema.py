"""Define the tables of a PostgreSQL store and the numbered migrations that create it or bring it up to date.

This runs once when a store is opened, before anything is read.
"""

from typing import Final, TypeAlias

import psycopg

from weft.errors import StoreError, StoreReadOnly, StoreTooNew
from weft.store.open import Address
from weft.store.postgres.connection import Connection, advisory_lock, configure, connect

Migrations: TypeAlias = tuple[tuple[str, str], ...]

# As in the embedded store, every (tenant, key) that a node has or an edge names is one row of `keys`, and edges
# join keys: an edge may name a key before there is a node. Texts of any length are indexed by a digest; queries
# compare the text beside it. There are no foreign keys: the server would check each row of a bulk load again, and
# the one writer keeps the references sound.
_FIRST_TABLES: Final = """
CREATE TABLE state (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    identity text NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', ''),
    sequence bigint NOT NULL DEFAULT 0,
    last_node bigint NOT NULL DEFAULT 0, last_passage bigint NOT NULL DEFAULT 0,
    last_key bigint NOT NULL DEFAULT 0,
    embedder text, dimensions integer, space smallint NOT NULL DEFAULT 1,
    next_embedder text, next_dimensions integer
);
INSERT INTO state DEFAULT VALUES;
CREATE TABLE tenants (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL);
CREATE TABLE kinds (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL);
CREATE TABLE edge_types (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL);
CREATE TABLE makers (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL);
CREATE TABLE facet_names (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL);
CREATE UNIQUE INDEX tenants_name ON tenants (md5(name));
CREATE UNIQUE INDEX kinds_name ON kinds (md5(name));
CREATE UNIQUE INDEX edge_types_name ON edge_types (md5(name));
CREATE UNIQUE INDEX makers_name ON makers (md5(name));
CREATE UNIQUE INDEX facet_names_name ON facet_names (md5(name));
CREATE INDEX makers_beginning ON makers (left(name, 300));
CREATE TABLE shared (tenant_id integer NOT NULL, shared_id integer NOT NULL, PRIMARY KEY (tenant_id, shared_id));
CREATE TABLE units (
    tenant_id integer NOT NULL, source text COLLATE "C" NOT NULL, unit text COLLATE "C" NOT NULL,
    stamp text NOT NULL
);
CREATE UNIQUE INDEX units_unit ON units (tenant_id, md5(source), md5(unit));
CREATE TABLE tenant_versions (tenant_id integer PRIMARY KEY, sequence bigint NOT NULL);

CREATE TABLE nodes (
    id bigint PRIMARY KEY,
    tenant_id integer NOT NULL, kind_id integer NOT NULL, key_id bigint NOT NULL,
    tag bigint NOT NULL, changed bigint NOT NULL,
    position bigint, sequence bigint, known_from bigint, created bigint, modified bigint,
    text_tokens bigint NOT NULL,
    key text COLLATE "C" NOT NULL, source text COLLATE "C" NOT NULL, unit text COLLATE "C" NOT NULL,
    content_hash text NOT NULL, language text,
    file text, first_line bigint, last_line bigint, url text, revision text,
    tags text, fields text, sketch bytea NOT NULL,
    title text NOT NULL, summary text NOT NULL, text text NOT NULL
);
CREATE INDEX nodes_tenant ON nodes (tenant_id, id);
CREATE INDEX nodes_changed ON nodes (changed, tenant_id);
CREATE INDEX nodes_unit ON nodes (md5(unit));
CREATE TABLE keys (
    id bigint PRIMARY KEY, tenant_id integer NOT NULL, digest bigint NOT NULL, node_id bigint,
    key text COLLATE "C" NOT NULL
);
CREATE INDEX keys_key ON keys (digest, tenant_id);
CREATE INDEX keys_tenant ON keys (tenant_id);
CREATE TABLE tombstones (node_id bigint PRIMARY KEY, tenant_id integer NOT NULL, changed bigint NOT NULL);
CREATE INDEX tombstones_changed ON tombstones (changed, tenant_id);
CREATE TABLE marks (
    node_id bigint PRIMARY KEY, tenant_id integer NOT NULL,
    value double precision NOT NULL CHECK (value <> 'NaN'), aliases text
);
CREATE TABLE aliases (
    node_id bigint NOT NULL, tenant_id integer NOT NULL, maker_id integer NOT NULL,
    confidence double precision NOT NULL CHECK (confidence <> 'NaN'), own boolean NOT NULL, alias text NOT NULL
);
CREATE INDEX aliases_node ON aliases (node_id, maker_id);
CREATE INDEX aliases_maker ON aliases (maker_id, tenant_id);
CREATE TABLE passages (
    id bigint PRIMARY KEY, node_id bigint NOT NULL, tenant_id integer NOT NULL, position bigint,
    ordinal bigint NOT NULL, start bigint NOT NULL, stop bigint NOT NULL,
    first_line bigint NOT NULL, last_line bigint NOT NULL, heading_path text,
    length bigint NOT NULL, term_hashes bytea NOT NULL, term_counts bytea NOT NULL
);
CREATE UNIQUE INDEX passages_node ON passages (node_id, ordinal);
CREATE INDEX passages_tenant ON passages (tenant_id);
CREATE TABLE words (
    passage_id bigint PRIMARY KEY, node_id bigint NOT NULL, tenant_id integer NOT NULL, position bigint,
    words text NOT NULL
);
CREATE TABLE vectors (
    space smallint NOT NULL, passage_id bigint NOT NULL, node_id bigint NOT NULL, tenant_id integer NOT NULL,
    position bigint, dimensions integer NOT NULL, vector halfvec NOT NULL,
    PRIMARY KEY (space, passage_id)
);
CREATE INDEX vectors_node ON vectors (node_id);
CREATE TABLE edges (
    source_key bigint NOT NULL, maker_id integer NOT NULL, type_id integer NOT NULL, target_key bigint NOT NULL,
    tenant_id integer NOT NULL,
    weight double precision NOT NULL, confidence double precision NOT NULL, evidence text NOT NULL,
    PRIMARY KEY (source_key, maker_id, type_id, target_key)
);
CREATE INDEX edges_target ON edges (target_key);
CREATE INDEX edges_maker ON edges (maker_id, tenant_id);

CREATE TABLE names (
    node_id bigint NOT NULL, tenant_id integer NOT NULL, digest bigint NOT NULL, name text COLLATE "C" NOT NULL
);
CREATE INDEX names_node ON names (node_id);
CREATE INDEX names_name ON names (digest);
CREATE TABLE facets (
    node_id bigint NOT NULL, facet_id integer NOT NULL, tenant_id integer NOT NULL, PRIMARY KEY (node_id, facet_id)
);
CREATE INDEX facets_facet ON facets (facet_id, tenant_id, node_id);
CREATE TABLE term_statistics (
    tenant_id integer NOT NULL, term_hash bigint NOT NULL, frequency bigint NOT NULL,
    PRIMARY KEY (tenant_id, term_hash)
) WITH (fillfactor = 70);
CREATE TABLE tenant_statistics (
    tenant_id integer PRIMARY KEY, nodes bigint NOT NULL, passages bigint NOT NULL, total_length bigint NOT NULL
);
CREATE TABLE adjacency (
    node_id bigint NOT NULL, tenant_id integer NOT NULL, owner_tenant_id integer NOT NULL,
    degree bigint NOT NULL, packed bytea NOT NULL,
    PRIMARY KEY (node_id, tenant_id)
);
"""

# Queries ask for the tenants of their view; row-level security is the second fence, should a query forget to. The
# setting `weft.tenants` is '*' for all tenants or an array of their numbers, and anything else shows none. `words`
# has no policy: it holds hashes alone, and a policy would keep its text index from being used.
_TENANT_TABLES: Final = (
    *("nodes", "keys", "marks", "aliases", "passages", "vectors", "edges", "names", "facets"),
    *("term_statistics", "tenant_statistics", "adjacency", "tombstones"),
)
_IS_VISIBLE: Final = (
    "(SELECT current_setting('weft.tenants', true)) = '*' OR {column} = ANY"
    " ((SELECT CASE WHEN current_setting('weft.tenants', true) LIKE '{{%'"
    " THEN current_setting('weft.tenants', true) ELSE '{{}}' END)::integer[])"
)
_ROW_SECURITY: Final = "".join(
    f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;\nALTER TABLE {table} FORCE ROW LEVEL SECURITY;\n"
    f"CREATE POLICY tenants_apart ON {table} USING ({_IS_VISIBLE.format(column='tenant_id')});\n"
    for table in _TENANT_TABLES
) + (
    "CREATE POLICY owners_apart ON adjacency AS RESTRICTIVE USING"
    f" ({_IS_VISIBLE.format(column='owner_tenant_id')});\n"
)

_JOBS_TABLE: Final = """
CREATE TABLE jobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL, tenant text NOT NULL, detail text NOT NULL DEFAULT '',
    state text NOT NULL DEFAULT 'waiting', attempts integer NOT NULL DEFAULT 0, error text NOT NULL DEFAULT '',
    done bigint NOT NULL DEFAULT 0, total bigint, place bigint NOT NULL DEFAULT 0,
    created timestamptz NOT NULL DEFAULT now(), due timestamptz NOT NULL DEFAULT now(),
    started timestamptz, finished timestamptz
);
CREATE INDEX jobs_due ON jobs (due, id) WHERE state IN ('waiting', 'running');
"""

MAX_OPENING_CHARACTERS: Final = 80
"""The beginning of the first word of a name that is indexed: most words are shorter."""
# A column and no expression in an index: under row-level security only the plain comparison of a column is looked
# up there. Words of other scripts are not told apart, as in the embedded store.
_OPENINGS: Final = f"""
ALTER TABLE names ADD COLUMN opening text COLLATE "C" GENERATED ALWAYS AS (
    CASE WHEN octet_length(name) = char_length(name)
    THEN left(substring(name from '^[a-z0-9_]*'), {MAX_OPENING_CHARACTERS}) ELSE '' END
) STORED;
CREATE INDEX names_opening ON names (opening, tenant_id);
"""
_CLUSTER_MAP: Final = """
CREATE TABLE cluster_map (
    one boolean PRIMARY KEY DEFAULT true CHECK (one), version bigint NOT NULL, document text NOT NULL
);
"""
MIGRATIONS: Final[Migrations] = (
    ("nodes, edges, passages and what is derived", _FIRST_TABLES),
    ("row-level security by tenant", _ROW_SECURITY),
    ("a queue of jobs", _JOBS_TABLE),
    ("the snippets of passages", "ALTER TABLE passages ADD COLUMN snippets bytea"),
    ("the first word of names", _OPENINGS),
    ("where the tenants of a cluster are", _CLUSTER_MAP),
)
"""(name, script) of every step, in order; a step that was released is never changed, only followed by another."""
SCHEMA_VERSION: Final = len(MIGRATIONS)
"""The version that this Weft writes."""

OLDEST_SERVER: Final = 14
"""The major version of the oldest server that has what the tables, queries and pgvector 0.8 need."""
_OLDEST_PGVECTOR: Final = (0, 8)
"""The first version whose graph is walked on when a filter hides what was found (`hnsw.iterative_scan`)."""


def prepare_schema(
    address: Address,
    *,
    create: bool,
    read_only: bool,
    migrations: Migrations = MIGRATIONS,
    oldest_server: int = OLDEST_SERVER,
) -> str:
    """Create the store or bring it up to date, as far as allowed, and return the engine for its word searches."""
    with connect(address) as connection:
        major = connection.info.server_version // 10000
        # Checked before anything is created, so that an old server is left as it was.
        if major < oldest_server:
            raise StoreError(
                f"The server at {address.display} is PostgreSQL {major}; Weft needs {oldest_server} or newer. "
                "Upgrade it, or use another server."
            )
        version = _read_version(connection, address, len(migrations))
        if version < len(migrations):
            if not version and not create:
                raise StoreError(
                    f"There is no Weft store at {address.display}. Make one with `weft index PATH --store URL`."
                )
            if read_only:
                raise StoreReadOnly(f"{address.display} has an older schema, and was opened read-only.")
            _migrate(connection, address, migrations)
        return _choose_word_search(connection, address)


def _read_version(connection: Connection, address: Address, newest: int) -> int:
    """Return how many migrations the schema has been through; 0 when there is no store yet."""
    migrations = connection.execute("SELECT to_regclass(%s)", (f"{address.schema}.migrations",)).fetchone()
    if migrations is None or migrations[0] is None:
        return 0
    row = connection.execute(f'SELECT max(number) FROM "{address.schema}".migrations').fetchone()
    version = int(row[0] or 0) if row else 0
    if version > newest:
        raise StoreTooNew(
            f"The store at {address.display} has schema version {version}; this Weft reads up to version "
            f"{newest}. Update Weft (pip install --upgrade weft-context), or choose another with ?schema=NAME."
        )
    return version


def _choose_word_search(connection: Connection, address: Address) -> str:
    """Return `bm25` or `tsvector`: as the address says, else BM25 where its extension is installed."""
    if address.words == "tsvector":
        return address.words
    row = connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'pg_textsearch'").fetchone()
    if address.words == "bm25" and not row:
        raise StoreError(
            f"{address.display} has no pg_textsearch, which words=bm25 asks for. Let an administrator run this in "
            "the database: CREATE EXTENSION pg_textsearch; or leave words=bm25 out to search by tsvector."
        )
    return "bm25" if row else "tsvector"


def _migrate(connection: Connection, address: Address, migrations: Migrations) -> None:
    """Apply the missing migrations, each whole or not at all."""
    # Of several processes that start at once the first migrates; the others wait and find nothing left to do.
    connection.execute("SELECT pg_advisory_lock(%s, %s)", advisory_lock(address))
    try:
        install_extensions(connection, address)
        _create_schema(connection, address)
        # Once more, because schema and extensions exist only now.
        configure(connection, address)
        # Read again under the lock: another process may have migrated meanwhile.
        version = _read_version(connection, address, len(migrations))
        for number, (name, script) in enumerate(migrations, start=1):
            if number <= version:
                continue
            with connection.transaction():
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS migrations (number integer PRIMARY KEY, name text NOT NULL)"
                )
                connection.execute(script, prepare=False)
                connection.execute("INSERT INTO migrations VALUES (%s, %s)", (number, name))
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s, %s)", advisory_lock(address))


def _create_schema(connection: Connection, address: Address) -> None:
    # Looked up first: a user without the right to create schemas may own one that an administrator created.
    schema = connection.execute("SELECT to_regnamespace(%s)", (address.schema,)).fetchone()
    if schema is not None and schema[0] is not None:
        return
    try:
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{address.schema}"', prepare=False)
    except psycopg.errors.InsufficientPrivilege as error:
        statement = f"CREATE SCHEMA {address.schema} AUTHORIZATION {connection.info.user};"
        raise StoreReadOnly(
            f"{address.display} has no schema {address.schema!r}, and this user may not make it. "
            f"Let an administrator run this in the database: {statement}"
        ) from error


def install_extensions(connection: Connection, address: Address) -> None:
    """Install the extensions that the server offers; only pgvector is required."""
    available: dict[str, str] = dict(
        connection.execute(
            "SELECT name, coalesce(installed_version, default_version) FROM pg_available_extensions"
            " WHERE name IN ('vector', 'pg_textsearch')"
        ).fetchall()
    )
    if "vector" not in available:
        raise StoreError(
            f"The server at {address.display} has no pgvector. Install its package on the server, then run this "
            "in the database: CREATE EXTENSION vector;"
        )
    if tuple(int(part) for part in available["vector"].split(".")[:2]) < _OLDEST_PGVECTOR:
        raise StoreError(
            f"The server at {address.display} has pgvector {available['vector']}; Weft needs 0.8 or newer. "
            "Install it, then run this in the database: ALTER EXTENSION vector UPDATE;"
        )
    # pgvector before pg_textsearch, because only the first one is required.
    for name in sorted(available, reverse=True):
        _create_extension(connection, address, name)


def _create_extension(connection: Connection, address: Address, name: str) -> None:
    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = %s", (name,)).fetchone():
        return
    try:
        connection.execute(f"CREATE EXTENSION IF NOT EXISTS {name} WITH SCHEMA public", prepare=False)
    except psycopg.Error as error:
        if name == "vector":
            raise StoreError(
                f"{address.display} has no pgvector yet, and this user may not install it "
                f"({' '.join(str(error).split())}). Let an administrator run this in the "
                "database: CREATE EXTENSION vector;"
            ) from error
        # Without pg_textsearch words are searched by tsvector, which every server has.
