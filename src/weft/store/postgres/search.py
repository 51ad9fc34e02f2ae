"""Create the server's search indexes and search with them.

The engines propose passages: words by BM25 or tsvector, vectors by an HNSW graph. Their order is ours: every
proposal is scored again by our own arithmetic, so that all engines agree.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.ports import PassageRow
from weft.scoring.similarity import cosines, norms, stack_rows
from weft.store.derived import MAX_TIES, SCORE_TOLERANCE, OverlayPassage, build_overlay, cut_at_tie
from weft.store.postgres.connection import Connection, fetch_rows
from weft.store.postgres.encode import bigint_array, term_word
from weft.store.postgres.snapshot import PostgresSnapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weft.ports.stores import Ids, Scores


BM25_INDEX: Final = "search_words"
TSVECTOR_INDEX: Final = "search_terms"
_MAX_GRAPH_DIMENSIONS: Final = 4000
"""pgvector builds no graph over wider halfvecs; they are compared one by one."""
_GRAPH_OPTIONS: Final = "m = 32, ef_construction = 128"
"""Twice pgvector's defaults: on texts that resemble each other a narrower graph misses too many neighbours."""
RAISE_BUILD_MEMORY: Final = (
    "SELECT set_config('maintenance_work_mem', greatest(pg_size_bytes('512MB'),"
    " pg_size_bytes(current_setting('maintenance_work_mem'))) / 1024 || 'kB', false)"
)
"""A graph that outgrows its memory is finished on disk, many times slower; a server that is set to give more keeps
its own setting."""

_BM25_MARGIN: Final = 16
"""Passages asked for beyond the limit: BM25 of the server and ours differ a little near the cut."""
_RARE_TERM_PASSAGES: Final = 20_000
"""Without BM25 the rarest terms propose, as many of them as together occur in about so many passages. A higher
number costs the server more; a lower one may leave out passages that only hold the common terms."""
_MIN_SCORED_PASSAGES: Final = 1000
"""Without BM25 at least so many proposals are scored: their order by rare terms alone is a rough one."""
_MAX_CANDIDATES: Final = 1000
"""pgvector's upper limit for `hnsw.ef_search`."""
_CANDIDATES: Final = 200
_CANDIDATES_SUFFICE_FOR: Final = 250_000
"""So many candidates find nineteen in twenty of the nearest ten among so many passages; beyond, candidates grow
with the square root of the passages."""
_GROWTH: Final = 4
"""The factor by which more proposals are asked for while the last ones still tie."""


# --- indexes ---------------------------------------------------------------------------------------------


def missing_index_statements(snapshot: PostgresSnapshot, word_search: str, exact_below: int) -> list[str]:
    """Return the statements that create the indexes which the store is large enough for and does not have."""
    made = read_indexes(snapshot)
    statements = []
    if _has_more_rows(snapshot, "words", exact_below):
        if word_search == "bm25" and BM25_INDEX not in made:
            statements.append(
                f"CREATE INDEX {BM25_INDEX} ON words USING bm25 (words) WITH (text_config = 'simple')"
            )
        if word_search != "bm25" and TSVECTOR_INDEX not in made:
            statements.append(f"CREATE INDEX {TSVECTOR_INDEX} ON words USING gin (to_tsvector('simple', words))")
    space, dimensions = snapshot.space, snapshot.state.dimensions or 0
    graph = graph_name(space, dimensions)
    if (
        graph not in made
        and 0 < dimensions <= _MAX_GRAPH_DIMENSIONS
        and _has_more_rows(snapshot, "vectors", exact_below)
    ):
        # An index that was interrupted keeps its name, and IF NOT EXISTS would leave it broken.
        if is_broken(snapshot.connection, graph):
            statements.append(f"DROP INDEX {graph}")
        statements.append(graph_statement(space, dimensions))
    return [*statements, "ANALYZE words, vectors"] if statements else []


def graph_name(space: int, dimensions: int) -> str:
    """Return the name of the index over the vectors of one embedder."""
    return f"search_vectors_{space}_{dimensions}"


def graph_statement(space: int, dimensions: int, how: str = "") -> str:
    """Return the statement that creates that index; `how` may be CONCURRENTLY."""
    return (
        f"CREATE INDEX {how} IF NOT EXISTS {graph_name(space, dimensions)} ON vectors USING hnsw"
        f" ((vector::halfvec({dimensions})) halfvec_cosine_ops) WITH ({_GRAPH_OPTIONS})"
        f" WHERE space = {space} AND dimensions = {dimensions}"
    )


