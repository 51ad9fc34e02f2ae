"""Write nodes with their passages, vectors and facets."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from weft.ports import Changes, PreparedNode
from weft.store.changes import NumberedNode, StoredKey
from weft.store.records import WRITTEN_COLUMNS, Row, known_position, list_facets, node_values, pack_texts
from weft.store.sqlite import links
from weft.store.sqlite.lookup import PLACEHOLDERS, Numbers, padded_groups
from weft.store.statistics import StatisticsDelta

# Updated in place: INSERT OR REPLACE would delete the row first, and its aliases with it.
_UPSERT_NODE: Final = (
    f"INSERT INTO nodes ({', '.join(WRITTEN_COLUMNS)}) VALUES ({', '.join('?' * len(WRITTEN_COLUMNS))})"
    f" ON CONFLICT (id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in WRITTEN_COLUMNS[1:])}"
)
_INSERT_PASSAGE: Final = f"INSERT INTO passages VALUES ({', '.join('?' * 14)})"


def stored_keys(connection: sqlite3.Connection, tenant_id: int, keys: Sequence[str]) -> dict[str, StoredKey]:
    """Return the stored state of those of a tenant's keys that any node or edge has named."""
    found: dict[str, StoredKey] = {}
    for group in padded_groups(keys):
        rows = connection.execute(
            "SELECT k.key, k.id, n.id, n.content_hash, n.kind_id, n.unit FROM keys k LEFT JOIN nodes n"
            f" ON n.id = k.node_id WHERE k.tenant_id = ? AND k.key IN ({PLACEHOLDERS})",
            (tenant_id, *group),
        )
        found.update((row[0], StoredKey(*row[1:])) for row in rows)
    return found


