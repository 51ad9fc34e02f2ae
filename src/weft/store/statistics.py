"""Exact term statistics per tenant: kept up to date by every write, and counted afresh where asked."""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Final, TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray

from weft.cache import Recent
from weft.frozen import dataclass
from weft.model import View
from weft.ports import TermStatistics

Hashes: TypeAlias = NDArray[np.uint32]
Counts: TypeAlias = NDArray[np.int64]


_REMEMBERED: Final = 8
COUNTED_AT_ONCE: Final = 20_000


@dataclass(slots=True)
class TenantDelta:
    """What one write adds to and takes from a tenant's statistics."""

    nodes: int = 0
    passages: int = 0
    length: int = 0
    added: list[bytes] = field(default_factory=list)
    removed: list[bytes] = field(default_factory=list)


class StatisticsDelta:
    """What one write changes in the statistics of every tenant, summed up so that it is written once."""

    def __init__(self) -> None:
        self._tenants: defaultdict[int, TenantDelta] = defaultdict(TenantDelta)

    def count_node(self, tenant_id: int, sign: int) -> None:
        """One node more (+1) or less (-1)."""
        self._tenants[tenant_id].nodes += sign

    def add_passage(self, tenant_id: int, length: int, term_hashes: bytes) -> None:
        """A passage that was written."""
        delta = self._tenants[tenant_id]
        delta.passages += 1
        delta.length += length
        delta.added.append(term_hashes)

    def remove_passage(self, tenant_id: int, length: int, term_hashes: bytes) -> None:
        """A passage that goes away."""
        delta = self._tenants[tenant_id]
        delta.passages -= 1
        delta.length -= length
        delta.removed.append(term_hashes)

    def by_tenant(self) -> list[tuple[int, TenantDelta]]:
        """The change of each tenant, by its number."""
        return sorted(self._tenants.items())

    def apply(self, connection: sqlite3.Connection) -> None:
        """Write the sums inside the caller's transaction."""
        for tenant_id, delta in self.by_tenant():
            connection.execute(
                "INSERT INTO tenant_statistics VALUES (?, ?, ?, ?) ON CONFLICT (tenant_id) DO UPDATE SET nodes ="
                " nodes + excluded.nodes, passages = passages + excluded.passages,"
                " total_length = total_length + excluded.total_length",
                (tenant_id, delta.nodes, delta.passages, delta.length),
            )
            _apply_terms(connection, tenant_id, *net_terms(delta))


def net_terms(delta: TenantDelta) -> tuple[Hashes, Counts]:
    """The terms whose frequency changes, by ascending hash, and by how much."""
    added, plus = count_terms(delta.added)
    removed, minus = count_terms(delta.removed)
    hashes, places = np.unique(np.concatenate([added, removed]), return_inverse=True)
    change = np.bincount(places, np.concatenate([plus, -minus]), len(hashes)).astype(np.int64)
    return hashes[change != 0], change[change != 0]


def _apply_terms(connection: sqlite3.Connection, tenant_id: int, hashes: Hashes, change: Counts) -> None:
    rows = [(tenant_id, term, by) for term, by in zip(hashes.tolist(), change.tolist(), strict=True)]
    connection.executemany(
        "INSERT INTO term_statistics VALUES (?, ?, ?)"
        " ON CONFLICT (tenant_id, term_hash) DO UPDATE SET frequency = frequency + excluded.frequency",
        rows,
    )
    connection.executemany(
        "DELETE FROM term_statistics WHERE tenant_id = ? AND term_hash = ? AND frequency = 0",
        [(tenant_id, term) for term in hashes[change < 0].tolist()],
    )


def count_terms(term_hashes: Iterable[bytes]) -> tuple[Hashes, Counts]:
    """In how many passages each term occurs, by ascending hash."""
    joined = np.frombuffer(b"".join(term_hashes), dtype="<u4")
    hashes, counts = np.unique(joined, return_counts=True)
    return hashes.astype(np.uint32), counts.astype(np.int64)


def tenant_totals(connection: sqlite3.Connection, visible: str) -> tuple[int, int]:
    """How many passages whole tenants have, and their length; `visible` is a condition on t.tenant_id."""
    passages, length = connection.execute(
        f"SELECT coalesce(sum(t.passages), 0), coalesce(sum(t.total_length), 0) FROM tenant_statistics t"
        f" WHERE {visible}"
    ).fetchone()
    return passages, length


def term_frequencies(connection: sqlite3.Connection, visible: str, term_hashes: Sequence[int]) -> dict[int, int]:
    """In how many passages of whole tenants each term occurs; 0 where it does not."""
    frequency = dict.fromkeys(term_hashes, 0)
    # Added up here, because grouping would sort the rows once more.
    for term, count in connection.execute(
        f"SELECT t.term_hash, t.frequency FROM json_each(?) j CROSS JOIN term_statistics t"
        f" ON t.term_hash = j.value WHERE {visible}",
        (orjson.dumps(list(frequency), option=orjson.OPT_SERIALIZE_NUMPY).decode(),),
    ):
        frequency[term] += count
    return frequency


@dataclass(frozen=True, slots=True)
class ScannedStatistics:
    """All term statistics of a view that is more than a set of tenants."""

    passages: int
    total_length: int
    hashes: Hashes
    counts: Counts

    def of(self, term_hashes: Sequence[int]) -> TermStatistics:
        """The statistics of the given terms."""
        asked = np.array(sorted(set(term_hashes)), dtype=np.uint32)
        places = np.searchsorted(self.hashes, asked)
        found = {
            term: int(self.counts[place])
            for term, place in zip(asked.tolist(), places.tolist(), strict=True)
            if place < len(self.hashes) and self.hashes[place] == term
        }
        return TermStatistics(self.passages, self.total_length / self.passages if self.passages else 0.0, found)


def scanned_statistics(connection: sqlite3.Connection, visible: str) -> ScannedStatistics:
    """Count every passage that meets the condition on p.tenant_id and p.position."""
    cursor = connection.execute(f"SELECT p.length, p.term_hashes FROM passages p WHERE {visible}")
    return counted_statistics(iter(lambda: cursor.fetchmany(COUNTED_AT_ONCE), []))


def counted_statistics(batches: Iterable[Sequence[tuple[int, bytes]]]) -> ScannedStatistics:
    """The statistics of all passages, given in batches of (length, term hashes)."""
    passages, total_length, parts = 0, 0, []
    for rows in batches:
        passages += len(rows)
        total_length += sum(length for length, _ in rows)
        parts.append(count_terms(hashes for _, hashes in rows))
    hashes, counts = _summed(parts)
    return ScannedStatistics(passages, total_length, hashes, counts)


def _summed(parts: Sequence[tuple[Hashes, Counts]]) -> tuple[Hashes, Counts]:
    if not parts:
        return np.zeros(0, np.uint32), np.zeros(0, np.int64)
    hashes, places = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    counts = np.bincount(places, np.concatenate([part[1] for part in parts]), len(hashes))
    return hashes, counts.astype(np.int64)


class RememberedScans:
    """Counted statistics of the views last asked for, each good until the store changes; for any thread."""

    def __init__(self) -> None:
        self._scans: Recent[tuple[View, int], ScannedStatistics] = Recent(_REMEMBERED)

    def get(self, view: View, sequence: int, scan: Callable[[], ScannedStatistics]) -> ScannedStatistics:
        """The statistics of a view at a sequence number, counted now if they are not remembered."""
        return self._scans.get_or_make((view, sequence), scan)
