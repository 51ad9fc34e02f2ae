"""Walk the graph from the best candidates: the lens says which links to follow, how far, and how to score."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count, repeat
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from weft.model import Candidate, Filter, Step
from weft.pipeline.plan import Plan, is_unnamed_quotation, passes_filter
from weft.ports import Adjacency, NodeRow, Snapshot
from weft.profiles.types import Lens
from weft.scoring.centrality import pagerank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


_MAX_SAMPLED_LINKS: Final = 2_000
"""Links of a start that are read to find the most relevant of them; a node with more is sampled by strength."""
_LATER_SAMPLING: Final = 4
"""Links of every node further on that are read, as a multiple of the fan-out: there are many more nodes."""
_MAX_MEASURED_AT_FIRST_STEP: Final = 5_000
"""Nodes whose relevance the first step may measure; each costs reading its passages, strong links come first."""
_MAX_MEASURED_LATER: Final = 300
"""The same for each later step, and for a tie at the end of the walk."""
_PAGERANK_ITERATIONS: Final = 20
"""With the usual restart of a half, what further iterations move is below a millionth."""
_EXPLORED_PER_RETURNED: Final = 12
"""The walk looks at no more than this many times the nodes it may return."""
_MIN_START_RELEVANCE: Final = 1e-6
"""The relevance of a start that has none: the walk must begin somewhere, and never divide by 0."""
_MAX_COUNTED_DEGREE: Final = 1_000_000
"""A node counts as no larger hub than this."""
_TINY: Final = 1e-12
"""Keeps a division by a sum of 0 finite."""

_Hop = tuple[str, float, str]
"""Edge type, weight and direction."""

Relevance = Callable[[Sequence[int]], Mapping[int, float]]
"""Measures the relevance of nodes to the question, by id; nodes without an answer are left out."""


class WalkResult(Struct, frozen=True):
    """All candidates after the walk: the starts with their walk score, then the nodes that it reached."""

    candidates: tuple[Candidate, ...]
    reached: int = 0
    deepest: int = 0
    notes: tuple[str, ...] = ()


def walk_graph(
    found: Sequence[Candidate], lens: Lens, snapshot: Snapshot, relevance: Relevance | None = None
) -> WalkResult:
    """Return the found candidates and the nodes that the lens reaches from the best of them."""
    starts = _choose_starts(found, lens)
    if lens.walk == "none" or lens.depth == 0 or not starts:
        return WalkResult(tuple(found))
    # Measuring costs reading passages, so it is left out where the lens does not ask for it.
    relevances = _Relevances(relevance) if relevance is not None and lens.sample == "relevance" else None
    area = _explore(starts, lens, snapshot, relevances)
    scores = _pagerank(starts, area, lens) if lens.walk == "pagerank" else _closeness(area)
    ahead, best = _choose_reached(found, area, scores, lens, relevances)
    candidates, deepest = _make_candidates(found, best, area, scores, snapshot)
    return WalkResult(candidates, ahead, deepest, _notes(area, lens, ahead))


def _choose_starts(found: Sequence[Candidate], lens: Lens) -> Sequence[Candidate]:
    """Return the best stored candidates, without unnamed quotations where there is anything else."""
    stored = [candidate for candidate in found if candidate.node.id]
    speaking = [candidate for candidate in stored if not is_unnamed_quotation(candidate, lens.named_with)]
    return (speaking or stored)[: lens.seeds]


class _Relevances(Struct):
    """The relevance of nodes, measured at most once for each."""

    measure_nodes: Relevance
    known: dict[int, float] = field(default_factory=dict)

    def measure(self, nodes: Sequence[int]) -> None:
        """Measure the nodes that were not measured before."""
        fresh = [node for node in nodes if node not in self.known]
        found = self.measure_nodes(fresh) if fresh else {}
        self.known.update((node, found.get(node, 0.0)) for node in fresh)

    def of(self, nodes: "Ints") -> "Floats":
        """Return the relevance of each of many nodes, which may repeat."""
        distinct, index = np.unique(nodes, return_inverse=True)
        return np.array([self.get(node) for node in distinct.tolist()])[index]

    def get(self, node: int) -> float:
        """Return the relevance of a node; 0 when it was not measured."""
        return self.known.get(node, 0.0)


class _Neighbourhood(Struct):
    """The explored part of the graph; nodes are numbered by `index` in the order they were met.

    `distance`, `parent` and `step` go by these numbers: how far a node is, from which node it was first met, and
    over which edge. `edges` are (start, end, chance) arrays of the same numbers, kept for PageRank.
    """

    ids: list[int] = field(default_factory=list)
    index: dict[int, int] = field(default_factory=dict)
    distance: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    step: list[_Hop] = field(default_factory=list)
    edges: "list[tuple[Ints, Ints, Floats]]" = field(default_factory=list)
    degree: dict[int, int] = field(default_factory=dict)
    wide_nodes: int = 0
    max_degree: int = 0
    skipped_links: int = 0

    def add(self, nodes: Sequence[int], distance: int, parents: Iterable[int], steps: Iterable[_Hop]) -> None:
        """Number nodes that are new."""
        self.index.update(zip(nodes, count(len(self.ids)), strict=False))
        self.ids += nodes
        self.distance += repeat(distance, len(nodes))
        self.parent += parents
        self.step += steps


def _explore(
    starts: Sequence[Candidate], lens: Lens, snapshot: Snapshot, relevances: _Relevances | None
) -> _Neighbourhood:
    """Return the nodes within the lens's depth of the starts, as many as may be looked at."""
    area = _Neighbourhood()
    # A node may be found by several probes and still starts one walk.
    frontier = list(dict.fromkeys(start.node.id for start in starts))
    area.add(frontier, 0, repeat(-1, len(frontier)), repeat(("", 1.0, ""), len(frontier)))
    for depth in range(1, lens.depth + 1):
        if not frontier or len(area.ids) >= lens.limit * _EXPLORED_PER_RETURNED:
            break
        near = snapshot.adjacency(frontier, _links_to_read(depth, lens, relevances))
        _count_wide_nodes(area, near, lens)
        # The order matters: what the lens does not follow must not use up the fan-out.
        followed, weight = _followed_edges(near, lens)
        if relevances is not None:
            followed = _most_relevant(near, followed, weight, depth, lens=lens, relevances=relevances)
        order = _strongest_first(near, followed, weight) if lens.edge_weights else np.flatnonzero(followed)
        frontier = _step(area, near, order, weight[order], depth, lens)
    return area


