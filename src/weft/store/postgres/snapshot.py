"""Read a PostgreSQL store through a view, in one read transaction; every question and every index reads so."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import orjson
from msgspec import Struct

from weft.model import Alias, Edge, Filter, View
from weft.ports import Adjacency, NameRow, NodeRow, PassageRow, RecentChanges, TermStatistics
from weft.runtime.cache import LruCache
from weft.scoring.similarity import unit_rows
from weft.store import links
from weft.store.links import ENTRY_DTYPE
from weft.store.postgres.connection import Connection, fetch_rows
from weft.store.postgres.encode import bigint_array, from_halfvecs
from weft.store.postgres.links import LINKS_IN, LINKS_OUT, read_arcs
from weft.store.postgres.listing import read_tail
from weft.store.postgres.lookup import NameCache, Visibility, find_names, find_nodes_named_by, matching_ids
from weft.store.records import NODE_COLUMNS, PASSAGE_COLUMNS, Row, read_edge, read_nodes, read_passages
from weft.store.statistics import PASSAGES_PER_BATCH, ScanCache, count_statistics

if TYPE_CHECKING:
    from weft.ports.stores import Ids, Vectors
    from weft.store.postgres.pool import ReaderPool


_TOTALS: Final = -1
"""Stands in for a term in the row of totals; hashes of terms are never negative."""
_MAX_CACHED_TERMS: Final = 100_000
"""Frequencies kept for one state of a view, some 10 MB; more than questions use between two writes."""


class StateRow(Struct, frozen=True):
    """The row of the table `state` at the moment of a snapshot, with what the transaction adds to it."""

    identity: str
    sequence: int
    embedder: str | None
    dimensions: int | None
    space: int
    version: int
    """The last write that touched a tenant of the view."""
    candidates: int
    """The number of nearest passages for which the graph is walked."""
    map_version: int
    """The version of the cluster's map on this shard; 0 for a store that belongs to no cluster."""


class TermCounts:
    """The term statistics of one state of a view that were read so far; may be used from any thread."""

    def __init__(self) -> None:
        self.totals: tuple[int, int] | None = None
        self.frequency: dict[int, int] = {}
        self.is_complete = False
        """Whether every term of the view is in `frequency`: those that are not are in no passage."""


class SnapshotCaches(Struct, frozen=True):
    """The caches that a store keeps between snapshots."""

    names: NameCache
    scans: ScanCache
    terms: LruCache[tuple[View, int], TermCounts]


