"""Which links of a node with too many of them are followed: the strongest, or those that lead to what matters."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import count, repeat
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.frozen import dataclass
from weft.model import Candidate, Step
from weft.ports import Adjacency, NodeRow, Snapshot
from weft.profiles.types import Lens
from weft.scoring.candidates import only_named, told

if TYPE_CHECKING:
    from numpy.typing import NDArray


WIDE: Final = 2_000
"""How many links of a node are looked at to find the most relevant of them."""
FIRST_STEP: Final = 5_000
LATER: Final = 300
"""How many nodes the first step of a walk weighs by relevance, and each later one; strong links come first."""

Relevance = Callable[[Sequence[int]], Mapping[int, float]]
"""How much each of some nodes has to do with the question, by id; nodes without an answer are left out."""


@dataclass(slots=True)
class Scales:
    """Weighs nodes by relevance, each at most once."""

    relevance: Relevance
    known: dict[int, float] = field(default_factory=dict)

    def weigh(self, nodes: Sequence[int]) -> None:
        """Find out about the nodes that were not weighed before."""
        fresh = [node for node in nodes if node not in self.known]
        found = self.relevance(fresh) if fresh else {}
        self.known.update((node, found.get(node, 0.0)) for node in fresh)

    def of(self, node: int) -> float:
        """The relevance of a node; 0 when it was not weighed."""
        return self.known.get(node, 0.0)


def strongest_first(
    near: Adjacency, allowed: "NDArray[np.bool_]", weight: "NDArray[np.float64]"
) -> "NDArray[np.int64]":
    """The places of the allowed edges, each node's strongest first by these weights."""
    places: NDArray[np.int64] = np.flatnonzero(allowed)
    _, first, group = np.unique(near.owner[places], return_index=True, return_inverse=True)
    return places[np.lexsort((places, -weight[places], first[group]))]


def most_relevant(
    near: Adjacency,
    allowed: "NDArray[np.bool_]",
    weight: "NDArray[np.float64]",
    bounds: tuple[int, int],
    scales: Scales,
) -> "NDArray[np.bool_]":
    """The allowed edges, of a node with too many only those that lead to the most relevant neighbours.

    `bounds` are how many links a node may keep, and how many neighbours are weighed.
    """
    fan_out, weighed = bounds
    owners, counts = np.unique(near.owner[allowed], return_counts=True)
    wide = owners[counts > fan_out]
    if not len(wide):
        return allowed
    crowded = allowed & np.isin(near.owner, wide)
    scales.weigh(list(dict.fromkeys(near.neighbour[crowded].tolist()))[:weighed])
    kept = allowed & ~crowded
    for owner in wide.tolist():
        places = np.flatnonzero(crowded & (near.owner == owner))
        worth = np.array([scales.of(node) for node in near.neighbour[places].tolist()]) * weight[places]
        order = np.lexsort((near.tag[places], -weight[places], -np.round(worth, 9)))
        kept[places[order[:fan_out]]] = True
    return kept


_Hop = tuple[str, float, str]
"""Edge type, weight and direction."""

_ITERATIONS: Final = 20
_NEIGHBOURHOOD: Final = 12
"""The walk looks at no more than this many times the nodes it may return."""


@dataclass(frozen=True, slots=True)
class Walked:
    """All candidates after the walk: those it started from, with their walk score, then those it reached."""

    candidates: tuple[Candidate, ...]
    reached: int = 0
    deepest: int = 0
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Neighbourhood:
    """The part of the graph that was looked at; nodes are numbered in the order they were met."""

    ids: list[int] = field(default_factory=list)
    place: dict[int, int] = field(default_factory=dict)
    distance: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    step: list[_Hop] = field(default_factory=list)
    edges: "list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]" = field(default_factory=list)
    degree: dict[int, int] = field(default_factory=dict)
    cut: int = 0
    widest: int = 0
    left: int = 0

    def meet(self, nodes: Sequence[int], distance: int, parents: Iterable[int], steps: Iterable[_Hop]) -> None:
        """Number nodes that are new."""
        self.place.update(zip(nodes, count(len(self.ids)), strict=False))
        self.ids += nodes
        self.distance += repeat(distance, len(nodes))
        self.parent += parents
        self.step += steps


