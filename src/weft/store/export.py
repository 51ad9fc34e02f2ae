"""All nodes of a tenant, or all names, a page at a time, so that no transaction stays open in between."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Final, Protocol, TypeAlias

import xxhash

from weft.frozen import dataclass
from weft.model import Alias, AliasSet, Edge, EdgeSet
from weft.ports import (
    Books,
    Changes,
    Fingerprint,
    NameRow,
    NodeRow,
    Portion,
    PreparedNode,
    PreparedPassage,
    Snapshot,
)
from weft.store.records import NODE_COLUMNS, PASSAGE_COLUMNS, Row, node_rows, passage_rows

_NODES: Final = 500
_NAMES: Final = 10_000


class Paged(Protocol):
    """A snapshot that is read in pages by rising id."""

    def page_of_nodes(self, after_id: int, limit: int) -> Sequence[NodeRow]: ...

    def page_of_names(self, after_id: int, limit: int) -> Sequence[tuple[int, NameRow]]: ...


Opening: TypeAlias = Callable[[], AbstractContextManager[Paged]]


def nodes_in_pages(opening: Opening, after_id: int = 0) -> Iterator[NodeRow]:
    """The nodes after an id, each page from a snapshot of its own."""
    while True:
        with opening() as snapshot:
            page = snapshot.page_of_nodes(after_id, _NODES)
        yield from page
        if len(page) < _NODES:
            return
        after_id = page[-1].node.id


def names_in_pages(opening: Opening) -> Iterator[NameRow]:
    """What every node is called, each page from a snapshot of its own."""
    after_id = 0
    while True:
        with opening() as snapshot:
            page = snapshot.page_of_names(after_id, _NAMES)
        yield from (row for _, row in page)
        if len(page) < _NAMES:
            return
        after_id = page[-1][0]


_AT_ONCE: Final = 10_000
_MASK: Final = (1 << 64) - 1
_EDGE: Final = (
    "a.tenant_id, m.name, a.key, b.key, b.tenant_id, y.name, e.weight, e.confidence, e.evidence FROM {start}"
    " JOIN edges e ON e.source_key = a.id JOIN makers m ON m.id = e.maker_id JOIN keys b ON b.id = e.target_key"
    " JOIN edge_types y ON y.id = e.type_id WHERE {where} ORDER BY m.name, a.key, y.name, b.key, b.tenant_id"
)


@dataclass(frozen=True, slots=True)
class Shelf:
    """A store as exporting reads it: its rows, its names by number, and where importance and vectors are."""

    snapshot: Snapshot
    rows: Callable[[str], Sequence[Row]]
    tenants: Mapping[int, str]
    kinds: Mapping[int, str]
    importance: str
    vectors: Callable[[int, int], Mapping[int, bytes]]
    """Vectors by passage of the nodes after the first and up to the second number."""


class HandingOut(ABC):
    """A store that hands itself out, to be copied into another, once it says how its shelf is opened."""

    @abstractmethod
    def shelf(self) -> AbstractContextManager[Shelf]:
        """The whole store as exporting reads it, at one moment, for the block."""

    def books(self) -> Books:
        """What the store remembers beside nodes and edges."""
        with self.shelf() as shelf:
            return _books(shelf)

    def left(self, after_id: int) -> int:
        """How many nodes come after an id."""
        with self.shelf() as shelf:
            return int(shelf.rows(f"SELECT count(*) FROM nodes WHERE id > {after_id}")[0][0])

    def portion(self, after_id: int, limit: int) -> Portion | None:
        """The next nodes by id with all that starts at them, or None when there are no more."""
        with self.shelf() as shelf:
            return _portion(shelf, after_id, limit)

    def strays(self) -> Changes:
        """The edges that start at keys without a node, which no portion holds."""
        with self.shelf() as shelf:
            rows = shelf.rows(f"SELECT {_EDGE.format(start='keys a', where='a.node_id IS NULL')}")
            return Changes(edges=_edge_sets(shelf, rows))

    def fingerprint(self) -> Fingerprint:
        """Counts and a digest of all nodes and edges."""
        with self.shelf() as shelf:
            return _fingerprint(shelf)


def _books(shelf: Shelf) -> Books:
    units = shelf.rows("SELECT tenant_id, source, unit, stamp FROM units")
    shared: dict[str, list[str]] = {}
    for tenant_id, other_id in shelf.rows("SELECT tenant_id, shared_id FROM shared"):
        shared.setdefault(shelf.tenants[tenant_id], []).append(shelf.tenants[other_id])
    return Books(
        shelf.snapshot.identity,
        shelf.snapshot.sequence,
        int(shelf.rows("SELECT count(*) FROM nodes")[0][0]),
        shelf.snapshot.embedder(),
        tuple(sorted((shelf.tenants[tenant_id], *rest) for tenant_id, *rest in units)),
        {tenant: tuple(sorted(others)) for tenant, others in sorted(shared.items())},
    )


def _portion(shelf: Shelf, after: int, limit: int) -> Portion | None:
    ids = shelf.rows(f"SELECT n.id FROM nodes n WHERE n.id > {after} ORDER BY n.id LIMIT {limit}")
    if not ids:
        return None
    span = (after, int(ids[-1][0]))
    prepared, given = _prepared(shelf, span)
    edges = shelf.rows(
        f"SELECT {_EDGE.format(start='nodes n JOIN keys a ON a.id = n.key_id', where=_within('n.id', span))}"
    )
    changes = Changes(upserts=prepared, edges=_edge_sets(shelf, edges), aliases=_alias_sets(given))
    return Portion(span[1], changes)


def _within(column: str, span: tuple[int, int]) -> str:
    return f"{column} > {span[0]} AND {column} <= {span[1]}"


_Given = dict[tuple[str, str], dict[str, list[Alias]]]
"""Aliases that linkers gave, by maker and tenant, then by key."""


def _prepared(shelf: Shelf, span: tuple[int, int]) -> tuple[tuple[PreparedNode, ...], _Given]:
    rows = shelf.rows(
        f"SELECT {NODE_COLUMNS}, n.content_hash, n.unit FROM nodes n JOIN {shelf.importance} i ON i.node_id = n.id"
        f" WHERE {_within('n.id', span)} ORDER BY n.id"
    )
    nodes = node_rows((row[:-2] for row in rows), shelf.tenants, shelf.kinds, {})
    own, given = _aliases(shelf, span)
    passages = _passages(shelf, span)
    found, drawn = [], _Given()
    for row in rows:
        number, content_hash, unit = row[0], row[-2], row[-1]
        stored = nodes[number]
        node = replace(stored.node, aliases=tuple(own.get(number, ())), id=0)
        held = tuple(passages.get(number, ()))
        found.append(PreparedNode(node, content_hash, held, stored.text_tokens, stored.sketch, unit))
        for maker, aliases in given.get(number, {}).items():
            drawn.setdefault((maker, node.tenant), {})[node.key] = aliases
    return tuple(found), drawn


def _aliases(
    shelf: Shelf, span: tuple[int, int]
) -> tuple[dict[int, list[Alias]], dict[int, dict[str, list[Alias]]]]:
    """The aliases that came with the nodes, and those that linkers gave."""
    own: dict[int, list[Alias]] = {}
    given: dict[int, dict[str, list[Alias]]] = {}
    for number, text, maker, confidence, is_own in shelf.rows(
        "SELECT a.node_id, a.alias, m.name, a.confidence, a.own FROM aliases a JOIN makers m ON m.id = a.maker_id"
        f" WHERE {_within('a.node_id', span)} ORDER BY a.node_id, a.alias, m.name"
    ):
        alias = Alias(text, maker, confidence)
        (own.setdefault(number, []) if is_own else given.setdefault(number, {}).setdefault(maker, [])).append(
            alias
        )
    return own, given


def _passages(shelf: Shelf, span: tuple[int, int]) -> dict[int, list[PreparedPassage]]:
    vectors = shelf.vectors(*span)
    found: dict[int, list[PreparedPassage]] = {}
    rows = shelf.rows(
        f"SELECT {PASSAGE_COLUMNS} FROM passages p WHERE {_within('p.node_id', span)}"
        " ORDER BY p.node_id, p.ordinal"
    )
    for row in passage_rows(rows):
        vector = vectors.get(row.id, b"")
        prepared = PreparedPassage(row.passage, row.term_hashes, row.term_counts, row.length, vector)
        found.setdefault(row.node_id, []).append(prepared)
    return found


def _edge_sets(shelf: Shelf, rows: Sequence[Row]) -> tuple[EdgeSet, ...]:
    """The edges by maker and tenant; the scope of each are the keys they start at."""
    sets: dict[tuple[str, str], list[Edge]] = {}
    for tenant_id, maker, source, target, target_id, name, weight, confidence, evidence in rows:
        tenant, other = shelf.tenants[tenant_id], None if target_id == tenant_id else shelf.tenants[target_id]
        edge = Edge(source, target, name, weight, confidence, evidence, tenant, other)
        sets.setdefault((maker, tenant), []).append(edge)
    return tuple(
        EdgeSet(maker, tenant, tuple(edges), tuple(dict.fromkeys(edge.source for edge in edges)))
        for (maker, tenant), edges in sets.items()
    )


def _alias_sets(given: _Given) -> tuple[AliasSet, ...]:
    return tuple(
        AliasSet(maker, tenant, {key: tuple(aliases) for key, aliases in by_key.items()}, tuple(by_key))
        for (maker, tenant), by_key in given.items()
    )


# --- comparing -------------------------------------------------------------------------------------------


def _fingerprint(shelf: Shelf) -> Fingerprint:
    """Counts and sums of hashes over all nodes and edges, the same in whatever order they are stored."""
    nodes = digest = 0
    for tenant_id, key, content_hash in _node_rows(shelf):
        nodes += 1
        digest = digest + _hashed(shelf.tenants[tenant_id], key, content_hash) & _MASK
    edges = drawn = 0
    for portion in _edge_rows(shelf):
        for tenant_id, maker, source, target, target_id, *rest in portion:
            edges += 1
            named = (shelf.tenants[tenant_id], maker, source, target, shelf.tenants[target_id])
            drawn = drawn + _hashed(*named, *map(repr, rest)) & _MASK
    return Fingerprint(nodes, edges, f"{digest:016x}{drawn:016x}")


def _node_rows(shelf: Shelf) -> Iterator[Row]:
    after = 0
    while rows := shelf.rows(
        f"SELECT n.tenant_id, n.key, n.content_hash, n.id FROM nodes n WHERE n.id > {after} ORDER BY n.id"
        f" LIMIT {_AT_ONCE}"
    ):
        yield from (row[:3] for row in rows)
        after = rows[-1][3]


def _edge_rows(shelf: Shelf) -> Iterator[Sequence[Row]]:
    last = shelf.rows("SELECT coalesce(max(id), 0) FROM keys")[0][0]
    for start in range(0, last, _AT_ONCE):
        yield shelf.rows(
            f"SELECT {_EDGE.format(start='keys a', where=_within('a.id', (start, start + _AT_ONCE)))}"
        )


def _hashed(*parts: str) -> int:
    return xxhash.xxh64_intdigest("\0".join(parts).encode("utf-8"))
