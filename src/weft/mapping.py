"""The nodes that others refer to most: what a map of a repository shows."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from weft.link.importance import pagerank
from weft.model import Candidate, Filter
from weft.ports import Adjacency, NodeRow, Snapshot
from weft.profile import Probe
from weft.recent import Recent
from weft.retrieve import Found

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

_MOST: Final = 300_000
"""More nodes than this are not ranked while a reader waits."""
_BATCH: Final = 5_000
_FEW: Final = 250
"""As many neighbours of a node are quick to read, and most have no more."""
_ALL: Final = 1_000_000
_DIGITS: Final = 6
_KEPT: Final = 16
"""Rankings that are kept until the store changes."""


def foremost(probe: Probe, filter: Filter, snapshot: Snapshot) -> Found:
    """At most `probe.limit` nodes by PageRank over the probe's links, then by key.

    Their relevance falls evenly from 1 on: ranks themselves fall so fast that only the first would count.
    """
    place = (snapshot.identity, snapshot.view, snapshot.sequence, filter, _told(probe))
    ranked = _RANKED.get_or_make(place, lambda: _ranked(probe, filter, snapshot))
    if ranked.nodes > _MOST:
        return Found(
            notes=(f"{ranked.nodes:,} nodes are too many to rank by their links; at most {_MOST:,} are.",)
        )
    stored = snapshot.nodes(sorted(ranked.best))
    ordered = sorted(stored.values(), key=lambda row: (-ranked.best[row.node.id], row.node.tenant, row.node.key))
    candidates = [
        _candidate(row, 1 - place / probe.limit, probe) for place, row in enumerate(ordered[: probe.limit])
    ]
    return Found(tuple(candidates), searched=ranked.nodes)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """How many nodes there were to rank, and the ranks of the best by id, with those that tie with the last."""

    nodes: int
    best: Mapping[int, float] = field(default_factory=dict)


_RANKED: Final[Recent[tuple[object, ...], _Ranked]] = Recent(_KEPT)


def _told(probe: Probe) -> tuple[object, ...]:
    """What of a probe decides the ranks."""
    return probe.edges, probe.without_tags, probe.limit


def _ranked(probe: Probe, filter: Filter, snapshot: Snapshot) -> _Ranked:
    import numpy as np

    ids = snapshot.matching(filter)
    for tag in probe.without_tags:
        ids = np.setdiff1d(ids, snapshot.matching(Filter(tags=(tag,))), assume_unique=True)
    if len(ids) > _MOST:
        return _Ranked(len(ids))
    source, target, weight = _links(ids, probe.edges, snapshot)
    if not len(source):
        return _Ranked(len(ids))
    rank = pagerank(len(ids), source, target, weight)
    rank = np.round(rank / rank.max(), _DIGITS)
    # What nothing refers to has no place on a map; ties with the last one are kept, so that the key decides.
    referred = np.unique(target)
    least = np.sort(rank[referred])[::-1][: probe.limit][-1]
    return _Ranked(len(ids), {int(ids[at]): float(rank[at]) for at in referred if rank[at] >= least})


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

    sources, targets, weights = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for near, shown in _neighbours(ids, snapshot):
        wanted = [at for at, name in enumerate(near.edge_types) if not types or name in types]
        counts = shown & (near.outward == 1) & (near.weight > 0) & np.isin(near.edge_type, wanted)
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
