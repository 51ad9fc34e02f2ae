"""Nodes and edges written directly: a few at a time, linked and found by the next question."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from weft.errors import InvalidInput
from weft.frozen import dataclass
from weft.indexing.ingest import Workshop, parted
from weft.indexing.link import Relating, Relinking, declare_shared
from weft.indexing.prepare import prepare
from weft.model import Edge, EdgeSet, Node
from weft.ports import Changes

MAKER: Final = "put@1"
"""Who draws the edges that are written directly."""

_LONGEST_TEXT: Final = 5_000_000
_LONGEST_NAME: Final = 500


@dataclass(frozen=True, slots=True)
class Written:
    """What a direct write did."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0
    links: int = 0
    sequence: int = 0


def put(shop: Workshop, nodes: Sequence[Node], edges: Sequence[Edge] = (), *, mentions: bool = True) -> Written:
    """Store the nodes, new or changed, and add or strengthen the edges, in one write.

    Without `mentions`, names in their texts are not looked for, which takes seconds in a large tenant.
    """
    for node in nodes:
        check_node(node)
    named = tuple(_sourced(node) for node in nodes)
    relinking, relating = Relinking(shop.store, shop.index), Relating(shop.store, shop.index)
    with shop.store.writing():
        if shop.embed is not None:
            shop.store.remember_embedder(shop.embed.name, shop.embed.dimensions)
        declare_shared(shop.store, edges)
        fresh, known = parted([(node, "") for node in named], shop)
        if mentions:
            relinking.writing([node for node, _ in fresh], ())
        relating.changing((node.tenant, node.key, node.tags) for node, _ in fresh)
        # What is stored as it is stays with the source that brought it.
        upserts = prepare(fresh, shop.embed, shop.count)
        shop.store.write(Changes(upserts=upserts, edges=_sets(edges)))
        return _finished(shop, relinking, relating, Written(len(fresh), len(known)))


def delete(shop: Workshop, keys: Sequence[tuple[str, str]]) -> Written:
    """Remove the nodes of the given (tenant, key); keys that name nothing are left alone."""
    relinking, relating = Relinking(shop.store, shop.index), Relating(shop.store, shop.index)
    with shop.store.writing():
        by_tenant: dict[str, list[str]] = {}
        for tenant, key in dict.fromkeys(keys):
            by_tenant.setdefault(tenant, []).append(key)
        gone = [(tenant, key) for tenant, listed in by_tenant.items() for key in shop.store.hashes(tenant, listed)]
        relinking.removing(gone)
        relating.changing((tenant, key, ()) for tenant, key in gone)
        shop.store.write(Changes(removes=tuple(gone)))
        return _finished(shop, relinking, relating, Written(removed=len(gone)))


def replace_edges(shop: Workshop, tenant: str, source: str, edges: Sequence[Edge]) -> Written:
    """Make these all the edges that direct writes drew from one node."""
    with shop.store.writing():
        shop.store.write(Changes(edges=(EdgeSet(MAKER, tenant, tuple(edges), (source,)),)))
        return Written(sequence=shop.index.catch_up(shop.store))


def check_node(node: Node) -> None:
    """Refuse a node that no store can hold."""
    for what, name in (("key", node.key), ("kind", node.kind), ("tenant", node.tenant)):
        if not name.strip() or len(name) > _LONGEST_NAME:
            raise InvalidInput(
                f"{name[:60]!r} is no {what} for a node. Give 1 to {_LONGEST_NAME} characters, not all blank."
            )
    if len(node.text) > _LONGEST_TEXT:
        raise InvalidInput(
            f"The text of {node.key!r} has {len(node.text):,} characters; at most {_LONGEST_TEXT:,} are kept. "
            "Split it into several nodes."
        )


def _sourced(node: Node) -> Node:
    """The node with the source that its key names."""
    if node.origin.source:
        return node
    return replace(node, origin=replace(node.origin, source=node.key.partition(":")[0]))


def _sets(edges: Sequence[Edge]) -> tuple[EdgeSet, ...]:
    """The edges by tenant; an empty scope takes nothing away."""
    tenants = sorted({edge.tenant for edge in edges})
    return tuple(
        EdgeSet(MAKER, tenant, tuple(edge for edge in edges if edge.tenant == tenant), ()) for tenant in tenants
    )


def _finished(shop: Workshop, relinking: Relinking, relating: Relating, done: Written) -> Written:
    links = relinking.run(_unwatched) + relating.run()
    return replace(done, links=links, sequence=shop.index.catch_up(shop.store))


def _unwatched(done: int) -> None:
    """Nobody watches the linking."""
