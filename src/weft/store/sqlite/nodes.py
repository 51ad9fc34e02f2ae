"""Writing nodes with their passages, vectors and facets."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from weft.frozen import dataclass
from weft.ports import Changes, PreparedNode
from weft.store.records import WRITTEN_COLUMNS, Row, facets_of, node_values, packed_texts, position_of
from weft.store.sqlite import links
from weft.store.sqlite.numbers import MARKS, Numbers, padded
from weft.store.statistics import StatisticsDelta

_UPSERT: Final = (
    f"INSERT INTO nodes ({', '.join(WRITTEN_COLUMNS)}) VALUES ({', '.join('?' * len(WRITTEN_COLUMNS))})"
    f" ON CONFLICT (id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in WRITTEN_COLUMNS[1:])}"
)
_PASSAGE: Final = f"INSERT INTO passages VALUES ({', '.join('?' * 13)})"


class Stored(NamedTuple):
    """What is known of a key: its number and, if there is a node, the node's number, hash, kind and unit."""

    key_id: int
    node_id: int | None
    content_hash: str | None
    kind_id: int | None
    unit: str | None


@dataclass(frozen=True, slots=True)
class Placed:
    """A node to be written and the numbers it is written under."""

    prepared: PreparedNode
    node_id: int
    tenant_id: int
    kind_id: int
    key_id: int


def stored_keys(connection: sqlite3.Connection, tenant_id: int, keys: Sequence[str]) -> dict[str, Stored]:
    """What is known of those of a tenant's keys that any node or edge has named."""
    found: dict[str, Stored] = {}
    for some in padded(keys):
        rows = connection.execute(
            "SELECT k.key, k.id, n.id, n.content_hash, n.kind_id, n.unit FROM keys k LEFT JOIN nodes n"
            f" ON n.id = k.node_id WHERE k.tenant_id = ? AND k.key IN ({MARKS})",
            (tenant_id, *some),
        )
        found.update((row[0], Stored(*row[1:])) for row in rows)
    return found