class NodeWriter:
    """A writer of the nodes of one change set, under one sequence number."""

    def __init__(
        self, connection: sqlite3.Connection, numbers: Numbers, statistics: StatisticsDelta, sequence: int
    ) -> None:
        self._connection, self._numbers, self._statistics = connection, numbers, statistics
        self._sequence = sequence
        self._known: dict[tuple[int, str], StoredKey] = {}
        # Ids are given out here, so that the rows of a table are inserted with one statement.
        self._last_node, self._last_passage = (self._last_id(table) for table in ("nodes", "passages"))

    def write(self, changes: Changes) -> tuple[bool, list[NumberedNode]]:
        """Remove and upsert nodes, and return whether anything changed and which nodes were written.

        A key that is both removed and upserted (it moved between units) is upserted and keeps its id.
        """
        # Of a key that comes twice in one write the last node counts.
        wanted = {(prepared.node.tenant, prepared.node.key): prepared for prepared in changes.upserts}
        self._look_up([*wanted, *changes.removes])
        removed = self._remove(pair for pair in dict.fromkeys(changes.removes) if pair not in wanted)
        written = self._upsert(wanted.values())
        return removed or bool(written), written

    def _last_id(self, table: str) -> int:
        # AUTOINCREMENT remembers the largest id ever given: an id is never used again, so derived files may rely
        # on it.
        row = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
        return int(row[0]) if row else 0

    def _look_up(self, pairs: Iterable[tuple[str, str]]) -> None:
        by_tenant: dict[str, list[str]] = {}
        for tenant, key in pairs:
            by_tenant.setdefault(tenant, []).append(key)
        for tenant, keys in by_tenant.items():
            tenant_id = self._numbers.tenant(tenant)
            found = stored_keys(self._connection, tenant_id, keys)
            self._known.update(((tenant_id, key), stored) for key, stored in found.items())

    # --- removing ----------------------------------------------------------------------------------------

    def _remove(self, pairs: Iterable[tuple[str, str]]) -> bool:
        gone: list[tuple[int, int, int]] = []
        for tenant, key in pairs:
            tenant_id = self._numbers.tenant(tenant)
            stored = self._known.get((tenant_id, key))
            if stored and stored.node_id is not None:
                gone.append((stored.node_id, tenant_id, stored.key_id))
                self._statistics.count_node(tenant_id, -1)
        node_ids = [(node_id,) for node_id, _, _ in gone]
        # Before the nodes go, because their neighbours are found through them.
        links.note_disturbed(self._connection, node_ids)
        self._delete_passages(node_ids)
        self._connection.executemany("DELETE FROM nodes WHERE id = ?", node_ids)
        self._connection.executemany(
            # The key stays, because edges may name it and lead somewhere again when the node comes back.
            "UPDATE keys SET node_id = NULL WHERE id = ?",
            [(key_id,) for _, _, key_id in gone],
        )
        self._connection.executemany(
            # Derived indexes learn from tombstones whose passages to drop.
            f"INSERT INTO tombstones VALUES (?, ?, {self._sequence})",
            [(node, tenant) for node, tenant, _ in gone],
        )
        return bool(gone)

    def _delete_passages(self, node_ids: Sequence[tuple[int]]) -> None:
        # What the passages counted must be known to take it off, so they are read before they go.
        for node_id in node_ids:
            for row in self._connection.execute(
                "SELECT tenant_id, length, term_hashes FROM passages WHERE node_id = ?", node_id
            ):
                self._statistics.remove_passage(*row)
        self._connection.executemany("DELETE FROM passages WHERE node_id = ?", node_ids)

    # --- writing -----------------------------------------------------------------------------------------

    def _upsert(self, wanted: Iterable[PreparedNode]) -> list[NumberedNode]:
        written: list[NumberedNode] = []
        replaced: list[tuple[int]] = []
        disturbed: list[tuple[int]] = []
        appeared: list[tuple[int]] = []
        for prepared in wanted:
            tenant_id = self._numbers.tenant(prepared.node.tenant)
            stored = self._known.get((tenant_id, prepared.node.key))
            if stored and stored.content_hash == prepared.content_hash:
                if stored.unit != prepared.unit:
                    # The unit decides which indexing run removes the node. It is kept true, but is no change.
                    self._connection.execute(
                        "UPDATE nodes SET unit = ? WHERE id = ?", (prepared.unit, stored.node_id)
                    )
                continue
            item = self._assign_numbers(prepared, tenant_id, stored)
            written.append(item)
            # Edges have named the key before it had a node, and lead somewhere now.
            if stored and stored.node_id is None:
                appeared.append((stored.key_id,))
            elif stored:
                replaced.append((item.node_id,))
            if stored and stored.kind_id not in (None, item.kind_id):
                # Neighbour lists hold the kind of each neighbour.
                disturbed.append((item.node_id,))
        self._delete_passages(replaced)
        self._connection.executemany("DELETE FROM facets WHERE node_id = ?", replaced)
        self._insert(written)
        links.note_disturbed(self._connection, disturbed)
        links.note_appeared(self._connection, appeared)
        return written

    def _assign_numbers(self, prepared: PreparedNode, tenant_id: int, stored: StoredKey | None) -> NumberedNode:
        """Give a node the numbers that it is written under, new ones where it has none."""
        kind_id = self._numbers.kind(prepared.node.kind)
        if stored and stored.node_id is not None:
            return NumberedNode(prepared, stored.node_id, tenant_id, kind_id, stored.key_id)
        self._last_node += 1
        self._statistics.count_node(tenant_id, +1)
        if stored:
            key_id = stored.key_id
            self._connection.execute("UPDATE keys SET node_id = ? WHERE id = ?", (self._last_node, key_id))
        else:
            key_id = self._numbers.new_key(prepared.node.tenant, prepared.node.key, self._last_node)
        return NumberedNode(prepared, self._last_node, tenant_id, kind_id, key_id)

    def _insert(self, written: Sequence[NumberedNode]) -> None:
        self._connection.executemany(_UPSERT_NODE, [self._node_values(item) for item in written])
        self._insert_passages(written)
        self._connection.executemany("INSERT INTO facets VALUES (?, ?, ?)", self._facet_rows(written))
        self._connection.executemany(
            # A node written anew starts from its own importance again, until a linker weighs it.
            "INSERT OR REPLACE INTO importance VALUES (?, ?)",
            [(item.node_id, float(item.prepared.node.importance)) for item in written],
        )

    def _node_values(self, item: NumberedNode) -> Row:
        numbers = (item.node_id, item.tenant_id, item.kind_id, item.key_id)
        return (*numbers, self._sequence, *node_values(item.prepared))

    def _facet_rows(self, written: Sequence[NumberedNode]) -> Iterable[tuple[int, int, int]]:
        for item in written:
            node = item.prepared.node
            for facet in list_facets(node.kind, node.origin.source, node.tags, node.fields):
                yield item.node_id, self._numbers.facet(facet), item.tenant_id

    def _insert_passages(self, written: Sequence[NumberedNode]) -> None:
        rows: list[Row] = []
        vectors: list[tuple[int, bytes]] = []
        for item in written:
            position = known_position(item.prepared.node)
            for prepared in item.prepared.passages:
                self._last_passage += 1
                passage = prepared.passage
                rows.append((
                    *(self._last_passage, item.node_id, item.tenant_id, position, passage.ordinal),
                    *(passage.start, passage.end, passage.first_line, passage.last_line),
                    *(pack_texts(passage.heading_path), prepared.length),
                    *(prepared.term_hashes, prepared.term_counts, prepared.snippets or None),
                ))  # fmt: skip
                self._statistics.add_passage(item.tenant_id, prepared.length, prepared.term_hashes)
                if prepared.vector:
                    vectors.append((self._last_passage, prepared.vector))
        self._connection.executemany(_INSERT_PASSAGE, rows)
        self._connection.executemany("INSERT INTO vectors VALUES (?, ?)", vectors)
