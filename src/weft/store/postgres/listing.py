"""List what no search needs: edges by page and by maker, keys by tag and unit, sharing, and recent changes.

Called by `PostgresStore` for maintenance, linking and export, and by indexes that catch up with the changes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from weft.model import Edge
from weft.ports import Graph, RecentChanges
from weft.store.links import SHARED_CONDITION, graph_from_lists
from weft.store.postgres.connection import Connection, fetch_rows
from weft.store.postgres.encode import bigint_array, digest, from_halfvec, name_md5
from weft.store.records import (
    TAIL_COLUMNS,
    EdgeCursor,
    ListedEdge,
    Row,
    last_whole_sequence,
    listed_edge,
    tail_passages,
)

if TYPE_CHECKING:
    from weft.store.postgres.snapshot import PostgresSnapshot


_LAST_CHARACTER: Final = "\U0010ffff"
"""No text sorts behind a prefix followed by this character."""
_INDEXED_PREFIX_LENGTH: Final = 300
"""The characters of a maker's name that the index `makers_beginning` holds; it must say the same."""

KindNames: TypeAlias = Callable[[Iterable[int]], Mapping[int, str]]


def page_of_edges(
    snapshot: "PostgresSnapshot", after: EdgeCursor, limit: int, ends: tuple[int | None, int | None] = (None, None)
) -> list[ListedEdge]:
    """Return the next edges by source id, type and target id; `ends` limits them to one source or target."""
    visible = snapshot.visible
    one_end = "".join(
        f" AND {end}.id = {int(number)}" for end, number in zip("ab", ends, strict=True) if number is not None
    )
    rows = snapshot.rows(
        "SELECT a.id, b.id, a.tenant_id, b.tenant_id, a.key, b.key, y.name, max(e.weight),"
        # The values of the strongest edge, ties by its maker's name.
        " (array_agg(e.confidence ORDER BY e.weight DESC, m.name))[1],"
        " (array_agg(e.evidence ORDER BY e.weight DESC, m.name))[1],"
        " string_agg(m.name, chr(10)), e.type_id FROM nodes a JOIN edges e"
        " ON e.source_key = a.key_id JOIN keys k ON k.id = e.target_key"
        f" JOIN nodes b ON b.id = k.node_id AND {SHARED_CONDITION} JOIN edge_types y ON y.id = e.type_id"
        f" JOIN makers m ON m.id = e.maker_id WHERE {visible.of('a')} AND {visible.of('b')} AND a.id >= %(first)s"
        f" AND (a.id, e.type_id, b.id) > (%(first)s, %(second)s, %(third)s) {one_end}"
        " GROUP BY a.id, b.id, y.name, e.type_id ORDER BY a.id, e.type_id, b.id LIMIT %(limit)s",
        first=after[0],
        second=after[1],
        third=after[2],
        limit=limit,
    )
    return [listed_edge(row, visible.tenants) for row in rows]


def drawn_edges(connection: Connection, tenant: str, key: str, maker: str) -> tuple[Edge, ...]:
    """Return every edge that a maker drew from one key, whether it leads to a node or not."""
    rows = fetch_rows(
        connection,
        "SELECT b.key, y.name, e.weight, e.confidence, e.evidence, o.name FROM keys a JOIN tenants t"
        " ON t.id = a.tenant_id JOIN makers m ON md5(m.name) = %s JOIN edges e ON e.source_key = a.id"
        " AND e.maker_id = m.id JOIN keys b ON b.id = e.target_key JOIN tenants o ON o.id = b.tenant_id"
        " JOIN edge_types y ON y.id = e.type_id WHERE a.digest = %s AND a.key = %s AND md5(t.name) = %s"
        " ORDER BY y.name, b.key, o.name",
        (name_md5(maker), digest(key), key, name_md5(tenant)),
    )
    return tuple(
        Edge(key, target, name, weight, confidence, evidence, tenant, None if owner == tenant else owner)
        for target, name, weight, confidence, evidence, owner in rows
    )


