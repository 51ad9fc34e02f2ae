"""Bridge from the best candidates to other texts: names and rare words that both hold tie two texts together.

A question may be answered by two texts of which only one shares its words. `find_bridge_names` reads the names in
the best candidates that the question does not hold, `follow_names` finds further texts by them, and
`score_bridges` says how much each candidate adds to one that leads to it.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from weft.model import Candidate, Filter, Node, Step
from weft.ports import Index, NodeRow, PassageRow, Snapshot, TermStatistics
from weft.scoring.bm25 import inverse_frequency, term_hashes
from weft.text import analyze, find_proper_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Hashes = NDArray[np.uint32]
    Indices = NDArray[np.intp]


SAME_NAME: Final = "same name"
"""The type of the step that leads from a text to another which holds a name that it holds."""

_MAX_LEADING: Final = 4
"""Candidates that a bridge may lead from: what a less relevant one leads to is seldom what was asked."""
_MIN_OPEN_SHARE: Final = 0.1
"""A text that leaves less than this share of the question open answers alone, and no name is followed."""
_MAX_NAMES_PER_TEXT: Final = 10
"""Names of one text that may lead on, the rarest; more tie a text to everything that it lists."""
_MAX_SEARCHED_NAMES: Final = 12
"""Names of all texts that are searched for; each makes the search longer."""
_MAX_NAME_SHARE: Final = 0.005
"""A name leads nowhere if its rarer word is in more than this share of all passages."""
_MIN_NAME_PASSAGES: Final = 5
"""So many passages may hold a name in any store, however small the share above is."""
_SINGLE_WORD_FACTOR: Final = 0.6
"""The factor by which a name of one word is less sure to mean the same in two texts than one of two words."""
_MAX_PROPOSED: Final = 60
"""Passages found by a name that are looked at."""
_MAX_FOLLOWED: Final = 10
"""Texts found by a name that become candidates: they compete with what the question itself found."""
_NAME_WORTH: Final = 0.2
"""The worth of a name that leads to a text with nothing of the question, as a share of the question."""
_MIN_ADDED_SHARE: Final = 0.1
"""A text that adds less than this share of the question completes nothing by a rare word alone."""
_MAX_WORD_SHARE: Final = 0.01
"""A word in more than this share of all passages ties nothing together."""
_MAX_SHARED_WORDS: Final = 12
"""Rare words of a text that may be shared, the rarest; long texts share some words with any other."""
_CERTAIN_RARITY: Final = 1.3
"""Two texts surely speak of the same when the words they share are so many times as telling as the rarest word."""

_Pair = tuple[int, int]
"""Two words that stand side by side in a name; the same one twice for a name of one word."""


class _Name(NamedTuple):
    """A name in a leading candidate, by the index of that, and how surely it means the same elsewhere."""

    owner: int
    pair: _Pair
    certainty: float


class BridgeNames(Struct, frozen=True):
    """The candidates that a bridge may lead from, and the names in them that the question does not hold.

    For each pair of words: `owner`, the index in `leading` of the candidate that holds the name; `certainty`, how
    surely another text that holds both words means the same; and `pairs`, the indices of both in `words`.
    `searched` are the rarer words of the pairs that promise most.
    """

    leading: tuple[Candidate, ...]
    words: "Hashes"
    pairs: "Indices"
    owner: "Indices"
    certainty: "Floats"
    searched: tuple[int, ...]

    def ties(self, texts: Sequence[bytes]) -> "Floats":
        """Return, a row for each leading candidate, how surely each text holds one of its names."""
        held = _held_words(self.words, texts)
        both = held[:, self.pairs[:, 0]] * held[:, self.pairs[:, 1]] * self.certainty
        by_owner = [both[:, self.owner == index] for index in range(len(self.leading))]
        return np.array([certainties.max(axis=1, initial=0.0) for certainties in by_owner])

    def relevance(self) -> "Floats":
        """Return the relevance of the leading candidates, one a row."""
        return np.array([[candidate.parts["relevance"]] for candidate in self.leading])


def find_bridge_names(
    candidates: Sequence[Candidate], question: Mapping[int, float], snapshot: Snapshot
) -> BridgeNames:
    """Return the most relevant candidates, with the rarest names in the best passage of each.

    Where one of them holds all of the question, no other text is needed and no name is looked for. `question`
    holds the weight of each of its terms, here and below.
    """
    relevant = [
        candidate for candidate in candidates if candidate.node.id and candidate.parts.get("relevance", 0.0) > 0
    ]
    # Sorted to the key, so that which candidates lead does not depend on the order they came in.
    leading = tuple(sorted(relevant, key=_relevance_order)[:_MAX_LEADING])
    names: list[set[_Pair]] = []
    if _open_share(leading, question) >= _MIN_OPEN_SHARE:
        names = [_names_beyond(candidate, question) for candidate in leading]
    # Ascending, because words are looked up in this array by binary search.
    words = np.array(sorted({word for pairs in names for pair in pairs for word in pair}), dtype=np.uint32)
    statistics = snapshot.statistics(words.tolist())
    found = [_Name(owner, *rare) for owner, pairs in enumerate(names) for rare in _rarest(pairs, statistics)]
    # A name is worth following if it is sure, and if the text that holds it is relevant.
    by_worth = sorted(
        found, key=lambda name: (-name.certainty * leading[name.owner].parts["relevance"], name.pair)
    )
    return BridgeNames(
        leading,
        words,
        np.searchsorted(words, np.array([name.pair for name in found], dtype=np.uint32).reshape(-1, 2)),
        np.array([name.owner for name in found], dtype=np.intp),
        np.array([name.certainty for name in found]),
        tuple(dict.fromkeys([name.pair[0] for name in by_worth]))[:_MAX_SEARCHED_NAMES],
    )


def _relevance_order(candidate: Candidate) -> tuple[float, str, str]:
    return -candidate.parts["relevance"], candidate.node.tenant, candidate.node.key


def _open_share(leading: Sequence[Candidate], question: Mapping[int, float]) -> float:
    """Return the least share of the question that a leading candidate leaves open; 0 for an empty question."""
    total = sum(question.values())
    covered = [sum(question[term] for term in candidate.covers if term in question) for candidate in leading]
    return 1.0 - max(covered, default=0.0) / total if total > 0 else 0.0


def _names_beyond(candidate: Candidate, question: Mapping[int, float]) -> set[_Pair]:
    """Return the names in the title and best passage of a candidate that the question does not hold."""
    start, end = candidate.spans[0] if candidate.spans else (0, 0)
    pairs: set[_Pair] = set()
    for text in (candidate.node.title, candidate.node.text[start:end]):
        for name in find_proper_names(text):
            words = term_hashes(analyze(name))
            # Neighbours in pairs: a surname alone, or a name with one more part, still meets the whole name.
            pairs.update(pairwise(words) if len(words) > 1 else zip(words, words, strict=True))
    # A name whose words are all in the question leads only to what the search has found already.
    return {pair for pair in pairs if pair[0] not in question or pair[1] not in question}


def _rarest(pairs: Collection[_Pair], statistics: TermStatistics) -> list[tuple[_Pair, float]]:
    """Return the names that few but several passages hold, the rarer word first, and how sure each is."""
    frequency, passages = statistics.frequency, statistics.passages
    max_frequency = max(_MAX_NAME_SHARE * passages, _MIN_NAME_PASSAGES)
    rarer_first = {tuple(sorted(pair, key=lambda word: (frequency.get(word, 0), word))) for pair in pairs}
    counted = sorted((frequency.get(pair[0], 0), *pair) for pair in rarer_first)
    # A name in one passage only leads nowhere: that passage is the one it was found in.
    rare = [(count, (rarer, other)) for count, rarer, other in counted if 1 < count <= max_frequency]
    return [
        (pair, _certainty(count / passages, passages) * (_SINGLE_WORD_FACTOR if pair[0] == pair[1] else 1.0))
        for count, pair in rare[:_MAX_NAMES_PER_TEXT]
    ]


def _certainty(share: float, passages: int) -> float:
    """Return how surely a name means the same everywhere, 0 to 1, by the share of passages with its rarer word."""
    return round(float(-np.log(share) / np.log1p(passages)), 9)


def _held_words(known: "Hashes", texts: Sequence[bytes]) -> "Floats":
    """Return, a row for each text of packed words, 1 for every known word that it holds."""
    table = np.zeros((len(texts), len(known)))
    if not len(known):
        return table
    words = _unpack(texts)
    owner = np.repeat(np.arange(len(texts)), [len(text) // words.itemsize for text in texts])
    # A word behind the last known one would point outside of the array.
    index = np.minimum(np.searchsorted(known, words), len(known) - 1)
    holds = known[index] == words
    table[owner[holds], index[holds]] = 1.0
    return table


def _unpack(texts: Sequence[bytes]) -> "Hashes":
    """Return the words of all texts, one after the other."""
    return np.frombuffer(b"".join(texts), dtype="<u4")


def follow_names(
    names: BridgeNames,
    candidates: Sequence[Candidate],
    question: Mapping[int, float],
    filter: Filter,
    snapshot: Snapshot,
    index: Index,
) -> tuple[Candidate, ...]:
    """Return the best few texts beyond the candidates that hold a name which a leading candidate holds."""
    if not names.searched:
        return ()
    proposed = index.lexical(snapshot, names.searched, filter, _MAX_PROPOSED).passage_ids.tolist()
    # Nodes that are candidates already are scored by `score_bridges`; here only new ones count.
    known = {candidate.node.id for candidate in candidates}
    rows = [row for row in snapshot.passages(proposed) if row.node_id not in known]
    best = _best_by_node(rows, _promise(rows, names, question)) if rows else {}
    highest = sorted((worth for worth, _ in best.values()), reverse=True)[:_MAX_FOLLOWED]
    # All that tie with the last one are loaded, so that the cut falls by key and not by chance.
    stored = snapshot.nodes([node for node, (worth, _) in best.items() if worth >= highest[-1]])
    order = sorted(stored.values(), key=lambda row: (-best[row.node.id][0], row.node.tenant, row.node.key))
    steps = [(names.leading[best[row.node.id][1]], row) for row in order[:_MAX_FOLLOWED]]
    return tuple([_make_candidate(row, lead) for lead, row in steps if not _have_one_title(lead.node, row.node)])


def _promise(rows: Sequence[PassageRow], names: BridgeNames, question: Mapping[int, float]) -> "Floats":
    """Return, a row for each leading candidate, what each passage may be worth that holds one of its names."""
    texts = [row.term_hashes for row in rows]
    held = _held_words(np.array(sorted(question), dtype=np.uint32), texts)
    return names.relevance() * names.ties(texts) * (_NAME_WORTH + _added_share(names, held, question))


def _best_by_node(rows: Sequence[PassageRow], worth: "Floats") -> dict[int, tuple[float, int]]:
    """Return, by node, the worth of its best passage and the index of the candidate that leads to it."""
    rounded = np.round(worth, 9)
    best: dict[int, tuple[float, int]] = {}
    for row, value, lead in zip(rows, rounded.max(axis=0).tolist(), rounded.argmax(axis=0).tolist(), strict=True):
        if value > best.get(row.node_id, (0.0, 0))[0]:
            best[row.node_id] = (value, lead)
    return best


def _make_candidate(row: NodeRow, lead: Candidate) -> Candidate:
    return Candidate(
        node=row.node,
        probe=lead.probe,
        distance=lead.distance + 1,
        root=lead.root,
        path=(*lead.path, Step(row.node.key, SAME_NAME, id=row.node.id)),
        text_tokens=row.text_tokens,
        sketch=row.sketch,
    )


def _have_one_title(left: Node, right: Node) -> bool:
    """Return whether two nodes are parts of one text, which have its title: names lead from none to another."""
    return left.title != "" and left.title == right.title


def score_bridges(
    candidates: Sequence[Candidate], names: BridgeNames, question: Mapping[int, float], snapshot: Snapshot
) -> tuple[Candidate, ...]:
    """Return the candidates, with the part `bridge` for those that a leading candidate leads to.

    The part is the share of the question that the candidate holds beyond the other, times how surely the rare
    words that both hold, or a name, tie them together, times how relevant the other is. A name leads on even to
    a text that holds nothing of the question.
    """
    if not names.leading:
        return tuple(candidates)
    texts = [candidate.words for candidate in candidates]
    added = _added_share(names, _covered_terms(candidates, question), question)
    # Without names to search for, only rare words can tie two texts together.
    worth = np.zeros(added.shape)
    if names.searched:
        worth = names.ties(texts) * (_NAME_WORTH + added) * _other_texts(names.leading, candidates)
    # Comparing all rare words is dear, and only pays for texts that add something.
    adding = np.flatnonzero((names.relevance() * added >= _MIN_ADDED_SHARE).any(axis=0)).tolist()
    if adding:
        tied = _rare_word_ties(names.leading, [texts[index] for index in adding], question, snapshot)
        worth[:, adding] = np.maximum(worth[:, adding], tied * added[:, adding])
    # No candidate leads to itself, and one that is not stored cannot be led to.
    gains = np.round((worth * names.relevance() * _other_nodes(names.leading, candidates)).max(axis=0), 6)
    return tuple(
        [
            replace(candidate, parts={**candidate.parts, "bridge": gain}) if gain > 0 else candidate
            for candidate, gain in zip(candidates, gains.tolist(), strict=True)
        ]
    )


def _other_nodes(leading: Sequence[Candidate], candidates: Sequence[Candidate]) -> "Floats":
    """Return, a row for each leading candidate, 1 for every candidate that is stored and another node."""
    ids = np.array([candidate.node.id for candidate in candidates])
    own = np.array([[lead.node.id] for lead in leading])
    others: Floats = ((ids > 0) & (ids != own)).astype(np.float64)
    return others


def _other_texts(leading: Sequence[Candidate], candidates: Sequence[Candidate]) -> "Floats":
    """Return, a row for each leading candidate, 1 for every candidate that is no part of the same text."""
    titles = [candidate.node.title for candidate in candidates]
    # Parts of one text have its title; without a title every text is another one.
    others = [[title != lead.node.title or title == "" for title in titles] for lead in leading]
    return np.array(others, dtype=np.float64)


def _covered_terms(candidates: Sequence[Candidate], question: Mapping[int, float]) -> "Floats":
    """Return, a row for each candidate, 1 for every term of the question, ascending, that it holds."""
    terms = sorted(question)
    return np.array([[term in candidate.covers for term in terms] for candidate in candidates], dtype=np.float64)


def _added_share(names: BridgeNames, held: "Floats", question: Mapping[int, float]) -> "Floats":
    """Return, a row for each leading candidate, the share of the question that each text holds beyond it."""
    weight = np.array([question[term] for term in sorted(question)])
    if not weight.sum() > 0:
        return np.zeros((len(names.leading), len(held)))
    added: Floats = ((1.0 - _covered_terms(names.leading, question)) * (weight / weight.sum())) @ held.T
    return added


def _rare_word_ties(
    leading: Sequence[Candidate], texts: Sequence[bytes], question: Mapping[int, float], snapshot: Snapshot
) -> "Floats":
    """Return, a row for each leading candidate, how surely each text speaks of the same, by rare words: 0 to 1."""
    leading_texts = [candidate.words for candidate in leading]
    # Not by numpy's functions for sets, whose first use loads a large part of numpy that nothing else needs.
    known = np.array(sorted(set(_unpack(leading_texts).tolist()) - question.keys()), dtype=np.uint32)
    own, held = (_held_words(known, group) for group in (leading_texts, texts))
    shared = held.any(axis=0)
    rarity = np.zeros(len(known))
    rarity[shared], passages = _rarities(known[shared].tolist(), snapshot)
    # Words that no other text holds were given 0: only shared words cost a look-up of their frequency.
    own_rarity = own * rarity
    if len(known) > _MAX_SHARED_WORDS:
        own_rarity[own_rarity < np.sort(own_rarity, axis=1)[:, -_MAX_SHARED_WORDS, None]] = 0.0
    ties: Floats = np.minimum(own_rarity @ held.T / (_CERTAIN_RARITY * np.log1p(passages)), 1.0)
    return ties


def _rarities(words: Sequence[int], snapshot: Snapshot) -> "tuple[Floats, int]":
    """Return how telling each word is, 0 for those in many passages; and how many passages there are."""
    statistics = snapshot.statistics(words)
    rarities = inverse_frequency(statistics, words)
    # In a small store the share would be below two passages, and no word could be shared at all.
    max_frequency = max(_MAX_WORD_SHARE * statistics.passages, 2)
    rarities[[statistics.frequency.get(word, 0) > max_frequency for word in words]] = 0.0
    return rarities, statistics.passages
