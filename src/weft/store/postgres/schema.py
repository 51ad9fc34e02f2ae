"""The tables of a PostgreSQL store and the numbered steps that bring an older one up to date."""

from typing import Final

from weft.errors import StoreError, StoreReadOnly, StoreTooNew
from weft.store.addresses import Address
from weft.store.postgres.connection import Link, configure, connect, lock_of

# As in the embedded store, every (tenant, key) that a node has or an edge names is one row of `keys`, and edges
# join keys. Texts of any length are indexed by a digest beside which they are compared. References between tables
# are kept by the one writer and not by the server, which would check them again for every row of a bulk load.
_FIRST: Final = """
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

# The second fence: whatever a query forgets to ask, the server shows only the tenants that the transaction was
# opened for. `words` holds hashes alone, and a policy would keep its text index from being used.
_FENCED: Final = (
    *("nodes", "keys", "marks", "aliases", "passages", "vectors", "edges", "names", "facets"),
    *("term_statistics", "tenant_statistics", "adjacency", "tombstones"),
)
_SEEN: Final = (
    "(SELECT current_setting('weft.tenants', true)) = '*' OR {column} = ANY"
    " ((SELECT CASE WHEN current_setting('weft.tenants', true) LIKE '{{%'"
    " THEN current_setting('weft.tenants', true) ELSE '{{}}' END)::integer[])"
)
_FENCE: Final = "".join(
    f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;\nALTER TABLE {table} FORCE ROW LEVEL SECURITY;\n"
    f"CREATE POLICY tenants_apart ON {table} USING ({_SEEN.format(column='tenant_id')});\n"
    for table in _FENCED
) + (f"CREATE POLICY owners_apart ON adjacency AS RESTRICTIVE USING ({_SEEN.format(column='owner_tenant_id')});\n")

_JOBS: Final = """
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

MIGRATIONS: Final[tuple[tuple[str, str], ...]] = (
    ("nodes, edges, passages and what is derived", _FIRST),
    ("row-level security by tenant", _FENCE),
    ("a queue of jobs", _JOBS),
)
SCHEMA_VERSION: Final = len(MIGRATIONS)

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
