"""Count terms exactly, for every tenant: what one write changes, and what a view holds that is counted afresh.

Relevance depends on how rare a term is among the passages that a reader may see, so tenants are counted apart.
Every write adds its changes to the stored counts; a view that is more than a set of tenants is counted passage
by passage. The engines read and write the rows.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from weft.model import View
from weft.ports import TermStatistics
from weft.runtime.cache import LruCache

Hashes: TypeAlias = NDArray[np.uint32]
Counts: TypeAlias = NDArray[np.int64]

CACHED_SCANS: Final = 8
"""Views whose counts are kept, each until the store changes. Counting takes as long as reading every passage;
one set of counts holds 12 bytes for each distinct term."""
PASSAGES_PER_BATCH: Final = 20_000
"""Passages whose terms are in memory at once while counting. More are faster to count by a little."""


class TenantDelta(Struct):
    """The change that one write makes to a tenant's statistics."""

    nodes: int = 0
    passages: int = 0
    length: int = 0
    added: list[bytes] = field(default_factory=list)
    removed: list[bytes] = field(default_factory=list)


class StatisticsDelta:
    """The change that one write makes to the statistics of all tenants, summed up so that it is written once."""

    def __init__(self) -> None:
        self._tenants: defaultdict[int, TenantDelta] = defaultdict(TenantDelta)

    def count_node(self, tenant_id: int, sign: int) -> None:
        """Count one node more (+1) or less (-1)."""
        self._tenants[tenant_id].nodes += sign

    def add_passage(self, tenant_id: int, length: int, term_hashes: bytes) -> None:
        """Count a passage that was written."""
        delta = self._tenants[tenant_id]
        delta.passages += 1
        delta.length += length
        delta.added.append(term_hashes)

    def remove_passage(self, tenant_id: int, length: int, term_hashes: bytes) -> None:
        """Count a passage that was removed."""
        delta = self._tenants[tenant_id]
        delta.passages -= 1
        delta.length -= length
        delta.removed.append(term_hashes)

    def by_tenant(self) -> list[tuple[int, TenantDelta]]:
        """Return the change of each tenant, by rising tenant number."""
        return sorted(self._tenants.items())


def net_terms(delta: TenantDelta) -> tuple[Hashes, Counts]:
    """Return the terms whose frequency changes, by ascending hash, and by how much."""
    added, plus = count_terms(delta.added)
    removed, minus = count_terms(delta.removed)
    hashes, groups = np.unique(np.concatenate([added, removed]), return_inverse=True)
    change = np.bincount(groups, np.concatenate([plus, -minus]), len(hashes)).astype(np.int64)
    # Most terms of a changed passage stay the same; only the others are written.
    return hashes[change != 0], change[change != 0]


def count_terms(term_hashes: Iterable[bytes]) -> tuple[Hashes, Counts]:
    """Return the distinct terms by ascending hash, and in how many passages each occurs."""
    # A passage lists each term once, so counting hashes counts passages.
    joined = np.frombuffer(b"".join(term_hashes), dtype="<u4")
    hashes, counts = np.unique(joined, return_counts=True)
    return hashes.astype(np.uint32), counts.astype(np.int64)


class ScannedStatistics(Struct, frozen=True):
    """The term statistics of a view, counted passage by passage."""

    passages: int
    total_length: int
    hashes: Hashes
    counts: Counts

    def of(self, term_hashes: Sequence[int]) -> TermStatistics:
        """Return the statistics of the given terms."""
        # Sorted, because searchsorted walks sorted needles faster.
        asked = np.array(sorted(set(term_hashes)), dtype=np.uint32)
        indexes = np.searchsorted(self.hashes, asked)
        found = {
            term: int(self.counts[index])
            for term, index in zip(asked.tolist(), indexes.tolist(), strict=True)
            if index < len(self.hashes) and self.hashes[index] == term
        }
        return TermStatistics(self.passages, self.total_length / self.passages if self.passages else 0.0, found)


def count_statistics(batches: Iterable[Sequence[tuple[int, bytes]]]) -> ScannedStatistics:
    """Count the terms of all passages, which come in batches of (length, term hashes)."""
    passages, total_length, parts = 0, 0, []
    for rows in batches:
        passages += len(rows)
        total_length += sum(length for length, _ in rows)
        # Every batch is reduced at once: the hashes of a whole store may not fit into memory.
        parts.append(count_terms(hashes for _, hashes in rows))
    if not parts:
        return ScannedStatistics(0, 0, np.zeros(0, np.uint32), np.zeros(0, np.int64))
    hashes, groups = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    counts = np.bincount(groups, np.concatenate([part[1] for part in parts]), len(hashes))
    return ScannedStatistics(passages, total_length, hashes, counts.astype(np.int64))


ScanCache: TypeAlias = LruCache[tuple[View, int], ScannedStatistics]
"""The counts of the views used last, by view and sequence number, so that a write makes them stale."""
