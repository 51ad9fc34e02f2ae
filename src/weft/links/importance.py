"""How much each node matters in its tenant's graph, the same to the last digit every time."""

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


_DIGITS: Final = 9
_BATCH: Final = 5_000
_FEW: Final = 250
"""As many neighbours of a node are quick to read, and most have no more."""
_ALL: Final = 1_000_000


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


def links_among(ids: "Ids", snapshot: Snapshot, types: Collection[str] = ()) -> "tuple[Ids, Ids, Floats]":
    """The links of these types (of all, when none is named) between nodes, as places in the ascending `ids`."""
    import numpy as np

    sources, targets, weights = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for near, told in _neighbours(ids, snapshot):
        wanted = [at for at, name in enumerate(near.edge_types) if not types or name in types]
        counts = told & (near.outward == 1) & (near.weight > 0) & np.isin(near.edge_type, wanted)
        counts &= np.isin(near.neighbour, ids)
        sources.append(np.searchsorted(ids, near.owner[counts]))
        targets.append(np.searchsorted(ids, near.neighbour[counts]))
        weights.append(near.weight[counts])
    return np.concatenate(sources), np.concatenate(targets), np.concatenate(weights)


def _neighbours(ids: "Ids", snapshot: Snapshot) -> "Iterator[tuple[Adjacency, Mask]]":
    """All neighbours of the nodes, and which rows tell them: the rows of a hub come again, with all of them."""
    import numpy as np

    for start in range(0, len(ids), _BATCH):
        near = snapshot.adjacency(ids[start : start + _BATCH].tolist(), _FEW)
        hubs = sorted(node for node, degree in near.degree.items() if degree > _FEW)
        yield near, ~np.isin(near.owner, hubs)
        if hubs:
            near = snapshot.adjacency(hubs, _ALL)
            yield near, np.ones(len(near.owner), dtype=bool)


def _links(store: Store, tenant: str, ids: "Ids") -> "tuple[Ids, Ids, Floats]":
    """The tenant's edges between places in `ids`, in the order of those places and not of the store."""
    import numpy as np

    ascending = np.argsort(ids)
    with store.snapshot(View((tenant,))) as snapshot:
        first, second, weight = links_among(ids[ascending], snapshot)
    source, target = ascending[first], ascending[second]
    order = np.lexsort((weight, target, source))
    return source[order], target[order], weight[order]
