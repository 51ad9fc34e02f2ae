"""Link nodes that share tags, and find the nodes whose texts are similar.

The carriers of a tag stand in a ring by key, and each is linked with the next few, however popular the tag is. So
a tag on n nodes makes about 4 n edges instead of n squared, and a node that comes or goes affects only those just
before it.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from weft.model import FOUND_ENTITY, Edge, Filter
from weft.ports import Index, Snapshot

if TYPE_CHECKING:
    from weft.ports.stores import Vectors


TAG_MAKER: Final = "link:shared_tag@1"
TAG_EDGE: Final = "shared_tag"
RING_NEIGHBOURS: Final = 4
"""How many carriers of a tag behind it in the ring a node is linked with; more make popular tags crowd the
graph."""
_FULLY_LINKED_CARRIERS: Final = 2 * RING_NEIGHBOURS + 1
"""So many carriers or fewer are linked each with each; a ring would link some pairs twice."""

SIMILAR_MAKER: Final = "link:similar@1"
SIMILAR_EDGE: Final = "similar"
MAX_SIMILAR_NODES: Final = 5
"""How many similar nodes a node is linked with."""
_PASSAGES_SEARCHED: Final = 60
"""Passages fetched to find them: a long neighbour takes several, so this is a dozen for each."""
_MAX_EVIDENCE_CHARACTERS: Final = 500
"""Two nodes may share dozens of tags, and evidence is stored with every edge."""

Carriers = Callable[[str], Sequence[str]]
"""A tag to the keys that carry it, in order."""


# --- shared tags -----------------------------------------------------------------------------------------


def find_keys_to_relink(changed: Mapping[str, Iterable[str]], carriers: Carriers) -> set[str]:
    """Return the keys whose edges depend on changed nodes, given with the tags they have or had."""
    affected: set[str] = set()
    for key, tags in changed.items():
        for tag in tags:
            ring = carriers(tag)
            # One more than the limit, because the ring may have shrunk below it, or grown beyond, by this change.
            if len(ring) <= _FULLY_LINKED_CARRIERS + 1:
                affected.update(ring)
                continue
            index = bisect_left(ring, key)
            affected.update(ring[(index - step) % len(ring)] for step in range(RING_NEIGHBOURS + 1))
    return affected


def draw_tag_edges(
    tenant: str, key: str, tags: Mapping[str, frozenset[str]], carriers: Carriers
) -> tuple[Edge, ...]:
    """Return the `shared_tag` edges of one node; `tags` holds those of every node it may be linked with."""
    others = sorted({other for tag in tags[key] for other in ring_neighbours(key, carriers(tag))})
    return tuple(_make_edge(tenant, key, other, tags) for other in others if other in tags)


def ring_neighbours(key: str, ring: Sequence[str]) -> list[str]:
    """Return the carriers of a tag that a node is linked with."""
    index = bisect_left(ring, key)
    if len(ring) <= _FULLY_LINKED_CARRIERS:
        return list(ring[index + 1 :])
    return [ring[(index + step) % len(ring)] for step in range(1, RING_NEIGHBOURS + 1)]


def _make_edge(tenant: str, key: str, other: str, tags: Mapping[str, frozenset[str]]) -> Edge:
    """Make an edge weighed by how much of their tags two nodes share."""
    common = tags[key] & tags[other]
    weight = round(len(common) / len(tags[key] | tags[other]), 6) if common else 0.0
    return Edge(key, other, TAG_EDGE, weight, 1.0, ", ".join(sorted(common))[:_MAX_EVIDENCE_CHARACTERS], tenant)


# --- similar texts ---------------------------------------------------------------------------------------


def find_nearest(
    snapshot: Snapshot, index: Index, node_id: int, threshold: float, kinds: tuple[str, ...] = ()
) -> tuple[tuple[int, float], ...]:
    """Return the nodes at least so near to one, as (id, cosine), nearest first, from a few dozen passages.

    With `kinds`, only nodes of these count, and of these not the entities that were found in prose.
    """
    vector = _mean_vector(snapshot, node_id)
    if vector is None:
        return ()
    found = index.semantic(snapshot, vector, Filter(kinds=kinds), _PASSAGES_SEARCHED)
    rows = snapshot.passages(found.passage_ids.tolist())
    cosine = dict(zip(found.passage_ids.tolist(), found.scores.tolist(), strict=True))
    best: dict[int, float] = {}
    for row in rows:
        if row.node_id != node_id and cosine[row.id] >= threshold:
            best[row.node_id] = max(best.get(row.node_id, 0.0), round(cosine[row.id], 6))
    keys = {
        number: stored.node.key
        for number, stored in snapshot.nodes(sorted(best)).items()
        if not kinds or FOUND_ENTITY not in stored.node.key
    }
    # Keys decide between equals, because ids differ from store to store.
    return tuple(sorted(((other, best[other]) for other in keys), key=lambda pair: (-pair[1], keys[pair[0]])))


def _mean_vector(snapshot: Snapshot, node_id: int) -> "Vectors | None":
    """Return the direction of the mean of a node's passages, which stands for the node as a whole."""
    import numpy as np

    passages: Sequence[int] = [row.id for row in snapshot.passages_of_nodes([node_id])]
    vectors = snapshot.vectors(passages)
    mean = vectors.sum(axis=0) if len(vectors) else np.zeros(0, np.float32)
    length = float(np.linalg.norm(mean))
    return (mean / length).astype(np.float32) if length else None
