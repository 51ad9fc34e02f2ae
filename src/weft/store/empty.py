"""A reading of nothing stored, for callers who bring their candidates by value."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from weft.frozen import dataclass
from weft.model import Edge, Filter, Node, View
from weft.ports import Adjacency, NodeRow, PassageRow, Proposals, Snapshot, Store, Tail, TermStatistics
from weft.scoring.bm25 import term_hash
from weft.text import analyze

if TYPE_CHECKING:
    from weft.ports.arrays import Ids, Vectors


@dataclass(slots=True)
class HandedSnapshot:
    """A snapshot that holds nothing; how telling a word is follows from the nodes that were handed in."""

    handed: tuple[Node, ...] = ()
    view: View = field(default_factory=View)
    sequence: int = 0
    identity: str = ""
    _counted: TermStatistics | None = None

    def nodes(self, ids: Sequence[int]) -> dict[int, NodeRow]:
        """Nothing is stored."""
        return {}

    def find(self, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Nothing has a name."""
        return {}

    def passages(self, ids: Sequence[int]) -> list[PassageRow]:
        """Nothing is stored."""
        return []

    def passages_of(self, node_ids: Sequence[int]) -> list[PassageRow]:
        """Nothing is stored."""
        return []

    def vectors(self, passage_ids: Sequence[int]) -> "Vectors":
        """No vectors."""
        import numpy as np

        return np.zeros((len(passage_ids), 0), dtype=np.float32)

    def words(self) -> list[tuple[int, int, bytes, bytes]]:
        """Nothing: what is handed in has no passages of a store."""
        return []

    def statistics(self, term_hashes: Sequence[int]) -> TermStatistics:
        """The statistics of the nodes handed in, each counting as one passage; nobody asks: nothing is counted."""
        if not term_hashes:
            return TermStatistics(len(self.handed), 0.0, {})
        known = self._counted = self._counted or _statistics(self.handed)
        frequency = {term: known.frequency[term] for term in term_hashes if term in known.frequency}
        return TermStatistics(known.passages, known.mean_length, frequency)

    def adjacency(self, ids: Sequence[int], fan_out: int) -> Adjacency:
        """Nothing is linked."""
        import numpy as np

        none, weights = np.empty(0, np.int64), np.empty(0, np.float64)
        return Adjacency(none, none, none, weights, none, none, none, {}, (), ())

    def edges(self, ids: Sequence[int], limit: int = 1000) -> list[tuple[int, int, Edge]]:
        """Nothing is linked."""
        return []

    def matching(self, filter: Filter) -> "Ids":
        """Nothing is stored."""
        import numpy as np

        return np.empty(0, np.int64)

    def tail(self, since: int, limit: int) -> Tail:
        """Nothing changes."""
        return Tail(self.sequence, (), (), complete=True)

    def embedder(self) -> tuple[str, int] | None:
        """No vectors were made."""
        return None


def _statistics(nodes: Sequence[Node]) -> TermStatistics:
    frequency: Counter[int] = Counter()
    length = 0
    for node in nodes:
        terms = [term_hash(term) for term in analyze(f"{node.title}\n{node.summary}\n{node.text}")]
        frequency.update(set(terms))
        length += len(terms)
    return TermStatistics(len(nodes), length / max(len(nodes), 1), frequency)


@dataclass(frozen=True, slots=True)
class HandedIndex:
    """An index that proposes nothing."""

    def lexical(self, snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Proposals:
        """Nothing."""
        return _nothing()

    def semantic(self, snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Proposals:
        """Nothing."""
        return _nothing()

    def catch_up(self, store: Store) -> int:
        """There is nothing to catch up with."""
        return 0

    def status(self) -> Mapping[str, str | int]:
        """Nothing to tell."""
        return {}

    def close(self) -> None:
        """Nothing to let go of."""


def _nothing() -> Proposals:
    import numpy as np

    return Proposals(np.empty(0, np.int64), np.empty(0, np.float64))
