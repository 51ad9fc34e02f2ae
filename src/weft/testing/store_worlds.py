"""Prepare small worlds for the conformance suite of stores."""

import hashlib
from collections.abc import Callable, Iterable

import numpy as np

from weft.model import Edge, EdgeSet, Node, Origin, Passage, View
from weft.ports import Changes, PreparedNode, PreparedPassage, Store

OpenStore = Callable[..., Store]


def passage(terms: Iterable[int], ordinal: int = 0, vector: bytes = b"") -> PreparedPassage:
    """Return a passage that holds the given term hashes, once each."""
    hashes = np.array(sorted(set(terms)), "<u4")
    return PreparedPassage(
        passage=Passage(ordinal, 0, 10, 1, 2, ("Top", "Part")),
        term_hashes=hashes.tobytes(),
        term_counts=b"\x01" * len(hashes),
        length=len(hashes),
        vector=vector,
    )


def prepared(
    key: str,
    *passages: PreparedPassage,
    tenant: str = "default",
    kind: str = "note",
    source: str = "notes",
    unit: str = "unit",
    **values: object,
) -> PreparedNode:
    """Return a node ready to be stored; its content hash covers all that is given."""
    origin = values.pop("origin", Origin(source=source))
    node = Node(key=key, kind=kind, tenant=tenant, origin=origin, **values)  # type: ignore[arg-type]
    digest = hashlib.sha256(repr((node, passages)).encode()).hexdigest()
    return PreparedNode(
        node, digest, passages or (passage([1]),), text_tokens=len(node.text), sketch=b"sk", unit=unit
    )


def write_nodes(store: Store, *nodes: PreparedNode) -> int:
    """Upsert the nodes and return the sequence."""
    return store.write(Changes(upserts=nodes))


def write_edges(store: Store, maker: str, *edges: Edge, scope: tuple[str, ...] | None = None) -> int:
    """Let a maker draw its edges within the tenant of the first one."""
    tenant = edges[0].tenant if edges else "default"
    return store.write(Changes(edges=(EdgeSet(maker, tenant, edges, scope),)))


def id_of(store: Store, name: str, *tenants: str) -> int:
    """Return the id of the one node with that name."""
    with store.snapshot(View(tenants or ("default",))) as snapshot:
        (found,) = snapshot.find([name])[name]
    return found


def neighbours(store: Store, name: str, view: View | None = None, fan_out: int = 20) -> list[tuple[str, str, int]]:
    """Return (key, edge type, outward) of a node's neighbours as the view sees them, in order."""
    with store.snapshot(view or View()) as snapshot:
        found = snapshot.find([name]).get(name, ())
        near = snapshot.adjacency(found, fan_out)
        keys = {number: row.node.key for number, row in snapshot.nodes(near.neighbour.tolist()).items()}
    columns = zip(near.neighbour.tolist(), near.edge_type.tolist(), near.outward.tolist(), strict=True)
    return [(keys[number], near.edge_types[edge_type], outward) for number, edge_type, outward in columns]


def degree(store: Store, name: str, view: View | None = None) -> int:
    """Return how many edges a node has in the view."""
    with store.snapshot(view or View()) as snapshot:
        found = snapshot.find([name])[name]
        return sum(snapshot.adjacency(found, 1).degree.values())