class NodeWriter:
    """Writes the nodes of one change set under one sequence number."""

    def __init__(
        self, connection: sqlite3.Connection, numbers: Numbers, statistics: StatisticsDelta, sequence: int
    ) -> None:
        self._connection, self._numbers, self._statistics = connection, numbers, statistics
        self._sequence = sequence
        self._known: dict[tuple[int, str], Stored] = {}
        self._last_node, self._last_passage = (self._last_id(table) for table in ("nodes", "passages"))

    def write(self, changes: Changes) -> tuple[bool, list[Placed]]:
        """Remove and upsert, and return whether anything changed and which nodes were written.

        A key that is both removed and upserted (it moved between units) is upserted and keeps its id.
        """
        wanted = {(prepared.node.tenant, prepared.node.key): prepared for prepared in changes.upserts}
        self._look_up([*wanted, *changes.removes])
        removed = self._remove(place for place in dict.fromkeys(changes.removes) if place not in wanted)
        written = self._upsert(wanted.values())
        return removed or bool(written), written

    def _last_id(self, table: str) -> int:
        row = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
        return int(row[0]) if row else 0

    def _look_up(self, places: Iterable[tuple[str, str]]) -> None:
        by_tenant: dict[str, list[str]] = {}
        for tenant, key in places:
            by_tenant.setdefault(tenant, []).append(key)
        for tenant, keys in by_tenant.items():
            tenant_id = self._numbers.tenant(tenant)
            found = stored_keys(self._connection, tenant_id, keys)
            self._known.update(((tenant_id, key), one) for key, one in found.items())

    def _stored(self, tenant_id: int, key: str) -> Stored | None:
        return self._known.get((tenant_id, key))

    # --- removing ----------------------------------------------------------------------------------------

    def _remove(self, places: Iterable[tuple[str, str]]) -> bool:
        gone: list[tuple[int, int, int]] = []
        for tenant, key in places:
            tenant_id = self._numbers.tenant(tenant)
            stored = self._stored(tenant_id, key)
            if stored and stored.node_id is not None:
                gone.append((stored.node_id, tenant_id, stored.key_id))
                self._statistics.count_node(tenant_id, -1)
        node_ids = [(node_id,) for node_id, _, _ in gone]
        links.note_disturbed(self._connection, node_ids)
        self._forget_passages(node_ids)
        self._connection.executemany("DELETE FROM nodes WHERE id = ?", node_ids)
        self._connection.executemany("UPDATE keys SET node_id = NULL WHERE id = ?", [(key,) for _, _, key in gone])
        self._connection.executemany(
            f"INSERT INTO tombstones VALUES (?, ?, {self._sequence})", [(node, tenant) for node, tenant, _ in gone]
        )
        return bool(gone)

    def _forget_passages(self, node_ids: Sequence[tuple[int]]) -> None:
        for node_id in node_ids:
            for row in self._connection.execute(
                "SELECT tenant_id, length, term_hashes FROM passages WHERE node_id = ?", node_id
            ):
                self._statistics.remove_passage(*row)
        self._connection.executemany("DELETE FROM passages WHERE node_id = ?", node_ids)

    # --- writing -----------------------------------------------------------------------------------------

    def _upsert(self, wanted: Iterable[PreparedNode]) -> list[Placed]:
        placed: list[Placed] = []
        known: list[tuple[int]] = []
        disturbed: list[tuple[int]] = []
        appeared: list[tuple[int]] = []
        for prepared in wanted:
            tenant_id = self._numbers.tenant(prepared.node.tenant)
            stored = self._stored(tenant_id, prepared.node.key)
            if stored and stored.content_hash == prepared.content_hash:
                self._keep(stored, prepared)
                continue
            place = self._place(prepared, tenant_id, stored)
            placed.append(place)
            if stored and stored.node_id is None:
                appeared.append((stored.key_id,))
            elif stored:
                known.append((place.node_id,))
            if stored and stored.kind_id not in (None, place.kind_id):
                disturbed.append((place.node_id,))
        self._forget_passages(known)
        self._connection.executemany("DELETE FROM facets WHERE node_id = ?", known)
        self._insert(placed)
        links.note_disturbed(self._connection, disturbed)
        links.note_appeared(self._connection, appeared)
        return placed

    def _keep(self, stored: Stored, prepared: PreparedNode) -> None:
        if stored.unit != prepared.unit:
            # Which unit brought a node decides who removes it, so this is kept true without being a change.
            self._connection.execute("UPDATE nodes SET unit = ? WHERE id = ?", (prepared.unit, stored.node_id))

    def _place(self, prepared: PreparedNode, tenant_id: int, stored: Stored | None) -> Placed:
        kind_id = self._numbers.kind(prepared.node.kind)
        if stored and stored.node_id is not None:
            return Placed(prepared, stored.node_id, tenant_id, kind_id, stored.key_id)
        self._last_node += 1
        self._statistics.count_node(tenant_id, +1)
        if stored:
            key_id = stored.key_id
            self._connection.execute("UPDATE keys SET node_id = ? WHERE id = ?", (self._last_node, key_id))
        else:
            key_id = self._numbers.new_key(prepared.node.tenant, prepared.node.key, self._last_node)
        return Placed(prepared, self._last_node, tenant_id, kind_id, key_id)

    def _insert(self, placed: Sequence[Placed]) -> None:
        self._connection.executemany(_UPSERT, [self._node_values(place) for place in placed])
        self._insert_passages(placed)
        self._connection.executemany("INSERT INTO facets VALUES (?, ?, ?)", self._facet_rows(placed))
        self._connection.executemany(
            "INSERT OR REPLACE INTO importance VALUES (?, ?)",
            [(place.node_id, float(place.prepared.node.importance)) for place in placed],
        )

    def _node_values(self, place: Placed) -> Row:
        numbers = (place.node_id, place.tenant_id, place.kind_id, place.key_id)
        return (*numbers, self._sequence, *node_values(place.prepared))

    def _facet_rows(self, placed: Sequence[Placed]) -> Iterable[tuple[int, int, int]]:
        for place in placed:
            node = place.prepared.node
            for facet in facets_of(node.kind, node.origin.source, node.tags, node.fields):
                yield place.node_id, self._numbers.facet(facet), place.tenant_id

    def _insert_passages(self, placed: Sequence[Placed]) -> None:
        rows: list[Row] = []
        vectors: list[tuple[int, bytes]] = []
        for place in placed:
            position = position_of(place.prepared.node)
            for prepared in place.prepared.passages:
                self._last_passage += 1
                passage = prepared.passage
                rows.append((
                    *(self._last_passage, place.node_id, place.tenant_id, position, passage.ordinal),
                    *(passage.start, passage.end, passage.first_line, passage.last_line),
                    *(packed_texts(passage.heading_path), prepared.length),
                    *(prepared.term_hashes, prepared.term_counts),
                ))  # fmt: skip
                self._statistics.add_passage(place.tenant_id, prepared.length, prepared.term_hashes)
                if prepared.vector:
                    vectors.append((self._last_passage, prepared.vector))
        self._connection.executemany(_PASSAGE, rows)
        self._connection.executemany("INSERT INTO vectors VALUES (?, ?)", vectors)
