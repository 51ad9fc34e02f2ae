"""Nodes that carry the same tag become `shared_tag` neighbours, a few each however popular the tag is.

The carriers of a tag stand in a ring by key, and each is linked with the next few. So a tag on n nodes makes about
4 n edges instead of n squared, and a node that comes or goes touches only those just before it.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from weft.model import Edge

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