def is_broken(connection: Connection, name: str) -> bool:
    """Return whether an index was left unfinished by an interruption: it is never used, and blocks its name."""
    query = "SELECT 1 FROM pg_index i WHERE i.indexrelid = to_regclass(%s) AND NOT i.indisvalid"
    return bool(fetch_rows(connection, query, (name,)))


def read_indexes(snapshot: PostgresSnapshot) -> dict[str, int]:
    """Return the bytes of the search indexes that are complete, by name."""
    rows = snapshot.rows(
        "SELECT c.relname::text, pg_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n"
        " ON n.oid = c.relnamespace JOIN pg_index i ON i.indexrelid = c.oid"
        " WHERE n.nspname = current_schema() AND i.indisvalid"
        " AND c.relname LIKE 'search\\_%%' ORDER BY 1"
    )
    return dict(rows)


def _has_more_rows(snapshot: PostgresSnapshot, table: str, than: int) -> bool:
    # The server's estimate of a table's rows is wrong right after a bulk load, which is when indexes are created.
    return bool(snapshot.rows(f"SELECT 1 FROM {table} OFFSET %(than)s LIMIT 1", than=than))


# --- searches --------------------------------------------------------------------------------------------


def search_words(
    snapshot: PostgresSnapshot, word_search: str, weights: Mapping[int, float], nodes: "Ids | None", limit: int
) -> "tuple[Ids, Scores]":
    """Return the best passages by our own score among the proposals, and those that tie with the last.

    `nodes` limits the search to passages of these nodes; None is all that the view sees.
    """
    search = _search_by_bm25 if word_search == "bm25" else _search_by_tsvector
    return cut_at_tie(*search(snapshot, weights, nodes, limit), limit)


def _search_by_bm25(
    snapshot: PostgresSnapshot, weights: Mapping[int, float], nodes: "Ids | None", limit: int
) -> "tuple[Ids, Scores]":
    """Return the passages that BM25 ranks first, more of them while the last ones still tie."""
    wanted = limit + _BM25_MARGIN
    while True:
        rows = _read_proposed(
            snapshot,
            f"SELECT w.passage_id FROM words w WHERE {_scope(snapshot, 'w', nodes)}"
            f" ORDER BY w.words <@> to_bm25query(%(words)s, '{BM25_INDEX}') LIMIT {wanted}",
            # The extension sees the limit while it plans; from a plan that is kept it would rank a thousand.
            reuse_plan=False,
            words=" ".join(map(term_word, weights)),
            nodes=nodes,
        )
        found, scores = _score(
            snapshot, [(row.id, row.node_id, row.term_hashes, row.term_counts) for row in rows], weights
        )
        ranked = np.sort(scores)[::-1]
        is_settled = len(ranked) > limit and ranked[-1] < ranked[limit - 1] * (1 - SCORE_TOLERANCE)
        if len(rows) < wanted or is_settled or wanted > limit + MAX_TIES:
            return found, scores
        wanted *= _GROWTH


def _search_by_tsvector(
    snapshot: PostgresSnapshot, weights: Mapping[int, float], nodes: "Ids | None", limit: int
) -> "tuple[Ids, Scores]":
    """Return the passages whose rarest words weigh most together.

    The server knows which words a passage holds, but not how often and among how many others: many more are
    proposed than are wanted, and only the columns that scoring takes are read.
    """
    terms = _rarest_terms(snapshot, weights)
    rows = snapshot.rows(
        "SELECT p.id, p.node_id, p.term_hashes, p.term_counts FROM (SELECT w.passage_id"
        " FROM unnest(%(words)s::text[], %(weights)s::double precision[]) o(word, weight)"
        " JOIN words w ON to_tsvector('simple', w.words) @@ o.word::tsquery"
        f" WHERE {_scope(snapshot, 'w', nodes)} GROUP BY w.passage_id"
        " ORDER BY sum(o.weight) DESC, w.passage_id LIMIT %(limit)s) f JOIN passages p ON p.id = f.passage_id",
        reuse_plan=False,
        words=[term_word(term) for term in terms],
        weights=[weights[term] for term in terms],
        nodes=nodes,
        limit=max(2 * limit, _MIN_SCORED_PASSAGES),
    )
    return _score(snapshot, rows, weights)


