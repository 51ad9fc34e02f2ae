"""Read the links around a node in rings: a small part of the graph that is the same every time."""

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from weft.errors import UnknownName
from weft.model import View
from weft.overview.cast import Tie
from weft.ports import Snapshot, rows_with_keys

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.ports.stores import Adjacency

MOST_NODES: Final = 60
"""Nodes of a drawing, the one in the middle included: more cannot be told apart."""
_FIRST_RING: Final = 18
"""Nodes that stand next to the one in the middle, by the strength of their links."""
_PER_NODE: Final = 4
"""Nodes of the second ring that are taken for each of the first."""
_FAN_OUT: Final = 200
"""Links of a node that are read, strongest first: a hub has thousands."""


class NearNode(Struct, frozen=True):
    """A node of a neighbourhood: its ring, and the place of the node that it was reached from."""

    key: str
    tenant: str
    title: str
    kind: str
    ring: int
    parent: int


class Neighbourhood(Struct, frozen=True):
    """The nodes around one, which comes first, and the links among them; `left_out` are further direct ones."""

    nodes: tuple[NearNode, ...]
    links: tuple[Tie, ...]
    left_out: int


def read_neighbourhood(weft: "Weft", view: View, key: str) -> Neighbourhood:
    """Return the strongest links around the node with a key, in two rings."""
    with weft.reading(view) as reading:
        snapshot = reading.snapshot
        centre = next(iter(rows_with_keys(snapshot, [key])), None)
        if centre is None:
            raise UnknownName("node", key, ())
        near = snapshot.adjacency([centre], _FAN_OUT)
        direct = _neighbours(near).get(centre, [])
        first = direct[:_FIRST_RING]
        parents = dict.fromkeys(first, centre)
        around = _neighbours(snapshot.adjacency(first, _FAN_OUT)) if first else {}
        # One of each in turn, so that the first does not take all the room.
        for _ in range(_PER_NODE):
            for parent in first:
                new = [id for id in around.get(parent, []) if id != centre and id not in parents]
                if new and len(parents) + 1 < MOST_NODES:
                    parents[new[0]] = parent
        return _describe(snapshot, centre, parents, set(first), len(direct) - len(first))


def _neighbours(near: "Adjacency") -> dict[int, list[int]]:
    """Return the neighbours of each node, strongest first, each once."""
    found: dict[int, dict[int, None]] = {}
    for owner, neighbour in zip(near.owner.tolist(), near.neighbour.tolist(), strict=True):
        found.setdefault(owner, {})[neighbour] = None
    return {owner: [*others] for owner, others in found.items()}


def _describe(
    snapshot: Snapshot, centre: int, parents: dict[int, int], first: set[int], left_out: int
) -> Neighbourhood:
    rows = snapshot.nodes([centre, *parents])
    # Children stand in the order of their parents, so that a drawing has no lines that cross without need.
    second = [id for parent in parents for id in parents if parents[id] == parent and id not in first]
    order = [id for id in (centre, *(id for id in parents if id in first), *second) if id in rows]
    places = {id: place for place, id in enumerate(order)}
    nodes = tuple(
        NearNode(
            rows[id].node.key,
            rows[id].node.tenant,
            rows[id].node.title or rows[id].node.key,
            rows[id].node.kind,
            0 if id == centre else 1 if id in first else 2,
            places.get(parents.get(id, centre), 0),
        )
        for id in order
    )
    near = snapshot.adjacency(order, _FAN_OUT)
    links: dict[tuple[int, int, str], float] = {}
    for owner, neighbour, weight, edge_type, outward in zip(
        near.owner.tolist(),
        near.neighbour.tolist(),
        near.weight.tolist(),
        near.edge_type.tolist(),
        near.outward.tolist(),
        strict=True,
    ):
        if owner in places and neighbour in places:
            ends = (places[owner], places[neighbour]) if outward else (places[neighbour], places[owner])
            links.setdefault((*ends, near.edge_types[edge_type]), round(weight, 3))
    drawn = tuple(Tie(*key, weight) for key, weight in sorted(links.items()))
    return Neighbourhood(nodes, drawn, left_out)
