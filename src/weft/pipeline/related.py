"""Find related pointers: nodes that lead to the items of a section, as callers and tests lead to a function.

They are printed as pointers beside the items. A profile lists the types of their links under `asides`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from weft.model import Candidate, Step
from weft.ports import NodeRow, Snapshot
from weft.scoring.candidates import NodeRef, is_related_pointer, node_ref

_MAX_ITEMS: Final = 6
"""Items, best first, whose neighbours are looked up; the page seldom shows more of them in detail."""
_MAX_POINTERS_PER_TYPE: Final = 2
"""Neighbours over one type of link that stand beside an item: examples, not a list of all callers."""
_MAX_LINKS_READ: Final = 40
"""Links of an item that are read, the strongest."""
_OWN_ITEM_SHARE: Final = 0.5
"""A neighbour that scores at least this share of the item's score stays an item itself."""

Admits = Callable[[Candidate], bool]
"""Tells whether a neighbour that no search found may be shown."""


def split_related(
    candidates: Sequence[Candidate], types: Collection[str], snapshot: Snapshot, admits: Admits
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """Return the candidates that are items themselves, and the related pointers.

    Pointers are the neighbours of the best items against links of the types, if they may be shown, each with the
    score of the item it stands beside, and whatever else was walked to that way.
    """
    if not types:
        return tuple(candidates), ()
    walked = [candidate for candidate in candidates if is_related_pointer(candidate, types)]
    items = [candidate for candidate in candidates if not is_related_pointer(candidate, types)]
    known = {node_ref(candidate): candidate for candidate in candidates}
    found = dict(_find_neighbours(items[:_MAX_ITEMS], types, snapshot, known, admits))
    pointers = [*found.values(), *(candidate for candidate in walked if node_ref(candidate) not in found)]
    kept = tuple(candidate for candidate in items if node_ref(candidate) not in found)
    pointers.sort(key=lambda candidate: (-candidate.score, *node_ref(candidate)))
    return kept, tuple(pointers)


def _find_neighbours(
    items: Sequence[Candidate],
    types: Collection[str],
    snapshot: Snapshot,
    known: Mapping[NodeRef, Candidate],
    admits: Admits,
) -> Iterator[tuple[NodeRef, Candidate]]:
    """Yield what leads to the items, each under the first of them, unless it scores high enough by itself."""
    links = list(_read_links(items, types, snapshot))
    by_id = {candidate.node.id: candidate for candidate in known.values() if candidate.node.id}
    stored = snapshot.nodes(sorted({node for _, node, _, _ in links} - by_id.keys()))
    pointers: set[NodeRef] = set()
    for item, node, edge_type, weight in links:
        neighbour = by_id.get(node) or _new_candidate(stored.get(node), item)
        if neighbour is None:
            continue
        ref = node_ref(neighbour)
        # An item that became a pointer itself has no pointers of its own.
        if ref in pointers or node_ref(item) in pointers or ref == node_ref(item):
            continue
        if neighbour.score >= _OWN_ITEM_SHARE * item.score or not admits(neighbour):
            continue
        pointers.add(ref)
        step = Step(neighbour.node.key, edge_type, weight, "in", neighbour.node.id)
        yield ref, replace(neighbour, score=item.score, root=item.root, path=(*item.path, step))


def _new_candidate(row: NodeRow | None, item: Candidate) -> Candidate | None:
    """Return a candidate for a neighbour that neither a search nor the walk found."""
    if row is None:
        return None
    return Candidate(row.node, probe=item.probe, distance=item.distance + 1, sketch=row.sketch)


def _read_links(
    items: Sequence[Candidate], types: Collection[str], snapshot: Snapshot
) -> Iterator[tuple[Candidate, int, str, float]]:
    """Yield (item, neighbour, type, weight) of the strongest links that lead to each item, item by item."""
    near = snapshot.adjacency([item.node.id for item in items if item.node.id], _MAX_LINKS_READ)
    rows: dict[int, list[tuple[int, str, float]]] = {}
    for owner, neighbour, edge_type, outward, weight in zip(
        near.owner.tolist(),
        near.neighbour.tolist(),
        near.edge_type.tolist(),
        near.outward.tolist(),
        near.weight.tolist(),
        strict=True,
    ):
        if not outward and near.edge_types[edge_type] in types:
            rows.setdefault(owner, []).append((neighbour, near.edge_types[edge_type], weight))
    for item in items:
        for type_name in types:
            of_type = [row for row in rows.get(item.node.id, ()) if row[1] == type_name]
            yield from ((item, *row) for row in of_type[:_MAX_POINTERS_PER_TYPE])
