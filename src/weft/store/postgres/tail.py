"""What changed after a sequence number, as a derived index reads it."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from weft.ports import Tail
from weft.store.postgres.copying import from_half_precision
from weft.store.tail import TAIL_COLUMNS, tail_passages, until_whole

if TYPE_CHECKING:
    from weft.store.postgres.snapshot import PostgresSnapshot

Kinds = Callable[[Iterable[int]], Mapping[int, str]]


def read_tail(snapshot: "PostgresSnapshot", since: int, limit: int, kinds: Kinds) -> Tail:
    """Changes after `since`, about `limit` nodes of them; reading on from the tail's sequence misses nothing.

    All that one write changed stays together, even beyond the limit: it was once in memory in one piece.
    """
    most = max(limit, 1)
    ahead = [number for number, _ in _changes(snapshot, since, None, most + 1)]
    until = until_whole(ahead[: most + 1], most)
    reached = snapshot.sequence if until is None else until
    changed = f"n.changed > %(since)s AND n.changed <= %(until)s AND {snapshot.seen.of('n')}"
    nodes = snapshot.rows(f"SELECT {TAIL_COLUMNS} FROM nodes n WHERE {changed}", since=since, until=reached)
    passages = snapshot.rows(
        "SELECT n.id, p.id, p.term_hashes, p.term_counts, halfvec_send(v.vector) FROM nodes n JOIN passages p"
        " ON p.node_id = n.id LEFT JOIN vectors v ON v.passage_id = p.id AND v.space = %(space)s"
        f" WHERE {changed} ORDER BY n.changed, n.id, p.ordinal",
        space=snapshot.space,
        since=since,
        until=reached,
    )
    void = tuple(node_id for _, node_id in _changes(snapshot, since, reached, None))
    rows = [(*row[:4], from_half_precision(row[4]) if row[4] else None) for row in passages]
    named = kinds({row[2] for row in nodes})
    return Tail(reached, void, tail_passages(nodes, rows, snapshot.seen.tenants, named), until is None)


def _changes(
    snapshot: "PostgresSnapshot", since: int, until: int | None, limit: int | None
) -> list[tuple[int, int]]:
    """(sequence number, id) of nodes changed or removed in (since, until], in order, at most so many of each.

    Whether a node is known yet at the view's point is left out on purpose: what an index holds of a changed node
    is void either way.
    """
    last = "" if until is None else " AND n.changed <= %(until)s"
    found: list[tuple[int, int]] = []
    for number, table in (("n.id", "nodes"), ("n.node_id", "tombstones")):
        found += snapshot.rows(
            f"SELECT n.changed, {number} FROM {table} n WHERE n.changed > %(since)s{last}"
            f" AND {snapshot.seen.by_tenant('n.tenant_id')} ORDER BY n.changed LIMIT %(limit)s",
            since=since,
            until=until,
            limit=limit,
        )
    return sorted(found)
