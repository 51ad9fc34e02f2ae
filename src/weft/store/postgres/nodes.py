"""Write nodes with their passages, words, vectors and facets: all rows of a table in one COPY.

This is the first part of a write; aliases and edges follow, because they refer to the nodes.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from weft.ports import Changes, PreparedNode
from weft.store.changes import NumberedNode, StoredKey
from weft.store.derived import weighted_counts
from weft.store.postgres.connection import Connection, CopyTarget, copy_rows, fetch_rows
from weft.store.postgres.encode import bigint_array, digest, passage_words, to_halfvec
from weft.store.postgres.links import TouchedLists
from weft.store.postgres.lookup import KEYS, Numbers, key_columns
from weft.store.records import WRITTEN_COLUMNS, Row, known_position, list_facets, node_values, pack_texts
from weft.store.statistics import StatisticsDelta

_BIGINT_COLUMNS: Final = frozenset(
    (
        *("id", "key_id", "changed", "tag", "position", "sequence", "known_from", "created", "modified"),
        *("text_tokens", "first_line", "last_line"),
    )
)
_NODE_TYPES: Final = {
    name: "int8" if name in _BIGINT_COLUMNS else "int4" if name in ("tenant_id", "kind_id") else "text"
    for name in WRITTEN_COLUMNS
}
_NODES: Final = CopyTarget("nodes", **{**_NODE_TYPES, "sketch": "bytea"})
_MARKS: Final = CopyTarget("marks", node_id="int8", tenant_id="int4", value="float8")
FACETS: Final = CopyTarget("facets", node_id="int8", facet_id="int4", tenant_id="int4")
_PASSAGES: Final = CopyTarget(
    "passages",
    id="int8",
    node_id="int8",
    tenant_id="int4",
    position="int8",
    ordinal="int8",
    start="int8",
    stop="int8",
    first_line="int8",
    last_line="int8",
    heading_path="text",
    length="int8",
    term_hashes="bytea",
    term_counts="bytea",
    snippets="bytea",
)
_WORDS: Final = CopyTarget(
    "words", passage_id="int8", node_id="int8", tenant_id="int4", position="int8", words="text"
)
VECTORS: Final = CopyTarget(
    "vectors",
    space="int2",
    passage_id="int8",
    node_id="int8",
    tenant_id="int4",
    position="int8",
    dimensions="int4",
    vector="bytea",
)


def stored_keys(connection: Connection, keys: Sequence[tuple[int, str]]) -> dict[tuple[int, str], StoredKey]:
    """Return what is stored for those (tenant number, key) that any node or edge has named."""
    if not keys:
        return {}
    rows = fetch_rows(
        connection,
        "SELECT k.tenant_id, k.key, k.id, n.id, n.content_hash, n.kind_id, n.unit"
        " FROM unnest(%s::integer[], %s::bigint[], %s::text[]) o(tenant_id, digest, key)"
        " JOIN keys k ON k.digest = o.digest AND k.tenant_id = o.tenant_id AND k.key = o.key"
        " LEFT JOIN nodes n ON n.id = k.node_id",
        key_columns(keys),
    )
    return {(row[0], row[1]): StoredKey(*row[2:]) for row in rows}


class NodeWriter:
    """A writer of the nodes of one change set, under one sequence number."""

    def __init__(
        self,
        connection: Connection,
        numbers: Numbers,
        statistics: StatisticsDelta,
        touched: TouchedLists,
        sequence: int,
    ) -> None:
        self._connection, self._numbers, self._statistics, self._touched = connection, numbers, statistics, touched
        self._sequence = sequence
        self._known: dict[tuple[int, str], StoredKey] = {}
        row = connection.execute("SELECT last_node, last_passage, space FROM state").fetchone() or (0, 0, 1)
        self.last_node, self.last_passage, self._space = row

    def write(self, changes: Changes) -> tuple[bool, list[NumberedNode]]:
        """Remove and upsert nodes, and return whether anything changed and which nodes were written.

        A key that is both removed and upserted (it moved between units) is upserted and keeps its id.
        """
        # Of a key that comes twice in one write the last node counts.
        wanted = {(prepared.node.tenant, prepared.node.key): prepared for prepared in changes.upserts}
        keys = [*wanted, *changes.removes]
        self._numbers.assign_numbers("tenants", (tenant for tenant, _ in keys))
        self._numbers.assign_numbers("kinds", (prepared.node.kind for prepared in wanted.values()))
        numbered = [(self._numbers.tenant(tenant), key) for tenant, key in dict.fromkeys(keys)]
        self._known = stored_keys(self._connection, numbered)
        removed = self._remove(pair for pair in dict.fromkeys(changes.removes) if pair not in wanted)
        written = self._upsert(wanted.values())
        return removed or bool(written), written

    # --- removing ----------------------------------------------------------------------------------------

    def _remove(self, keys: Iterable[tuple[str, str]]) -> bool:
        gone: list[tuple[int, int, int]] = []
        for tenant, key in keys:
            tenant_id = self._numbers.tenant(tenant)
            stored = self._known.get((tenant_id, key))
            if stored and stored.node_id is not None:
                gone.append((stored.node_id, tenant_id, stored.key_id))
                self._statistics.count_node(tenant_id, -1)
        if not gone:
            return False
        ids = [node_id for node_id, _, _ in gone]
        # Before the nodes go, because their neighbours are found through them.
        self._touched.note_disturbed(ids)
        self._delete_rows(ids, ("nodes", "marks", "aliases", "names"))
        # The key stays: edges may go on naming it, and a node that comes back keeps them.
        key_ids = bigint_array(key_id for _, _, key_id in gone)
        self._connection.execute("UPDATE keys SET node_id = NULL WHERE id = ANY(%s)", (key_ids,))
        self._connection.execute(
            # Derived indexes learn from tombstones whose passages to drop.
            "INSERT INTO tombstones SELECT o.node_id, o.tenant_id, %s FROM unnest(%s::bigint[], %s::integer[])"
            " o(node_id, tenant_id)",
            (self._sequence, bigint_array(ids), bigint_array(tenant_id for _, tenant_id, _ in gone)),
        )
        return True

    def _delete_rows(self, node_ids: Sequence[int], tables: Sequence[str]) -> None:
        """Delete the rows of nodes from these tables and those of their passages, and lower the statistics."""
        if not node_ids:
            return
        rows = fetch_rows(
            self._connection,
            # RETURNING tells what to take off the statistics without reading the passages first.
            "DELETE FROM passages WHERE node_id = ANY(%s) RETURNING tenant_id, length, term_hashes",
            (bigint_array(node_ids),),
        )
        for row in rows:
            self._statistics.remove_passage(*row)
        for table in ("words", "vectors", "facets", *tables):
            column = "id" if table == "nodes" else "node_id"
            self._connection.execute(f"DELETE FROM {table} WHERE {column} = ANY(%s)", (bigint_array(node_ids),))

    # --- writing -----------------------------------------------------------------------------------------

    def _upsert(self, wanted: Iterable[PreparedNode]) -> list[NumberedNode]:
        written: list[NumberedNode] = []
        rewritten: list[int] = []
        moved: list[tuple[int, str]] = []
        for prepared in wanted:
            tenant_id = self._numbers.tenant(prepared.node.tenant)
            stored = self._known.get((tenant_id, prepared.node.key))
            if stored and stored.content_hash == prepared.content_hash:
                if stored.unit != prepared.unit and stored.node_id is not None:
                    moved.append((stored.node_id, prepared.unit))
                continue
            written.append(self._assign_numbers(prepared, tenant_id, stored))
            if stored and stored.node_id is not None:
                rewritten.append(stored.node_id)
                # The neighbour lists of other nodes hold the kind of this one.
                if stored.kind_id != written[-1].kind_id:
                    self._touched.note_disturbed([stored.node_id])
        if moved:
            # Which unit brought a node decides who removes it: this is kept true without counting as a change.
            self._connection.execute(
                "UPDATE nodes n SET unit = o.unit FROM unnest(%s::bigint[], %s::text[]) o(id, unit)"
                " WHERE n.id = o.id",
                (bigint_array(node_id for node_id, _ in moved), [unit for _, unit in moved]),
            )
        # Deleted and copied anew: COPY cannot update, and aliases of linkers stay.
        self._delete_rows(rewritten, ("nodes", "marks"))
        self._insert(written)
        return written

    def _assign_numbers(self, prepared: PreparedNode, tenant_id: int, stored: StoredKey | None) -> NumberedNode:
        """Return the node with the numbers it is written under: those it has, or the next free ones."""
        kind_id = self._numbers.kind(prepared.node.kind)
        if stored and stored.node_id is not None:
            self._numbers.remember_key(prepared.node.tenant, prepared.node.key, stored.key_id)
            return NumberedNode(prepared, stored.node_id, tenant_id, kind_id, stored.key_id)
        self.last_node += 1
        self._statistics.count_node(tenant_id, +1)
        node = prepared.node
        key_id = stored.key_id if stored else self._numbers.next_key(node.tenant, node.key)
        return NumberedNode(prepared, self.last_node, tenant_id, kind_id, key_id)

    def _insert(self, nodes: Sequence[NumberedNode]) -> None:
        self._insert_keys(nodes)
        facets = [(item, _facets(item)) for item in nodes]
        self._numbers.assign_numbers("facet_names", (name for _, names in facets for name in names))
        copy_rows(self._connection, _NODES, map(self._node_values, nodes))
        copy_rows(
            self._connection,
            _MARKS,
            [(item.node_id, item.tenant_id, float(item.prepared.node.importance)) for item in nodes],
        )
        copy_rows(
            self._connection,
            FACETS,
            [
                (item.node_id, self._numbers.facet(name), item.tenant_id)
                for item, names in facets
                for name in names
            ],
        )
        self._insert_passages(nodes)

    def _insert_keys(self, nodes: Sequence[NumberedNode]) -> None:
        """Let keys lead to the new nodes; edges that named a key before it had a node become visible."""
        rows, appeared = [], []
        for item in nodes:
            key = item.prepared.node.key
            stored = self._known.get((item.tenant_id, key))
            if stored is None:
                rows.append((item.key_id, item.tenant_id, digest(key), item.node_id, key))
            elif stored.node_id is None:
                appeared.append((item.key_id, item.node_id))
        copy_rows(self._connection, KEYS, rows)
        if appeared:
            key_ids = bigint_array(key_id for key_id, _ in appeared)
            self._connection.execute(
                "UPDATE keys k SET node_id = o.node_id FROM unnest(%s::bigint[], %s::bigint[]) o(id, node_id)"
                " WHERE k.id = o.id",
                (key_ids, bigint_array(node_id for _, node_id in appeared)),
            )
            self._touched.note_appeared(key_ids)

    def _node_values(self, item: NumberedNode) -> Row:
        numbers = (item.node_id, item.tenant_id, item.kind_id, item.key_id)
        return (*numbers, self._sequence, *node_values(item.prepared))

    def _insert_passages(self, nodes: Sequence[NumberedNode]) -> None:
        rows: list[Row] = []
        words: list[Row] = []
        vectors: list[Row] = []
        for item in nodes:
            position = known_position(item.prepared.node)
            for prepared in item.prepared.passages:
                self.last_passage += 1
                passage, terms = prepared.passage, prepared.term_hashes
                # The three tables begin with the same columns, so that each can be searched without a join.
                owner = (self.last_passage, item.node_id, item.tenant_id, position)
                lines = (passage.first_line, passage.last_line, pack_texts(passage.heading_path))
                span = (passage.ordinal, passage.start, passage.end)
                rows.append((
                    *(*owner, *span, *lines, prepared.length),
                    *(terms, prepared.term_counts, prepared.snippets or None),
                ))  # fmt: skip
                words.append((*owner, passage_words(terms, weighted_counts(prepared.term_counts).tolist())))
                self._statistics.add_passage(item.tenant_id, prepared.length, terms)
                if prepared.vector:
                    vectors.append((self._space, *owner, len(prepared.vector), to_halfvec(prepared.vector)))
        copy_rows(self._connection, _PASSAGES, rows)
        copy_rows(self._connection, _WORDS, words)
        copy_rows(self._connection, VECTORS, vectors)


def _facets(item: NumberedNode) -> tuple[str, ...]:
    node = item.prepared.node
    return list_facets(node.kind, node.origin.source, node.tags, node.fields)
