"""An empty snapshot and index, for callers that bring their candidates by value instead of from a store."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from weft.model import Edge, Filter, Node, View
from weft.ports import Adjacency, NodeRow, PassageRow, Proposals, RecentChanges, Snapshot, Store, TermStatistics
from weft.scoring.bm25 import term_hash
from weft.text import analyze

if TYPE_CHECKING:
    from weft.ports.stores import Ids, Vectors


class EmptySnapshot(Struct):
    """A snapshot of an empty store whose term statistics are those of the nodes that the caller brings."""

    candidate_nodes: tuple[Node, ...] = ()
    view: View = field(default_factory=View)
    sequence: int = 0
    identity: str = ""
    _counted: TermStatistics | None = None

    def nodes(self, ids: Sequence[int]) -> dict[int, NodeRow]:
        """Return no nodes."""
        return {}

    def find(self, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Return no ids, since no node has a name."""
        return {}

    def passages(self, ids: Sequence[int]) -> list[PassageRow]:
        """Return no passages."""
        return []

    def passages_of_nodes(self, node_ids: Sequence[int]) -> list[PassageRow]:
        """Return no passages."""
        return []

    def vectors(self, passage_ids: Sequence[int]) -> "Vectors":
        """Return rows of no dimensions."""
        import numpy as np

        return np.zeros((len(passage_ids), 0), dtype=np.float32)

    def snippets(self, passage_ids: Sequence[int]) -> dict[int, bytes]:
        """Return no snippets: nodes that a caller brings have no passages."""
        return {}

    def all_terms(self) -> list[tuple[int, int, bytes, bytes]]:
        """Return no terms: nodes that a caller brings have no passages."""
        return []

    def statistics(self, term_hashes: Sequence[int]) -> TermStatistics:
        """Return the statistics of the nodes that the caller brings, each counting as one passage."""
        # Callers without terms only want the number of passages, which needs no counting.
        if not term_hashes:
            return TermStatistics(len(self.candidate_nodes), 0.0, {})
        # Counted at the first question for terms: many callers ask for none.
        counted = self._counted = self._counted or _count_terms(self.candidate_nodes)
        frequency = {term: counted.frequency[term] for term in term_hashes if term in counted.frequency}
        return TermStatistics(counted.passages, counted.mean_length, frequency)

    def adjacency(self, ids: Sequence[int], fan_out: int) -> Adjacency:
        """Return no neighbours."""
        import numpy as np

        none, weights = np.empty(0, np.int64), np.empty(0, np.float64)
        return Adjacency(none, none, none, weights, none, none, none, {}, (), ())

    def edges(self, ids: Sequence[int], limit: int = 1000) -> list[tuple[int, int, Edge]]:
        """Return no edges."""
        return []

    def kinds(self) -> tuple[str, ...]:
        """Return no kinds."""
        return ()

    def sources(self) -> tuple[str, ...]:
        """Return no sources."""
        return ()

    def matching_ids(self, filter: Filter) -> "Ids":
        """Return no ids."""
        import numpy as np

        return np.empty(0, np.int64)

    def changes_since(self, since: int, limit: int) -> RecentChanges:
        """Return no changes."""
        return RecentChanges(self.sequence, (), (), complete=True)

    def embedder(self) -> tuple[str, int] | None:
        """Return None, since there are no vectors."""
        return None

    def quality(self) -> None:
        """Return None: there are no vectors."""

    def quality_vectors(self, passage_ids: Sequence[int]) -> dict[int, bytes]:
        """Return nothing."""
        return {}


def _count_terms(nodes: Sequence[Node]) -> TermStatistics:
    frequency: Counter[int] = Counter()
    length = 0
    for node in nodes:
        terms = [term_hash(term) for term in analyze(f"{node.title}\n{node.summary}\n{node.text}")]
        # Each term once for a node: frequency counts passages, not occurrences.
        frequency.update(set(terms))
        length += len(terms)
    return TermStatistics(len(nodes), length / max(len(nodes), 1), frequency)


class EmptyIndex(Struct, frozen=True):
    """An index that proposes nothing."""

    def lexical(self, snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Proposals:
        """Return no proposals."""
        return _no_proposals()

    def semantic(self, snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Proposals:
        """Return no proposals."""
        return _no_proposals()

    def catch_up(self, store: Store) -> int:
        """Return 0, since there is nothing to catch up with."""
        return 0

    def status(self) -> Mapping[str, str | int]:
        """Return no facts."""
        return {}

    def close(self) -> None:
        """Do nothing, since no file is open."""


def _no_proposals() -> Proposals:
    # Imported late: callers without a store start sooner without numpy.
    import numpy as np

    return Proposals(np.empty(0, np.int64), np.empty(0, np.float64))