def _links_to_read(depth: int, lens: Lens, relevances: _Relevances | None) -> int:
    """Return how many links of each node are read; the relevant ones are sought far only at the first step."""
    if relevances is None:
        return lens.fan_out
    return max(_MAX_SAMPLED_LINKS, lens.fan_out) if depth == 1 else lens.fan_out * _LATER_SAMPLING


def _count_wide_nodes(area: _Neighbourhood, near: Adjacency, lens: Lens) -> None:
    for degree in near.degree.values():
        if degree > lens.fan_out:
            area.wide_nodes += 1
            area.max_degree = max(area.max_degree, degree)
            area.skipped_links += degree - lens.fan_out


def _followed_edges(near: Adjacency, lens: Lens) -> "tuple[Bools, Floats]":
    """Return which edges the lens follows, and the weights of all under the lens."""
    # Tables by type and kind, of which there are few, are looked up for all edges at once.
    factor = np.array([lens.edge_weights.get(name, 1.0) for name in near.edge_types] or [1.0])
    type_allowed = np.array([not lens.edges or name in lens.edges for name in near.edge_types] or [True])
    kind_allowed = np.array([not lens.kinds or name in lens.kinds for name in near.kinds] or [True])
    weight = near.weight * factor[near.edge_type]
    followed = type_allowed[near.edge_type] & kind_allowed[near.kind] & (weight > 0)
    if lens.direction != "both":
        followed &= near.outward == (1 if lens.direction == "out" else 0)
    return followed, weight


def _most_relevant(
    near: Adjacency, followed: "Bools", weight: "Floats", depth: int, *, lens: Lens, relevances: _Relevances
) -> "Bools":
    """Keep, of a node with more links than the fan-out, only those that lead to the most relevant neighbours."""
    owners, counts = np.unique(near.owner[followed], return_counts=True)
    wide = owners[counts > lens.fan_out]
    if not len(wide):
        return followed
    max_measured = _MAX_MEASURED_AT_FIRST_STEP if depth == 1 else _MAX_MEASURED_LATER
    crowded = followed & np.isin(near.owner, wide)
    relevances.measure(list(dict.fromkeys(near.neighbour[crowded].tolist()))[:max_measured])
    kept = followed & ~crowded
    edges = np.flatnonzero(crowded)
    owner, worth = near.owner[edges], relevances.of(near.neighbour[edges]) * weight[edges]
    # The tag is the same in every store, so that ties fall alike whatever ids the nodes have.
    order = np.lexsort((near.tag[edges], -weight[edges], -np.round(worth, 9), owner))
    place = np.arange(len(order)) - np.searchsorted(owner[order], owner[order])
    kept[edges[order[place < lens.fan_out]]] = True
    return kept


def _strongest_first(near: Adjacency, followed: "Bools", weight: "Floats") -> "Ints":
    """Return the indices of the followed edges, each node's strongest first by these weights."""
    edges: Ints = np.flatnonzero(followed)
    # Owners keep the order in which they were met, so that better starts claim shared neighbours.
    _, first, group = np.unique(near.owner[edges], return_index=True, return_inverse=True)
    return edges[np.lexsort((edges, -weight[edges], first[group]))]


