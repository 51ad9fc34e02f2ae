"""The nodes that others refer to most: what a map of a repository shows."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from weft.link.importance import pagerank
from weft.model import Candidate, Filter
from weft.ports import NodeRow, Snapshot
from weft.profile import Probe
from weft.retrieve import Found

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Floats = NDArray[np.float64]

_MOST: Final = 300_000
"""More nodes than this are not ranked while a reader waits."""
_BATCH: Final = 5_000
_FAN_OUT: Final = 1_000
_DIGITS: Final = 6


def foremost(probe: Probe, filter: Filter, snapshot: Snapshot) -> Found:
    """At most `probe.limit` nodes by PageRank over the probe's links, then by key.

    Their relevance falls evenly from 1 on: ranks themselves fall so fast that only the first would count.
    """
    import numpy as np

    ids = snapshot.matching(filter)
    for tag in probe.without_tags:
        ids = np.setdiff1d(ids, snapshot.matching(Filter(tags=(tag,))), assume_unique=True)
    if len(ids) > _MOST:
        return Found(notes=(f"{len(ids):,} nodes are too many to rank by their links; at most {_MOST:,} are.",))
    source, target, weight = _links(ids, probe.edges, snapshot)
    if not len(source):
        return Found(searched=len(ids))
    rank = pagerank(len(ids), source, target, weight)
    rank = np.round(rank / rank.max(), _DIGITS)
    # What nothing refers to has no place on a map; ties with the last one are loaded, so that the key decides.
    referred = np.unique(target)
    least = np.sort(rank[referred])[::-1][: probe.limit][-1]
    chosen = {int(ids[place]): float(rank[place]) for place in referred if rank[place] >= least}
    stored = snapshot.nodes(sorted(chosen))
    ordered = sorted(stored.values(), key=lambda row: (-chosen[row.node.id], row.node.tenant, row.node.key))
    candidates = [
        _candidate(row, 1 - place / probe.limit, probe) for place, row in enumerate(ordered[: probe.limit])
    ]
    return Found(tuple(candidates), searched=len(ids))


def _candidate(row: NodeRow, relevance: float, probe: Probe) -> Candidate:
    return Candidate(
        row.node,
        parts=dict.fromkeys(("relevance", "lexical", "semantic"), round(relevance, _DIGITS)),
        probe=probe.name,
        root=row.node.key,
        text_tokens=row.text_tokens,
        sketch=row.sketch,
    )


def _links(ids: "Ids", types: Collection[str], snapshot: Snapshot) -> "tuple[Ids, Ids, Floats]":
    """The links of these types (of all, when none is named) between the nodes, as places in `ids`."""
    import numpy as np

    sources, targets, weights = [], [], []
    for start in range(0, len(ids), _BATCH):
        near = snapshot.adjacency(ids[start : start + _BATCH].tolist(), _FAN_OUT)
        wanted = [at for at, name in enumerate(near.edge_types) if not types or name in types]
        counts = (near.outward == 1) & (near.weight > 0) & np.isin(near.edge_type, wanted)
        counts &= np.isin(near.neighbour, ids)
        sources.append(np.searchsorted(ids, near.owner[counts]))
        targets.append(np.searchsorted(ids, near.neighbour[counts]))
        weights.append(near.weight[counts])
    if not sources:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
    return np.concatenate(sources), np.concatenate(targets), np.concatenate(weights)
