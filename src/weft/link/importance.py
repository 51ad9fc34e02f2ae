"""How much each node matters in its tenant's graph, the same to the last digit every time."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from weft.link.betweenness import betweenness
from weft.model import View
from weft.ports import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DAMPING: Final = 0.85
_MOST_ROUNDS: Final = 100
_CLOSE_ENOUGH: Final = 1e-10
_DIGITS: Final = 9
_FAN_OUT: Final = 1_000_000
_BATCH: Final = 5000


def importance(store: Store, tenant: str) -> Mapping[tuple[str, str], float]:
    """Importance by (tenant, key), the highest being 1; nodes that were given one are left out.

    Half of it is PageRank, what is much linked to; half is betweenness, what others are linked over. Nothing is
    returned for a tenant without edges, where no node matters more than another.
    """
    import numpy as np

    keys, given, ids = [], [], []
    for row in store.iterate(tenant):
        keys.append(row.node.key)
        ids.append(row.node.id)
        given.append("importance" in row.node.fields)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    source, target, weight = _links(store, tenant, np.array([ids[place] for place in order], dtype=np.int64))
    if not len(source):
        return {}
    rank = pagerank(len(keys), source, target, weight)
    weighed = rank / rank.max() + betweenness(len(keys), source, target)
    values = np.round(weighed / weighed.max(), _DIGITS).tolist()
    return {(tenant, keys[place]): value for place, value in zip(order, values, strict=True) if not given[place]}


def pagerank(
    nodes: int, source: "NDArray[np.int64]", target: "NDArray[np.int64]", weight: "NDArray[np.float64]"
) -> "NDArray[np.float64]":
    """The stationary share of a random walker who follows edges by weight and sometimes starts anew."""
    import numpy as np

    leaving = np.bincount(source, weights=weight, minlength=nodes)
    share = weight / leaving[source]
    stuck = leaving == 0
    rank = np.full(nodes, 1.0 / nodes)
    for _ in range(_MOST_ROUNDS):
        flow = np.bincount(target, weights=rank[source] * share, minlength=nodes)
        moved = DAMPING * (flow + rank[stuck].sum() / nodes) + (1.0 - DAMPING) / nodes
        settled = np.abs(moved - rank).max() < _CLOSE_ENOUGH / nodes
        rank = moved
        if settled:
            break
    return rank


def _links(
    store: Store, tenant: str, ids: "NDArray[np.int64]"
) -> "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]":
    """The tenant's edges between places in `ids`, in the order of those places and not of the store."""
    import numpy as np

    by_id = np.argsort(ids)
    owners, neighbours, weights = [], [], []
    with store.snapshot(View((tenant,))) as snapshot:
        for start in range(0, len(ids), _BATCH):
            found = snapshot.adjacency(ids[start : start + _BATCH].tolist(), _FAN_OUT)
            outward = (found.outward == 1) & (found.weight > 0)
            owners.append(found.owner[outward])
            neighbours.append(found.neighbour[outward])
            weights.append(found.weight[outward])
    if not owners:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
    source = by_id[np.searchsorted(ids, np.concatenate(owners), sorter=by_id)]
    target = by_id[np.searchsorted(ids, np.concatenate(neighbours), sorter=by_id)]
    weight = np.concatenate(weights).astype(np.float64)
    order = np.lexsort((weight, target, source))
    return source[order], target[order], weight[order]
