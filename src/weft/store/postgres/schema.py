"""The tables of a PostgreSQL store and the numbered steps that bring an older one up to date."""

from typing import Final

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
