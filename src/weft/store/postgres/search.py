"""The server's search indexes: which are there, which are missing, and the statements that make them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.ports import PassageRow
from weft.scoring.vectors import cosines, norms, stacked
from weft.store.overlay import Known, overlay_of
from weft.store.postgres.connection import Link, rows_of
from weft.store.postgres.copy_rows import word_of
from weft.store.postgres.encode import bigints
from weft.store.postgres.snapshot import PostgresSnapshot
from weft.store.scope import EQUAL, TIES, cut_at_tie

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weft.ports.arrays import Ids, Scores


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


_MARGIN: Final = 16
_RARE: Final = 20_000
_WEIGHED: Final = 1000
"""Without BM25 the rarest words propose, together about so many passages, of which so many are weighed."""
_WIDEST: Final = 1000
_CANDIDATES: Final = 200
_ENOUGH_FOR: Final = 250_000
"""So many candidates find nineteen in twenty of the nearest ten among so many passages."""


def by_words(
    snapshot: PostgresSnapshot, words: str, weights: Mapping[int, float], nodes: "Ids | None", limit: int
) -> "tuple[Ids, Scores]":
    """The best passages by our own score among those the server proposes, and those that tie with the last."""
    search = _by_bm25 if words == "bm25" else _by_tsvector
    return cut_at_tie(*search(snapshot, weights, nodes, limit), limit)


def _by_bm25(
    snapshot: PostgresSnapshot, weights: Mapping[int, float], nodes: "Ids | None", limit: int
) -> "tuple[Ids, Scores]":
    """What BM25 ranks first, more of it while the last ones still tie."""
    asked = limit + _MARGIN
    while True:
        rows = _proposed(
            snapshot,
            f"SELECT w.passage_id FROM words w WHERE {_scope(snapshot, 'w', nodes)}"
            f" ORDER BY w.words <@> to_bm25query(%(words)s, '{BM25_INDEX}') LIMIT {asked}",
            # The extension sees the limit while it plans; from a plan that is kept it would rank a thousand.
            planned_once=False,
            words=" ".join(map(word_of, weights)),
            nodes=nodes,
        )
        found, scores = _scored(
            snapshot, [(row.id, row.node_id, row.term_hashes, row.term_counts) for row in rows], weights
        )
        ranked = np.sort(scores)[::-1]
        enough = len(ranked) > limit and ranked[-1] < ranked[limit - 1] * (1 - EQUAL)
        if len(rows) < asked or enough or asked > limit + TIES:
            return found, scores
        asked *= 4


def _by_tsvector(
    snapshot: PostgresSnapshot, weights: Mapping[int, float], nodes: "Ids | None", limit: int
) -> "tuple[Ids, Scores]":
    """The passages whose rarest words weigh most together.

    The server knows which words a passage holds, but not how often and among how many others: many more are
    proposed than are wanted, with no more of each than weighing it takes.
    """
    terms = _rarest(snapshot, weights)
    rows = snapshot.rows(
        "SELECT p.id, p.node_id, p.term_hashes, p.term_counts FROM (SELECT w.passage_id"
        " FROM unnest(%(words)s::text[], %(weights)s::double precision[]) o(word, weight)"
        " JOIN words w ON to_tsvector('simple', w.words) @@ o.word::tsquery"
        f" WHERE {_scope(snapshot, 'w', nodes)} GROUP BY w.passage_id"
        " ORDER BY sum(o.weight) DESC, w.passage_id LIMIT %(limit)s) f JOIN passages p ON p.id = f.passage_id",
        planned_once=False,
        words=[word_of(term) for term in terms],
        weights=[weights[term] for term in terms],
        nodes=nodes,
        limit=max(2 * limit, _WEIGHED),
    )
    return _scored(snapshot, rows, weights)


def _scored(
    snapshot: PostgresSnapshot, rows: Sequence[tuple[int, int, bytes, bytes]], weights: Mapping[int, float]
) -> "tuple[Ids, Scores]":
    """Our own score of passages that are given by id, node, term hashes and counts."""
    known = [Known(*row, vector=b"") for row in rows]
    return overlay_of((), known).lexical(weights, snapshot.statistics(()).mean_length, None, len(known))


def _proposed(snapshot: PostgresSnapshot, found: str, *, planned_once: bool, **values: Any) -> list[PassageRow]:
    """The passages whose ids a query finds, in the same round trip."""
    source = f"({found}) o(id) JOIN passages p ON p.id = o.id"
    return snapshot.read_passages(source, planned_once=planned_once, **values)


def _rarest(snapshot: PostgresSnapshot, weights: Mapping[int, float]) -> list[int]:
    frequency = snapshot.statistics(list(weights)).frequency
    total, kept = 0, list[int]()
    for term in sorted(weights, key=lambda each: (frequency.get(each, 0), each)):
        total += frequency.get(term, 0)
        if kept and total > _RARE:
            break
        kept.append(term)
    return kept


def by_vector(
    snapshot: PostgresSnapshot, query: "NDArray[np.int8]", nodes: "Ids | None", limit: int
) -> "tuple[Ids, Scores]":
    """The nearest passages that the graph finds with their exact cosines, and those that tie with the last."""
    width, asked = len(query), limit + 1
    nearest = (
        "SELECT n.passage_id FROM vectors n"
        f" WHERE n.space = {snapshot.space} AND n.dimensions = {width} AND {_scope(snapshot, 'n', nodes)}"
        f" ORDER BY n.vector::halfvec({width}) <=> %(vector)s::halfvec({width}) LIMIT "
    )
    # A plan for any number of nodes would take them for a few, and leave the graph aside.
    values: dict[str, Any] = {
        "vector": f"[{','.join(map(str, query.tolist()))}]",
        "nodes": nodes,
        "planned_once": nodes is None,
    }
    if nodes is not None:
        _look_past(snapshot)
    while True:
        rows = _proposed(snapshot, f"{nearest}{asked}", **values)
        if len(rows) < asked and nodes is None:
            _look_past(snapshot)
            rows = _proposed(snapshot, f"{nearest}{asked}", **values)
        stored = snapshot.stored_vectors([row.id for row in rows])
        ids, matrix = bigints(stored), stacked(list(stored.values()), width)
        scores = cosines(matrix, norms(matrix), query)
        ranked = np.sort(scores)[::-1]
        if len(rows) < asked or ranked[-1] < ranked[limit - 1] * (1 - EQUAL) or asked > limit + TIES:
            return cut_at_tie(ids, scores, limit)
        asked *= 4


def _look_past(snapshot: PostgresSnapshot) -> None:
    """Look past what the view or the filter hides from now on: more of the graph is searched, and it is walked on
    until enough is found, in any order, because ours is computed afterwards.
    """
    candidates = min(_WIDEST, snapshot.state.candidates * 3 // 2)
    snapshot.link.execute(
        f"SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = {candidates}", prepare=False
    )


def breadth(candidates: int | None) -> str:
    """The expression by which a transaction that reads `state` sets how far the graph is walked, and tells it."""
    grown = f"{_CANDIDATES} * sqrt(last_passage / {_ENOUGH_FOR}.0)"
    wanted = str(candidates or f"least({_WIDEST}, greatest({_CANDIDATES}, {grown}))")
    return f"set_config('hnsw.ef_search', ({wanted})::integer::text, true)::integer"


def _scope(snapshot: PostgresSnapshot, alias: str, nodes: "Ids | None") -> str:
    passing = "" if nodes is None else f" AND {alias}.node_id = ANY(%(nodes)s::bigint[])"
    return snapshot.seen.of(alias) + passing
