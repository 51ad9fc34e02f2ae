"""What every index needs before it searches: the weights of terms in a view, and words for finding nothing."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from weft.cache import Recent
from weft.frozen import dataclass
from weft.model import View
from weft.ports import Proposals, Snapshot, Tail, TailPassage
from weft.scoring.vectors import cosines, norms, quantise, stacked
from weft.store.embedded.lexical import inverse_frequency, weighted_counts
from weft.store.scope import cut_at_tie, position_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weft.ports.arrays import Vectors

    Ids = NDArray[np.int64]
    Scores = NDArray[np.float64]
    Mask = NDArray[np.bool_]


_TERMS: Final = 256


def term_weights(snapshot: Snapshot, term_hashes: Sequence[int]) -> tuple[dict[int, float], float]:
    """The weight of each term that the view holds, rarest first, and the view's mean length of a passage."""
    if not term_hashes or not snapshot.view.tenants:
        return {}, 0.0
    statistics = snapshot.statistics(sorted(set(term_hashes)))
    held = sorted((count, term) for term, count in statistics.frequency.items() if count > 0)
    weights = {term: inverse_frequency(statistics.passages, count) for count, term in held[:_TERMS]}
    return weights, statistics.mean_length


def nothing(*notes: str) -> Proposals:
    """No proposals, and why."""
    return Proposals(np.zeros(0, dtype=np.int64), np.zeros(0), notes)


def asked_vector(snapshot: Snapshot, vector: "Vectors", limit: int) -> "NDArray[np.int8] | Proposals":
    """A question's vector in the form of the stored ones; no proposals where it can find nothing."""
    query = np.frombuffer(quantise(np.asarray(vector, dtype=np.float32).reshape(1, -1))[0], dtype=np.int8)
    stored = snapshot.embedder()
    if not stored or not len(query) or limit <= 0 or not snapshot.view.tenants:
        return nothing()
    return query if stored[1] == len(query) else nothing(_wrong_width(len(query), stored))


def _wrong_width(given: int, stored: tuple[str, int]) -> str:
    """What a reader is told whose vector was made by another embedder than those in the store."""
    return (
        f"Semantic search was left out: the question's vector has {given} dimensions, those in the store have "
        f"{stored[1]} (made by {stored[0]}). Ask with that embedder, or embed the store again."
    )


PAGE: Final = 2000
_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.75


class Known(NamedTuple):
    """One passage as the overlay needs it."""

    id: int
    node_id: int
    term_hashes: bytes
    term_counts: bytes
    vector: bytes


@dataclass(frozen=True, slots=True)
class Overlay:
    """Nodes for which the derived files must not be asked, and the passages that these nodes have instead.

    `terms` are the term hashes of all passages in ascending order, `owners` and `counts` beside them say in which
    passage and how often; `values` and `lengths` are the vectors of the passages listed in `vector_owners`.
    """

    masked: "Ids"
    ids: "Ids"
    nodes: "Ids"
    terms: "NDArray[np.uint32]"
    owners: "Ids"
    counts: "Ids"
    sizes: "Scores"
    values: "NDArray[np.int8]"
    lengths: "Scores"
    vector_owners: "Ids"

    def lexical(
        self, weights: Mapping[int, float], mean_length: float, nodes: "Ids | None", limit: int
    ) -> "tuple[Ids, Scores]":
        """The best passages holding any of the terms, scored as the index would."""
        scores = np.zeros(len(self.ids), dtype=np.float64)
        damping = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * self.sizes / max(mean_length, 1.0))
        for term, weight in weights.items():
            first, last = np.searchsorted(self.terms, [term, term + 1])
            owners, counts = self.owners[first:last], self.counts[first:last]
            scores[owners] += weight * (1 + _SATURATION) * counts / (counts + damping[owners])
        found = np.flatnonzero((scores > 0) & self._allowed(nodes))
        return cut_at_tie(self.ids[found], scores[found], limit)

    def semantic(self, query: "NDArray[np.int8]", nodes: "Ids | None", limit: int) -> "tuple[Ids, Scores]":
        """The nearest passages with their cosines."""
        if self.values.shape[1] != len(query):
            return self.ids[:0], np.zeros(0)
        allowed = self._allowed(nodes)[self.vector_owners]
        scores = cosines(self.values, self.lengths, query)[allowed]
        return cut_at_tie(self.ids[self.vector_owners[allowed]], scores, limit)

    def _allowed(self, nodes: "Ids | None") -> "Mask":
        return np.ones(len(self.ids), dtype=np.bool_) if nodes is None else np.isin(self.nodes, nodes)


