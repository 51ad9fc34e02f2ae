"""Declare the protocols between the core and what is outside it: sources, stores, indexes and models.

An engine implements these protocols without inheriting from them. `sources` and `stores` hold the two ends of
indexing, `search` the engines that answer questions, and `rows` the records that a store returns.
"""

from weft.ports.rows import Adjacency, NameRow, NodeRow, PassageRow, StoreStatus, Tail, TailPassage, TermStatistics
from weft.ports.search import Embedder, Index, Proposals, SideBySide, TokenCounter
from weft.ports.sources import Problem, Releasing, Remarking, Resumable, Source, Tell, Telling, Unit, untold
from weft.ports.stores import (
    Books,
    Changes,
    Exporting,
    Fingerprint,
    Portion,
    PreparedNode,
    PreparedPassage,
    Snapshot,
    Store,
)

__all__ = [
    "Adjacency",
    "Books",
    "Changes",
    "Embedder",
    "Exporting",
    "Fingerprint",
    "Index",
    "NameRow",
    "NodeRow",
    "PassageRow",
    "Portion",
    "PreparedNode",
    "PreparedPassage",
    "Problem",
    "Proposals",
    "Releasing",
    "Remarking",
    "Resumable",
    "SideBySide",
    "Snapshot",
    "Source",
    "Store",
    "StoreStatus",
    "Tail",
    "TailPassage",
    "Tell",
    "Telling",
    "TermStatistics",
    "TokenCounter",
    "Unit",
    "untold",
]
