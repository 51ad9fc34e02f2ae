"""What leads to the items of a section, as callers and tests lead to a function: it is only pointed to."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from weft.model import Candidate, Step
from weft.ports import NodeRow, Snapshot
from weft.scoring.candidates import is_aside

_ITEMS: Final = 6
"""Of how many items, best first, the neighbours are looked up."""
_EACH: Final = 2
"""How many neighbours over one type of link stand beside an item."""
_WIDE: Final = 40
_CLOSE: Final = 0.5
"""What scores at least this much of what it leads to stands for itself."""

Admits = Callable[[Candidate], bool]
"""Whether a neighbour that no search found may be shown."""

_Slot = tuple[str, str]


def with_asides(
    candidates: Sequence[Candidate], types: Collection[str], snapshot: Snapshot, admits: Admits
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """The candidates that stand for themselves, and the asides.

    These are the neighbours of the best items against links of the types, if they may be shown, each scored as the
    item it stands beside, and whatever else was walked to that way.
    """
    if not types:
        return tuple(candidates), ()
    walked = [each for each in candidates if is_aside(each, types)]
    own = [each for each in candidates if not is_aside(each, types)]
    known = {_slot(each): each for each in candidates}
    found = dict(_neighbours(own[:_ITEMS], types, snapshot, known, admits))
    asides = [*found.values(), *(each for each in walked if _slot(each) not in found)]
    kept = tuple(each for each in own if _slot(each) not in found)
    return kept, tuple(sorted(asides, key=lambda each: (-each.score, each.node.tenant, each.node.key)))


def _slot(candidate: Candidate) -> _Slot:
    return candidate.node.tenant, candidate.node.key


def _neighbours(
    items: Sequence[Candidate],
    types: Collection[str],
    snapshot: Snapshot,
    known: Mapping[_Slot, Candidate],
    admits: Admits,
) -> Iterator[tuple[_Slot, Candidate]]:
    """What leads to the items, each under the first of them, unless it is close to that in score."""
    links = list(_links(items, types, snapshot))
    by_id = {each.node.id: each for each in known.values() if each.node.id}
    stored = snapshot.nodes(sorted({neighbour for _, neighbour, _, _ in links} - by_id.keys()))
    met: set[_Slot] = set()
    for item, neighbour, type, weight in links:
        before = by_id.get(neighbour) or _unfound(stored.get(neighbour), item)
        if before is None or not {_slot(item), _slot(before)}.isdisjoint(met) or _slot(item) == _slot(before):
            continue
        if before.score >= _CLOSE * item.score or not admits(before):
            continue
        met.add(_slot(before))
        step = Step(before.node.key, type, weight, "in", before.node.id)
        yield _slot(before), replace(before, score=item.score, root=item.root, path=(*item.path, step))


def _unfound(row: NodeRow | None, item: Candidate) -> Candidate | None:
    """A neighbour that neither a search nor the walk came by."""
    if row is None:
        return None
    return Candidate(row.node, probe=item.probe, distance=item.distance + 1, sketch=row.sketch)


def _links(
    items: Sequence[Candidate], types: Collection[str], snapshot: Snapshot
) -> Iterator[tuple[Candidate, int, str, float]]:
    """(item, neighbour, type, weight) of the strongest links that lead to each item, item by item."""
    near = snapshot.adjacency([item.node.id for item in items if item.node.id], _WIDE)
    rows: dict[int, list[tuple[int, str, float]]] = {}
    for owner, neighbour, type, outward, weight in zip(
        near.owner.tolist(),
        near.neighbour.tolist(),
        near.edge_type.tolist(),
        near.outward.tolist(),
        near.weight.tolist(),
        strict=True,
    ):
        if not outward and near.edge_types[type] in types:
            rows.setdefault(owner, []).append((neighbour, near.edge_types[type], weight))
    for item in items:
        for wanted in types:
            some = [row for row in rows.get(item.node.id, ()) if row[1] == wanted][:_EACH]
            yield from ((item, *row) for row in some)
