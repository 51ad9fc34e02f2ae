"""Count what a store holds by source, kind, tenant and age, and say what is stale, what failed and how it grew."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from weft.history.runs import Run, RunLog
from weft.indexing.not_read import count_reasons, problems_of, stored_reasons
from weft.model import Filter, View
from weft.ports import Snapshot

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.ports.stores import Ids

AGES: Final = (("a day", 1), ("a week", 7), ("a month", 30), ("a quarter", 91), ("a year", 365))
"""The bounds of ages in words and in days; what is older, and what has no date, are counted on their own."""
OLDER: Final = "older"
UNDATED: Final = "undated"
_NAMED_PROBLEMS: Final = 10
"""Files of one source whose trouble is spelled out; the others are counted."""
_LAST_RUNS: Final = 100
"""Runs that a drawing of growth shows."""


class SourceCount(Struct, frozen=True):
    """The counts of the nodes that one source of one tenant has brought."""

    tenant: str
    source: str
    nodes: int
    kinds: Mapping[str, int]
    ages: Mapping[str, int]
    folder: str = ""
    """The folder that it is read from, where it is known on this machine."""
    changed: tuple[str, ...] = ()
    """Files that changed or went since they were read, and were not read again."""
    left_out: Mapping[str, int] = {}
    """Counts of files that were not read, by reason."""
    problems: tuple[tuple[str, str], ...] = ()
    """Files that could not be read, with the reason."""
    problem_count: int = 0


class Census(Struct, frozen=True):
    """The counts of some tenants of a store."""

    sources: tuple[SourceCount, ...]
    by_tenant: Mapping[str, int]
    by_kind: Mapping[str, int]
    by_age: Mapping[str, int]
    nodes: int
    passages: int
    links: int
    bytes: int
    notes: tuple[str, ...]
    """Sentences about the files that are stale."""
    runs: tuple[Run, ...]
    """The last indexing runs, oldest first."""


def take_census(weft: "Weft", tenants: Sequence[str], now: datetime) -> Census:
    """Return the counts of some tenants at a moment with a time zone."""
    fresh = weft.reader.upkeep.check(tenants)
    folders = weft.reader.upkeep.roots(tenants)
    sources: list[SourceCount] = []
    by_age: dict[str, int] = {}
    for tenant in tenants:
        names = weft.status([tenant]).by_source
        with weft.store.snapshot(View((tenant,))) as snapshot:
            by_kind = {kind: snapshot.matching_ids(Filter(kinds=(kind,))) for kind in snapshot.kinds()}
            ages = _ids_by_age(snapshot, now)
            for age, ids in ages.items():
                by_age[age] = by_age.get(age, 0) + len(ids)
            for source in sorted(names):
                own = snapshot.matching_ids(Filter(sources=(source,)))
                reasons = stored_reasons(weft.store, tenant, source)
                problems = problems_of(reasons)
                sources.append(
                    SourceCount(
                        tenant=tenant,
                        source=source,
                        nodes=len(own),
                        kinds=_count_common(own, by_kind),
                        ages=_count_common(own, ages),
                        folder=str(folders.get((tenant, source), "")),
                        changed=tuple(file for *owner, file in fresh.marks if owner == [tenant, source]),
                        left_out=count_reasons(reasons),
                        problems=problems[:_NAMED_PROBLEMS],
                        problem_count=len(problems),
                    )
                )
    status = weft.status(tenants)
    readable = set(tenants)
    runs = tuple(run for run in RunLog(weft.folder).read() if run.tenant in readable)
    return Census(
        sources=tuple(sources),
        by_tenant=status.by_tenant,
        by_kind=status.by_kind,
        by_age={age: by_age[age] for age in (*(name for name, _ in AGES), OLDER, UNDATED) if by_age.get(age)},
        nodes=status.nodes,
        passages=status.passages,
        links=status.edges,
        bytes=status.bytes,
        notes=fresh.notes,
        runs=runs[-_LAST_RUNS:],
    )


def _ids_by_age(snapshot: Snapshot, now: datetime) -> "dict[str, Ids]":
    """Return the ids of the nodes of each age: each bound holds what the one before does not."""
    import numpy as np

    everything = snapshot.matching_ids(Filter())
    dated = snapshot.matching_ids(Filter(until=now + timedelta(days=36500)))
    found: dict[str, Ids] = {}
    rest = dated
    for name, days in AGES:
        young = snapshot.matching_ids(Filter(since=now - timedelta(days=days)))
        found[name] = np.intersect1d(rest, young, assume_unique=True)
        rest = np.setdiff1d(rest, young, assume_unique=True)
    found[OLDER] = rest
    found[UNDATED] = np.setdiff1d(everything, dated, assume_unique=True)
    return found


def _count_common(own: "Ids", groups: "Mapping[str, Ids]") -> dict[str, int]:
    """Return how many ids each group has in common with these, without the groups that have none."""
    import numpy as np

    counts = {name: len(np.intersect1d(own, ids, assume_unique=True)) for name, ids in groups.items()}
    return {name: count for name, count in counts.items() if count}
