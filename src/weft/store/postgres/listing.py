"""Edges a page at a time, what makers drew and units brought, who shares with whom, and tenants' last writes."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from weft.model import Edge
from weft.ports import Tail
from weft.store.adjacency import SHARED
from weft.store.postgres.connection import Link, rows_of
from weft.store.postgres.copy_rows import from_half_precision
from weft.store.postgres.encode import digest, name_digest
from weft.store.sqlite.listing import TAIL_COLUMNS, ListedEdge, Place, listed_edge, tail_passages, until_whole

if TYPE_CHECKING:
    from weft.store.postgres.snapshot import PostgresSnapshot


_LAST_CHARACTER: Final = "\U0010ffff"
_LONGEST_BEGINNING: Final = 300


def page_of_edges(
    snapshot: "PostgresSnapshot", after: Place, limit: int, ends: tuple[int | None, int | None] = (None, None)
) -> list[ListedEdge]:
    """The next edges by source id, type and target id; `ends` asks for one source or target."""
    seen = snapshot.seen
    wanted = "".join(
        f" AND {end}.id = {int(number)}" for end, number in zip("ab", ends, strict=True) if number is not None
    )
    rows = snapshot.rows(
        "SELECT a.id, b.id, a.tenant_id, b.tenant_id, a.key, b.key, y.name, max(e.weight),"
        " (array_agg(e.confidence ORDER BY e.weight DESC, m.name))[1],"
        " (array_agg(e.evidence ORDER BY e.weight DESC, m.name))[1],"
        " string_agg(m.name, chr(10)), e.type_id FROM nodes a JOIN edges e"
        " ON e.source_key = a.key_id JOIN keys k ON k.id = e.target_key"
        f" JOIN nodes b ON b.id = k.node_id AND {SHARED} JOIN edge_types y ON y.id = e.type_id"
        f" JOIN makers m ON m.id = e.maker_id WHERE {seen.of('a')} AND {seen.of('b')} AND a.id >= %(first)s"
        f" AND (a.id, e.type_id, b.id) > (%(first)s, %(second)s, %(third)s) {wanted}"
        " GROUP BY a.id, b.id, y.name, e.type_id ORDER BY a.id, e.type_id, b.id LIMIT %(limit)s",
        first=after[0],
        second=after[1],
        third=after[2],
        limit=limit,
    )
    return [listed_edge(row, seen.tenants) for row in rows]


def drawn_edges(link: Link, tenant: str, key: str, maker: str) -> tuple[Edge, ...]:
    """Every edge that a maker drew from one key, whether it leads to a node or not."""
    rows = rows_of(
        link,
        "SELECT b.key, y.name, e.weight, e.confidence, e.evidence, o.name FROM keys a JOIN tenants t"
        " ON t.id = a.tenant_id JOIN makers m ON md5(m.name) = %s JOIN edges e ON e.source_key = a.id"
        " AND e.maker_id = m.id JOIN keys b ON b.id = e.target_key JOIN tenants o ON o.id = b.tenant_id"
        " JOIN edge_types y ON y.id = e.type_id WHERE a.digest = %s AND a.key = %s AND md5(t.name) = %s"
        " ORDER BY y.name, b.key, o.name",
        (name_digest(maker), digest(key), key, name_digest(tenant)),
    )
    return tuple(
        Edge(key, target, name, weight, confidence, evidence, tenant, None if owner == tenant else owner)
        for target, name, weight, confidence, evidence, owner in rows
    )


def tagged_keys(snapshot: "PostgresSnapshot", tag: str) -> tuple[str, ...]:
    """The keys of the nodes that carry a tag, in order."""
    rows = snapshot.rows(
        "SELECT n.key FROM facet_names m JOIN facets f ON f.facet_id = m.id JOIN nodes n ON n.id = f.node_id"
        f" WHERE md5(m.name) = %(name)s AND {snapshot.seen.by_tenant('f.tenant_id')} ORDER BY n.key",
        name=name_digest(f"tag:{tag}"),
    )
    return tuple(key for (key,) in rows)


def tenant_versions(snapshot: "PostgresSnapshot") -> tuple[tuple[str, int], ...]:
    """For each visible tenant that holds nodes the number of the last write that touched it, by name."""
    rows = snapshot.rows(
        "SELECT s.tenant_id, coalesce(v.sequence, 0) FROM tenant_statistics s LEFT JOIN tenant_versions v"
        f" ON v.tenant_id = s.tenant_id WHERE s.nodes > 0 AND {snapshot.seen.by_tenant('s.tenant_id')}"
    )
    return tuple(sorted((snapshot.seen.tenants[tenant], sequence) for tenant, sequence in rows))


def makers_of_edges(link: Link, beginning: str) -> tuple[tuple[str, str], ...]:
    """(maker, tenant) of all edges whose maker's name begins so."""
    first = beginning[:_LONGEST_BEGINNING]
    rows = rows_of(
        link,
        "SELECT DISTINCT m.name, t.name FROM makers m JOIN edges e ON e.maker_id = m.id JOIN tenants t"
        f" ON t.id = e.tenant_id WHERE left(m.name, {_LONGEST_BEGINNING}) >= %s"
        f" AND left(m.name, {_LONGEST_BEGINNING}) <= %s AND starts_with(m.name, %s) ORDER BY m.name, t.name",
        (first, first + _LAST_CHARACTER, beginning),
    )
    return tuple((maker, tenant) for maker, tenant in rows)


def stamps(link: Link, tenant: str, source: str) -> dict[str, str]:
    """Remembered stamp of each unit of a source."""
    query = (
        "SELECT u.unit, u.stamp FROM units u JOIN tenants t ON t.id = u.tenant_id"
        " WHERE md5(t.name) = md5(%s) AND md5(u.source) = md5(%s) ORDER BY u.unit"
    )
    return dict(rows_of(link, query, (tenant, source)))


def keys_of_unit(link: Link, source: str, unit: str) -> tuple[tuple[str, str], ...]:
    """(tenant, key) of the nodes a unit brought."""
    query = (
        "SELECT t.name, n.key FROM nodes n JOIN tenants t ON t.id = n.tenant_id WHERE md5(n.unit) = md5(%s)"
        " AND n.source = %s ORDER BY t.name, n.key"
    )
    return tuple((tenant, key) for tenant, key in rows_of(link, query, (unit, source)))


def shared_by(link: Link, tenant: str) -> tuple[str, ...]:
    """The tenants that a tenant's links may point to, by name."""
    return _sharers(link, "t.name", "o.name", tenant)


def sharing_with(link: Link, tenant: str) -> tuple[str, ...]:
    """The tenants whose links may point to a tenant, by name."""
    return _sharers(link, "o.name", "t.name", tenant)


def _sharers(link: Link, given: str, wanted: str, tenant: str) -> tuple[str, ...]:
    query = (
        f"SELECT {wanted} FROM shared s JOIN tenants t ON t.id = s.tenant_id JOIN tenants o"
        f" ON o.id = s.shared_id WHERE md5({given}) = md5(%s) ORDER BY {wanted}"
    )
    return tuple(name for (name,) in rows_of(link, query, (tenant,)))


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
