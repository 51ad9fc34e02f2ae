"""Find the nodes that others refer to most, for a map of a repository; loaded only when a map is asked for."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from weft.links.importance import read_links
from weft.model import Candidate, Filter
from weft.pipeline.retrieve import RetrievalResult
from weft.ports import NodeRow, Snapshot
from weft.profiles.types import Probe
from weft.runtime.cache import LruCache
from weft.scoring.centrality import pagerank

_MAX_RANKED_NODES: Final = 300_000
"""More nodes than this are not ranked while a reader waits: it takes seconds."""
_DECIMALS: Final = 6
"""Digits of ranks and relevances that count, so that they are the same on every machine."""
_MAX_CACHED_RANKINGS: Final = 16
"""Rankings kept until the store changes; a ranking costs far more to make than to keep."""


class _Ranking(Struct, frozen=True):
    """The number of nodes to rank, and the ranks of the best by id, with those that tie with the last."""

    nodes: int
    best: Mapping[int, float] = field(default_factory=dict)


_RANKINGS: Final[LruCache[tuple[object, ...], _Ranking]] = LruCache(_MAX_CACHED_RANKINGS)


def find_most_referenced(probe: Probe, filter: Filter, snapshot: Snapshot) -> RetrievalResult:
    """Return at most `probe.limit` nodes by PageRank over the probe's links, then by key.

    Their relevance falls evenly from 1 to a half: ranks themselves fall so fast that only the first would count,
    and what merely shares a word with a question about the whole shall not come before most of them.
    """
    rule = (probe.edges, probe.without_tags, probe.limit)
    # Everything that a ranking depends on; the sequence rises with every write.
    state = (snapshot.identity, snapshot.view, snapshot.sequence, filter, rule)
    ranking = _RANKINGS.get_or_make(state, lambda: _rank(probe, filter, snapshot))
    if ranking.nodes > _MAX_RANKED_NODES:
        return RetrievalResult(
            notes=(
                f"{ranking.nodes:,} nodes are too many to rank by their links; at most {_MAX_RANKED_NODES:,} are.",
            )
        )
    stored = snapshot.nodes(sorted(ranking.best))
    ordered = sorted(stored.values(), key=lambda row: (-ranking.best[row.node.id], row.node.tenant, row.node.key))
    candidates = [
        _make_candidate(row, 1 - index / (2 * probe.limit), probe)
        for index, row in enumerate(ordered[: probe.limit])
    ]
    return RetrievalResult(tuple(candidates), searched=ranking.nodes)


def _rank(probe: Probe, filter: Filter, snapshot: Snapshot) -> _Ranking:
    # Loaded here, since most questions draw no map.
    import numpy as np

    ids = snapshot.matching_ids(filter)
    for tag in probe.without_tags:
        ids = np.setdiff1d(ids, snapshot.matching_ids(Filter(tags=(tag,))), assume_unique=True)
    if len(ids) > _MAX_RANKED_NODES:
        return _Ranking(len(ids))
    source, target, weight = read_links(ids, snapshot, probe.edges)
    if not len(source):
        return _Ranking(len(ids))
    rank = pagerank(len(ids), source, target, weight)
    # Rounded before the cut, so that nodes that rank alike tie on every machine.
    rank = np.round(rank / rank.max(), _DECIMALS)
    # A node without references has no place on a map; ties with the last one are kept, so that the key decides.
    referenced = np.unique(target)
    lowest = np.sort(rank[referenced])[::-1][: probe.limit][-1]
    best = {int(ids[index]): float(rank[index]) for index in referenced if rank[index] >= lowest}
    return _Ranking(len(ids), best)


def _make_candidate(row: NodeRow, relevance: float, probe: Probe) -> Candidate:
    return Candidate(
        row.node,
        parts=dict.fromkeys(("relevance", "lexical", "semantic"), round(relevance, _DECIMALS)),
        probe=probe.name,
        root=row.node.key,
        text_tokens=row.text_tokens,
        sketch=row.sketch,
    )
