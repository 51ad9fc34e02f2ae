"""What changed after a sequence number, as a derived index reads it."""

import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from weft.ports import Tail, TailPassage
from weft.store.records import Row, facets_of, to_moment, unpacked_fields, unpacked_texts
from weft.store.visibility import Visibility

_NODE: Final = (
    "n.id, n.tenant_id, n.kind_id, n.source, n.tags, n.fields, n.sequence, n.known_from,"
    " coalesce(n.modified, n.created)"
)
_NODES: Final = "nodes n INDEXED BY nodes_changed"  # else the tenant's index is taken, and all its nodes are read


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
    nodes = connection.execute(
        f"SELECT {_NODE} FROM {_NODES} WHERE n.changed > ? AND n.changed <= ? AND {visible.of('n')}"
        " ORDER BY n.changed, n.id",
        (since, reached),
    ).fetchall()
    passages = connection.execute(
        f"SELECT n.id, p.id, p.term_hashes, p.term_counts, v.vector FROM {_NODES} CROSS JOIN passages p"
        " ON p.node_id = n.id LEFT JOIN vectors v ON v.passage_id = p.id"
        f" WHERE n.changed > ? AND n.changed <= ? AND {visible.of('n')} ORDER BY n.changed, n.id, p.ordinal",
        (since, reached),
    ).fetchall()
    changed = _changed(connection, visible, since, reached)
    return Tail(reached, changed, _passages(nodes, passages, visible, kinds), until is None)


def _until(connection: sqlite3.Connection, visible: Visibility, since: int, limit: int) -> int | None:
    """The last sequence number that fits the limit whole, or None when everything fits."""
    rows = connection.execute(
        f"SELECT changed FROM ({_changes(visible)}) ORDER BY changed LIMIT ?", (since, since, max(limit, 1) + 1)
    ).fetchall()
    if len(rows) <= max(limit, 1):
        return None
    cut = int(rows[-1][0])
    whole = [number for (number,) in rows if number < cut]
    return int(whole[-1]) if whole else cut


def _changes(visible: Visibility) -> str:
    """Changed and removed nodes of the visible tenants.

    Whether a node is known yet at the view's point is left out on purpose: what an index holds of a changed node
    is void either way.
    """
    return (
        f"SELECT n.changed, n.id FROM {_NODES} WHERE n.changed > ? AND {visible.by_tenant('n.tenant_id')}"
        f" UNION ALL SELECT t.changed, t.node_id FROM tombstones t WHERE t.changed > ?"
        f" AND {visible.by_tenant('t.tenant_id')}"
    )


def _changed(connection: sqlite3.Connection, visible: Visibility, since: int, reached: int) -> tuple[int, ...]:
    rows = connection.execute(
        f"SELECT id FROM ({_changes(visible)}) WHERE changed <= ? ORDER BY changed, id", (since, since, reached)
    )
    return tuple(node_id for (node_id,) in rows)


def _passages(
    nodes: Sequence[Row], passages: Sequence[Row], visible: Visibility, kinds: Mapping[int, str]
) -> tuple[TailPassage, ...]:
    known = {row[0]: _common(row, visible, kinds) for row in nodes}
    return tuple(
        known[node_id](id=passage_id, term_hashes=hashes, term_counts=counts, vector=vector or b"")
        for node_id, passage_id, hashes, counts, vector in passages
    )


def _common(row: Row, visible: Visibility, kinds: Mapping[int, str]) -> partial[TailPassage]:
    """What the passages of one node have in common."""
    node_id, tenant_id, kind_id, source, tags, fields, sequence, known_from, time = row
    facets = facets_of(kinds[kind_id], source, unpacked_texts(tags), unpacked_fields(fields))
    return partial(
        TailPassage,
        node_id=node_id,
        tenant=visible.tenants[tenant_id],
        facets=facets,
        sequence=sequence,
        known_from=known_from,
        time=to_moment(time),
    )
