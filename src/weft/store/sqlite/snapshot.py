"""Rows that questions come back to, kept as they were read until the store changes."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import orjson

from weft.cache import Recent
from weft.model import Alias, Edge, Filter, View
from weft.ports import Adjacency, NameRow, NodeRow, PassageRow, Tail, TermStatistics
from weft.scoring.vectors import unit_rows
from weft.store import adjacency
from weft.store.records import NODE_COLUMNS, PASSAGE_COLUMNS, edge_of, folded_name, node_rows, passage_rows
from weft.store.sqlite.filters import Visibility, matching_ids
from weft.store.sqlite.listing import read_tail
from weft.store.sqlite.numbers import names_by_number
from weft.store.sqlite.write import sequence_of
from weft.store.statistics import RememberedScans, scanned_statistics, tenant_totals, term_frequencies

if TYPE_CHECKING:
    from weft.ports.arrays import Ids, Vectors


Row = TypeVar("Row")
Fact = TypeVar("Fact")

_VIEWS: Final = 4
_ROWS: Final = 4_000
_AT_ONCE: Final = 1_000
"""Who reads more at once reads through everything, and does not come back to it."""
_LONGEST_TEXT: Final = 16_000


class RowsOfView:
    """What was read through one view of one state of a store; for any thread."""

    def __init__(self) -> None:
        self.nodes = Kept[NodeRow]()
        self.passages = Kept[PassageRow]()
        self.passages_of = Kept[tuple[PassageRow, ...]]()
        self.vectors = Kept[bytes]()
        self.frequency = Kept[int]()
        self._facts: dict[str, Any] = {}

    def once(self, name: str, read: Callable[[], Fact]) -> Fact:
        """Something else about the state, read the first time it is asked for."""
        if name not in self._facts:
            self._facts[name] = read()
        known: Fact = self._facts[name]
        return known


class Kept(dict[int, Row]):
    """Rows by their number; forgets all when full, which changes no answer."""

    def recalled(self, numbers: Iterable[int], read: Callable[[list[int]], Mapping[int, Row]]) -> dict[int, Row]:
        """The rows in the order asked, those that are not kept read now; what is not there is left out."""
        found = {number: self.get(number) for number in numbers}
        missing = [number for number, row in found.items() if row is None]
        if missing:
            fresh = read(missing)
            found.update(fresh)
            self._keep(fresh)
        return {number: row for number, row in found.items() if row is not None}

    def _keep(self, fresh: Mapping[int, Row]) -> None:
        if len(fresh) > _AT_ONCE:
            return
        if len(self) + len(fresh) > _ROWS:
            self.clear()
        self.update((number, row) for number, row in fresh.items() if not _is_large(row))


def _is_large(row: object) -> bool:
    return isinstance(row, NodeRow) and len(row.node.text) > _LONGEST_TEXT


class RememberedRows:
    """The rows of the views last read."""

    def __init__(self) -> None:
        self._views: Recent[tuple[View, int], RowsOfView] = Recent(_VIEWS)

    def of(self, view: View, sequence: int) -> RowsOfView:
        """What is kept of a view at a sequence number."""
        return self._views.get_or_make((view, sequence), RowsOfView)


class SqliteSnapshot:
    """A read transaction seen through a view; every method returns only what the view may see."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        view: View,
        visible: Visibility,
        scans: RememberedScans,
        rows: RememberedRows,
    ) -> None:
        self.connection, self.view, self.visible = connection, view, visible
        self.sequence = sequence_of(connection)
        self._scans = scans
        self._kept = rows.of(view, self.sequence)

    @cached_property
    def identity(self) -> str:
        """What tells this store from every other; derived files carry it."""
        row = self.connection.execute("SELECT value FROM meta WHERE name = 'identity'").fetchone()
        return str(row[0]) if row else ""

    @cached_property
    def _embedder(self) -> tuple[str, int] | None:
        return embedder_of(self.connection)

    @cached_property
    def _kinds(self) -> dict[int, str]:
        return self._kept.once("kinds", lambda: names_by_number(self.connection, "kinds"))

    @cached_property
    def _edge_types(self) -> dict[int, str]:
        return self._kept.once("edge_types", lambda: names_by_number(self.connection, "edge_types"))

    # --- nodes -------------------------------------------------------------------------------------------

    def nodes(self, ids: Sequence[int]) -> dict[int, NodeRow]:
        """Nodes by id in the order asked; ids outside the view are absent."""
        return self._kept.nodes.recalled(ids, self._nodes)

    def _nodes(self, ids: Sequence[int]) -> dict[int, NodeRow]:
        asked = _json(ids)
        rows = self.connection.execute(
            f"SELECT {NODE_COLUMNS} FROM json_each(?) j CROSS JOIN nodes n ON n.id = j.value"
            f" CROSS JOIN importance i ON i.node_id = n.id WHERE {self.visible.of('n')}",
            (asked,),
        )
        return node_rows(rows, self.visible.tenants, self._kinds, self._aliases(asked))

    def page_of_nodes(self, after_id: int, limit: int) -> list[NodeRow]:
        """The next nodes of the view by id."""
        found = self.connection.execute(
            f"SELECT n.id FROM nodes n WHERE {self.visible.of('n')} AND n.id > ? ORDER BY n.id LIMIT ?",
            (after_id, limit),
        )
        return list(self._nodes([node_id for (node_id,) in found]).values())

    def page_of_names(self, after_id: int, limit: int) -> list[tuple[int, NameRow]]:
        """The next nodes of the view by id, each with what it is called."""
        rows = self.connection.execute(
            f"SELECT n.id, n.tenant_id, n.key, n.title, n.language FROM nodes n WHERE {self.visible.of('n')}"
            " AND n.id > ? ORDER BY n.id LIMIT ?",
            (after_id, limit),
        ).fetchall()
        aliases, tenants = self._aliases(_json(row[0] for row in rows)), self.visible.tenants
        return [
            (number, NameRow(tenants[tenant], key, title, aliases.get(number, ()), language))
            for number, tenant, key, title, language in rows
        ]

    def _aliases(self, asked: str) -> dict[int, tuple[Alias, ...]]:
        found: dict[int, tuple[Alias, ...]] = {}
        for node_id, text, maker, confidence in self.connection.execute(
            "SELECT DISTINCT a.node_id, a.alias, m.name, a.confidence FROM json_each(?) j CROSS JOIN aliases a"
            " ON a.node_id = j.value CROSS JOIN makers m ON m.id = a.maker_id ORDER BY a.node_id, a.alias, m.name",
            (asked,),
        ):
            found[node_id] = (*found.get(node_id, ()), Alias(text, maker, confidence))
        return found

    def find(self, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Ids for each name: the node with that key; else all with that bare key, title or alias; else that id.

        Ids come last because a note called "2024" must not depend on how many nodes were stored before it.
        """
        found: dict[str, tuple[int, ...]] = {}
        for name in dict.fromkeys(names):
            ids = self._by_key(name) or self._by_name(folded_name(name)) or self._by_id(name)
            if ids:
                found[name] = ids
        return found

    def _by_key(self, key: str) -> tuple[int, ...]:
        return self._in_order(
            f"keys k JOIN nodes n ON n.id = k.node_id WHERE {self.visible.by_tenant('k.tenant_id')} AND k.key = ?",
            key,
        )

    def _by_name(self, name: str) -> tuple[int, ...]:
        return self._in_order("names s CROSS JOIN nodes n ON n.id = s.node_id WHERE s.name = ?", name)

    def _by_id(self, name: str) -> tuple[int, ...]:
        if not (name.isascii() and name.isdigit() and len(name) <= 18):
            return ()
        return self._in_order("nodes n WHERE n.id = ?", int(name))

    def _in_order(self, tables: str, value: str | int) -> tuple[int, ...]:
        rows = self.connection.execute(
            f"SELECT n.tenant_id, n.key, n.id FROM {tables} AND {self.visible.of('n')}", (value,)
        ).fetchall()
        rows.sort(key=lambda row: (self.visible.tenants[row[0]], row[1]))
        return tuple(row[2] for row in rows)

    def matching(self, filter: Filter) -> "Ids":
        """Sorted ids of nodes that pass the filter."""
        return matching_ids(self.connection, self.visible, filter)

    # --- passages ----------------------------------------------------------------------------------------

    def passages(self, ids: Sequence[int]) -> list[PassageRow]:
        """Passages by id, in the order asked; those that are gone or outside the view are left out."""
        found = self._kept.passages.recalled(ids, self._by_number)
        return [found[each] for each in ids if each in found]

    def _by_number(self, ids: Sequence[int]) -> dict[int, PassageRow]:
        return {row.id: row for row in self._passages("p.id = j.value", ids)}

    def passages_of(self, node_ids: Sequence[int]) -> list[PassageRow]:
        """All passages of the nodes, by node as asked and by ordinal."""
        found = self._kept.passages_of.recalled(node_ids, self._by_node)
        return [row for rows in found.values() for row in rows]

    def _by_node(self, node_ids: Sequence[int]) -> dict[int, tuple[PassageRow, ...]]:
        found: dict[int, list[PassageRow]] = {}
        for row in self._passages("p.node_id = j.value", node_ids):
            found.setdefault(row.node_id, []).append(row)
        return {node: tuple(sorted(rows, key=_ordinal) if rows[1:] else rows) for node, rows in found.items()}

    def _passages(self, join: str, ids: Sequence[int]) -> list[PassageRow]:
        # CROSS JOIN fixes the outer loop, so rows come in the order of the list without being sorted.
        return passage_rows(
            self.connection.execute(
                f"SELECT {PASSAGE_COLUMNS} FROM json_each(?) j CROSS JOIN passages p ON {join}"
                f" WHERE {self.visible.of('p')}",
                (_json(ids),),
            )
        )

    def words(self) -> list[tuple[int, int, bytes, bytes]]:
        """(passage id, node id, term hashes, term counts) of every passage of the view, in any order."""
        columns = "p.id, p.node_id, p.term_hashes, p.term_counts"
        return self.connection.execute(f"SELECT {columns} FROM passages p WHERE {self.visible.of('p')}").fetchall()

    def vectors(self, passage_ids: Sequence[int]) -> "Vectors":
        """Unit vectors by passage, zero rows where there is none."""
        embedder = self.embedder()
        result = np.zeros((len(passage_ids), embedder[1] if embedder else 0), np.float32)
        found = self._kept.vectors.recalled(passage_ids, partial(self._vectors, dimensions=result.shape[1]))
        if found:
            places = [place for place, each in enumerate(passage_ids) if each in found]
            result[places] = unit_rows([found[passage_ids[place]] for place in places], result.shape[1])
        return result

    def _vectors(self, passage_ids: Sequence[int], dimensions: int) -> dict[int, bytes]:
        return dict(
            self.connection.execute(
                "SELECT p.id, v.vector FROM json_each(?) j CROSS JOIN passages p ON p.id = j.value"
                " CROSS JOIN vectors v ON v.passage_id = p.id AND length(v.vector) = ?"
                f" WHERE {self.visible.of('p')}",
                (_json(passage_ids), dimensions),
            ).fetchall()
        )

    def statistics(self, term_hashes: Sequence[int]) -> TermStatistics:
        """Term statistics of exactly this view."""
        if self.visible.as_of is not None:
            scan = partial(scanned_statistics, self.connection, self.visible.of("p"))
            return self._scans.get(self.view, self.sequence, scan).of(term_hashes)
        frequency = self._kept.frequency.recalled(term_hashes, self._frequencies)
        passages, length = self._totals
        return TermStatistics(
            passages, length / passages if passages else 0.0, {term: n for term, n in frequency.items() if n}
        )

    def _frequencies(self, term_hashes: Sequence[int]) -> dict[int, int]:
        return term_frequencies(self.connection, self.visible.by_tenant("t.tenant_id"), term_hashes)

    @cached_property
    def _totals(self) -> tuple[int, int]:
        return self._kept.once(
            "totals", lambda: tenant_totals(self.connection, self.visible.by_tenant("t.tenant_id"))
        )

    def embedder(self) -> tuple[str, int] | None:
        """Name and dimensions of the embedder whose vectors are stored."""
        return self._embedder

    # --- links -------------------------------------------------------------------------------------------

    def adjacency(self, ids: Sequence[int], fan_out: int) -> Adjacency:
        """The strongest `fan_out` neighbours of each node, ties by edge type name, tag and direction."""
        asked = list(dict.fromkeys(ids))
        names = self._edge_types, self._kinds
        if self.visible.as_of is None and fan_out <= adjacency.KEPT:
            rows = self.connection.execute(
                "SELECT l.node_id, l.degree, l.packed FROM json_each(?) j CROSS JOIN adjacency l"
                f" ON l.node_id = j.value WHERE {self.visible.by_tenant('l.tenant_id')}"
                f" AND {self.visible.by_tenant('l.owner_tenant_id')}",
                (_json(asked),),
            ).fetchall()
            return adjacency.listed_adjacency(rows, asked, fan_out, *names)
        visible = f"{self.visible.of('a')} AND {self.visible.of('b')}"
        arcs = adjacency.arcs_of(self.connection, "json_each(?)", (_json(asked),), visible)
        return adjacency.counted_adjacency(arcs, asked, fan_out, *names)

    def edges(self, ids: Sequence[int], limit: int = 1000) -> list[tuple[int, int, Edge]]:
        """Full edges touching the nodes: (source id, target id, edge), strongest first."""
        rows = adjacency.full_edges(
            self.connection, _json(ids), f"{self.visible.of('a')} AND {self.visible.of('b')}", limit
        )
        tenants = self.visible.tenants
        return [(row[0], row[1], edge_of(row, tenants)) for row in rows]

    def tail(self, since: int, limit: int) -> Tail:
        """What changed after a sequence number, up to the sequence number that the tail names."""
        return read_tail(
            self.connection, self.visible, kinds=self._kinds, since=since, limit=limit, sequence=self.sequence
        )


def embedder_of(connection: sqlite3.Connection) -> tuple[str, int] | None:
    """Name and dimensions of the embedder that a store remembers."""
    row = connection.execute("SELECT value FROM meta WHERE name = 'embedder'").fetchone()
    if row is None:
        return None
    name, dimensions = orjson.loads(row[0])
    return str(name), int(dimensions)


def _ordinal(row: PassageRow) -> int:
    return row.passage.ordinal


def _json(ids: Iterable[int]) -> str:
    return orjson.dumps(list(ids), option=orjson.OPT_SERIALIZE_NUMPY).decode()
