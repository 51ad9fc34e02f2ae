"""Parts of one text that follow one another."""

from collections.abc import Iterable, Iterator

from weft.model import Edge, Node

FOLLOWS = "next"


def following(nodes: Iterable[Node]) -> Iterator[Edge]:
    """A link from each node to the one with the same title and the next place in the sequence."""
    places = {(node.tenant, node.title, node.sequence): node.key for node in nodes if node.title}
    for (tenant, title, place), key in places.items():
        after = places.get((tenant, title, place + 1)) if place is not None else None
        if after is not None:
            yield Edge(key, after, FOLLOWS, tenant=tenant)