def overlay_of(masked: Sequence[int], passages: Sequence[Known]) -> Overlay:
    """An overlay that masks these nodes and holds these passages."""
    widths = {len(passage.vector) for passage in passages if passage.vector}
    width = max(widths, default=0)
    with_vector = [position for position, passage in enumerate(passages) if width and len(passage.vector) == width]
    values = stacked([passages[position].vector for position in with_vector], width)
    terms = np.frombuffer(b"".join(passage.term_hashes for passage in passages), dtype="<u4")
    counts = weighted_counts(b"".join(passage.term_counts for passage in passages))
    owners = np.repeat(np.arange(len(passages)), [len(passage.term_counts) for passage in passages])
    order = np.argsort(terms, kind="stable")
    return Overlay(
        masked=np.array(sorted(set(masked)), dtype=np.int64),
        ids=np.array([passage.id for passage in passages], dtype=np.int64),
        nodes=np.array([passage.node_id for passage in passages], dtype=np.int64),
        terms=terms[order],
        owners=owners[order],
        counts=counts[order],
        sizes=np.bincount(owners, counts, len(passages)).astype(np.float64),
        values=values,
        lengths=norms(values),
        vector_owners=np.array(with_vector, dtype=np.int64),
    )


NOTHING: Final = overlay_of((), ())


def changes_after(snapshot: Snapshot, since: int, first: Tail) -> Overlay:
    """What the snapshot holds that files caught up to `since` lack; `first` is the first page of it."""
    masked: list[int] = []
    passages: list[Known] = []
    page = first
    while True:
        masked.extend(page.changed_nodes)
        passages.extend(_known(passage) for passage in page.passages if _seen(passage, snapshot.view))
        if page.complete or page.sequence <= since:
            return overlay_of(masked, passages)
        since = page.sequence
        page = snapshot.tail(since, PAGE)


def earlier_state(snapshot: Snapshot, nodes: Sequence[int]) -> Overlay:
    """What the snapshot holds of nodes that newer files know only in a later state."""
    rows = snapshot.passages_of(nodes)
    vectors = [b""] * len(rows)
    if rows and snapshot.embedder():
        vectors = quantise(snapshot.vectors([row.id for row in rows]))
    pairs = zip(rows, vectors, strict=True)
    return overlay_of(
        nodes, [Known(row.id, row.node_id, row.term_hashes, row.term_counts, vector) for row, vector in pairs]
    )


def _known(passage: TailPassage) -> Known:
    return Known(passage.id, passage.node_id, passage.term_hashes, passage.term_counts, passage.vector)


def _seen(passage: TailPassage, view: View) -> bool:
    position = position_of(passage)
    known = view.as_of is None or (position is not None and position <= view.as_of)
    return known and passage.tenant in view.tenants


EXACT_BELOW: Final = 4000
"""So many passages are searched one by one; beyond them engines propose."""
_REMEMBERED: Final = 8


class SmallViews:
    """What the small views that were read last hold, remembered until the store changes."""

    def __init__(self) -> None:
        self._recent = Recent[tuple[object, ...], Overlay](_REMEMBERED)

    def of(self, snapshot: Snapshot, most: int, read: Callable[[Snapshot], Overlay]) -> Overlay | None:
        """All that the view holds, unless that is more than `most` passages."""
        if snapshot.statistics(()).passages > most:
            return None
        key = (snapshot.identity, snapshot.sequence, snapshot.view, snapshot.embedder())
        return self._recent.get_or_make(key, lambda: read(snapshot))

    def clear(self) -> None:
        """Forget everything."""
        self._recent.clear()


def terms_of(snapshot: Snapshot) -> Overlay:
    """The terms of all passages that a view holds, without their vectors."""
    return overlay_of((), [Known(*row, vector=b"") for row in snapshot.words()])
