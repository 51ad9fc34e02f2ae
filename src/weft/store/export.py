"""Read a whole store: all nodes or names in pages, and everything in batches for a copy in another store.

Between two pages no transaction stays open, so that a long reading never holds up a writer. The SQL is the same
for every engine; a store only says how its rows are read.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, Protocol, TypeAlias

import xxhash
from msgspec import Struct
from msgspec.structs import replace

from weft.model import Alias, AliasSet, Edge, EdgeSet
from weft.ports import (
    Changes,
    ExportBatch,
    Fingerprint,
    NameRow,
    NodeRow,
    PreparedNode,
    PreparedPassage,
    Snapshot,
    StoreState,
)
from weft.store.records import NODE_COLUMNS, PASSAGE_COLUMNS, Row, read_nodes, read_passages

_NODES_PER_PAGE: Final = 500
"""Nodes with their texts that are in memory at once: some megabytes."""
_NAMES_PER_PAGE: Final = 10_000
"""Names are short, so a page holds more of them."""
_ROWS_PER_DIGEST_PAGE: Final = 10_000
"""Nodes, or keys with their edges, that are in memory at once while a fingerprint is computed."""
_64_BITS: Final = (1 << 64) - 1
"""Sums of hashes wrap around, so that a fingerprint has the same length for any number of nodes."""
# In an order that does not depend on numbers, so that equal stores are written in the same way.
_EDGE_QUERY: Final = (
    "a.tenant_id, m.name, a.key, b.key, b.tenant_id, y.name, e.weight, e.confidence, e.evidence FROM {start}"
    " JOIN edges e ON e.source_key = a.id JOIN makers m ON m.id = e.maker_id JOIN keys b ON b.id = e.target_key"
    " JOIN edge_types y ON y.id = e.type_id WHERE {where} ORDER BY m.name, a.key, y.name, b.key, b.tenant_id"
)

Selection: TypeAlias = Callable[[str], str]
"""Returns the condition by which nodes are selected, for the column that holds their ids."""
LinkedAliases: TypeAlias = dict[tuple[str, str], dict[str, list[Alias]]]
"""Aliases that linkers made, by maker and tenant, then by key."""


class Paged(Protocol):
    """A snapshot that is read in pages by rising id."""

    def page_of_nodes(self, after_id: int, limit: int) -> Sequence[NodeRow]: ...

    def page_of_names(self, after_id: int, limit: int) -> Sequence[tuple[int, NameRow]]: ...


OpenSnapshot: TypeAlias = Callable[[], AbstractContextManager[Paged]]


# --- pages -----------------------------------------------------------------------------------------------


def nodes_in_pages(open_snapshot: OpenSnapshot, after_id: int = 0) -> Iterator[NodeRow]:
    """Yield the nodes after an id, each page from its own snapshot."""
    while True:
        with open_snapshot() as snapshot:
            page = snapshot.page_of_nodes(after_id, _NODES_PER_PAGE)
        yield from page
        # A short page is the last one; to ask for another would open a snapshot for nothing.
        if len(page) < _NODES_PER_PAGE:
            return
        after_id = page[-1].node.id


def names_in_pages(open_snapshot: OpenSnapshot) -> Iterator[NameRow]:
    """Yield the names of every node, each page from its own snapshot."""
    after_id = 0
    while True:
        with open_snapshot() as snapshot:
            page = snapshot.page_of_names(after_id, _NAMES_PER_PAGE)
        yield from (row for _, row in page)
        if len(page) < _NAMES_PER_PAGE:
            return
        after_id = page[-1][0]


# --- batches ---------------------------------------------------------------------------------------------


class ExportReader(Struct, frozen=True):
    """A store as exporting reads it: its rows, its names by number, and where importance and vectors are.

    `importance` names the table that holds the importance of nodes.
    """

    snapshot: Snapshot
    rows: Callable[[str], Sequence[Row]]
    tenants: Mapping[int, str]
    kinds: Mapping[int, str]
    importance: str
    vectors: Callable[[Selection], Mapping[int, bytes]]
    """Returns vectors by passage id for the selected nodes."""


class ExportableStore(ABC):
    """A store that can be copied into another, once it implements how it is read as a whole."""

    @abstractmethod
    def open_for_export(self) -> AbstractContextManager[ExportReader]:
        """Open the whole store as exporting reads it, at one moment, for the block."""

    def state(self) -> StoreState:
        """Return what the store remembers beside nodes and edges."""
        with self.open_for_export() as reader:
            return _read_state(reader)

    def count_nodes_after(self, after_id: int) -> int:
        """Return how many nodes come after an id."""
        with self.open_for_export() as reader:
            return int(reader.rows(f"SELECT count(*) FROM nodes WHERE id > {after_id}")[0][0])

    def next_batch(self, after_id: int, limit: int) -> ExportBatch | None:
        """Return the next nodes by id with all that starts at them, or None when there are no more."""
        with self.open_for_export() as reader:
            return _read_batch(reader, after_id, limit)

    def dangling_edges(self) -> Changes:
        """Return the edges that start at keys without a node, which no batch holds."""
        with self.open_for_export() as reader:
            rows = reader.rows(f"SELECT {_EDGE_QUERY.format(start='keys a', where='a.node_id IS NULL')}")
            return Changes(edges=_edge_sets(reader, rows))

    def fingerprint(self) -> Fingerprint:
        """Return counts and a digest of all nodes and edges."""
        with self.open_for_export() as reader:
            return _compute_fingerprint(reader)


def _read_state(reader: ExportReader) -> StoreState:
    units = reader.rows("SELECT tenant_id, source, unit, stamp FROM units")
    shared: dict[str, list[str]] = {}
    for tenant_id, other_id in reader.rows("SELECT tenant_id, shared_id FROM shared"):
        shared.setdefault(reader.tenants[tenant_id], []).append(reader.tenants[other_id])
    return StoreState(
        reader.snapshot.identity,
        reader.snapshot.sequence,
        int(reader.rows("SELECT count(*) FROM nodes")[0][0]),
        reader.snapshot.embedder(),
        tuple(sorted((reader.tenants[tenant_id], *rest) for tenant_id, *rest in units)),
        {tenant: tuple(sorted(others)) for tenant, others in sorted(shared.items())},
    )


def _read_batch(reader: ExportReader, after: int, limit: int) -> ExportBatch | None:
    ids = reader.rows(f"SELECT n.id FROM nodes n WHERE n.id > {after} ORDER BY n.id LIMIT {limit}")
    if not ids:
        return None
    last = int(ids[-1][0])
    # A span of ids reads every table by one range, however many nodes lie in it.
    return ExportBatch(last, read_selected(reader, _within(after, last)))


def read_selected(reader: ExportReader, selected: Selection) -> Changes:
    """Return the selected nodes as they were written, with the edges and aliases that start at them."""
    prepared, linked = _read_nodes(reader, selected)
    start = "nodes n JOIN keys a ON a.id = n.key_id"
    edges = reader.rows(f"SELECT {_EDGE_QUERY.format(start=start, where=selected('n.id'))}")
    return Changes(upserts=prepared, edges=_edge_sets(reader, edges), aliases=_alias_sets(linked))


def read_keys(reader: ExportReader, key_ids: Sequence[int]) -> tuple[EdgeSet, ...]:
    """Return the edges that start at some keys, with or without a node."""
    where = f"a.id IN ({', '.join(map(str, key_ids)) or 'NULL'})"
    return _edge_sets(reader, reader.rows(f"SELECT {_EDGE_QUERY.format(start='keys a', where=where)}"))


def _within(after: int, last: int) -> Selection:
    return lambda column: f"{column} > {after} AND {column} <= {last}"


def _read_nodes(reader: ExportReader, selected: Selection) -> tuple[tuple[PreparedNode, ...], LinkedAliases]:
    """Return the selected nodes as they were written, and the aliases that linkers made for them."""
    rows = reader.rows(
        f"SELECT {NODE_COLUMNS}, n.content_hash, n.unit FROM nodes n JOIN {reader.importance} i"
        f" ON i.node_id = n.id WHERE {selected('n.id')} ORDER BY n.id"
    )
    nodes = read_nodes((row[:-2] for row in rows), reader.tenants, reader.kinds, {})
    own, by_maker = _read_aliases(reader, selected)
    passages = _read_passages(reader, selected)
    found, linked = [], LinkedAliases()
    for row in rows:
        node_id, content_hash, unit = row[0], row[-2], row[-1]
        stored = nodes[node_id]
        # The id is of this store; the other one gives its own.
        node = replace(stored.node, aliases=tuple(own.get(node_id, ())), id=0)
        parts = tuple(passages.get(node_id, ()))
        found.append(PreparedNode(node, content_hash, parts, stored.text_tokens, stored.sketch, unit))
        for maker, aliases in by_maker.get(node_id, {}).items():
            linked.setdefault((maker, node.tenant), {})[node.key] = aliases
    return tuple(found), linked


def _read_aliases(
    reader: ExportReader, selected: Selection
) -> tuple[dict[int, list[Alias]], dict[int, dict[str, list[Alias]]]]:
    """Return the aliases that came with the nodes, by node, and those that linkers made, by node and maker."""
    own: dict[int, list[Alias]] = {}
    by_maker: dict[int, dict[str, list[Alias]]] = {}
    for node_id, text, maker, confidence, is_own in reader.rows(
        "SELECT a.node_id, a.alias, m.name, a.confidence, a.own FROM aliases a JOIN makers m ON m.id = a.maker_id"
        f" WHERE {selected('a.node_id')} ORDER BY a.node_id, a.alias, m.name"
    ):
        alias = Alias(text, maker, confidence)
        if is_own:
            own.setdefault(node_id, []).append(alias)
        else:
            by_maker.setdefault(node_id, {}).setdefault(maker, []).append(alias)
    return own, by_maker


def _read_passages(reader: ExportReader, selected: Selection) -> dict[int, list[PreparedPassage]]:
    vectors = reader.vectors(selected)
    found: dict[int, list[PreparedPassage]] = {}
    rows = reader.rows(
        f"SELECT {PASSAGE_COLUMNS}, p.snippets FROM passages p WHERE {selected('p.node_id')}"
        " ORDER BY p.node_id, p.ordinal"
    )
    for row, snippets in zip(read_passages(row[:-1] for row in rows), [row[-1] for row in rows], strict=True):
        prepared = PreparedPassage(
            row.passage,
            row.term_hashes,
            row.term_counts,
            row.length,
            vectors.get(row.id, b""),
            bytes(snippets or b""),
        )
        found.setdefault(row.node_id, []).append(prepared)
    return found


def _edge_sets(reader: ExportReader, rows: Sequence[Row]) -> tuple[EdgeSet, ...]:
    """Return the edges as sets by maker and tenant; the scope of each set are the keys that its edges start at."""
    sets: dict[tuple[str, str], list[Edge]] = {}
    for tenant_id, maker, source, target, target_id, name, weight, confidence, evidence in rows:
        tenant = reader.tenants[tenant_id]
        target_tenant = None if target_id == tenant_id else reader.tenants[target_id]
        edge = Edge(source, target, name, weight, confidence, evidence, tenant, target_tenant)
        sets.setdefault((maker, tenant), []).append(edge)
    return tuple(
        EdgeSet(maker, tenant, tuple(edges), tuple(dict.fromkeys(edge.source for edge in edges)))
        for (maker, tenant), edges in sets.items()
    )


def _alias_sets(linked: LinkedAliases) -> tuple[AliasSet, ...]:
    return tuple(
        AliasSet(maker, tenant, {key: tuple(aliases) for key, aliases in by_key.items()}, tuple(by_key))
        for (maker, tenant), by_key in linked.items()
    )


# --- comparing -------------------------------------------------------------------------------------------


def _compute_fingerprint(reader: ExportReader) -> Fingerprint:
    """Count all nodes and edges and add up their hashes; sums do not depend on the order of storage."""
    nodes = node_digest = 0
    for tenant_id, key, content_hash in _node_rows(reader):
        nodes += 1
        node_digest = node_digest + _hash_texts(reader.tenants[tenant_id], key, content_hash) & _64_BITS
    edges = edge_digest = 0
    for page in _edge_pages(reader):
        for tenant_id, maker, source, target, target_id, *rest in page:
            edges += 1
            named = (reader.tenants[tenant_id], maker, source, target, reader.tenants[target_id])
            # repr() is the shortest text that gives a float back exactly, so engines agree on it.
            edge_digest = edge_digest + _hash_texts(*named, *map(repr, rest)) & _64_BITS
    return Fingerprint(nodes, edges, f"{node_digest:016x}{edge_digest:016x}")


def _node_rows(reader: ExportReader) -> Iterator[Row]:
    after = 0
    while rows := reader.rows(
        f"SELECT n.tenant_id, n.key, n.content_hash, n.id FROM nodes n WHERE n.id > {after} ORDER BY n.id"
        f" LIMIT {_ROWS_PER_DIGEST_PAGE}"
    ):
        yield from (row[:3] for row in rows)
        after = rows[-1][3]


def _edge_pages(reader: ExportReader) -> Iterator[Sequence[Row]]:
    # By key and not by node, because an edge may start at a key without a node.
    last = reader.rows("SELECT coalesce(max(id), 0) FROM keys")[0][0]
    for start in range(0, last, _ROWS_PER_DIGEST_PAGE):
        selected = _within(start, start + _ROWS_PER_DIGEST_PAGE)
        yield reader.rows(f"SELECT {_EDGE_QUERY.format(start='keys a', where=selected('a.id'))}")


def _hash_texts(*parts: str) -> int:
    return xxhash.xxh64_intdigest("\0".join(parts).encode("utf-8"))
