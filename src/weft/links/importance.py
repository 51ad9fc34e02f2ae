"""Compute how much each node matters in its tenant's graph, the same to the last digit every time."""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Final

import xxhash

from weft.ports import Adjacency, Graph, Snapshot
from weft.scoring.centrality import betweenness, pagerank

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


_DECIMALS: Final = 6
"""Rounding hides that the last digits of a sum differ between machines. It also hides that an edit in one corner
of a graph moves all the others by a little: those are not written again."""
_NODES_PER_READ: Final = 5_000
"""Bounds the memory of one read of neighbours; fewer cost more round trips."""
_USUAL_NEIGHBOURS: Final = 250
"""So many neighbours of a node are quick to read, and most nodes have no more; hubs are read again without
limit."""
_ALL_NEIGHBOURS: Final = 1_000_000
"""More than any node has: reading needs a limit."""


def digest_graph(graph: Graph) -> str:
    """Return a digest that is the same for the same nodes and links in the same order."""
    links = [graph.source.tobytes(), graph.target.tobytes(), graph.weight.tobytes(), bytes(graph.has_own)]
    return xxhash.xxh3_64_hexdigest(b"\0".join(["\n".join(graph.keys).encode("utf-8", "replace"), *links]))


def compute_importance(graph: Graph, tenant: str) -> Mapping[tuple[str, str], float]:
    """Return the importance by (tenant, key), the highest being 1; nodes whose source states one are left out.

    Half of it is PageRank (many links lead to the node), half is betweenness (others are linked through it). The
    result is empty for a tenant without edges, where no node matters more than another.
    """
    import numpy as np

    # By key and not as they are stored, so that two stores with the same nodes give the same digits.
    order = sorted(range(len(graph.keys)), key=graph.keys.__getitem__)
    index_by_position = np.empty(len(order), np.int64)
    index_by_position[order] = np.arange(len(order))
    counts = graph.weight > 0
    source, target = index_by_position[graph.source[counts]], index_by_position[graph.target[counts]]
    weight = graph.weight[counts]
    if not len(source):
        return {}
    # Sums of floating-point numbers depend on their order, which differs from engine to engine.
    links = np.lexsort((weight, target, source))
    source, target, weight = source[links], target[links], weight[links]
    # Both parts are scaled to at most 1 before they are added, so that each counts for half.
    rank = pagerank(len(order), source, target, weight)
    combined = rank / rank.max() + betweenness(len(order), source, target)
    values = np.round(combined / combined.max(), _DECIMALS).tolist()
    return {
        (tenant, graph.keys[position]): value
        for position, value in zip(order, values, strict=True)
        if not graph.has_own[position]
    }


def read_links(ids: "Ids", snapshot: Snapshot, types: Collection[str] = ()) -> "tuple[Ids, Ids, Floats]":
    """Return the links of these types (or of all) between nodes, as indexes into the ascending `ids`."""
    import numpy as np

    sources, targets, weights = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for near, complete in _read_neighbours(ids, snapshot):
        type_numbers = [number for number, name in enumerate(near.edge_types) if not types or name in types]
        # Every edge is listed at both of its ends; the outward row alone makes each count once.
        kept = complete & (near.outward == 1) & (near.weight > 0) & np.isin(near.edge_type, type_numbers)
        # `searchsorted` would give a wrong index for a neighbour that is not among the nodes.
        kept &= np.isin(near.neighbour, ids)
        sources.append(np.searchsorted(ids, near.owner[kept]))
        targets.append(np.searchsorted(ids, near.neighbour[kept]))
        weights.append(near.weight[kept])
    return np.concatenate(sources), np.concatenate(targets), np.concatenate(weights)


def _read_neighbours(ids: "Ids", snapshot: Snapshot) -> "Iterator[tuple[Adjacency, Mask]]":
    """Yield the neighbours of nodes with a mask of the rows to use; those of a hub come again, all of them."""
    import numpy as np

    for start in range(0, len(ids), _NODES_PER_READ):
        near = snapshot.adjacency(ids[start : start + _NODES_PER_READ].tolist(), _USUAL_NEIGHBOURS)
        hubs = sorted(node for node, degree in near.degree.items() if degree > _USUAL_NEIGHBOURS)
        yield near, ~np.isin(near.owner, hubs)
        if hubs:
            near = snapshot.adjacency(hubs, _ALL_NEIGHBOURS)
            yield near, np.ones(len(near.owner), dtype=bool)
