"""Writing nodes with their passages, words, vectors and facets, all of a kind at once."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from weft.ports import Changes, PreparedNode
from weft.store.embedded.lexical import weighted_counts
from weft.store.postgres.connection import Link, rows_of
from weft.store.postgres.copy_rows import Columns, copy_rows, half_precision, words_of
from weft.store.postgres.encode import bigints, digest
from weft.store.postgres.links import Touched
from weft.store.postgres.numbers import KEYS, Numbers, key_columns
from weft.store.records import WRITTEN_COLUMNS, Row, facets_of, node_values, packed_texts, position_of
from weft.store.sqlite.nodes import Placed, Stored
from weft.store.statistics import StatisticsDelta

_WHOLE_NUMBERS: Final = frozenset(
    (
        *("id", "key_id", "changed", "tag", "position", "sequence", "known_from", "created", "modified"),
        *("text_tokens", "first_line", "last_line"),
    )
)
_NODE_TYPES: Final = {
    name: "int8" if name in _WHOLE_NUMBERS else "int4" if name in ("tenant_id", "kind_id") else "text"
    for name in WRITTEN_COLUMNS
}
_NODES: Final = Columns("nodes", **{**_NODE_TYPES, "sketch": "bytea"})
_MARKS: Final = Columns("marks", node_id="int8", tenant_id="int4", value="float8")
FACETS: Final = Columns("facets", node_id="int8", facet_id="int4", tenant_id="int4")
_PASSAGES: Final = Columns(
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
)
_WORDS: Final = Columns(
    "words", passage_id="int8", node_id="int8", tenant_id="int4", position="int8", words="text"
)
VECTORS: Final = Columns(
    "vectors",
    space="int2",
    passage_id="int8",
    node_id="int8",
    tenant_id="int4",
    position="int8",
    dimensions="int4",
    vector="bytea",
)


def stored_keys(link: Link, places: Sequence[tuple[int, str]]) -> dict[tuple[int, str], Stored]:
    """What is known of those (tenant number, key) that any node or edge has named."""
    if not places:
        return {}
    rows = rows_of(
        link,
        "SELECT k.tenant_id, k.key, k.id, n.id, n.content_hash, n.kind_id, n.unit"
        " FROM unnest(%s::integer[], %s::bigint[], %s::text[]) o(tenant_id, digest, key)"
        " JOIN keys k ON k.digest = o.digest AND k.tenant_id = o.tenant_id AND k.key = o.key"
        " LEFT JOIN nodes n ON n.id = k.node_id",
        key_columns(places),
    )
    return {(row[0], row[1]): Stored(*row[2:]) for row in rows}


class NodeWriter:
    """Writes the nodes of one change set under one sequence number."""

    def __init__(
        self, link: Link, numbers: Numbers, statistics: StatisticsDelta, touched: Touched, sequence: int
    ) -> None:
        self._link, self._numbers, self._statistics, self._touched = link, numbers, statistics, touched
        self._sequence = sequence
        self._known: dict[tuple[int, str], Stored] = {}
        row = link.execute("SELECT last_node, last_passage, space FROM state").fetchone() or (0, 0, 1)
        self.last_node, self.last_passage, self._space = row

    def write(self, changes: Changes) -> tuple[bool, list[Placed]]:
        """Remove and upsert, and return whether anything changed and which nodes were written.

        A key that is both removed and upserted (it moved between units) is upserted and keeps its id.
        """
        wanted = {(prepared.node.tenant, prepared.node.key): prepared for prepared in changes.upserts}
        places = [*wanted, *changes.removes]
        self._numbers.learn("tenants", (tenant for tenant, _ in places))
        self._numbers.learn("kinds", (prepared.node.kind for prepared in wanted.values()))
        numbered = [(self._numbers.tenant(tenant), key) for tenant, key in dict.fromkeys(places)]
        self._known = stored_keys(self._link, numbered)
        removed = self._remove(place for place in dict.fromkeys(changes.removes) if place not in wanted)
        written = self._upsert(wanted.values())
        return removed or bool(written), written

    # --- removing ----------------------------------------------------------------------------------------

    def _remove(self, places: Iterable[tuple[str, str]]) -> bool:
        gone: list[tuple[int, int, int]] = []
        for tenant, key in places:
            tenant_id = self._numbers.tenant(tenant)
            stored = self._known.get((tenant_id, key))
            if stored and stored.node_id is not None:
                gone.append((stored.node_id, tenant_id, stored.key_id))
                self._statistics.count_node(tenant_id, -1)
        if not gone:
            return False
        ids = [node_id for node_id, _, _ in gone]
        self._touched.disturb(ids)
        self._forget(ids, ("nodes", "marks", "aliases", "names"))
        keys = bigints(key_id for _, _, key_id in gone)
        self._link.execute("UPDATE keys SET node_id = NULL WHERE id = ANY(%s)", (keys,))
        self._link.execute(
            "INSERT INTO tombstones SELECT o.node_id, o.tenant_id, %s FROM unnest(%s::bigint[], %s::integer[])"
            " o(node_id, tenant_id)",
            (self._sequence, bigints(ids), bigints(tenant_id for _, tenant_id, _ in gone)),
        )
        return True

    def _forget(self, node_ids: Sequence[int], also: Sequence[str]) -> None:
        """Take away what is stored of nodes, and what their passages add to the statistics."""
        if not node_ids:
            return
        rows = rows_of(
            self._link,
            "DELETE FROM passages WHERE node_id = ANY(%s) RETURNING tenant_id, length, term_hashes",
            (bigints(node_ids),),
        )
        for row in rows:
            self._statistics.remove_passage(*row)
        for table in ("words", "vectors", "facets", *also):
            column = "id" if table == "nodes" else "node_id"
            self._link.execute(f"DELETE FROM {table} WHERE {column} = ANY(%s)", (bigints(node_ids),))

    # --- writing -----------------------------------------------------------------------------------------

    def _upsert(self, wanted: Iterable[PreparedNode]) -> list[Placed]:
        placed: list[Placed] = []
        known: list[int] = []
        moved: list[tuple[int, str]] = []
        for prepared in wanted:
            tenant_id = self._numbers.tenant(prepared.node.tenant)
            stored = self._known.get((tenant_id, prepared.node.key))
            if stored and stored.content_hash == prepared.content_hash:
                if stored.unit != prepared.unit and stored.node_id is not None:
                    moved.append((stored.node_id, prepared.unit))
                continue
            placed.append(self._place(prepared, tenant_id, stored))
            if stored and stored.node_id is not None:
                known.append(stored.node_id)
                if stored.kind_id != placed[-1].kind_id:
                    self._touched.disturb([stored.node_id])
        self._move(moved)
        self._forget(known, ("nodes", "marks"))
        self._insert(placed)
        return placed

    def _move(self, moved: Sequence[tuple[int, str]]) -> None:
        """Which unit brought a node decides who removes it, so this is kept true without being a change."""
        if moved:
            self._link.execute(
                "UPDATE nodes n SET unit = o.unit FROM unnest(%s::bigint[], %s::text[]) o(id, unit)"
                " WHERE n.id = o.id",
                (bigints(node_id for node_id, _ in moved), [unit for _, unit in moved]),
            )

    def _place(self, prepared: PreparedNode, tenant_id: int, stored: Stored | None) -> Placed:
        kind_id = self._numbers.kind(prepared.node.kind)
        if stored and stored.node_id is not None:
            self._numbers.know_key(prepared.node.tenant, prepared.node.key, stored.key_id)
            return Placed(prepared, stored.node_id, tenant_id, kind_id, stored.key_id)
        self.last_node += 1
        self._statistics.count_node(tenant_id, +1)
        node = prepared.node
        key_id = stored.key_id if stored else self._numbers.next_key(node.tenant, node.key)
        return Placed(prepared, self.last_node, tenant_id, kind_id, key_id)

    def _insert(self, placed: Sequence[Placed]) -> None:
        self._insert_keys(placed)
        self._numbers.learn("facet_names", (facet for place in placed for facet in _facets(place)))
        copy_rows(self._link, _NODES, map(self._node_values, placed))
        copy_rows(
            self._link,
            _MARKS,
            [(place.node_id, place.tenant_id, float(place.prepared.node.importance)) for place in placed],
        )
        copy_rows(self._link, FACETS, self._facet_rows(placed))
        self._insert_passages(placed)

    def _insert_keys(self, placed: Sequence[Placed]) -> None:
        """Let keys lead to the new nodes; edges that named one before lead somewhere now."""
        rows, named = [], []
        for place in placed:
            key = place.prepared.node.key
            stored = self._known.get((place.tenant_id, key))
            if stored is None:
                rows.append((place.key_id, place.tenant_id, digest(key), place.node_id, key))
            elif stored.node_id is None:
                named.append((place.key_id, place.node_id))
        copy_rows(self._link, KEYS, rows)
        if named:
            keys = bigints(key_id for key_id, _ in named)
            self._link.execute(
                "UPDATE keys k SET node_id = o.node_id FROM unnest(%s::bigint[], %s::bigint[]) o(id, node_id)"
                " WHERE k.id = o.id",
                (keys, bigints(node_id for _, node_id in named)),
            )
            self._touched.appear(keys)

    def _node_values(self, place: Placed) -> Row:
        numbers = (place.node_id, place.tenant_id, place.kind_id, place.key_id)
        return (*numbers, self._sequence, *node_values(place.prepared))

    def _facet_rows(self, placed: Sequence[Placed]) -> Iterator[tuple[int, int, int]]:
        for place in placed:
            for facet in _facets(place):
                yield place.node_id, self._numbers.facet(facet), place.tenant_id

    def _insert_passages(self, placed: Sequence[Placed]) -> None:
        rows: list[Row] = []
        words: list[Row] = []
        vectors: list[Row] = []
        for place in placed:
            position = position_of(place.prepared.node)
            for prepared in place.prepared.passages:
                self.last_passage += 1
                passage, of = prepared.passage, (self.last_passage, place.node_id, place.tenant_id, position)
                lines = (passage.first_line, passage.last_line, packed_texts(passage.heading_path))
                terms = (prepared.length, prepared.term_hashes, prepared.term_counts)
                rows.append((*of, passage.ordinal, passage.start, passage.end, *lines, *terms))
                words.append((*of, words_of(prepared.term_hashes, weighted_counts(prepared.term_counts).tolist())))
                self._statistics.add_passage(place.tenant_id, prepared.length, prepared.term_hashes)
                if prepared.vector:
                    vector = half_precision(prepared.vector)
                    vectors.append((self._space, *of, len(prepared.vector), vector))
        copy_rows(self._link, _PASSAGES, rows)
        copy_rows(self._link, _WORDS, words)
        copy_rows(self._link, VECTORS, vectors)


def _facets(place: Placed) -> tuple[str, ...]:
    node = place.prepared.node
    return facets_of(node.kind, node.origin.source, node.tags, node.fields)
