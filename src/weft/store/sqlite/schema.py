"""Define the tables of the embedded store and the numbered migrations that bring an older file up to date."""

import sqlite3
from typing import Final

APPLICATION_ID: Final = 0x57454654
"""The letters WEFT in ASCII; distinguishes Weft stores from other SQLite databases."""

# Every (tenant, key) that a node has or an edge names is one row of `keys`; `node_id` is null while no such node
# exists. Edges join keys, so a dangling edge needs no upkeep: it leads somewhere as soon as its end has a node.
# The wide `text` stands last in `nodes`, so that reading the other columns does not walk its overflow pages.
# Tables without rowid list their key first: SQLite 3.40's quick_check misreads them otherwise.
# Importance is apart from `nodes`, because a linker rewrites it for all nodes at once.
_FIRST_SCHEMA: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('sequence', 0), ('identity', lower(hex(randomblob(16))));
CREATE TABLE tenants (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE kinds (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE edge_types (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE makers (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE facet_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE shared (
    tenant_id INTEGER NOT NULL REFERENCES tenants,
    shared_id INTEGER NOT NULL REFERENCES tenants,
    PRIMARY KEY (tenant_id, shared_id)
) WITHOUT ROWID;
CREATE TABLE units (
    tenant_id INTEGER NOT NULL REFERENCES tenants,
    source TEXT NOT NULL, unit TEXT NOT NULL, stamp TEXT NOT NULL,
    PRIMARY KEY (tenant_id, source, unit)
) WITHOUT ROWID;

CREATE TABLE nodes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id INTEGER NOT NULL REFERENCES tenants,
    kind_id INTEGER NOT NULL REFERENCES kinds,
    key_id INTEGER NOT NULL,
    tag INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    position INTEGER, sequence INTEGER, known_from INTEGER,
    created INTEGER, modified INTEGER,
    text_tokens INTEGER NOT NULL,
    key TEXT NOT NULL, source TEXT NOT NULL, unit TEXT NOT NULL,
    content_hash TEXT NOT NULL, language TEXT,
    file TEXT, first_line INTEGER, last_line INTEGER, url TEXT, revision TEXT,
    tags TEXT, fields TEXT, sketch BLOB NOT NULL,
    title TEXT NOT NULL, summary TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX nodes_tenant ON nodes (tenant_id);
CREATE INDEX nodes_changed ON nodes (changed, tenant_id);
CREATE INDEX nodes_unit ON nodes (source, unit);
CREATE TABLE keys (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL REFERENCES tenants,
    key TEXT NOT NULL,
    node_id INTEGER,
    UNIQUE (tenant_id, key)
);
CREATE TABLE tombstones (
    node_id INTEGER PRIMARY KEY, tenant_id INTEGER NOT NULL, changed INTEGER NOT NULL
);
CREATE INDEX tombstones_changed ON tombstones (changed, tenant_id);
CREATE TABLE importance (
    node_id INTEGER PRIMARY KEY REFERENCES nodes ON DELETE CASCADE, value REAL NOT NULL
);
CREATE TABLE aliases (
    node_id INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE,
    alias TEXT NOT NULL,
    maker_id INTEGER NOT NULL REFERENCES makers,
    confidence REAL NOT NULL,
    own INTEGER NOT NULL,
    PRIMARY KEY (node_id, alias, maker_id)
) WITHOUT ROWID;
CREATE INDEX aliases_maker ON aliases (maker_id);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    node_id INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE,
    tenant_id INTEGER NOT NULL,
    position INTEGER,
    ordinal INTEGER NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL,
    first_line INTEGER NOT NULL, last_line INTEGER NOT NULL, heading_path TEXT,
    length INTEGER NOT NULL, term_hashes BLOB NOT NULL, term_counts BLOB NOT NULL,
    UNIQUE (node_id, ordinal)
);
CREATE TABLE vectors (
    passage_id INTEGER PRIMARY KEY REFERENCES passages ON DELETE CASCADE, vector BLOB NOT NULL
);
CREATE TABLE edges (
    source_key INTEGER NOT NULL REFERENCES keys,
    maker_id INTEGER NOT NULL REFERENCES makers,
    type_id INTEGER NOT NULL REFERENCES edge_types,
    target_key INTEGER NOT NULL REFERENCES keys,
    weight REAL NOT NULL, confidence REAL NOT NULL, evidence TEXT NOT NULL,
    PRIMARY KEY (source_key, maker_id, type_id, target_key)
) WITHOUT ROWID;
CREATE INDEX edges_target ON edges (target_key);
CREATE INDEX edges_maker ON edges (maker_id);

CREATE TABLE names (
    node_id INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE,
    name TEXT NOT NULL,
    tenant_id INTEGER NOT NULL,
    PRIMARY KEY (node_id, name)
) WITHOUT ROWID;
CREATE INDEX names_name ON names (name, tenant_id);
CREATE TABLE facets (
    node_id INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE,
    facet_id INTEGER NOT NULL REFERENCES facet_names,
    tenant_id INTEGER NOT NULL,
    PRIMARY KEY (node_id, facet_id)
) WITHOUT ROWID;
CREATE INDEX facets_facet ON facets (facet_id, tenant_id);
CREATE TABLE term_statistics (
    tenant_id INTEGER NOT NULL, term_hash INTEGER NOT NULL, frequency INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, term_hash)
) WITHOUT ROWID;
CREATE TABLE tenant_statistics (
    tenant_id INTEGER PRIMARY KEY,
    nodes INTEGER NOT NULL, passages INTEGER NOT NULL, total_length INTEGER NOT NULL
);
CREATE TABLE adjacency (
    node_id INTEGER NOT NULL, tenant_id INTEGER NOT NULL, owner_tenant_id INTEGER NOT NULL,
    degree INTEGER NOT NULL, packed BLOB NOT NULL,
    PRIMARY KEY (node_id, tenant_id)
) WITHOUT ROWID;
"""

_TENANT_VERSIONS: Final = """
CREATE TABLE tenant_versions (tenant_id INTEGER PRIMARY KEY, sequence INTEGER NOT NULL);
"""

_SNIPPETS: Final = """
ALTER TABLE passages ADD COLUMN snippets BLOB;
"""

# The vector of a passage and, behind it, those of its snippets where it has several; they come in the background.
_QUALITY_VECTORS: Final = """
CREATE TABLE quality_vectors (
    passage_id INTEGER PRIMARY KEY REFERENCES passages ON DELETE CASCADE, vectors BLOB NOT NULL
);
"""

# Migrations are only ever appended: their number is the schema version, and stores keep the name of each.
MIGRATIONS: Final[tuple[tuple[str, str], ...]] = (
    ("nodes, edges, passages and what is derived", _FIRST_SCHEMA),
    ("the last write that touched each tenant", _TENANT_VERSIONS),
    ("the snippets of passages", _SNIPPETS),
    ("the second vectors of passages", _QUALITY_VECTORS),
)
SCHEMA_VERSION: Final = len(MIGRATIONS)
"""The version that this Weft writes; a store says its own in `user_version`."""


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Apply the migrations that the file lacks, each in its own transaction. The caller holds the write lock."""
    for number, (name, script) in enumerate(MIGRATIONS, start=1):
        if number > version:
            _apply(connection, number, name, script)


def _apply(connection: sqlite3.Connection, number: int, name: str, script: str) -> None:
    # Tables are created within the transaction: a migration that is killed leaves the version before it.
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL)"
        )
        # executescript() would commit the transaction before it runs.
        for statement in script.split(";\n"):
            connection.execute(statement)
        connection.execute("INSERT INTO migrations VALUES (?, ?)", (number, name))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    # An interrupted migration must be undone too: the connection is used again.
    except BaseException:
        connection.execute("ROLLBACK")
        raise