def _step(
    area: _Neighbourhood, near: Adjacency, order: "Ints", weight: "Floats", depth: int, lens: Lens
) -> list[int]:
    """Add the neighbours over these edges to the area, and return the new ones: they are the next frontier."""
    owner, neighbour = near.owner[order], near.neighbour[order]
    known = np.fromiter(map(area.index.__contains__, neighbour.tolist()), dtype=bool, count=len(neighbour))
    unknown = np.flatnonzero(~known)
    # Of several edges to one new node the first counts: the strongest from the owner that was met first.
    _, first = np.unique(neighbour[unknown], return_index=True)
    room = max(lens.limit * _EXPLORED_PER_RETURNED - len(area.ids), 0)
    fresh = unknown[np.sort(first)][:room]
    nodes: list[int] = neighbour[fresh].tolist()
    types = map(near.edge_types.__getitem__, near.edge_type[order][fresh].tolist())
    directions = map(("in", "out").__getitem__, near.outward[order][fresh].tolist())
    steps = zip(types, weight[fresh].tolist(), directions, strict=True)
    area.add(nodes, depth, [area.index[node] for node in owner[fresh].tolist()], steps)
    # Breadth-first walks score by distance alone and need no edges.
    if lens.walk == "pagerank":
        _keep_edges(area, near, owner, neighbour, weight, lens)
    return nodes


def _keep_edges(
    area: _Neighbourhood, near: Adjacency, owner: "Ints", neighbour: "Ints", weight: "Floats", lens: Lens
) -> None:
    """Keep the edges with the chance to take each: a hub passes little on to any one neighbour."""
    start, end = (
        np.fromiter(map(area.index.get, nodes.tolist(), repeat(-1)), dtype=np.int64, count=len(nodes))
        for nodes in (owner, neighbour)
    )
    area.degree.update(near.degree)
    known = end >= 0
    if not known.any():
        return
    total = np.bincount(start, weights=weight, minlength=len(area.ids))
    followed = np.bincount(start, minlength=len(area.ids))
    for node, degree in near.degree.items():
        index = area.index[node]
        if degree > lens.fan_out and degree > followed[index] > 0:
            # The links that were not read would have taken their part as well.
            total[index] *= min(degree, _MAX_COUNTED_DEGREE) / followed[index]
    area.edges.append((start[known], end[known], weight[known] / total[start[known]]))


def _pagerank(starts: Sequence[Candidate], area: _Neighbourhood, lens: Lens) -> "Floats":
    """Return personalised PageRank over the area, from the starts by their relevance; the best is 1."""
    size = len(area.ids)
    home = np.zeros(size)
    for start in starts:
        relevance = start.parts.get("relevance", start.parts.get("start", 0.0))
        home[area.index[start.node.id]] = max(relevance, _MIN_START_RELEVANCE) ** lens.focus
    home /= home.sum()
    if not area.edges:
        alone: Floats = np.round(home / home.max(), 9)
        return alone
    source, target, chance = (np.concatenate(column) for column in zip(*area.edges, strict=True))
    if lens.specificity:
        chance = _favour_specific(area, source, target, chance, lens.specificity)
    # A fixed number of rounds, without a test for convergence, costs less on so small an area.
    rank = pagerank(
        size,
        source,
        target,
        chance,
        home=home,
        restart=lens.restart,
        max_rounds=_PAGERANK_ITERATIONS,
        tolerance=0.0,
    )
    scaled: Floats = np.round(rank / rank.max(), 9)
    return scaled


def _favour_specific(
    area: _Neighbourhood, source: "Ints", target: "Ints", chance: "Floats", specificity: float
) -> "Floats":
    """Return the chances with less for hubs and more for others; each node passes on as much as before."""
    size = len(area.ids)
    links = np.array([area.degree.get(node, 0) for node in area.ids], dtype=np.float64)
    # Of the outermost nodes no links were read: those that lead to them from here are all that is known.
    weighed = chance / np.maximum(links, np.bincount(target, minlength=size))[target] ** specificity
    before, after = np.bincount(source, chance, size), np.bincount(source, weighed, size)
    return weighed * (before / np.maximum(after, _TINY))[source]


def _closeness(area: _Neighbourhood) -> "Floats":
    """Return the weight of the edge to each node, divided by one more than its distance from the starts."""
    distance = np.array(area.distance, dtype=np.float64)
    closeness: Floats = np.round(np.array([step[1] for step in area.step]) / (distance + 1.0), 9)
    return closeness


