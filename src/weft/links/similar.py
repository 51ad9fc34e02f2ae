"""Nodes that carry the same tag become `shared_tag` neighbours, a few each however popular the tag is.

The carriers of a tag stand in a ring by key, and each is linked with the next few. So a tag on n nodes makes about
4 n edges instead of n squared, and a node that comes or goes touches only those just before it.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from weft.model import Edge, Filter
from weft.ports import Index, Snapshot

if TYPE_CHECKING:
    from weft.ports.arrays import Vectors


TAG_MAKER: Final = "link:shared_tag@1"
TAG_EDGE: Final = "shared_tag"
NEXT: Final = 4
_WHOLE: Final = 2 * NEXT + 1
"""So many carriers or fewer are linked each with each; a ring would link some pairs twice."""

Carriers = Callable[[str], Sequence[str]]
"""A tag to the keys that carry it, in order."""


def touched_by(changed: Mapping[str, Iterable[str]], carriers: Carriers) -> set[str]:
    """The keys whose edges depend on some nodes, given with the tags they have or had."""
    touched: set[str] = set()
    for key, tags in changed.items():
        for tag in tags:
            ring = carriers(tag)
            if len(ring) <= _WHOLE + 1:
                touched.update(ring)
                continue
            place = bisect_left(ring, key)
            touched.update(ring[(place - step) % len(ring)] for step in range(NEXT + 1))
    return touched


def tag_edges(tenant: str, key: str, tags: Mapping[str, frozenset[str]], carriers: Carriers) -> tuple[Edge, ...]:
    """The edges of one node; `tags` tells those of every node it may be linked with."""
    others = sorted({other for tag in tags[key] for other in following(key, carriers(tag))})
    return tuple(_edge(tenant, key, other, tags) for other in others if other in tags)


def following(key: str, ring: Sequence[str]) -> list[str]:
    """The carriers of a tag that a node is linked with."""
    place = bisect_left(ring, key)
    if len(ring) <= _WHOLE:
        return list(ring[place + 1 :])
    return [ring[(place + step) % len(ring)] for step in range(1, NEXT + 1)]


def _edge(tenant: str, key: str, other: str, tags: Mapping[str, frozenset[str]]) -> Edge:
    """An edge weighed by how much of their tags two nodes share."""
    common = tags[key] & tags[other]
    weight = round(len(common) / len(tags[key] | tags[other]), 6) if common else 0.0
    return Edge(key, other, TAG_EDGE, weight, 1.0, ", ".join(sorted(common))[:500], tenant)


SIMILAR_MAKER: Final = "link:similar@1"
SIMILAR_EDGE: Final = "similar"
NEAREST: Final = 5
DEFAULT_THRESHOLD: Final = 0.75
_PASSAGES: Final = 60


def nearest(snapshot: Snapshot, index: Index, node_id: int, threshold: float) -> tuple[tuple[int, float], ...]:
    """The nodes at least so near to one, as (id, cosine), nearest first; at most a few dozen are looked at."""
    vector = _vector(snapshot, node_id)
    if vector is None:
        return ()
    found = index.semantic(snapshot, vector, Filter(), _PASSAGES)
    rows = snapshot.passages(found.passage_ids.tolist())
    cosine = dict(zip(found.passage_ids.tolist(), found.scores.tolist(), strict=True))
    best: dict[int, float] = {}
    for row in rows:
        if row.node_id != node_id and cosine[row.id] >= threshold:
            best[row.node_id] = max(best.get(row.node_id, 0.0), round(cosine[row.id], 6))
    keys = {number: stored.node.key for number, stored in snapshot.nodes(sorted(best)).items()}
    return tuple(sorted(((each, best[each]) for each in keys), key=lambda pair: (-pair[1], keys[pair[0]])))


def _vector(snapshot: Snapshot, node_id: int) -> "Vectors | None":
    """What a node is about as a whole: the mean of its passages."""
    import numpy as np

    passages: Sequence[int] = [row.id for row in snapshot.passages_of([node_id])]
    vectors = snapshot.vectors(passages)
    mean = vectors.sum(axis=0) if len(vectors) else np.zeros(0, np.float32)
    length = float(np.linalg.norm(mean))
    return (mean / length).astype(np.float32) if length else None