def tagged_keys(snapshot: "PostgresSnapshot", tag: str, kinds: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the keys of the nodes that carry a tag, in order, if given only those of some kinds."""
    of_kinds = " AND n.kind_id IN (SELECT id FROM kinds WHERE name = ANY(%(kinds)s))" if kinds else ""
    rows = snapshot.rows(
        "SELECT n.key FROM facet_names m JOIN facets f ON f.facet_id = m.id JOIN nodes n ON n.id = f.node_id"
        f" WHERE md5(m.name) = %(name)s AND {snapshot.visible.by_tenant('f.tenant_id')}{of_kinds} ORDER BY n.key",
        name=name_md5(f"tag:{tag}"),
        kinds=list(kinds),
    )
    return tuple(key for (key,) in rows)


def read_graph(snapshot: "PostgresSnapshot") -> Graph:
    """Return the nodes of the view's one tenant and the links between them."""
    visible = snapshot.visible
    nodes = snapshot.rows(
        # Of the few texts with the word, the second condition takes those where it names a field.
        "SELECT n.id, n.key, CASE WHEN position('\"importance\"' in n.fields) > 0"
        " THEN jsonb_exists(n.fields::jsonb, 'importance') ELSE false END"
        f" FROM nodes n WHERE {visible.of('n')}"
    )
    lists = snapshot.rows(
        "SELECT l.node_id, l.degree, l.packed FROM adjacency l"
        f" WHERE {visible.by_tenant('l.tenant_id')} AND {visible.by_tenant('l.owner_tenant_id')}"
    )
    return graph_from_lists(nodes, lists, partial(_read_links_between, snapshot))


def _read_links_between(snapshot: "PostgresSnapshot", ids: Sequence[int]) -> list[Row]:
    return snapshot.rows(
        "SELECT a.id, k.node_id, e.weight FROM nodes a JOIN edges e ON e.source_key = a.key_id"
        " JOIN keys k ON k.id = e.target_key WHERE a.id = ANY(%(ids)s) AND k.node_id = ANY(%(ids)s)",
        ids=bigint_array(ids),
    )


def tenant_versions(snapshot: "PostgresSnapshot") -> tuple[tuple[str, int], ...]:
    """Return for each visible tenant with nodes, by name, the number of the last write that touched it."""
    rows = snapshot.rows(
        "SELECT s.tenant_id, coalesce(v.sequence, 0) FROM tenant_statistics s LEFT JOIN tenant_versions v"
        f" ON v.tenant_id = s.tenant_id WHERE s.nodes > 0 AND {snapshot.visible.by_tenant('s.tenant_id')}"
    )
    return tuple(sorted((snapshot.visible.tenants[tenant], sequence) for tenant, sequence in rows))


def read_edge_makers(connection: Connection, prefix: str) -> tuple[tuple[str, str], ...]:
    """Return (maker, tenant) of all edges whose maker's name begins with a prefix."""
    # The index narrows the makers down by the characters it holds; `starts_with` compares the whole prefix.
    indexed = prefix[:_INDEXED_PREFIX_LENGTH]
    rows = fetch_rows(
        connection,
        "SELECT DISTINCT m.name, t.name FROM makers m JOIN edges e ON e.maker_id = m.id JOIN tenants t"
        f" ON t.id = e.tenant_id WHERE left(m.name, {_INDEXED_PREFIX_LENGTH}) >= %s"
        f" AND left(m.name, {_INDEXED_PREFIX_LENGTH}) <= %s AND starts_with(m.name, %s) ORDER BY m.name, t.name",
        (indexed, indexed + _LAST_CHARACTER, prefix),
    )
    return tuple((maker, tenant) for maker, tenant in rows)


def read_unit_stamps(connection: Connection, tenant: str, source: str) -> dict[str, str]:
    """Return the stored stamp of each unit of a source."""
    query = (
        "SELECT u.unit, u.stamp FROM units u JOIN tenants t ON t.id = u.tenant_id"
        " WHERE md5(t.name) = md5(%s) AND md5(u.source) = md5(%s) ORDER BY u.unit"
    )
    return dict(fetch_rows(connection, query, (tenant, source)))


def read_unit_keys(connection: Connection, source: str, unit: str) -> tuple[tuple[str, str], ...]:
    """Return (tenant, key) of the nodes that a unit brought."""
    query = (
        "SELECT t.name, n.key FROM nodes n JOIN tenants t ON t.id = n.tenant_id WHERE md5(n.unit) = md5(%s)"
        " AND n.source = %s ORDER BY t.name, n.key"
    )
    return tuple((tenant, key) for tenant, key in fetch_rows(connection, query, (unit, source)))


def read_shared_tenants(connection: Connection, tenant: str) -> tuple[str, ...]:
    """Return the tenants that a tenant's links may point to, by name."""
    return _read_sharing(connection, "t.name", "o.name", tenant)


def read_linking_tenants(connection: Connection, tenant: str) -> tuple[str, ...]:
    """Return the tenants whose links may point to a tenant, by name."""
    return _read_sharing(connection, "o.name", "t.name", tenant)


def _read_sharing(connection: Connection, fixed: str, listed: str, tenant: str) -> tuple[str, ...]:
    query = (
        f"SELECT {listed} FROM shared s JOIN tenants t ON t.id = s.tenant_id JOIN tenants o"
        f" ON o.id = s.shared_id WHERE md5({fixed}) = md5(%s) ORDER BY {listed}"
    )
    return tuple(name for (name,) in fetch_rows(connection, query, (tenant,)))


def read_tail(snapshot: "PostgresSnapshot", since: int, limit: int, kinds: KindNames) -> RecentChanges:
    """Return the changes after `since`, about `limit` nodes of them; the next tail goes on from its sequence.

    Nodes that one write changed stay together even beyond the limit: they fitted into memory when it was written.
    """
    most = max(limit, 1)
    # One change more than allowed tells whether the limit cuts a write in two.
    sequences = [sequence for sequence, _ in _read_changes(snapshot, since, None, most + 1)]
    until = last_whole_sequence(sequences[: most + 1], most)
    reached = snapshot.sequence if until is None else until
    changed = f"n.changed > %(since)s AND n.changed <= %(until)s AND {snapshot.visible.of('n')}"
    nodes = snapshot.rows(f"SELECT {TAIL_COLUMNS} FROM nodes n WHERE {changed}", since=since, until=reached)
    passages = snapshot.rows(
        "SELECT n.id, p.id, p.term_hashes, p.term_counts, halfvec_send(v.vector) FROM nodes n JOIN passages p"
        " ON p.node_id = n.id LEFT JOIN vectors v ON v.passage_id = p.id AND v.space = %(space)s"
        f" WHERE {changed} ORDER BY n.changed, n.id, p.ordinal",
        space=snapshot.space,
        since=since,
        until=reached,
    )
    changed_nodes = tuple(node_id for _, node_id in _read_changes(snapshot, since, reached, None))
    # An index stores int8 vectors, whatever form the engine keeps them in.
    rows = [(*row[:4], from_halfvec(row[4]) if row[4] else None) for row in passages]
    kind_names = kinds({row[2] for row in nodes})
    found = tail_passages(nodes, rows, snapshot.visible.tenants, kind_names)
    return RecentChanges(reached, changed_nodes, found, until is None)


def _read_changes(
    snapshot: "PostgresSnapshot", since: int, until: int | None, limit: int | None
) -> list[tuple[int, int]]:
    """Return (sequence number, id) of nodes changed or removed in (since, until], in order.

    At most `limit` of each are read. `as_of` is ignored on purpose: an index must drop its passages of a changed
    node, whether the view knows the node already or not.
    """
    last = "" if until is None else " AND n.changed <= %(until)s"
    found: list[tuple[int, int]] = []
    for column, table in (("n.id", "nodes"), ("n.node_id", "tombstones")):
        found += snapshot.rows(
            f"SELECT n.changed, {column} FROM {table} n WHERE n.changed > %(since)s{last}"
            f" AND {snapshot.visible.by_tenant('n.tenant_id')} ORDER BY n.changed LIMIT %(limit)s",
            since=since,
            until=until,
            limit=limit,
        )
    return sorted(found)
