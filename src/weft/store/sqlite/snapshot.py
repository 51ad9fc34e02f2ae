"""Read the embedded store through a view, in one read transaction; every question and every index reads so."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
import numpy as np
import orjson
from msgspec import Struct

from weft.model import Alias, Edge, Filter, View
from weft.ports import Adjacency, NameRow, NodeRow, PassageRow, QualityState, RecentChanges, TermStatistics
from weft.runtime.cache import CachedRows, LruCache
from weft.scoring.similarity import unit_rows
from weft.store import links
from weft.store.records import NODE_COLUMNS, PASSAGE_COLUMNS, Row, read_edge, read_nodes, read_passages
from weft.store.sqlite.links import read_arcs
from weft.store.sqlite.listing import read_tail
from weft.store.sqlite.lookup import (
    Visibility,
    count_waiting,
    find_names,
    find_nodes_named_by,
    matching_ids,
    names_by_number,
    read_edges,
    read_meta,
)
from weft.store.statistics import PASSAGES_PER_BATCH, ScanCache, ScannedStatistics, count_statistics

if TYPE_CHECKING:
    from weft.ports.stores import Ids, Vectors


QUALITY: Final = "quality"
"""The name in `meta` of the state of the second vectors."""
CACHED_VIEWS: Final = 4
"""Views whose rows are kept, each up to the limits below; a server has few views at a time."""
MAX_CACHED_ROWS: Final = 4_000
"""Rows of one kind that a view keeps: the nodes that a few dozen questions look at."""
MAX_ROWS_AT_ONCE: Final = 1_000
"""Rows of one read that are kept."""
_MAX_CACHED_PASSAGES: Final = 16_000
"""The same for passages, of which a question looks at four times as many: some 15 MB, and a store of ten thousand
nodes as a whole."""
_MAX_CACHED_VECTORS: Final = 32_000
"""Vectors that a view keeps, 10 MB of them: walks that sample links by relevance read thousands for one page."""
_MAX_CACHED_HUBS: Final = 500
"""Neighbour lists of hubs that a view keeps: of 480 neighbours, which are usual, they take 7 MB."""
_CACHED_FAN_OUTS: Final = 2
"""Lengths of such lists: a walk reads more at its first step than at the others."""
_MAX_TEXT_CHARACTERS: Final = 16_000
"""Length of text up to which a node is kept, so that the cache stays below 64 million characters for a view."""

Fact = TypeVar("Fact")


class ViewRows:
    """The rows that were read through one view of one state of a store; for any thread."""

    def __init__(self) -> None:
        usual = MAX_CACHED_ROWS, MAX_ROWS_AT_ONCE
        self.nodes = CachedNodes(*usual)
        self.passages = CachedRows[PassageRow](_MAX_CACHED_PASSAGES, MAX_ROWS_AT_ONCE)
        self.passages_of = CachedRows[tuple[PassageRow, ...]](_MAX_CACHED_PASSAGES, MAX_ROWS_AT_ONCE)
        self.vectors = CachedRows[bytes](_MAX_CACHED_VECTORS, _MAX_CACHED_VECTORS)
        self.snippets = CachedRows[bytes](*usual)
        self.frequency = CachedRows[int](*usual)
        self.hubs = LruCache[int, CachedRows[list[Row]]](_CACHED_FAN_OUTS)
        """The lists of nodes with more neighbours than are listed, by how many of each were read."""
        self._facts: dict[str, Any] = {}

    def once(self, name: str, read: Callable[[], Fact]) -> Fact:
        """Return another fact about the state, reading it the first time it is asked for."""
        if name not in self._facts:
            self._facts[name] = read()
        fact: Fact = self._facts[name]
        return fact


class CachedNodes(CachedRows[NodeRow]):
    """Nodes by their number, but none with a very long text."""

    def _keep(self, fresh: Mapping[int, NodeRow]) -> None:
        super()._keep({id: row for id, row in fresh.items() if len(row.node.text) <= _MAX_TEXT_CHARACTERS})


class SnapshotCaches(Struct, frozen=True):
    """The caches that a store keeps between snapshots."""

    scans: ScanCache
    rows: LruCache[tuple[View, int], ViewRows]


class SqliteSnapshot:
    """A read transaction seen through a view; every method returns only what the view may see."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        view: View,
        visible: Visibility,
        caches: SnapshotCaches,
    ) -> None:
        self.connection, self.view, self.visible = connection, view, visible
        self._meta = read_meta(connection)
        self.sequence = int(self._meta["sequence"])
        self._scans = caches.scans
        self._shown: set[int] = set()
        """Passages that this snapshot has returned, so that the view is known to see them."""
        # The sequence is part of the key, so a reader of an older state never gets newer rows.
        self._cache = caches.rows.get_or_make((view, self.sequence), ViewRows)

    @property
    def identity(self) -> str:
        """The random name that distinguishes this store from every other; derived files carry it."""
        return str(self._meta.get("identity", ""))

    @cached_property
    def _kinds(self) -> dict[int, str]:
        return self._cache.once("kinds", lambda: names_by_number(self.connection, "kinds"))

    @cached_property
    def _edge_types(self) -> dict[int, str]:
        return self._cache.once("edge_types", lambda: names_by_number(self.connection, "edge_types"))

    # --- nodes -------------------------------------------------------------------------------------------

    def nodes(self, ids: Sequence[int]) -> dict[int, NodeRow]:
        """Return nodes by id in the order asked; ids outside the view are absent."""
        return self._cache.nodes.get_rows(ids, self._read_nodes)

    def _read_nodes(self, ids: Sequence[int]) -> dict[int, NodeRow]:
        # One JSON text serves any number of ids with the same prepared statement.
        id_list = _json(ids)
        rows = self.connection.execute(
            f"SELECT {NODE_COLUMNS} FROM json_each(?) j CROSS JOIN nodes n ON n.id = j.value"
            f" CROSS JOIN importance i ON i.node_id = n.id WHERE {self.visible.of('n')}",
            (id_list,),
        )
        return read_nodes(rows, self.visible.tenants, self._kinds, self._read_aliases(id_list))

    def page_of_nodes(self, after_id: int, limit: int) -> list[NodeRow]:
        """Return the next nodes of the view by id."""
        found = self.connection.execute(
            f"SELECT n.id FROM nodes n WHERE {self.visible.of('n')} AND n.id > ? ORDER BY n.id LIMIT ?",
            (after_id, limit),
        )
        # Not through the cache: who pages through a store does not come back to the rows.
        return list(self._read_nodes([node_id for (node_id,) in found]).values())

    def page_of_names(self, after_id: int, limit: int) -> list[tuple[int, NameRow]]:
        """Return the next nodes of the view by id, each with its key, title, aliases and language."""
        rows = self.connection.execute(
            f"SELECT n.id, n.tenant_id, n.key, n.title, n.language FROM nodes n WHERE {self.visible.of('n')}"
            " AND n.id > ? ORDER BY n.id LIMIT ?",
            (after_id, limit),
        ).fetchall()
        return self._name_rows(rows)

    def names_of_words(self, words: Collection[str]) -> list[NameRow]:
        """Return the names of the nodes of the view that have one made of these words, by id."""
        ids = find_nodes_named_by(self.connection, self.visible, words)
        rows = self.connection.execute(
            "SELECT n.id, n.tenant_id, n.key, n.title, n.language FROM json_each(?) j"
            f" CROSS JOIN nodes n ON n.id = j.value WHERE {self.visible.of('n')}",
            (_json(ids),),
        ).fetchall()
        return [row for _, row in self._name_rows(rows)]

    def _name_rows(self, rows: Sequence[Row]) -> list[tuple[int, NameRow]]:
        """Return rows of (id, tenant, key, title, language) with the aliases of each node."""
        aliases, tenants = self._read_aliases(_json(row[0] for row in rows)), self.visible.tenants
        return [
            (node_id, NameRow(tenants[tenant], key, title, aliases.get(node_id, ()), language))
            for node_id, tenant, key, title, language in rows
        ]

    def _read_aliases(self, id_list: str) -> dict[int, tuple[Alias, ...]]:
        found: dict[int, tuple[Alias, ...]] = {}
        for node_id, text, maker, confidence in self.connection.execute(
            "SELECT DISTINCT a.node_id, a.alias, m.name, a.confidence FROM json_each(?) j CROSS JOIN aliases a"
            " ON a.node_id = j.value CROSS JOIN makers m ON m.id = a.maker_id ORDER BY a.node_id, a.alias, m.name",
            (id_list,),
        ):
            found[node_id] = (*found.get(node_id, ()), Alias(text, maker, confidence))
        return found

    def find(self, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Return ids for each name: by its key; else by bare key, title or alias; else by the id itself."""
        return find_names(self.connection, self.visible, names)

    def matching_ids(self, filter: Filter) -> "Ids":
        """Return the sorted ids of nodes that pass the filter."""
        return matching_ids(self.connection, self.visible, filter)

    def kinds(self) -> tuple[str, ...]:
        """Return the names of all kinds of the store, sorted."""
        return tuple(sorted(self._kinds.values()))

    def sources(self) -> tuple[str, ...]:
        """Return the names of all sources of the store, sorted."""
        # ";" follows ":" in ASCII, so the two bounds hold all names that begin with the prefix.
        rows = self.connection.execute(
            "SELECT substr(name, 8) FROM facet_names WHERE name >= 'source:' AND name < 'source;' ORDER BY name"
        )
        return tuple(name for (name,) in rows)

    # --- passages ----------------------------------------------------------------------------------------

    def passages(self, ids: Sequence[int]) -> list[PassageRow]:
        """Return passages by id, in the order asked; those that are gone or outside the view are left out."""
        found = self._cache.passages.get_rows(ids, self._read_by_id)
        self._remember_shown(found)
        return [found[passage_id] for passage_id in ids if passage_id in found]

    def _read_by_id(self, ids: Sequence[int]) -> dict[int, PassageRow]:
        return {row.id: row for row in self._read_passages("p.id = j.value", ids)}

    def passages_of_nodes(self, node_ids: Sequence[int]) -> list[PassageRow]:
        """Return all passages of the nodes, by node as asked and by ordinal."""
        found = self._cache.passages_of.get_rows(node_ids, self._read_by_node)
        rows = [row for rows in found.values() for row in rows]
        self._remember_shown([row.id for row in rows])
        return rows

    def _remember_shown(self, passage_ids: Collection[int]) -> None:
        # A walk through a whole store would otherwise keep a list of all of it.
        if len(self._shown) + len(passage_ids) <= _MAX_CACHED_VECTORS:
            self._shown.update(passage_ids)

    def _read_by_node(self, node_ids: Sequence[int]) -> dict[int, tuple[PassageRow, ...]]:
        found: dict[int, list[PassageRow]] = {}
        for row in self._read_passages("p.node_id = j.value", node_ids):
            found.setdefault(row.node_id, []).append(row)
        # Most nodes have one passage, which needs no sorting.
        return {
            node_id: tuple(sorted(rows, key=lambda row: row.passage.ordinal) if rows[1:] else rows)
            for node_id, rows in found.items()
        }

    def _read_passages(self, join: str, ids: Sequence[int]) -> list[PassageRow]:
        # CROSS JOIN fixes the outer loop, so rows come in the order of the list without being sorted.
        return read_passages(
            self.connection.execute(
                f"SELECT {PASSAGE_COLUMNS} FROM json_each(?) j CROSS JOIN passages p ON {join}"
                f" WHERE {self.visible.of('p')}",
                (_json(ids),),
            )
        )

    def all_terms(self) -> list[tuple[int, int, bytes, bytes]]:
        """Return (passage id, node id, term hashes, term counts) of every passage of the view, in any order."""
        columns = "p.id, p.node_id, p.term_hashes, p.term_counts"
        return self.connection.execute(f"SELECT {columns} FROM passages p WHERE {self.visible.of('p')}").fetchall()

    def vectors(self, passage_ids: Sequence[int]) -> "Vectors":
        """Return one unit vector a passage, a row of zeros where there is none."""
        embedder = self.embedder()
        # While a store is embedded anew, vectors of another width may be stored; those count as missing.
        dimensions = embedder[1] if embedder else 0
        found = self._cache.vectors.get_rows(passage_ids, partial(self._read_vectors, dimensions=dimensions))
        # Mostly every passage has a vector and is asked for once.
        if len(found) == len(passage_ids):
            return unit_rows(list(found.values()), dimensions)
        result = np.zeros((len(passage_ids), dimensions), np.float32)
        if found:
            indexes = [index for index, passage_id in enumerate(passage_ids) if passage_id in found]
            result[indexes] = unit_rows([found[passage_ids[index]] for index in indexes], dimensions)
        return result

    def _read_vectors(self, passage_ids: Sequence[int], dimensions: int) -> dict[int, bytes]:
        columns, joined = "SELECT v.passage_id, v.vector FROM json_each(?) j", "length(v.vector) = ?"
        # Whether the view sees a passage stands in its row, which takes longer to find than its vector. A page
        # asks for vectors of passages that it has read.
        if self._shown.issuperset(passage_ids):
            statement = f"{columns} CROSS JOIN vectors v ON v.passage_id = j.value AND {joined}"
        else:
            statement = (
                f"{columns} CROSS JOIN passages p ON p.id = j.value"
                f" CROSS JOIN vectors v ON v.passage_id = p.id AND {joined} WHERE {self.visible.of('p')}"
            )
        return dict(self.connection.execute(statement, (_json(passage_ids), dimensions)).fetchall())

    def snippets(self, passage_ids: Sequence[int]) -> dict[int, bytes]:
        """Return the packed snippets of those passages that have any."""
        return self._cache.snippets.get_rows(passage_ids, self._read_snippets)

    def _read_snippets(self, passage_ids: Sequence[int]) -> dict[int, bytes]:
        return dict(
            self.connection.execute(
                "SELECT p.id, p.snippets FROM json_each(?) j CROSS JOIN passages p ON p.id = j.value"
                f" WHERE {self.visible.of('p')} AND p.snippets IS NOT NULL",
                (_json(passage_ids),),
            ).fetchall()
        )

    def statistics(self, term_hashes: Sequence[int]) -> TermStatistics:
        """Return the term statistics of exactly this view."""
        # Stored counts are those of whole tenants, so an earlier point is counted from its passages.
        if self.visible.as_of is not None:
            scan = partial(scan_statistics, self.connection, self.visible.of("p"))
            return self._scans.get_or_make((self.view, self.sequence), scan).of(term_hashes)
        frequency = self._cache.frequency.get_rows(term_hashes, self._read_frequencies)
        passages, length = self._totals
        return TermStatistics(
            passages,
            length / passages if passages else 0.0,
            # Zeros are cached, so that an unknown term is looked up once, but not returned.
            {term: count for term, count in frequency.items() if count},
        )

    def _read_frequencies(self, term_hashes: Sequence[int]) -> dict[int, int]:
        """Return in how many passages of whole tenants each term occurs; 0 where it does not."""
        frequency = dict.fromkeys(term_hashes, 0)
        # Added up here, because grouping would sort the rows once more.
        for term, count in self.connection.execute(
            "SELECT t.term_hash, t.frequency FROM json_each(?) j CROSS JOIN term_statistics t"
            f" ON t.term_hash = j.value WHERE {self.visible.by_tenant('t.tenant_id')}",
            (_json(frequency),),
        ):
            frequency[term] += count
        return frequency

    @cached_property
    def _totals(self) -> tuple[int, int]:
        return self._cache.once("totals", self._read_totals)

    def _read_totals(self) -> tuple[int, int]:
        """Return how many passages the tenants of the view have, and their length in terms."""
        passages, length = self.connection.execute(
            "SELECT coalesce(sum(t.passages), 0), coalesce(sum(t.total_length), 0) FROM tenant_statistics t"
            f" WHERE {self.visible.by_tenant('t.tenant_id')}"
        ).fetchone()
        return passages, length

    def embedder(self) -> tuple[str, int] | None:
        """Return the name and dimensions of the embedder whose vectors are stored."""
        return _embedder_of(self._meta)

    def quality(self) -> QualityState | None:
        """Return the state of the second vectors; None where the store has none."""
        return _quality_of(self._meta)

    def count_waiting(self) -> int:
        """Return the number of passages that wait for a vector of the store's embedder."""
        return count_waiting(self.connection, self._meta)

    def quality_vectors(self, passage_ids: Sequence[int]) -> dict[int, bytes]:
        """Return the second vectors of those passages that have them: its own, then those of its snippets."""
        # Not kept from question to question: they arrive while the sequence stays the same.
        return dict(
            self.connection.execute(
                "SELECT p.id, q.vectors FROM json_each(?) j CROSS JOIN passages p ON p.id = j.value"
                " CROSS JOIN quality_vectors q ON q.passage_id = p.id"
                f" WHERE {self.visible.of('p')}",
                (_json(passage_ids),),
            ).fetchall()
        )

    # --- links -------------------------------------------------------------------------------------------

    def adjacency(self, ids: Sequence[int], fan_out: int) -> Adjacency:
        """Return the strongest `fan_out` neighbours of each node, ties by edge type name, tag and direction."""
        asked = list(dict.fromkeys(ids))
        names = self._edge_types, self._kinds
        # The stored lists do not know from when on each neighbour is known.
        if self.visible.as_of is not None:
            return links.adjacency_from_arcs(self._read_arcs(asked), asked, fan_out, *names)
        rows = self.connection.execute(
            "SELECT l.node_id, l.owner_tenant_id, l.tenant_id, l.degree, l.packed FROM json_each(?) j"
            f" CROSS JOIN adjacency l ON l.node_id = j.value WHERE {self.visible.by_tenant('l.tenant_id')}"
            f" AND {self.visible.by_tenant('l.owner_tenant_id')}",
            (_json(asked),),
        ).fetchall()
        if fan_out > links.MAX_LISTED_NEIGHBOURS:
            # Of the few nodes with more neighbours than a list holds, the edges themselves are read.
            hubs = links.find_cut_lists(rows)
            cached = self._cache.hubs.get_or_make(fan_out, lambda: CachedRows(_MAX_CACHED_HUBS, _MAX_CACHED_HUBS))
            lists = cached.get_rows(sorted(hubs), partial(self._read_hubs, fan_out=fan_out))
            rows = [*(row for row in rows if row[0] not in hubs), *chain.from_iterable(lists.values())]
        return links.adjacency_from_lists([(row[0], *row[3:]) for row in rows], asked, fan_out, *names)

    def _read_hubs(self, hubs: Sequence[int], fan_out: int) -> dict[int, list[Row]]:
        found: dict[int, list[Row]] = {}
        for row in links.pack_lists(self._read_arcs(hubs), {}, links.rank_edge_types(self._edge_types), fan_out):
            found.setdefault(row[0], []).append(row)
        return found

    def _read_arcs(self, owners: Sequence[int]) -> links.Arcs:
        visible = f"{self.visible.of('a')} AND {self.visible.of('b')}"
        return read_arcs(self.connection, "json_each(?)", (_json(owners),), visible)

    def edges(self, ids: Sequence[int], limit: int = 1000) -> list[tuple[int, int, Edge]]:
        """Return the full edges at the nodes as (source id, target id, edge), strongest first."""
        visible = f"{self.visible.of('a')} AND {self.visible.of('b')}"
        # Both ends must be visible: an edge must not tell that a hidden node exists.
        rows = read_edges(self.connection, _json(ids), visible, limit)
        tenants = self.visible.tenants
        return [(row[0], row[1], read_edge(row, tenants)) for row in rows]

    def changes_since(self, since: int, limit: int) -> RecentChanges:
        """Return what changed after a sequence number, up to the sequence number that the tail names."""
        return read_tail(
            self.connection, self.visible, kinds=self._kinds, since=since, limit=limit, sequence=self.sequence
        )


def read_embedder(connection: sqlite3.Connection) -> tuple[str, int] | None:
    """Return the name and dimensions of the embedder that a store remembers, or None when it remembers none."""
    return _embedder_of(read_meta(connection))


def _embedder_of(meta: Mapping[str, Any]) -> tuple[str, int] | None:
    if "embedder" not in meta:
        return None
    name, dimensions = orjson.loads(meta["embedder"])
    return str(name), int(dimensions)


def read_quality(connection: sqlite3.Connection) -> QualityState | None:
    """Return the state of a store's second vectors, or None where it was not asked to have any."""
    return _quality_of(read_meta(connection))


def _quality_of(meta: Mapping[str, Any]) -> QualityState | None:
    return msgspec.json.decode(meta[QUALITY], type=QualityState) if QUALITY in meta else None


def read_sequence(connection: sqlite3.Connection) -> int:
    """Return the number of the last write that changed something."""
    return int(read_meta(connection)["sequence"])


def scan_statistics(connection: sqlite3.Connection, visible: str) -> ScannedStatistics:
    """Count every passage that meets the condition on p.tenant_id and p.position."""
    cursor = connection.execute(f"SELECT p.length, p.term_hashes FROM passages p WHERE {visible}")
    return count_statistics(iter(lambda: cursor.fetchmany(PASSAGES_PER_BATCH), []))


def _json(ids: Iterable[int]) -> str:
    return orjson.dumps(list(ids), option=orjson.OPT_SERIALIZE_NUMPY).decode()