class PostgresSnapshot:
    """A read transaction seen through a view; every method returns only what the view may see.

    Passages and statistics that were read once are kept: an index reads them to order its proposals, and its
    caller asks for the same ones right after.
    """

    def __init__(
        self,
        connection: Connection,
        view: View,
        visible: Visibility,
        state: StateRow,
        caches: SnapshotCaches,
        pool: "ReaderPool",
    ) -> None:
        self.connection, self.view, self.visible, self.state, self.pool = connection, view, visible, state, pool
        self.sequence, self.version, self.space = state.sequence, state.version, state.space
        self._caches = caches
        # A snapshot of all tenants is read once, by maintenance: its counts would push those of readers out.
        self._terms = (
            TermCounts() if visible.sees_all else caches.terms.get_or_make((view, state.version), TermCounts)
        )
        self._passages: dict[int, PassageRow] = {}
        self._vectors: dict[int, bytes] = {}
        self._snippets: dict[int, bytes] = {}

    def on_connection(self, connection: Connection) -> Self:
        """Return the same moment read through another connection; the two share what they have read."""
        # A shallow copy, so that both fill the same caches.
        twin = copy(self)
        twin.connection = connection
        return twin

    @property
    def identity(self) -> str:
        """The random name that tells this store from every other; derived files carry it."""
        return self.state.identity

    def rows(self, query: str, *, reuse_plan: bool = True, **values: Any) -> list[Any]:
        """Return the rows of a query, which may name the values of the view's conditions."""
        return fetch_rows(self.connection, query, {**self.visible.values, **values}, reuse_plan=reuse_plan)

    # --- nodes -------------------------------------------------------------------------------------------

    def nodes(self, ids: Sequence[int]) -> dict[int, NodeRow]:
        """Return nodes by id, in the order of the ids; ids outside the view are absent."""
        if not len(ids):
            return {}
        rows = self.rows(
            f"SELECT {NODE_COLUMNS}, i.aliases FROM unnest(%(ids)s::bigint[]) WITH ORDINALITY o(id, place)"
            f" JOIN nodes n ON n.id = o.id JOIN marks i ON i.node_id = n.id WHERE {self.visible.of('n')}"
            " ORDER BY o.place",
            ids=bigint_array(_unique(ids)),
        )
        return self._to_nodes(rows)

    def _to_nodes(self, rows: Sequence[Row]) -> dict[int, NodeRow]:
        # Aliases are packed into one column: a join would repeat the wide rows of nodes.
        aliases = {row[0]: _unpack_aliases(row[-1]) for row in rows if row[-1]}
        kinds = self._caches.names.kinds(self.connection, {row[2] for row in rows})
        return read_nodes((row[:-1] for row in rows), self.visible.tenants, kinds, aliases)

    def page_of_nodes(self, after_id: int, limit: int) -> list[NodeRow]:
        """Return the next nodes of the view by id."""
        rows = self.rows(
            f"SELECT {NODE_COLUMNS}, i.aliases FROM nodes n JOIN marks i ON i.node_id = n.id"
            f" WHERE {self.visible.of('n')} AND n.id > %(after)s ORDER BY n.id LIMIT %(limit)s",
            after=after_id,
            limit=limit,
        )
        return list(self._to_nodes(rows).values())

    def page_of_names(self, after_id: int, limit: int) -> list[tuple[int, NameRow]]:
        """Return the ids and names of the next nodes of the view by id."""
        return self._read_names("n.id > %(after)s ORDER BY n.id LIMIT %(limit)s", after=after_id, limit=limit)

    def names_of_words(self, words: Collection[str]) -> list[NameRow]:
        """Return the names of the nodes of the view that have one made of these words, by id."""
        ids = find_nodes_named_by(self.connection, self.visible, words)
        return [row for _, row in self._read_names("n.id = ANY(%(ids)s) ORDER BY n.id", ids=bigint_array(ids))]

    def _read_names(self, condition: str, **values: Any) -> list[tuple[int, NameRow]]:
        rows = self.rows(
            "SELECT n.id, n.tenant_id, n.key, n.title, i.aliases, n.language FROM nodes n"
            f" JOIN marks i ON i.node_id = n.id WHERE {self.visible.of('n')} AND {condition}",
            **values,
        )
        tenants = self.visible.tenants
        return [
            (node_id, NameRow(tenants[tenant], key, title, _unpack_aliases(aliases), language))
            for node_id, tenant, key, title, aliases, language in rows
        ]

    def find(self, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Return ids for each name: by its key; else by bare key, title or alias; else by the id itself."""
        return find_names(self.connection, self.visible, names) if names else {}

    def matching_ids(self, filter: Filter) -> "Ids":
        """Return the sorted ids of nodes that pass the filter."""
        return matching_ids(self.connection, self.visible, filter)

    def kinds(self) -> tuple[str, ...]:
        """Return the names of all kinds of the store, sorted."""
        return tuple(sorted(name for (name,) in fetch_rows(self.connection, "SELECT name FROM kinds")))

    def sources(self) -> tuple[str, ...]:
        """Return the names of all sources of the store, sorted."""
        names = "SELECT substr(name, 8) FROM facet_names WHERE starts_with(name, 'source:') ORDER BY name"
        return tuple(name for (name,) in fetch_rows(self.connection, names))

    # --- passages ----------------------------------------------------------------------------------------

    def passages(self, ids: Sequence[int]) -> list[PassageRow]:
        """Return passages in the order of the ids; those that are gone or outside the view are left out."""
        ids = [int(number) for number in ids]
        missing = [number for number in dict.fromkeys(ids) if number not in self._passages]
        if missing:
            self.read_passages("passages p", "p.id = ANY(%(ids)s)", ids=bigint_array(missing))
        return [self._passages[number] for number in ids if number in self._passages]

    def passages_of_nodes(self, node_ids: Sequence[int]) -> list[PassageRow]:
        """Return all passages of the nodes, in the order of the ids and by ordinal."""
        order = {node_id: index for index, node_id in enumerate(_unique(node_ids))}
        if not order:
            return []
        # With their snippets: whoever reads all passages of a node is about to print some of it.
        found = self.read_passages(
            "passages p", "p.node_id = ANY(%(ids)s)", snippets=True, ids=bigint_array(order)
        )
        return sorted(found, key=lambda row: (order[row.node_id], row.passage.ordinal))

    def read_passages(
        self,
        source: str,
        condition: str = "TRUE",
        *,
        reuse_plan: bool = True,
        snippets: bool = False,
        **values: Any,
    ) -> list[PassageRow]:
        """Return the visible passages `p` of a FROM clause that meet a condition, in any order.

        Their vectors are read with them and both are kept: ranking asks for them next.
        """
        dimensions = self.state.dimensions or 0
        rows = self.rows(
            f"SELECT {PASSAGE_COLUMNS}, {'p.snippets' if snippets else 'NULL'}, halfvec_send(v.vector)"
            f" FROM {source} LEFT JOIN vectors v"
            " ON v.space = %(space)s AND v.passage_id = p.id AND v.dimensions = %(width)s"
            f" WHERE {condition} AND {self.visible.of('p')}",
            reuse_plan=reuse_plan,
            space=self.space,
            width=dimensions,
            **values,
        )
        found = read_passages(row[:-2] for row in rows)
        if snippets:
            self._snippets.update((row[0], bytes(row[-2] or b"")) for row in rows)
        for row, vector in zip(found, from_halfvecs([row[-1] for row in rows], dimensions), strict=True):
            # An empty vector is kept too, so that it is not asked for again.
            self._passages[row.id], self._vectors[row.id] = row, vector
        return found

    def all_terms(self) -> list[tuple[int, int, bytes, bytes]]:
        """Return (passage id, node id, term hashes, term counts) of every passage of the view, in any order."""
        columns = "p.id, p.node_id, p.term_hashes, p.term_counts"
        return self.rows(f"SELECT {columns} FROM passages p WHERE {self.visible.of('p')}")

    def vectors(self, passage_ids: Sequence[int]) -> "Vectors":
        """Return unit vectors by passage, zero rows where there is none."""
        dimensions = self.state.dimensions or 0
        result = np.zeros((len(passage_ids), dimensions), np.float32)
        stored = self.stored_vectors(passage_ids)
        if stored:
            rows = [row for row, number in enumerate(passage_ids) if int(number) in stored]
            result[rows] = unit_rows([stored[int(passage_ids[row])] for row in rows], dimensions)
        return result

    def stored_vectors(self, passage_ids: Sequence[int]) -> dict[int, bytes]:
        """Return the int8 vectors of those passages that have one of the store's dimensions."""
        if not self.state.dimensions:
            return {}
        ids = _unique(passage_ids)
        self.passages([number for number in ids if number not in self._vectors])
        return {number: self._vectors[number] for number in ids if self._vectors.get(number)}

    def snippets(self, passage_ids: Sequence[int]) -> dict[int, bytes]:
        """Return the packed snippets of those passages that have any."""
        missing = [number for number in _unique(passage_ids) if number not in self._snippets]
        if missing:
            rows = self.rows(
                f"SELECT p.id, p.snippets FROM passages p WHERE p.id = ANY(%(ids)s) AND {self.visible.of('p')}",
                ids=bigint_array(missing),
            )
            self._snippets.update((number, bytes(packed or b"")) for number, packed in rows)
        return {number: packed for number in _unique(passage_ids) if (packed := self._snippets.get(number))}

    def statistics(self, term_hashes: Sequence[int]) -> TermStatistics:
        """Return the term statistics of exactly this view."""
        terms = {int(term) for term in term_hashes}
        if self.visible.as_of is not None:
            # The stored statistics are those of the latest state, so an earlier one is counted from its passages.
            return self._caches.scans.get_or_make((self.view, self.sequence), self._scan).of(sorted(terms))
        known = {term: self._terms.frequency.get(term) for term in terms}
        missing = sorted(term for term, count in known.items() if count is None)
        if (missing and not self._terms.is_complete) or self._terms.totals is None:
            known |= self._read_statistics(missing)
        passages, length = self._terms.totals or (0, 0)
        frequency = {term: count for term, count in known.items() if count}
        return TermStatistics(passages, length / passages if passages else 0.0, frequency)

    def keep_all_terms(self, term_hashes: Iterable[bytes]) -> None:
        """Count the terms of all passages of the view, given as packed hashes, so that none is asked for again."""
        terms, counts = np.unique(np.frombuffer(b"".join(term_hashes), np.dtype("<u4")), return_counts=True)
        if self.visible.as_of is None and len(terms) <= _MAX_CACHED_TERMS:
            self._terms.frequency = dict(zip(terms.tolist(), counts.tolist(), strict=True))
            self._terms.is_complete = True

    def _read_statistics(self, term_hashes: Sequence[int]) -> dict[int, int]:
        """Return how many passages hold each of the terms, and keep it together with the totals."""
        rows = self.rows(
            "SELECT t.term_hash, sum(t.frequency)::bigint, 0::bigint FROM term_statistics t"
            f" WHERE t.term_hash = ANY(%(terms)s) AND {self.visible.by_tenant('t.tenant_id')} GROUP BY t.term_hash"
            f" UNION ALL SELECT {_TOTALS}, coalesce(sum(s.passages), 0)::bigint,"
            f" coalesce(sum(s.total_length), 0)::bigint FROM tenant_statistics s"
            f" WHERE {self.visible.by_tenant('s.tenant_id')}",
            terms=bigint_array(term_hashes),
        )
        found = {term: (count, length) for term, count, length in rows}
        self._terms.totals = found.pop(_TOTALS)
        fresh = {term: found.get(term, (0, 0))[0] for term in term_hashes}
        # Cleared at once: keeping an order of use for every term would cost more.
        if len(self._terms.frequency) + len(fresh) > _MAX_CACHED_TERMS:
            self._terms.frequency.clear()
        self._terms.frequency.update(fresh)
        return fresh

    def _scan(self) -> Any:
        with self.connection.cursor(binary=True) as cursor:
            cursor.execute(
                f"SELECT p.length, p.term_hashes FROM passages p WHERE {self.visible.of('p')}", self.visible.values
            )
            return count_statistics(iter(lambda: cursor.fetchmany(PASSAGES_PER_BATCH), []))

    def embedder(self) -> tuple[str, int] | None:
        """Return name and dimensions of the embedder whose vectors are stored."""
        if self.state.embedder is None or self.state.dimensions is None:
            return None
        return self.state.embedder, self.state.dimensions

    def quality(self) -> None:
        """Return None: second vectors are kept by embedded stores alone."""

    def quality_vectors(self, passage_ids: Sequence[int]) -> dict[int, bytes]:
        """Return nothing."""
        return {}

    # --- links -------------------------------------------------------------------------------------------

    def adjacency(self, ids: Sequence[int], fan_out: int) -> Adjacency:
        """Return the strongest `fan_out` neighbours of each node, ties by edge type name, tag and direction."""
        owners = _unique(ids)
        if self.visible.as_of is None and fan_out <= links.MAX_LISTED_NEIGHBOURS:
            rows = self.rows(
                f"SELECT l.node_id, l.degree, substr(l.packed, 1, %(bytes)s) FROM adjacency l"
                f" WHERE l.node_id = ANY(%(ids)s) AND {self.visible.by_tenant('l.tenant_id')}"
                f" AND {self.visible.by_tenant('l.owner_tenant_id')} ORDER BY l.node_id, l.tenant_id",
                ids=bigint_array(owners),
                bytes=fan_out * ENTRY_DTYPE.itemsize,
            )
            packed = np.frombuffer(b"".join(row[2] for row in rows), ENTRY_DTYPE)
            return links.adjacency_from_lists(rows, owners, fan_out, *self._arc_names(packed))
        # The lists hold so many neighbours and say nothing of earlier points: else the edges themselves are read.
        visible = f"{self.visible.of('a')} AND {self.visible.of('b')}"
        arcs = read_arcs(self.connection, owners, visible, self.visible.values)
        return links.adjacency_from_arcs(arcs, owners, fan_out, *self._arc_names(arcs))

    def _arc_names(self, arcs: Any) -> tuple[Mapping[int, str], Mapping[int, str]]:
        """Return the names of edge types and of kinds, at least of those that occur in the arcs."""
        names = self._caches.names
        types, kinds = (np.flatnonzero(np.bincount(arcs[column])).tolist() for column in ("type", "kind"))
        return names.edge_types(self.connection, types), names.kinds(self.connection, kinds)

    def edges(self, ids: Sequence[int], limit: int = 1000) -> list[tuple[int, int, Edge]]:
        """Return the full edges at the nodes as (source id, target id, edge), strongest first."""
        if not len(ids):
            return []
        columns = (
            "a.id AS source_id, b.id AS target_id, a.tenant_id AS source_tenant, b.tenant_id AS target_tenant,"
            " a.key AS source_key, b.key AS target_key, e.type_id, e.maker_id, e.weight, e.confidence, e.evidence"
        )
        both = " UNION ".join(
            f"SELECT {columns} FROM unnest(%(ids)s::bigint[]) o(value) {ends}"
            f" WHERE {self.visible.of('a')} AND {self.visible.of('b')}"
            for ends in (LINKS_OUT, LINKS_IN)
        )
        rows = self.rows(
            "SELECT l.source_id, l.target_id, l.source_tenant, l.target_tenant, l.source_key, l.target_key,"
            f" y.name, l.weight, l.confidence, l.evidence FROM ({both}) l JOIN edge_types y ON y.id = l.type_id"
            " JOIN makers m ON m.id = l.maker_id JOIN tenants s ON s.id = l.source_tenant"
            " JOIN tenants t ON t.id = l.target_tenant"
            " ORDER BY l.weight DESC, y.name, l.source_key, l.target_key, s.name, t.name, m.name LIMIT %(limit)s",
            ids=bigint_array(_unique(ids)),
            limit=limit,
        )
        return [(row[0], row[1], read_edge(row, self.visible.tenants)) for row in rows]

    def changes_since(self, since: int, limit: int) -> RecentChanges:
        """Return the changes after a sequence number, up to the sequence number that the tail names."""
        return read_tail(self, since, limit, lambda numbers: self._caches.names.kinds(self.connection, numbers))


def _unique(ids: Iterable[int]) -> list[int]:
    return [int(number) for number in dict.fromkeys(ids)]


def _unpack_aliases(packed: str | None) -> tuple[Alias, ...]:
    return tuple(Alias(*values) for values in orjson.loads(packed)) if packed else ()