def expand(
    found: Sequence[Candidate], lens: Lens, snapshot: Snapshot, relevance: Relevance | None = None
) -> Walked:
    """The found candidates and what the lens reaches from the best of them."""
    seeds = _seeds(found, lens)
    if lens.walk == "none" or lens.depth == 0 or not seeds:
        return Walked(tuple(found))
    scales = Scales(relevance) if relevance is not None and lens.sample == "relevance" else None
    area = _explore(seeds, lens, snapshot, scales)
    scores = _pagerank(seeds, area, lens) if lens.walk == "pagerank" else _breadth(area)
    return _collect(found, area, scores, lens, (snapshot, scales))


def _seeds(found: Sequence[Candidate], lens: Lens) -> Sequence[Candidate]:
    """The best of what was found, without what only a name would speak for where there is anything else."""
    stored = [each for each in found if each.node.id]
    stored = [each for each in stored if not only_named(each, lens.named_with)] or stored
    return stored[: lens.seeds]


def _explore(seeds: Sequence[Candidate], lens: Lens, snapshot: Snapshot, scales: Scales | None) -> _Neighbourhood:
    area = _Neighbourhood()
    frontier = list(dict.fromkeys(seed.node.id for seed in seeds))
    area.meet(frontier, 0, repeat(-1, len(frontier)), repeat(("", 1.0, ""), len(frontier)))
    most = lens.limit * _NEIGHBOURHOOD
    for depth in range(1, lens.depth + 1):
        if not frontier or len(area.ids) >= most:
            break
        frontier = _hop(
            area, snapshot.adjacency(frontier, _width(depth, lens, scales)), depth, lens, (most, scales)
        )
    return area


def _width(depth: int, lens: Lens, scales: Scales | None) -> int:
    """How many links of each node are looked at; the most relevant are sought far only where the walk begins."""
    if scales is None:
        return lens.fan_out
    return max(WIDE, lens.fan_out) if depth == 1 else lens.fan_out * 4


def _hop(
    area: _Neighbourhood, near: Adjacency, depth: int, lens: Lens, bounds: tuple[int, Scales | None]
) -> list[int]:
    """Meet the neighbours of the frontier; the new ones are the next frontier."""
    most, scales = bounds
    for degree in near.degree.values():
        if degree > lens.fan_out:
            area.cut += 1
            area.widest = max(area.widest, degree)
            area.left += degree - lens.fan_out
    allowed, weight = _allowed(near, lens)
    if scales is not None:
        weighed = FIRST_STEP if depth == 1 else LATER
        allowed = most_relevant(near, allowed, weight, (lens.fan_out, weighed), scales)
    order = strongest_first(near, allowed, weight) if lens.edge_weights else np.flatnonzero(allowed)
    owner, neighbour = near.owner[order], near.neighbour[order]
    types, outward = near.edge_type[order], near.outward[order]
    weight = weight[order]
    fresh = _first_met(neighbour, area, most)
    nodes: list[int] = neighbour[fresh].tolist()
    names = map(near.edge_types.__getitem__, types[fresh].tolist())
    ways = map(("in", "out").__getitem__, outward[fresh].tolist())
    steps = zip(names, weight[fresh].tolist(), ways, strict=True)
    area.meet(nodes, depth, [area.place[each] for each in owner[fresh].tolist()], steps)
    if lens.walk == "pagerank":
        _keep_edges(area, near, owner, neighbour, weight, lens)
    return nodes


def _first_met(neighbour: "NDArray[np.int64]", area: _Neighbourhood, most: int) -> "NDArray[np.int64]":
    """Where each node that is new stands for the first time, as many as there is room for."""
    known = np.fromiter(map(area.place.__contains__, neighbour.tolist()), dtype=bool, count=len(neighbour))
    places = np.flatnonzero(~known)
    _, first = np.unique(neighbour[places], return_index=True)
    fresh: NDArray[np.int64] = places[np.sort(first)][: max(most - len(area.ids), 0)]
    return fresh


