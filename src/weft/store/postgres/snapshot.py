"""One state of a store, and what is remembered of the states that were read last."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import orjson

from weft.cache import Recent
from weft.frozen import dataclass
from weft.model import Alias, Edge, Filter, View
from weft.ports import Adjacency, NameRow, NodeRow, PassageRow, Tail, TermStatistics
from weft.scoring.vectors import unit_rows
from weft.store import adjacency
from weft.store.adjacency import ENTRY
from weft.store.postgres.connection import Link, rows_of
from weft.store.postgres.copy_rows import received
from weft.store.postgres.encode import bigints
from weft.store.postgres.filters import Names, Seen, find_names, matching_ids
from weft.store.postgres.links import LINKS_IN, LINKS_OUT, arcs_of
from weft.store.postgres.listing import read_tail
from weft.store.records import NODE_COLUMNS, PASSAGE_COLUMNS, Row, edge_of, node_rows, passage_rows
from weft.store.statistics import COUNTED_AT_ONCE, RememberedScans, counted_statistics

if TYPE_CHECKING:
    from weft.ports.arrays import Ids, Vectors
    from weft.store.postgres.pool import Lending


@dataclass(frozen=True, slots=True)
class State:
    """What a store says of itself at one moment."""

    identity: str
    sequence: int
    embedder: str | None
    dimensions: int | None
    space: int
    version: int
    """The last write that touched a tenant of the view."""
    candidates: int
    """How many of the nearest the graph is walked for."""


class Counted:
    """Term statistics of one state of a view, as far as they were asked for; for any thread."""

    def __init__(self) -> None:
        self.totals: tuple[int, int] | None = None
        self.frequency: dict[int, int] = {}


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a store remembers between snapshots."""

    names: Names
    scans: RememberedScans
    counted: Recent[tuple[View, int], Counted]


_TOTALS: Final = -1
_MOST_TERMS: Final = 100_000


