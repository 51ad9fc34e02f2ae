"""Hold what every derived search index shares: its progress, the bounds of a search, and the overlay.

An overlay holds passages in memory and scores them as an index would. It stands in for the engine where a view
is small, and completes the engine's answer where the store was changed after the engine's last catch-up.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import orjson
from msgspec import Struct
from msgspec.structs import replace

from weft.model import Filter, View
from weft.ports import ChangedPassage, Proposals, RecentChanges, Snapshot
from weft.runtime.cache import LruCache
from weft.scoring.bm25 import LENGTH_NORMALISATION, SATURATION
from weft.scoring.similarity import cosines, norms, quantise, stack_rows
from weft.store.records import MAX_FACET_VALUE_LENGTH, known_position

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weft.ports.stores import Ids, Scores, Vectors

    Mask = NDArray[np.bool_]


MAX_TIES: Final = 4096
"""Passages that may tie with the last one and still be returned. A common title can tie thousands; the callers
order all that they get, so this bounds their work."""
SCORE_TOLERANCE: Final = 1e-6
"""Relative difference up to which two scores tie: engines add the same parts up in different orders."""
MAX_EXACT_PASSAGES: Final = 4000
"""Passages of a view up to which all are searched one by one; beyond them engines propose. Scanning so many
takes a few milliseconds, and a small store needs no derived files at all."""
NODES_PER_PAGE: Final = 2000
"""Changed nodes that are read from a snapshot at once, and at the same time the gap up to which a reader
completes an index by itself: where more is missing, it has the index catch up first if it may."""
_CACHED_VIEWS: Final = 8
"""Small views whose passages are kept in memory, each until the store changes."""
_MAX_TERMS: Final = 256
"""Terms of a question that are searched, the rarest first. Questions have some dozens; a whole document pasted
as a question has thousands, of which the frequent ones would cost most and decide least."""
TITLE_WEIGHT: Final = 2
"""The count of a term in a title or heading, beside 1 for one in the body. It is part of what files hold: another
value needs them made anew."""
FORMAT: Final = 1
"""The version of the stored JSON; files of another version are made anew."""
_FIELDS: Final = ("identity", "sequence", "recent", "names")
"""The fields of `Progress` that are stored."""
_MAX_RECENT_NODES: Final = 4096
"""Changed nodes that are listed for readers of older snapshots. The list is written with every commit; a reader
whose snapshot is older than it leaves out what was written since, and says so."""


# --- progress --------------------------------------------------------------------------------------------


class Damaged(Exception):
    """Derived files that cannot be used and must be made anew."""


class Progress(Struct, frozen=True):
    """The state that is saved together with derived data, in one atomic step.

    `recent` holds (since, until, node ids) of the last catch-ups without a gap. A reader whose snapshot is older
    than the files learns from it which nodes to take from the snapshot instead. `names` are stored as their index.
    """

    identity: str
    sequence: int = 0
    recent: tuple[tuple[int, int, tuple[int, ...]], ...] = ()
    names: tuple[str, ...] = ()

    def advanced(self, sequence: int, changed_nodes: Sequence[int]) -> "Progress":
        """Return the progress after catching up to a sequence number up to which these nodes changed."""
        entries = [*self.recent, (self.sequence, sequence, tuple(changed_nodes))]
        total = sum(len(nodes) for _, _, nodes in entries)
        # From the oldest on, so that what is left has no gap.
        while entries and total > _MAX_RECENT_NODES:
            total -= len(entries.pop(0)[2])
        return replace(self, sequence=sequence, recent=tuple(entries))

    def changed_since(self, sequence: int) -> tuple[int, ...] | None:
        """Return the ids of nodes that changed after a sequence number, or None when `recent` begins later."""
        # Files that are behind the snapshot hold nothing too new.
        if sequence >= self.sequence:
            return ()
        if not self.recent or self.recent[0][0] > sequence:
            return None
        return tuple(sorted({node for _, until, nodes in self.recent if until > sequence for node in nodes}))

    def with_names(self, names: Sequence[str]) -> "Progress":
        """Return the progress with these names added; a name keeps its index, which serves as its code."""
        known = set(self.names)
        return replace(self, names=(*self.names, *(name for name in dict.fromkeys(names) if name not in known)))


def pack_progress(progress: Progress) -> bytes:
    """Return the progress as JSON."""
    return orjson.dumps({"format": FORMAT, **{name: getattr(progress, name) for name in _FIELDS}})


def unpack_progress(data: bytes) -> Progress | None:
    """Return the progress read back from JSON, or None when it is damaged or of another format."""
    try:
        fields = orjson.loads(data)
        if fields.pop("format") != FORMAT:
            return None
        recent = tuple((since, until, tuple(nodes)) for since, until, nodes in fields["recent"])
        return Progress(fields["identity"], int(fields["sequence"]), recent, tuple(fields["names"]))
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
        return None


# --- one search ------------------------------------------------------------------------------------------


class Scope(Struct, frozen=True):
    """The passages of derived files that count: seen through the view, passing the filter, not of masked nodes.

    `nodes` are the ids that pass those parts of the filter which only the snapshot can judge; None means all
    nodes.
    """

    view: View
    filter: Filter
    masked: "Ids"
    nodes: "Ids | None" = None


def passing_nodes(snapshot: Snapshot, filter: Filter) -> "Ids | None":
    """Return the nodes that pass the filter, or None when all do."""
    return None if filter.empty else snapshot.matching_ids(filter)


def nodes_with_long_values(snapshot: Snapshot, filter: Filter) -> "Ids | None":
    """Return the nodes with the field values that are too long to be facets, or None when none is asked for."""
    # Such values are no facets, so only the snapshot can compare them.
    long_values = tuple(pair for pair in filter.where if len(pair[1]) > MAX_FACET_VALUE_LENGTH)
    return snapshot.matching_ids(Filter(where=long_values)) if long_values else None


def cut_at_tie(ids: "Ids", scores: "Scores", limit: int) -> "tuple[Ids, Scores]":
    """Return the best `limit` and those that tie with the last of them, by falling score and rising id."""
    order = np.lexsort((ids, -scores))
    ids, scores = ids[order], scores[order]
    if limit <= 0 or len(ids) <= limit:
        return ids[: max(limit, 0)], scores[: max(limit, 0)]
    last = scores[limit - 1]
    # abs(), because cosines may be negative and the tolerance must widen the cut.
    count = min(int(np.count_nonzero(scores >= last - abs(last) * SCORE_TOLERANCE)), limit + MAX_TIES)
    return ids[:count], scores[:count]


def term_weights(snapshot: Snapshot, term_hashes: Sequence[int]) -> tuple[dict[int, float], float]:
    """Return the weight of each term that the view holds, rarest first, and the mean length of its passages."""
    if not term_hashes or not snapshot.view.tenants:
        return {}, 0.0
    statistics = snapshot.statistics(sorted(set(term_hashes)))
    # By hash among equals, so that the same question always keeps the same terms.
    rarest = sorted((count, term) for term, count in statistics.frequency.items() if count > 0)[:_MAX_TERMS]
    weights = {term: inverse_frequency(statistics.passages, count) for count, term in rarest}
    return weights, statistics.mean_length


def no_proposals(*notes: str) -> Proposals:
    """Return no proposals, with notes that say why."""
    return Proposals(np.zeros(0, dtype=np.int64), np.zeros(0), notes)


def quantise_query(snapshot: Snapshot, vector: "Vectors", limit: int) -> "NDArray[np.int8] | Proposals":
    """Return a question's vector quantised like the stored ones, or no proposals where it can find nothing."""
    # Quantised like the stored vectors, so that every engine computes the same cosines.
    query = np.frombuffer(quantise(np.asarray(vector, dtype=np.float32).reshape(1, -1))[0], dtype=np.int8)
    stored = snapshot.embedder()
    # Before the widths are compared: a store without vectors needs no note.
    if not stored or not len(query) or limit <= 0 or not snapshot.view.tenants:
        return no_proposals()
    if stored[1] != len(query):
        return no_proposals(
            f"Semantic search was left out: the question's vector has {len(query)} dimensions, those in the store "
            f"have {stored[1]} (made by {stored[0]}). Ask with that embedder, or embed the store again."
        )
    return query


