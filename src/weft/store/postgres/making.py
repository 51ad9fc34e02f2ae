"""The server's search indexes: which are there, which are missing, and the statements that make them."""

from typing import Final

from weft.store.postgres.connection import Link, rows_of
from weft.store.postgres.snapshot import PostgresSnapshot

BM25_INDEX: Final = "search_words"
TSVECTOR_INDEX: Final = "search_terms"
_MOST_DIMENSIONS: Final = 4000
# A wide graph: on texts that resemble each other a narrow one misses too many neighbours.
_GRAPH: Final = "m = 32, ef_construction = 128"
MEMORY_TO_BUILD: Final = (
    "SELECT set_config('maintenance_work_mem', greatest(pg_size_bytes('512MB'),"
    " pg_size_bytes(current_setting('maintenance_work_mem'))) / 1024 || 'kB', false)"
)
"""A graph that outgrows its memory is finished on disk, many times slower: the server may be set to give more."""


def missing(snapshot: PostgresSnapshot, words: str, exact_below: int) -> list[str]:
    """The statements that make the indexes which the store is large enough for and does not have."""
    made = present(snapshot)
    statements = []
    if _more(snapshot, "words", exact_below):
        if words == "bm25" and BM25_INDEX not in made:
            statements.append(
                f"CREATE INDEX {BM25_INDEX} ON words USING bm25 (words) WITH (text_config = 'simple')"
            )
        if words != "bm25" and TSVECTOR_INDEX not in made:
            statements.append(f"CREATE INDEX {TSVECTOR_INDEX} ON words USING gin (to_tsvector('simple', words))")
    space, width = snapshot.space, snapshot.state.dimensions or 0
    graph = graph_name(space, width)
    if graph not in made and 0 < width <= _MOST_DIMENSIONS and _more(snapshot, "vectors", exact_below):
        if is_broken(snapshot.link, graph):
            statements.append(f"DROP INDEX {graph}")
        statements.append(graph_statement(space, width))
    return [*statements, "ANALYZE words, vectors"] if statements else []


def graph_name(space: int, width: int) -> str:
    """The name of the index over the vectors of one embedder."""
    return f"search_vectors_{space}_{width}"


def graph_statement(space: int, width: int, how: str = "") -> str:
    """What makes that index; `how` may be CONCURRENTLY."""
    return (
        f"CREATE INDEX {how} IF NOT EXISTS {graph_name(space, width)} ON vectors USING hnsw"
        f" ((vector::halfvec({width})) halfvec_cosine_ops) WITH ({_GRAPH})"
        f" WHERE space = {space} AND dimensions = {width}"
    )


def is_broken(link: Link, name: str) -> bool:
    """Whether an index was left unfinished by someone who was interrupted; it is never used, and in the way."""
    query = "SELECT 1 FROM pg_index i WHERE i.indexrelid = to_regclass(%s) AND NOT i.indisvalid"
    return bool(rows_of(link, query, (name,)))


def present(snapshot: PostgresSnapshot) -> dict[str, int]:
    """The search indexes that are there and usable, with their bytes."""
    rows = snapshot.rows(
        "SELECT c.relname::text, pg_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n"
        " ON n.oid = c.relnamespace JOIN pg_index i ON i.indexrelid = c.oid"
        " WHERE n.nspname = current_schema() AND i.indisvalid"
        " AND c.relname LIKE 'search\\_%%' ORDER BY 1"
    )
    return dict(rows)


def _more(snapshot: PostgresSnapshot, table: str, than: int) -> bool:
    """Whether a table holds more rows; estimates would be wrong right after a bulk load."""
    return bool(snapshot.rows(f"SELECT 1 FROM {table} OFFSET %(than)s LIMIT 1", than=than))
