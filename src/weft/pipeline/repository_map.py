"""The nodes that others refer to most: what a map of a repository shows."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from weft.cache import Recent
from weft.frozen import dataclass
from weft.links.importance import links_among
from weft.model import Candidate, Filter
from weft.pipeline.retrieve import Found
from weft.ports import NodeRow, Snapshot
from weft.profiles.types import Probe
from weft.scoring.centrality import pagerank

_MOST: Final = 300_000
"""More nodes than this are not ranked while a reader waits."""
_DIGITS: Final = 6
_KEPT: Final = 16
"""Rankings that are kept until the store changes."""


def foremost(probe: Probe, filter: Filter, snapshot: Snapshot) -> Found:
    """At most `probe.limit` nodes by PageRank over the probe's links, then by key.

    Their relevance falls evenly from 1 to a half: ranks themselves fall so fast that only the first would count,
    and what merely shares a word with a question about the whole shall not come before most of them.
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
        _candidate(row, 1 - place / (2 * probe.limit), probe) for place, row in enumerate(ordered[: probe.limit])
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
    source, target, weight = links_among(ids, snapshot, probe.edges)
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