class PostgresSnapshot:
    """A read transaction seen through a view; every method returns only what the view may see.

    Passages and statistics that were read once are kept: an index reads them to order what it proposes, and its
    caller asks for the same ones right after.
    """

    def __init__(
        self, link: Link, view: View, seen: Seen, state: State, remembered: Remembered, lender: "Lending"
    ) -> None:
        self.link, self.view, self.seen, self.state, self.lender = link, view, seen, state, lender
        self.sequence, self.version, self.space = state.sequence, state.version, state.space
        self._remembered = remembered
        kept = (view, state.version)
        self._counted = Counted() if seen.whole else remembered.counted.get_or_make(kept, Counted)
        self._passages: dict[int, PassageRow] = {}
        self._vectors: dict[int, bytes] = {}

    def through(self, link: Link) -> Self:
        """The same moment, read through another connection; what either has read both know."""
        twin = copy(self)
        twin.link = link
        return twin

    @property
    def identity(self) -> str:
        """What tells this store from every other; derived files carry it."""
        return self.state.identity

    def rows(self, query: str, *, planned_once: bool = True, **values: Any) -> list[Any]:
        """The rows of a query that may use the conditions of the view."""
        return rows_of(self.link, query, {**self.seen.values, **values}, planned_once=planned_once)

    # --- nodes -------------------------------------------------------------------------------------------

    def nodes(self, ids: Sequence[int]) -> dict[int, NodeRow]:
        """Nodes by id, in the order asked; ids outside the view are absent."""
        if not len(ids):
            return {}
        rows = self.rows(
            f"SELECT {NODE_COLUMNS}, i.aliases FROM unnest(%(ids)s::bigint[]) WITH ORDINALITY o(id, place)"
            f" JOIN nodes n ON n.id = o.id JOIN marks i ON i.node_id = n.id WHERE {self.seen.of('n')}"
            " ORDER BY o.place",
            ids=bigints(_unique(ids)),
        )
        return self._nodes(rows)

    def _nodes(self, rows: Sequence[Row]) -> dict[int, NodeRow]:
        aliases = {row[0]: _aliases(row[-1]) for row in rows if row[-1]}
        kinds = self._remembered.names.kinds(self.link, {row[2] for row in rows})
        return node_rows((row[:-1] for row in rows), self.seen.tenants, kinds, aliases)

    def page_of_nodes(self, after_id: int, limit: int) -> list[NodeRow]:
        """The next nodes of the view by id."""
        rows = self.rows(
            f"SELECT {NODE_COLUMNS}, i.aliases FROM nodes n JOIN marks i ON i.node_id = n.id"
            f" WHERE {self.seen.of('n')} AND n.id > %(after)s ORDER BY n.id LIMIT %(limit)s",
            after=after_id,
            limit=limit,
        )
        return list(self._nodes(rows).values())

    def page_of_names(self, after_id: int, limit: int) -> list[tuple[int, NameRow]]:
        """The next nodes of the view by id, each with what it is called."""
        rows = self.rows(
            "SELECT n.id, n.tenant_id, n.key, n.title, i.aliases, n.language FROM nodes n"
            " JOIN marks i ON i.node_id = n.id"
            f" WHERE {self.seen.of('n')} AND n.id > %(after)s ORDER BY n.id LIMIT %(limit)s",
            after=after_id,
            limit=limit,
        )
        tenants = self.seen.tenants
        return [
            (number, NameRow(tenants[tenant], key, title, _aliases(aliases), language))
            for number, tenant, key, title, aliases, language in rows
        ]

    def find(self, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Ids for each name: the node with that key; else all with that bare key, title or alias; else that id."""
        return find_names(self.link, self.seen, names) if names else {}

    def matching(self, filter: Filter) -> "Ids":
        """Sorted ids of nodes that pass the filter."""
        return matching_ids(self.link, self.seen, filter)

    # --- passages ----------------------------------------------------------------------------------------

    def passages(self, ids: Sequence[int]) -> list[PassageRow]:
        """Passages by id, in the order asked; those that are gone or outside the view are left out."""
        asked = [int(each) for each in ids]
        missing = [each for each in dict.fromkeys(asked) if each not in self._passages]
        if missing:
            self.read_passages("passages p", "p.id = ANY(%(ids)s)", ids=bigints(missing))
        return [self._passages[each] for each in asked if each in self._passages]

    def passages_of(self, node_ids: Sequence[int]) -> list[PassageRow]:
        """All passages of the nodes, by node as asked and by ordinal."""
        place = {number: order for order, number in enumerate(_unique(node_ids))}
        if not place:
            return []
        found = self.read_passages("passages p", "p.node_id = ANY(%(ids)s)", ids=bigints(place))
        return sorted(found, key=lambda row: (place[row.node_id], row.passage.ordinal))

    def read_passages(
        self, source: str, condition: str = "TRUE", *, planned_once: bool = True, **values: Any
    ) -> list[PassageRow]:
        """Visible passages `p` of a source, by a condition, in any order.

        Their vectors come along, and both are kept: whoever ranks passages asks for them next.
        """
        width = self.state.dimensions or 0
        rows = self.rows(
            f"SELECT {PASSAGE_COLUMNS}, halfvec_send(v.vector) FROM {source} LEFT JOIN vectors v"
            " ON v.space = %(space)s AND v.passage_id = p.id AND v.dimensions = %(width)s"
            f" WHERE {condition} AND {self.seen.of('p')}",
            planned_once=planned_once,
            space=self.space,
            width=width,
            **values,
        )
        found = passage_rows(row[:-1] for row in rows)
        for row, vector in zip(found, received([each[-1] for each in rows], width), strict=True):
            self._passages[row.id], self._vectors[row.id] = row, vector
        return found

    def words(self) -> list[tuple[int, int, bytes, bytes]]:
        """(passage id, node id, term hashes, term counts) of every passage of the view, in any order."""
        columns = "p.id, p.node_id, p.term_hashes, p.term_counts"
        return self.rows(f"SELECT {columns} FROM passages p WHERE {self.seen.of('p')}")

    def vectors(self, passage_ids: Sequence[int]) -> "Vectors":
        """Unit vectors by passage, zero rows where there is none."""
        dimensions = self.state.dimensions or 0
        result = np.zeros((len(passage_ids), dimensions), np.float32)
        stored = self.stored_vectors(passage_ids)
        if stored:
            places = [place for place, each in enumerate(passage_ids) if int(each) in stored]
            result[places] = unit_rows([stored[int(passage_ids[place])] for place in places], dimensions)
        return result

    def stored_vectors(self, passage_ids: Sequence[int]) -> dict[int, bytes]:
        """The int8 vectors of those passages that have one of the right width."""
        if not self.state.dimensions:
            return {}
        asked = _unique(passage_ids)
        self.passages([each for each in asked if each not in self._vectors])
        return {each: self._vectors[each] for each in asked if self._vectors.get(each)}

    def statistics(self, term_hashes: Sequence[int]) -> TermStatistics:
        """Term statistics of exactly this view."""
        asked = {int(each) for each in term_hashes}
        if self.seen.as_of is not None:
            return self._remembered.scans.get(self.view, self.sequence, self._scan).of(sorted(asked))
        known = {term: self._counted.frequency.get(term) for term in asked}
        missing = sorted(term for term, count in known.items() if count is None)
        if missing or self._counted.totals is None:
            known |= self._learn(missing)
        passages, length = self._counted.totals or (0, 0)
        frequency = {term: count for term, count in known.items() if count}
        return TermStatistics(passages, length / passages if passages else 0.0, frequency)

    def _learn(self, term_hashes: Sequence[int]) -> dict[int, int]:
        """How many passages hold each of the terms, remembered together with how many there are."""
        rows = self.rows(
            "SELECT t.term_hash, sum(t.frequency)::bigint, 0::bigint FROM term_statistics t"
            f" WHERE t.term_hash = ANY(%(terms)s) AND {self.seen.by_tenant('t.tenant_id')} GROUP BY t.term_hash"
            f" UNION ALL SELECT {_TOTALS}, coalesce(sum(s.passages), 0)::bigint,"
            f" coalesce(sum(s.total_length), 0)::bigint FROM tenant_statistics s"
            f" WHERE {self.seen.by_tenant('s.tenant_id')}",
            terms=bigints(term_hashes),
        )
        found = {term: (count, length) for term, count, length in rows}
        self._counted.totals = found.pop(_TOTALS)
        fresh = {term: found.get(term, (0, 0))[0] for term in term_hashes}
        if len(self._counted.frequency) + len(fresh) > _MOST_TERMS:
            self._counted.frequency.clear()
        self._counted.frequency.update(fresh)
        return fresh

    def _scan(self) -> Any:
        with self.link.cursor(binary=True) as cursor:
            cursor.execute(
                f"SELECT p.length, p.term_hashes FROM passages p WHERE {self.seen.of('p')}", self.seen.values
            )
            return counted_statistics(iter(lambda: cursor.fetchmany(COUNTED_AT_ONCE), []))

    def embedder(self) -> tuple[str, int] | None:
        """Name and dimensions of the embedder whose vectors are stored."""
        if self.state.embedder is None or self.state.dimensions is None:
            return None
        return self.state.embedder, self.state.dimensions

    # --- links -------------------------------------------------------------------------------------------

    def adjacency(self, ids: Sequence[int], fan_out: int) -> Adjacency:
        """The strongest `fan_out` neighbours of each node, ties by edge type name, tag and direction."""
        asked = _unique(ids)
        if self.seen.as_of is None and fan_out <= adjacency.KEPT:
            rows = self.rows(
                f"SELECT l.node_id, l.degree, substr(l.packed, 1, %(bytes)s) FROM adjacency l"
                f" WHERE l.node_id = ANY(%(ids)s) AND {self.seen.by_tenant('l.tenant_id')}"
                f" AND {self.seen.by_tenant('l.owner_tenant_id')} ORDER BY l.node_id, l.tenant_id",
                ids=bigints(asked),
                bytes=fan_out * ENTRY.itemsize,
            )
            packed = np.frombuffer(b"".join(row[2] for row in rows), ENTRY)
            return adjacency.listed_adjacency(rows, asked, fan_out, *self._names(packed))
        visible = f"{self.seen.of('a')} AND {self.seen.of('b')}"
        arcs = arcs_of(self.link, asked, visible, self.seen.values)
        return adjacency.counted_adjacency(arcs, asked, fan_out, *self._names(arcs))

    def _names(self, arcs: Any) -> tuple[Mapping[int, str], Mapping[int, str]]:
        names = self._remembered.names
        types, kinds = (np.flatnonzero(np.bincount(arcs[column])).tolist() for column in ("type", "kind"))
        return names.edge_types(self.link, types), names.kinds(self.link, kinds)

    def edges(self, ids: Sequence[int], limit: int = 1000) -> list[tuple[int, int, Edge]]:
        """Full edges touching the nodes: (source id, target id, edge), strongest first."""
        if not len(ids):
            return []
        columns = (
            "a.id AS source_id, b.id AS target_id, a.tenant_id AS source_tenant, b.tenant_id AS target_tenant,"
            " a.key AS source_key, b.key AS target_key, e.type_id, e.maker_id, e.weight, e.confidence, e.evidence"
        )
        both = " UNION ".join(
            f"SELECT {columns} FROM unnest(%(ids)s::bigint[]) o(value) {ends}"
            f" WHERE {self.seen.of('a')} AND {self.seen.of('b')}"
            for ends in (LINKS_OUT, LINKS_IN)
        )
        rows = self.rows(
            "SELECT l.source_id, l.target_id, l.source_tenant, l.target_tenant, l.source_key, l.target_key,"
            f" y.name, l.weight, l.confidence, l.evidence FROM ({both}) l JOIN edge_types y ON y.id = l.type_id"
            " JOIN makers m ON m.id = l.maker_id JOIN tenants s ON s.id = l.source_tenant"
            " JOIN tenants t ON t.id = l.target_tenant"
            " ORDER BY l.weight DESC, y.name, l.source_key, l.target_key, s.name, t.name, m.name LIMIT %(limit)s",
            ids=bigints(_unique(ids)),
            limit=limit,
        )
        return [(row[0], row[1], edge_of(row, self.seen.tenants)) for row in rows]

    def tail(self, since: int, limit: int) -> Tail:
        """What changed after a sequence number, up to the sequence number that the tail names."""
        return read_tail(self, since, limit, lambda numbers: self._remembered.names.kinds(self.link, numbers))


def _unique(ids: Iterable[int]) -> list[int]:
    return [int(each) for each in dict.fromkeys(ids)]


def _aliases(packed: str | None) -> tuple[Alias, ...]:
    return tuple(Alias(*each) for each in orjson.loads(packed)) if packed else ()