def _allowed(near: Adjacency, lens: Lens) -> "tuple[NDArray[np.bool_], NDArray[np.float64]]":
    """Which edges the lens follows, and their weights under it."""
    factor = np.array([lens.edge_weights.get(name, 1.0) for name in near.edge_types] or [1.0])
    follows = np.array([not lens.edges or name in lens.edges for name in near.edge_types] or [True])
    takes = np.array([not lens.kinds or name in lens.kinds for name in near.kinds] or [True])
    weight = near.weight * factor[near.edge_type]
    allowed = follows[near.edge_type] & takes[near.kind] & (weight > 0)
    if lens.direction != "both":
        allowed &= near.outward == (1 if lens.direction == "out" else 0)
    return allowed, weight


def _keep_edges(
    area: _Neighbourhood,
    near: Adjacency,
    owner: "NDArray[np.int64]",
    neighbour: "NDArray[np.int64]",
    weight: "NDArray[np.float64]",
    lens: Lens,
) -> None:
    """Remember the edges with the chance to take each: a hub passes little on to any one neighbour."""
    start, end = (_places(nodes, area) for nodes in (owner, neighbour))
    area.degree.update(near.degree)
    known = end >= 0
    if not known.any():
        return
    total = np.bincount(start, weights=weight, minlength=len(area.ids))
    shown = np.bincount(start, minlength=len(area.ids))
    for node, degree in near.degree.items():
        place = area.place[node]
        if degree > lens.fan_out and degree > shown[place] > 0:
            total[place] *= min(degree, 1_000_000) / shown[place]
    area.edges.append((start[known], end[known], weight[known] / total[start[known]]))


def _places(nodes: "NDArray[np.int64]", area: _Neighbourhood) -> "NDArray[np.int64]":
    """The numbers of some nodes, -1 for those that were not met."""
    return np.fromiter(map(area.place.get, nodes.tolist(), repeat(-1)), dtype=np.int64, count=len(nodes))


def _pagerank(seeds: Sequence[Candidate], area: _Neighbourhood, lens: Lens) -> "NDArray[np.float64]":
    """Personalised PageRank over the neighbourhood, from the seeds by their relevance; the best is 1."""
    size = len(area.ids)
    home = np.zeros(size)
    for seed in seeds:
        relevance = max(seed.parts.get("relevance", seed.parts.get("start", 0.0)), 1e-6)
        home[area.place[seed.node.id]] = relevance**lens.focus
    home /= home.sum()
    if not area.edges:
        alone: NDArray[np.float64] = np.round(home / home.max(), 9)
        return alone
    start, end, chance = (np.concatenate(column) for column in zip(*area.edges, strict=True))
    if lens.specificity:
        chance = _towards_specific(area, start, end, chance, lens.specificity)
    rank = home
    for _ in range(_ITERATIONS):
        rank = lens.restart * home + (1 - lens.restart) * np.bincount(end, rank[start] * chance, size)
    scaled: NDArray[np.float64] = np.round(rank / rank.max(), 9)
    return scaled


def _towards_specific(
    area: _Neighbourhood,
    start: "NDArray[np.int64]",
    end: "NDArray[np.int64]",
    chance: "NDArray[np.float64]",
    specificity: float,
) -> "NDArray[np.float64]":
    """The chances with less for hubs and more for the other neighbours; what a node passes on stays the same."""
    size = len(area.ids)
    links = np.array([area.degree.get(node, 0) for node in area.ids], dtype=np.float64)
    # Of the outermost nodes no links were read: those that lead to them from here are all that is known.
    weighed = chance / np.maximum(links, np.bincount(end, minlength=size))[end] ** specificity
    passed, kept = np.bincount(start, chance, size), np.bincount(start, weighed, size)
    return weighed * (passed / np.maximum(kept, 1e-12))[start]


