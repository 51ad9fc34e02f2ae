"""Read tenants of several shards as one snapshot, for a question that goes to all of them.

An id of a shard becomes one of the whole by its number among the shards: `id * shards + number`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import xxhash
from msgspec.structs import replace

from weft.errors import StoreError
from weft.model import Edge, Filter, View
from weft.ports import Adjacency, NodeRow, PassageRow, RecentChanges, TermStatistics
from weft.store.postgres.lookup import BY_ID, find_in_all_ways
from weft.store.postgres.snapshot import PostgresSnapshot

if TYPE_CHECKING:
    from weft.ports.stores import Ids, Vectors

T = TypeVar("T")


class MergedSnapshot:
    """Snapshots of several shards, seen as one.

    Each is one moment of its shard. A write that goes to two shards may be seen on one of them only, as a reader
    between its two parts would.
    """

    def __init__(self, parts: Sequence[PostgresSnapshot], view: View, threads: ThreadPoolExecutor) -> None:
        self.parts, self.view, self._threads = tuple(parts), view, threads
        self.sequence = sum(part.sequence for part in parts)

    @property
    def identity(self) -> str:
        """The identity of the shards together."""
        return xxhash.xxh3_128_hexdigest(" ".join(part.identity for part in self.parts).encode())

    def of_parts(self, read: Callable[[int, PostgresSnapshot], T]) -> list[T]:
        """Return what is read of each part; all are read at once, because each waits for a server of its own."""
        beside = [
            # With its context, which has the deadline of the question.
            self._threads.submit(copy_context().run, read, number, part)
            for number, part in enumerate(self.parts)
            if number
        ]
        try:
            first = read(0, self.parts[0])
        finally:
            # No connection may go back to its pool while a thread still uses it.
            wait(beside)
        return [first, *(each.result() for each in beside)]

    def whole_id(self, number: int, local: int) -> int:
        """Return the id in this snapshot of an id of one part."""
        return local * len(self.parts) + number

    def _split(self, ids: Iterable[int]) -> list[list[int]]:
        """Return the ids of each part."""
        split: list[list[int]] = [[] for _ in self.parts]
        for each in dict.fromkeys(int(number) for number in ids):
            local, number = divmod(each, len(self.parts))
            split[number].append(local)
        return split

    # --- nodes and passages ------------------------------------------------------------------------------

    def nodes(self, ids: Sequence[int]) -> dict[int, NodeRow]:
        """Return the nodes by id, in the order of `ids`; ids that do not exist in the view are absent."""
        found: dict[int, NodeRow] = {}
        own = self._split(ids)
        for number, rows in enumerate(self.of_parts(lambda number, part: part.nodes(own[number]))):
            for local, row in rows.items():
                whole = self.whole_id(number, local)
                found[whole] = replace(row, node=replace(row.node, id=whole))
        return {int(number): found[int(number)] for number in dict.fromkeys(ids) if int(number) in found}

    def page_of_nodes(self, after_id: int, limit: int) -> list[NodeRow]:
        """Return the next nodes by id."""
        found = [
            replace(row, node=replace(row.node, id=self.whole_id(number, row.node.id)))
            for number, part in enumerate(self.parts)
            for row in part.page_of_nodes((after_id - number) // len(self.parts), limit)
        ]
        return sorted(found, key=lambda row: row.node.id)[:limit]

    def find(self, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Return the node ids for each name that is known in the view; other names are absent."""
        found: dict[str, dict[int, list[tuple[str, str, int]]]] = {}
        of_parts = self.of_parts(lambda _, part: find_in_all_ways(part.connection, part.visible, names))
        for number, by_name in enumerate(of_parts):
            for name, ways in by_name.items():
                for way, nodes in ways.items():
                    whole = [(tenant, key, self.whole_id(number, local)) for tenant, key, local in nodes]
                    found.setdefault(name, {}).setdefault(way, []).extend(whole)
        # A number is an id of the whole, not one of a part.
        by_id = {name: self._by_id(name) for name in names if not set(found.get(name, ())) - {BY_ID}}
        named = {
            name: tuple(node_id for _, _, node_id in sorted(ways[min(ways)]))
            for name, ways in found.items()
            if name not in by_id
        }
        return {name: ids for name in dict.fromkeys(names) if (ids := named.get(name) or by_id.get(name))}

    def _by_id(self, name: str) -> tuple[int, ...]:
        return tuple(self.nodes([int(name)])) if name.isascii() and name.isdigit() else ()

    def passages(self, ids: Sequence[int]) -> list[PassageRow]:
        """Return the passages in the order of `ids`; ids that do not exist in the view are left out."""
        own = self._split(ids)
        found = {
            row.id: row
            for number, rows in enumerate(self.of_parts(lambda number, part: part.passages(own[number])))
            for row in self._whole_passages(number, rows)
        }
        return [found[int(number)] for number in ids if int(number) in found]

    def passages_of_nodes(self, node_ids: Sequence[int]) -> list[PassageRow]:
        """Return all passages of the nodes, in the order of `node_ids` and by ordinal within a node."""
        found: dict[int, list[PassageRow]] = {}
        own = self._split(node_ids)
        of_parts = self.of_parts(lambda number, part: part.passages_of_nodes(own[number]))
        for number, rows in enumerate(of_parts):
            for row in self._whole_passages(number, rows):
                found.setdefault(row.node_id, []).append(row)
        return [row for number in dict.fromkeys(map(int, node_ids)) for row in found.get(number, ())]

    def _whole_passages(self, number: int, rows: Iterable[PassageRow]) -> Iterable[PassageRow]:
        for row in rows:
            yield replace(row, id=self.whole_id(number, row.id), node_id=self.whole_id(number, row.node_id))

    def all_terms(self) -> list[tuple[int, int, bytes, bytes]]:
        """Return (passage id, node id, term hashes, term counts) for every passage of the view, in any order."""
        return [
            (self.whole_id(number, passage), self.whole_id(number, node), hashes, counts)
            for number, rows in enumerate(self.of_parts(lambda _, part: part.all_terms()))
            for passage, node, hashes, counts in rows
        ]

    def vectors(self, passage_ids: Sequence[int]) -> "Vectors":
        """Return one row per passage id: its unit vector, or zeros if the passage has none."""
        own = self.embedder()
        result = np.zeros((len(passage_ids), own[1] if own else 0), np.float32)
        whole = np.asarray(passage_ids, np.int64)

        def fill(number: int, part: PostgresSnapshot) -> None:
            here = np.flatnonzero(whole % len(self.parts) == number)
            if len(here) and part.embedder() == own:
                result[here] = part.vectors((whole[here] // len(self.parts)).tolist())

        self.of_parts(fill)
        return result

    def snippets(self, passage_ids: Sequence[int]) -> dict[int, bytes]:
        """Return the packed snippets by passage id."""
        own = self._split(passage_ids)
        return {
            self.whole_id(number, local): packed
            for number, rows in enumerate(self.of_parts(lambda number, part: part.snippets(own[number])))
            for local, packed in rows.items()
        }

    def statistics(self, term_hashes: Sequence[int]) -> TermStatistics:
        """Return exact statistics of the terms over the passages of this view."""
        parts = self.of_parts(lambda _, part: part.statistics(term_hashes))
        passages = sum(part.passages for part in parts)
        length = sum(part.passages * part.mean_length for part in parts)
        frequency: dict[int, int] = {}
        for part in parts:
            for term, count in part.frequency.items():
                frequency[term] = frequency.get(term, 0) + count
        return TermStatistics(passages, length / passages if passages else 0.0, frequency)

    # --- links -------------------------------------------------------------------------------------------

    def adjacency(self, ids: Sequence[int], fan_out: int) -> Adjacency:
        """Return the `fan_out` strongest neighbours of each node; no link leads from one shard to another."""
        split = self._split(ids)
        parts = list(enumerate(self.of_parts(lambda number, part: part.adjacency(split[number], fan_out))))
        types = tuple(sorted({name for _, part in parts for name in part.edge_types}))
        kinds = tuple(sorted({name for _, part in parts for name in part.kinds}))

        def joined(name: str) -> "Ids":
            return np.concatenate([getattr(part, name) for _, part in parts])

        def renumbered(name: str, own: str, names: tuple[str, ...]) -> "Ids":
            places = [np.array([names.index(each) for each in getattr(part, own)], np.int64) for _, part in parts]
            columns = [getattr(part, name) for _, part in parts]
            return np.concatenate([place[column] for place, column in zip(places, columns, strict=True)])

        def whole(name: str) -> "Ids":
            return np.concatenate([getattr(part, name) * len(self.parts) + number for number, part in parts])

        owner = whole("owner")
        rank = {int(number): place for place, number in enumerate(ids)}
        # By owner in the order that was asked for; within one its shard has put them in order.
        order = np.argsort([rank[number] for number in owner.tolist()], kind="stable")
        return Adjacency(
            owner=owner[order],
            neighbour=whole("neighbour")[order],
            tag=joined("tag")[order],
            weight=np.concatenate([part.weight for _, part in parts])[order],
            edge_type=renumbered("edge_type", "edge_types", types)[order],
            kind=renumbered("kind", "kinds", kinds)[order],
            outward=joined("outward")[order],
            degree={self.whole_id(n, local): count for n, part in parts for local, count in part.degree.items()},
            edge_types=types,
            kinds=kinds,
        )

    def edges(self, ids: Sequence[int], limit: int = 1000) -> list[tuple[int, int, Edge]]:
        """Return (source id, target id, edge) for the edges that touch the nodes, strongest first."""
        own = self._split(ids)
        found = [
            (self.whole_id(number, source), self.whole_id(number, target), edge)
            for number, edges in enumerate(self.of_parts(lambda number, part: part.edges(own[number], limit)))
            for source, target, edge in edges
        ]
        return sorted(found, key=_edge_order)[:limit]

    # --- the rest ----------------------------------------------------------------------------------------

    def matching_ids(self, filter: Filter) -> "Ids":
        """Return the ids of the nodes that pass the filter, sorted."""
        found = self.of_parts(lambda number, part: part.matching_ids(filter) * len(self.parts) + number)
        return np.sort(np.concatenate(found))

    def kinds(self) -> tuple[str, ...]:
        """Return the names of all kinds of the shards, sorted."""
        return tuple(sorted({kind for part in self.parts for kind in part.kinds()}))

    def sources(self) -> tuple[str, ...]:
        """Return the names of all sources of the shards, sorted."""
        return tuple(sorted({source for part in self.parts for source in part.sources()}))

    def changes_since(self, since: int, limit: int) -> RecentChanges:
        """Refuse: shards count their writes apart, and are searched by their own servers."""
        raise StoreError("A cluster is searched by its servers. Leave --index out.")

    def embedder(self) -> tuple[str, int] | None:
        """Return the embedder of the shards; None while they have different ones."""
        found = {part.embedder() for part in self.parts} - {None}
        return found.pop() if len(found) == 1 else None

    def quality(self) -> None:
        """Return None: second vectors are kept by embedded stores alone."""

    def quality_vectors(self, passage_ids: Sequence[int]) -> Mapping[int, bytes]:
        """Return nothing."""
        return {}


def _edge_order(found: tuple[int, int, Edge]) -> tuple[float, str, str, str, str, str]:
    edge = found[2]
    return -edge.weight, edge.type, edge.source, edge.target, edge.tenant, edge.target_tenant or edge.tenant