def inverse_frequency(passages: int, frequency: int) -> float:
    """Return the weight of a term by BM25: large for a rare term, small but above zero for a frequent one."""
    # An engine that has not yet cleaned up may count removed passages too.
    frequency = min(frequency, passages)
    return math.log(1 + (passages - frequency + 0.5) / (frequency + 0.5))


def weighted_counts(term_counts: bytes) -> "NDArray[np.int64]":
    """Return how often each term counts: once for the body, twice for title and headings."""
    # Title and headings count in the high four bits of a byte, the body in the low four.
    counts = np.frombuffer(term_counts, dtype=np.uint8).astype(np.int64)
    return (counts >> 4) * TITLE_WEIGHT + (counts & 15)


# --- the overlay -----------------------------------------------------------------------------------------


class OverlayPassage(NamedTuple):
    """One passage as the overlay needs it."""

    id: int
    node_id: int
    term_hashes: bytes
    term_counts: bytes
    vector: bytes


class Overlay(Struct, frozen=True):
    """Nodes that derived files must leave out of their answer, and the passages that these nodes have instead.

    `ids`, `nodes` and `sizes` have one entry for each passage. `terms` are the term hashes of all passages in
    ascending order; `owners` and `counts` beside them hold the index of the passage and how often the term
    counts in it. `values` and `lengths` are the vectors, and their norms, of the passages whose indexes
    `vector_owners` has.
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
        """Return the best passages that hold any of the terms, scored by BM25 as the index scores them."""
        scores = np.zeros(len(self.ids), dtype=np.float64)
        length_part = LENGTH_NORMALISATION * self.sizes / max(mean_length, 1.0)
        damping = SATURATION * (1 - LENGTH_NORMALISATION + length_part)
        for term, weight in weights.items():
            # Term hashes are whole numbers, so the entries of a term end where those of the next number begin.
            first, last = np.searchsorted(self.terms, [term, term + 1])
            owners, counts = self.owners[first:last], self.counts[first:last]
            scores[owners] += weight * (1 + SATURATION) * counts / (counts + damping[owners])
        found = np.flatnonzero((scores > 0) & self._allowed(nodes))
        return cut_at_tie(self.ids[found], scores[found], limit)

    def semantic(self, query: "NDArray[np.int8]", nodes: "Ids | None", limit: int) -> "tuple[Ids, Scores]":
        """Return the nearest passages with their cosines."""
        if self.values.shape[1] != len(query):
            return self.ids[:0], np.zeros(0)
        allowed = self._allowed(nodes)[self.vector_owners]
        scores = cosines(self.values, self.lengths, query)[allowed]
        return cut_at_tie(self.ids[self.vector_owners[allowed]], scores, limit)

    def _allowed(self, nodes: "Ids | None") -> "Mask":
        return np.ones(len(self.ids), dtype=np.bool_) if nodes is None else np.isin(self.nodes, nodes)


def build_overlay(masked: Sequence[int], passages: Sequence[OverlayPassage]) -> Overlay:
    """Build an overlay that masks these nodes and holds these passages."""
    width = max((len(passage.vector) for passage in passages), default=0)
    # While a store is embedded anew, vectors of two widths may be in it: only one of them fits a matrix.
    with_vector = [index for index, passage in enumerate(passages) if width and len(passage.vector) == width]
    values = stack_rows([passages[index].vector for index in with_vector], width)
    terms = np.frombuffer(b"".join(passage.term_hashes for passage in passages), dtype="<u4")
    counts = weighted_counts(b"".join(passage.term_counts for passage in passages))
    owners = np.repeat(np.arange(len(passages)), [len(passage.term_counts) for passage in passages])
    # Stable, so that scores are added up in the same order and come out to the same bit.
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


EMPTY_OVERLAY: Final = build_overlay((), ())


def changes_after(snapshot: Snapshot, since: int, first: RecentChanges) -> Overlay:
    """Return what the snapshot holds that files caught up to `since` lack; `first` is the first page of it."""
    masked: list[int] = []
    passages: list[OverlayPassage] = []
    page = first
    while True:
        # Whether visible or not: what files hold of a changed node is void.
        masked.extend(page.changed_nodes)
        passages.extend(
            OverlayPassage(passage.id, passage.node_id, passage.term_hashes, passage.term_counts, passage.vector)
            for passage in page.passages
            if _is_visible(passage, snapshot.view)
        )
        # A page that does not advance would be read over and over.
        if page.complete or page.sequence <= since:
            return build_overlay(masked, passages)
        since = page.sequence
        page = snapshot.changes_since(since, NODES_PER_PAGE)


def earlier_state(snapshot: Snapshot, nodes: Sequence[int]) -> Overlay:
    """Return what the snapshot holds of nodes that newer files know only in a later state."""
    rows = snapshot.passages_of_nodes(nodes)
    vectors = [b""] * len(rows)
    if rows and snapshot.embedder():
        vectors = quantise(snapshot.vectors([row.id for row in rows]))
    pairs = zip(rows, vectors, strict=True)
    return build_overlay(
        nodes,
        [OverlayPassage(row.id, row.node_id, row.term_hashes, row.term_counts, vector) for row, vector in pairs],
    )


def _is_visible(passage: ChangedPassage, view: View) -> bool:
    position = known_position(passage)
    known = view.as_of is None or (position is not None and position <= view.as_of)
    return known and passage.tenant in view.tenants


# --- small views -----------------------------------------------------------------------------------------


class SmallViews:
    """A cache of the passages of small views, each valid until the store changes."""

    def __init__(self) -> None:
        self._overlays = LruCache[tuple[object, ...], Overlay](_CACHED_VIEWS)

    def get(self, snapshot: Snapshot, most: int, read: Callable[[Snapshot], Overlay]) -> Overlay | None:
        """Return all that the view holds, or None when that is more than `most` passages."""
        # Without terms only passages are counted, which costs next to nothing.
        if snapshot.statistics(()).passages > most:
            return None
        key = (snapshot.identity, snapshot.sequence, snapshot.view, snapshot.embedder())
        return self._overlays.get_or_make(key, lambda: read(snapshot))

    def clear(self) -> None:
        """Drop all overlays."""
        self._overlays.clear()


def read_terms(snapshot: Snapshot) -> Overlay:
    """Return the terms of all passages that a view holds, without their vectors."""
    return build_overlay((), [OverlayPassage(*row, vector=b"") for row in snapshot.all_terms()])