def _choose_reached(
    found: Sequence[Candidate],
    area: _Neighbourhood,
    scores: "Floats",
    lens: Lens,
    relevances: _Relevances | None,
) -> tuple[int, list[int]]:
    """Return how many nodes were reached beyond those found, and the numbers of the best of them by score.

    Where the cut falls between equals, relevance decides if the lens samples by it.
    """
    known = {candidate.node.id for candidate in found}
    # What was found needs no place among the reached: it is a candidate already.
    ahead = [index for index, node in enumerate(area.ids) if node not in known]
    ordered = [ahead[rank] for rank in np.argsort(-scores[ahead], kind="stable").tolist()]
    if relevances is not None and len(ordered) > lens.limit:
        last = scores[ordered[lens.limit - 1]]
        equals = [index for index in ordered if scores[index] == last]
        relevances.measure([area.ids[index] for index in equals[:_MAX_MEASURED_LATER]])
        ordered.sort(key=lambda index: (-scores[index], -relevances.get(area.ids[index])))
    return len(ahead), ordered[: lens.limit]


def _make_candidates(
    found: Sequence[Candidate], best: Sequence[int], area: _Neighbourhood, scores: "Floats", snapshot: Snapshot
) -> tuple[tuple[Candidate, ...], int]:
    """Return the found candidates with their walk score, then the reached ones; and the greatest distance."""
    keys = {candidate.node.id: candidate.node.key for candidate in found}
    on_the_way = [node for node in _ancestors(area, best) if node not in keys]
    stored = snapshot.nodes(list(dict.fromkeys([*(area.ids[index] for index in best), *on_the_way])))
    keys |= {node: row.node.key for node, row in stored.items()}
    kept = [index for index in best if area.ids[index] in stored]
    probes = {candidate.node.id: candidate.probe for candidate in found}
    reached = tuple(_make_candidate(index, area, stored, keys, probes, float(scores[index])) for index in kept)
    walk_scores = dict(zip(area.ids, scores.tolist(), strict=True))
    starts = tuple(
        replace(candidate, parts={**candidate.parts, "walk": walk_scores.get(candidate.node.id, 0.0)})
        if candidate.node.id
        else candidate
        for candidate in found
    )
    return starts + reached, max((area.distance[index] for index in kept), default=0)


def _ancestors(area: _Neighbourhood, indices: Sequence[int]) -> list[int]:
    """Return the ids of the nodes on the way to these ones: their keys are printed in the path."""
    ancestors = set()
    for index in indices:
        parent = area.parent[index]
        while parent >= 0:
            ancestors.add(area.ids[parent])
            parent = area.parent[parent]
    return sorted(ancestors)


def _make_candidate(
    reached: int,
    area: _Neighbourhood,
    stored: Mapping[int, NodeRow],
    keys: Mapping[int, str],
    probes: Mapping[int, str],
    score: float,
) -> Candidate:
    """Return the candidate for a reached node, with the path that leads back to where the walk began."""
    steps: list[Step] = []
    index = reached
    while area.parent[index] >= 0:
        edge_type, weight, direction = area.step[index]
        steps.append(Step(keys.get(area.ids[index], ""), edge_type, weight, direction, area.ids[index]))
        index = area.parent[index]
    row = stored[area.ids[reached]]
    return Candidate(
        node=row.node,
        parts={"walk": score, "edge": area.step[reached][1]},
        probe=probes.get(area.ids[index], ""),
        distance=area.distance[reached],
        root=keys.get(area.ids[index], ""),
        path=tuple(reversed(steps)),
        text_tokens=row.text_tokens,
        sketch=row.sketch,
    )


def _notes(area: _Neighbourhood, lens: Lens, ahead: int) -> tuple[str, ...]:
    notes = []
    if area.wide_nodes:
        which = "strongest" if lens.sample == "strength" else "most relevant"
        wide = "1 node has" if area.wide_nodes == 1 else f"{area.wide_nodes} nodes have"
        notes.append(
            f"{wide} more than {lens.fan_out} links (at most {area.max_degree}); only the {which} {lens.fan_out} "
            f"of each were followed, and {area.skipped_links} left out."
        )
    if ahead > lens.limit:
        notes.append(f"The walk reached {ahead} nodes; the {lens.limit} nearest were considered.")
    return tuple(notes)


def group_by_lens(candidates: Sequence[Candidate], plan: Plan) -> list[tuple[Lens, list[Candidate]]]:
    """Return the candidates by the lens with which their section walks."""
    lens_by_probe = {
        probe: section.lens for section in plan.sections() if section.lens for probe in section.probes
    }
    groups: dict[str | None, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(lens_by_probe.get(candidate.probe), []).append(candidate)
    return [(plan.lens_for(name), group) for name, group in groups.items()]


def drop_filtered(candidates: Sequence[Candidate], filter: Filter) -> tuple[Candidate, ...]:
    """Return the candidates without those that the walk reached and the filter of the request excludes."""
    if filter.empty:
        return tuple(candidates)
    # Searches have applied the filter already.
    return tuple([each for each in candidates if not each.distance or passes_filter(each.node, filter)])