def _breadth(area: _Neighbourhood) -> "NDArray[np.float64]":
    """Closeness times the weight of the last edge."""
    distance = np.array(area.distance, dtype=np.float64)
    closeness: NDArray[np.float64] = np.round(np.array([step[1] for step in area.step]) / (distance + 1.0), 9)
    return closeness


def _collect(
    found: Sequence[Candidate],
    area: _Neighbourhood,
    scores: "NDArray[np.float64]",
    lens: Lens,
    desk: tuple[Snapshot, Scales | None],
) -> Walked:
    snapshot, scales = desk
    known = {each.node.id: each.node.key for each in found}
    walk = dict(zip(area.ids, scores.tolist(), strict=True))
    ahead = [place for place, node in enumerate(area.ids) if node not in known]
    best = _best(ahead, area, scores, lens, scales)
    wanted = [area.ids[place] for place in best]
    stored = snapshot.nodes(
        list(dict.fromkeys([*wanted, *(each for each in _inner(area, best) if each not in known)]))
    )
    names = known | {node: row.node.key for node, row in stored.items()}
    kept = [place for place in best if area.ids[place] in stored]
    roots = {each.node.id: each.probe for each in found}
    reached = tuple(_reached(place, area, stored, names, roots, float(scores[place])) for place in kept)
    started = tuple(
        told(each, {**each.parts, "walk": walk.get(each.node.id, 0.0)}) if each.node.id else each for each in found
    )
    deepest = max((area.distance[place] for place in kept), default=0)
    return Walked(started + reached, len(ahead), deepest, _notes(area, lens, len(ahead)))


def _best(
    ahead: Sequence[int],
    area: _Neighbourhood,
    scores: "NDArray[np.float64]",
    lens: Lens,
    scales: Scales | None,
) -> list[int]:
    """The places that are kept, by score; where equals are cut apart, by relevance if the lens says so."""
    ordered = [ahead[at] for at in np.argsort(-scores[ahead], kind="stable").tolist()]
    if scales is None or len(ordered) <= lens.limit:
        return ordered[: lens.limit]
    last = scores[ordered[lens.limit - 1]]
    equals = [place for place in ordered if scores[place] == last]
    scales.weigh([area.ids[place] for place in equals[:LATER]])
    ordered.sort(key=lambda place: (-scores[place], -scales.of(area.ids[place])))
    return ordered[: lens.limit]


def _inner(area: _Neighbourhood, places: Sequence[int]) -> list[int]:
    """Nodes on the way to the given places: their keys are needed to tell the path."""
    inner = set()
    for place in places:
        parent = area.parent[place]
        while parent >= 0:
            inner.add(area.ids[parent])
            parent = area.parent[parent]
    return sorted(inner)


def _reached(
    place: int,
    area: _Neighbourhood,
    stored: dict[int, NodeRow],
    names: dict[int, str],
    roots: dict[int, str],
    score: float,
) -> Candidate:
    steps: list[Step] = []
    at = place
    while area.parent[at] >= 0:
        edge_type, weight, direction = area.step[at]
        steps.append(Step(names.get(area.ids[at], ""), edge_type, weight, direction, area.ids[at]))
        at = area.parent[at]
    row = stored[area.ids[place]]
    return Candidate(
        node=row.node,
        parts={"walk": score, "edge": area.step[place][1]},
        probe=roots.get(area.ids[at], ""),
        distance=area.distance[place],
        root=names.get(area.ids[at], ""),
        path=tuple(reversed(steps)),
        text_tokens=row.text_tokens,
        sketch=row.sketch,
    )


def _notes(area: _Neighbourhood, lens: Lens, ahead: int) -> tuple[str, ...]:
    notes = []
    if area.cut:
        which = "strongest" if lens.sample == "strength" else "most relevant"
        wide = "1 node has" if area.cut == 1 else f"{area.cut} nodes have"
        notes.append(
            f"{wide} more than {lens.fan_out} links (at most {area.widest}); only the {which} {lens.fan_out} "
            f"of each were followed, and {area.left} left out."
        )
    if ahead > lens.limit:
        notes.append(f"The walk reached {ahead} nodes; the {lens.limit} nearest were considered.")
    return tuple(notes)
