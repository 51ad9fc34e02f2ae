"""Evidence in two texts: what the best candidates leave open of a question, and others that share a rare word with
them tell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.candidates import told
from weft.model import Candidate
from weft.ports import Snapshot
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

    words: "NDArray[np.uint32]"
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
    shared = _shared_words(candidates, first, question)
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


def _shared_words(candidates: Sequence[Candidate], first: Sequence[int], question: Mapping[int, float]) -> _Words:
    """The words that one of the first and another candidate hold, and the question does not."""
    theirs = np.frombuffer(b"".join([candidates[place].words for place in first]), dtype="<u4")
    own = np.setdiff1d(theirs, np.array(list(question), dtype=np.uint32))
    if not len(own):
        return _Words(own, *np.zeros((2, 0), dtype=np.int64))
    every = np.frombuffer(b"".join([each.words for each in candidates]), dtype="<u4")
    owner = np.repeat(np.arange(len(candidates)), [len(each.words) // 4 for each in candidates])
    word = np.minimum(np.searchsorted(own, every), len(own) - 1)
    holds = own[word] == every
    owner, word = owner[holds], word[holds]
    shared = np.bincount(word, minlength=len(own)) > 1
    kept = shared[word]
    return _Words(own[shared], owner[kept], (np.cumsum(shared) - 1)[word[kept]])
