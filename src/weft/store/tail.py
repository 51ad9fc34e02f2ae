"""What changed after a sequence number, as a derived index reads it."""

import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from weft.ports import Tail, TailPassage
from weft.store.records import Row, facets_of, to_moment, unpacked_fields, unpacked_texts
from weft.store.visibility import Visibility

TAIL_COLUMNS: Final = (
    "n.id, n.tenant_id, n.kind_id, n.source, n.tags, n.fields, n.sequence, n.known_from,"
    " coalesce(n.modified, n.created)"
)
# Without statistics SQLite would rather look up the tenant and sort everything.
_BY_CHANGE: Final = "nodes n INDEXED BY nodes_changed"
_LAST: Final = (1 << 63) - 1


def read_tail(
    connection: sqlite3.Connection,
    visible: Visibility,
    *,
    kinds: Mapping[int, str],
    since: int,
    limit: int,
    sequence: int,
) -> Tail:
    """Changes after `since`, about `limit` nodes of them; reading on from the tail's sequence misses nothing.

    All that one write changed stays together, even beyond the limit: it was once in memory in one piece.
    """
    until = _until(connection, visible, since, limit)
    reached = sequence if until is None else until
    span = (since, reached)
    changed = f"n.changed > ? AND n.changed <= ? AND {visible.of('n')}"
    nodes = connection.execute(f"SELECT {TAIL_COLUMNS} FROM {_BY_CHANGE} WHERE {changed}", span).fetchall()
    passages = connection.execute(
        f"SELECT n.id, p.id, p.term_hashes, p.term_counts, v.vector FROM {_BY_CHANGE} CROSS JOIN passages p"
        f" ON p.node_id = n.id LEFT JOIN vectors v ON v.passage_id = p.id WHERE {changed}"
        " ORDER BY n.changed, n.id, p.ordinal",
        span,
    ).fetchall()
    void = tuple(node_id for _, node_id in _changes(connection, visible, (*span, -1)))
    return Tail(reached, void, tail_passages(nodes, passages, visible.tenants, kinds), until is None)


def _until(connection: sqlite3.Connection, visible: Visibility, since: int, limit: int) -> int | None:
    """The last sequence number that fits the limit whole, or None when everything fits."""
    most = max(limit, 1)
    numbers = [number for number, _ in _changes(connection, visible, (since, _LAST, most + 1))[: most + 1]]
    return until_whole(numbers, most)


def until_whole(numbers: Sequence[int], most: int) -> int | None:
    """Of the next changes' sequence numbers in order, the last whose changes all fit; None when all do."""
    if len(numbers) <= most:
        return None
    whole = [number for number in numbers if number < numbers[-1]]
    return whole[-1] if whole else numbers[-1]


def _changes(
    connection: sqlite3.Connection, visible: Visibility, span: tuple[int, int, int]
) -> list[tuple[int, int]]:
    """(sequence number, id) of nodes changed or removed in (since, until], in order, at most so many of each.

    Whether a node is known yet at the view's point is left out on purpose: what an index holds of a changed node
    is void either way.
    """
    found = []
    for number, table in (("n.id", _BY_CHANGE), ("n.node_id", "tombstones n INDEXED BY tombstones_changed")):
        found += connection.execute(
            f"SELECT n.changed, {number} FROM {table} WHERE n.changed > ? AND n.changed <= ?"
            f" AND {visible.by_tenant('n.tenant_id')} ORDER BY n.changed LIMIT ?",
            span,
        ).fetchall()
    return sorted(found)


def tail_passages(
    nodes: Sequence[Row], passages: Sequence[Row], tenants: Mapping[int, str], kinds: Mapping[int, str]
) -> tuple[TailPassage, ...]:
    """Passages as an index needs them, from rows of TAIL_COLUMNS and of (node id, id, hashes, counts, vector)."""
    known = {row[0]: _common(row, tenants, kinds) for row in nodes}
    return tuple(
        known[node_id](id=passage_id, term_hashes=hashes, term_counts=counts, vector=vector or b"")
        for node_id, passage_id, hashes, counts, vector in passages
    )


def _common(row: Row, tenants: Mapping[int, str], kinds: Mapping[int, str]) -> partial[TailPassage]:
    """What the passages of one node have in common."""
    node_id, tenant_id, kind_id, source, tags, fields, sequence, known_from, time = row
    facets = facets_of(kinds[kind_id], source, unpacked_texts(tags), unpacked_fields(fields))
    return partial(
        TailPassage,
        node_id=node_id,
        tenant=tenants[tenant_id],
        facets=facets,
        sequence=sequence,
        known_from=known_from,
        time=to_moment(time),
    )
