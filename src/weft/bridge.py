"""Evidence in two texts: what the best candidates leave open of a question, and others that share a rare word with
them tell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.candidates import told
from weft.model import Candidate
from weft.ports import PassageRow, Snapshot
from weft.terms import inverse_frequency

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

_FIRST: Final = 4
"""From so many of the best candidates a bridge may lead."""
_RARE: Final = 0.01
"""A word in more than this share of all passages ties nothing together."""
_WORDS: Final = 12
"""How many of a text's rare words may be shared; the rarest."""
_CERTAIN: Final = 1.3
"""Two texts surely speak of the same when they share this many times what the rarest word tells."""


@dataclass(frozen=True, slots=True)
class _Words:
    """Which words stand in which candidates: parallel places of candidates and places in the sorted words."""

    words: "Integers"
    owner: "Integers"
    word: "Integers"

    def held(self, candidates: int) -> "NDArray[np.bool_]":
        """For every candidate, whether it holds each word."""
        table = np.zeros((candidates, len(self.words)), dtype=bool)
        table[self.owner, self.word] = True
        return table


def bridge(
    candidates: Sequence[Candidate], question: Mapping[int, float], snapshot: Snapshot
) -> tuple[Candidate, ...]:
    """The candidates, those with the part `bridge` that another candidate leads to.

    It is the share of the question that the candidate tells and the other does not, times how surely the rare
    words that both hold tie them together, times how relevant the other is. `question` says how much each of
    its terms tells.
    """
    whole = sum(question.values())
    first = _first(candidates, question)
    if not first or whole <= 0:
        return tuple(candidates)
    tied = _ties(candidates, first, question, snapshot)
    if tied is None:
        return tuple(candidates)
    worth = np.round((tied * _added(candidates, first, question)).max(axis=0) / whole, 6).tolist()
    return tuple(
        told(each, {**each.parts, "bridge": gain}) if gain > 0 else each
        for each, gain in zip(candidates, worth, strict=True)
    )


def _first(candidates: Sequence[Candidate], question: Mapping[int, float]) -> list[int]:
    """The places of the most relevant candidates that leave something open."""
    places = [
        place
        for place, each in enumerate(candidates)
        if each.node.id and each.parts.get("relevance", 0.0) > 0 and not each.covers.keys() >= question.keys()
    ]
    return sorted(places, key=lambda place: _by_relevance(candidates[place]))[:_FIRST]


def _by_relevance(candidate: Candidate) -> tuple[float, str, str]:
    return -candidate.parts["relevance"], candidate.node.tenant, candidate.node.key


def _added(candidates: Sequence[Candidate], first: Sequence[int], question: Mapping[int, float]) -> "Floats":
    """For each of the first, what every candidate tells of the question beyond it, times its relevance."""
    terms = sorted(question)
    tells = np.array([[term in each.covers for term in terms] for each in candidates], dtype=np.float64)
    weight = np.array([question[term] for term in terms])
    relevance = np.array([candidates[place].parts["relevance"] for place in first])
    added: Floats = relevance[:, None] * (((1.0 - tells[first]) * weight) @ tells.T)
    return added


def _ties(
    candidates: Sequence[Candidate], first: Sequence[int], question: Mapping[int, float], snapshot: Snapshot
) -> "Floats | None":
    """For each of the first, how surely every candidate speaks of something that it speaks of too, from 0 to 1."""
    shared = _shared_words(candidates, first, question, snapshot)
    if not len(shared.words):
        return None
    statistics = snapshot.statistics(tuple(shared.words.tolist()))
    rarity = inverse_frequency(statistics, shared.words.tolist())
    frequency = np.array([statistics.frequency.get(word, 0) for word in shared.words.tolist()])
    rarity[frequency > max(_RARE * statistics.passages, 2)] = 0.0
    held = shared.held(len(candidates))
    own = held[first] * rarity
    if own.shape[1] > _WORDS:
        least = np.sort(own, axis=1)[:, -_WORDS]
        own[own < least[:, None]] = 0.0
    sure = np.minimum(own @ held.T / (_CERTAIN * np.log1p(statistics.passages)), 1.0)
    sure[np.arange(len(first)), first] = 0.0
    return sure if sure.any() else None


def _shared_words(
    candidates: Sequence[Candidate], first: Sequence[int], question: Mapping[int, float], snapshot: Snapshot
) -> _Words:
    """The words that one of the first and another candidate hold, and the question does not."""
    place = {each.node.id: at for at, each in enumerate(candidates) if each.node.id}
    rows = [row for row in snapshot.passages_of(list(place)) if _matched(candidates[place[row.node_id]], row)]
    hashes = np.frombuffer(b"".join([row.term_hashes for row in rows]), dtype="<u4").astype(np.int64)
    owner = np.repeat([place[row.node_id] for row in rows], [len(row.term_counts) for row in rows])
    words, word, times = np.unique(hashes, return_inverse=True, return_counts=True)
    wanted = np.zeros(len(words), dtype=bool)
    wanted[word[np.isin(owner, first)]] = True
    wanted &= (times > 1) & ~np.isin(words, list(question))
    number = np.cumsum(wanted) - 1
    kept = wanted[word]
    return _Words(words[wanted], owner[kept], number[word[kept]])


def _matched(candidate: Candidate, row: PassageRow) -> bool:
    """Whether a passage is among those for which its node was taken; all are, where none is known."""
    return not candidate.spans or (row.passage.start, row.passage.end) in candidate.spans