def _score(
    snapshot: PostgresSnapshot, rows: Sequence[tuple[int, int, bytes, bytes]], weights: Mapping[int, float]
) -> "tuple[Ids, Scores]":
    """Return our own score of passages, which are given as (id, node id, term hashes, term counts)."""
    known = [OverlayPassage(*row, vector=b"") for row in rows]
    return build_overlay((), known).lexical(weights, snapshot.statistics(()).mean_length, None, len(known))


def _read_proposed(snapshot: PostgresSnapshot, query: str, *, reuse_plan: bool, **values: Any) -> list[PassageRow]:
    """Return the passages whose ids a query finds, in the same round trip."""
    source = f"({query}) o(id) JOIN passages p ON p.id = o.id"
    return snapshot.read_passages(source, reuse_plan=reuse_plan, **values)


def _rarest_terms(snapshot: PostgresSnapshot, weights: Mapping[int, float]) -> list[int]:
    frequency = snapshot.statistics(list(weights)).frequency
    total, kept = 0, list[int]()
    # By hash among equals, so that the same terms propose every time.
    for term in sorted(weights, key=lambda term: (frequency.get(term, 0), term)):
        total += frequency.get(term, 0)
        if kept and total > _RARE_TERM_PASSAGES:
            break
        kept.append(term)
    return kept


def search_vectors(
    snapshot: PostgresSnapshot, query: "NDArray[np.int8]", nodes: "Ids | None", limit: int
) -> "tuple[Ids, Scores]":
    """Return the nearest passages that the graph finds with exact cosines, and those that tie with the last."""
    dimensions, wanted = len(query), limit + 1
    nearest = (
        "SELECT n.passage_id FROM vectors n"
        f" WHERE n.space = {snapshot.space} AND n.dimensions = {dimensions} AND {_scope(snapshot, 'n', nodes)}"
        f" ORDER BY n.vector::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) LIMIT "
    )
    values: dict[str, Any] = {
        "vector": f"[{','.join(map(str, query.tolist()))}]",
        "nodes": nodes,
        # A plan for any number of nodes would take them for a few, and not use the graph.
        "reuse_plan": nodes is None,
    }
    if nodes is not None:
        _widen_walk(snapshot)
    while True:
        rows = _read_proposed(snapshot, f"{nearest}{wanted}", **values)
        if len(rows) < wanted and nodes is None:
            # Either there are no more, or the view hides too many of those that the walk came by.
            _widen_walk(snapshot)
            rows = _read_proposed(snapshot, f"{nearest}{wanted}", **values)
        stored = snapshot.stored_vectors([row.id for row in rows])
        ids, matrix = bigint_array(stored), stack_rows(list(stored.values()), dimensions)
        scores = cosines(matrix, norms(matrix), query)
        ranked = np.sort(scores)[::-1]
        if (
            len(rows) < wanted
            or ranked[-1] < ranked[limit - 1] * (1 - SCORE_TOLERANCE)
            or wanted > limit + MAX_TIES
        ):
            return cut_at_tie(ids, scores, limit)
        wanted *= _GROWTH


def _widen_walk(snapshot: PostgresSnapshot) -> None:
    """Let the rest of the transaction search past passages that the view or the filter hides.

    More candidates are collected, and the graph is walked on until enough are found; in any order, because ours is
    computed afterwards.
    """
    candidates = min(_MAX_CANDIDATES, snapshot.state.candidates * 3 // 2)
    snapshot.connection.execute(
        f"SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = {candidates}", prepare=False
    )


def set_candidates(candidates: int | None) -> str:
    """Return the expression by which a query of `state` sets the number of candidates and returns it.

    None lets the number of passages decide.
    """
    grown = f"{_CANDIDATES} * sqrt(last_passage / {_CANDIDATES_SUFFICE_FOR}.0)"
    wanted = str(candidates or f"least({_MAX_CANDIDATES}, greatest({_CANDIDATES}, {grown}))")
    return f"set_config('hnsw.ef_search', ({wanted})::integer::text, true)::integer"


def _scope(snapshot: PostgresSnapshot, alias: str, nodes: "Ids | None") -> str:
    """Return the condition that a row belongs to the view and to one of the nodes."""
    among_nodes = "" if nodes is None else f" AND {alias}.node_id = ANY(%(nodes)s::bigint[])"
    return snapshot.visible.of(alias) + among_nodes
