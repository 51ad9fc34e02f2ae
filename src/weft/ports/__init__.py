"""Declare the protocols between the core and what is outside it: sources, stores, indexes and models.

An engine implements these protocols without inheriting from them. `sources` and `stores` hold the two ends of
indexing with the records that they exchange, and `search` the engines that answer questions.
"""

from weft.ports.search import CombinedIndex, Embedder, Index, Proposals, TokenCounter
from weft.ports.sources import (
    CountsSkipped,
    HoldsMemory,
    ListsSkipped,
    Problem,
    ReportProgress,
    ReportsProgress,
    Resumable,
    Source,
    Unit,
    ignore_progress,
)
from weft.ports.stores import (
    Adjacency,
    ChangedPassage,
    Changes,
    ExportableStore,
    ExportBatch,
    Fingerprint,
    NameRow,
    NodeRow,
    PassageRow,
    PreparedNode,
    PreparedPassage,
    RecentChanges,
    Snapshot,
    Store,
    StoreState,
    StoreStatus,
    TermStatistics,
)

__all__ = [
    "Adjacency",
    "ChangedPassage",
    "Changes",
    "CombinedIndex",
    "CountsSkipped",
    "Embedder",
    "ExportBatch",
    "ExportableStore",
    "Fingerprint",
    "HoldsMemory",
    "Index",
    "ListsSkipped",
    "NameRow",
    "NodeRow",
    "PassageRow",
    "PreparedNode",
    "PreparedPassage",
    "Problem",
    "Proposals",
    "RecentChanges",
    "ReportProgress",
    "ReportsProgress",
    "Resumable",
    "Snapshot",
    "Source",
    "Store",
    "StoreState",
    "StoreStatus",
    "TermStatistics",
    "TokenCounter",
    "Unit",
    "ignore_progress",
]
