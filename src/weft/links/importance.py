"""Compute how much each node matters in its tenant's graph, the same to the last digit every time."""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from weft.model import View
from weft.ports import Adjacency, Snapshot, Store
from weft.scoring.centrality import betweenness, pagerank

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


_DECIMALS: Final = 9
"""Rounding hides that the last digits of a sum differ between machines."""
_NODES_PER_READ: Final = 5_000
"""Bounds the memory of one read of neighbours; fewer cost more round trips."""
_USUAL_NEIGHBOURS: Final = 250
"""So many neighbours of a node are quick to read, and most nodes have no more; hubs are read again without
limit."""
_ALL_NEIGHBOURS: Final = 1_000_000
"""More than any node has: reading needs a limit."""


def compute_importance(store: Store, tenant: str) -> Mapping[tuple[str, str], float]:
    """Return the importance by (tenant, key), the highest being 1; nodes whose source states one are left out.

    Half of it is PageRank (many links lead to the node), half is betweenness (others are linked through it). The
    result is empty for a tenant without edges, where no node matters more than another.
    """
    import numpy as np

    keys, has_own, ids = [], [], []
    for row in store.iterate(tenant):
        keys.append(row.node.key)
        ids.append(row.node.id)
        has_own.append("importance" in row.node.fields)
    # By key and not by id, so that two stores with the same nodes give the same digits.
    order = sorted(range(len(keys)), key=keys.__getitem__)
    source, target, weight = _ordered_links(
        store, tenant, np.array([ids[index] for index in order], dtype=np.int64)
    )
    if not len(source):
        return {}
    # Both parts are scaled to at most 1 before they are added, so that each counts for half.
    rank = pagerank(len(keys), source, target, weight)
    combined = rank / rank.max() + betweenness(len(keys), source, target)
    values = np.round(combined / combined.max(), _DECIMALS).tolist()
    return {(tenant, keys[index]): value for index, value in zip(order, values, strict=True) if not has_own[index]}


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


def _ordered_links(store: Store, tenant: str, ids: "Ids") -> "tuple[Ids, Ids, Floats]":
    """Return the tenant's edges as indexes into `ids`, in the order of those indexes and not of the store."""
    import numpy as np

    ascending = np.argsort(ids)
    with store.snapshot(View((tenant,))) as snapshot:
        first, second, weight = read_links(ids[ascending], snapshot)
    source, target = ascending[first], ascending[second]
    # Sums of floating-point numbers depend on their order, which differs from engine to engine.
    order = np.lexsort((weight, target, source))
    return source[order], target[order], weight[order]
