"""Evidence in two texts: what the best candidates leave open of a question, and others that share a rare word with
them tell."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.candidates import told
from weft.model import Candidate
from weft.ports import Snapshot
from weft.terms import inverse_frequency

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Hashes = NDArray[np.uint32]

_FIRST: Final = 4
"""From so many of the best candidates a bridge may lead."""
_TELLS: Final = 0.1
"""What tells less of the question than this share of it completes nothing."""
_RARE: Final = 0.01
"""A word in more than this share of all passages ties nothing together."""
_WORDS: Final = 12
"""How many of a text's rare words may be shared; the rarest."""
_CERTAIN: Final = 1.3
"""Two texts surely speak of the same when they share this many times what the rarest word tells."""


def bridge(
    candidates: Sequence[Candidate], question: Mapping[int, float], snapshot: Snapshot
) -> tuple[Candidate, ...]:
    """The candidates, those with the part `bridge` that another candidate leads to.

    It is the share of the question that the candidate tells and the other does not, times how surely the rare
    words that both hold tie them together, times how relevant the other is. `question` says how much each of
    its terms tells.
    """
    first = _first(candidates)
    added = _added(candidates, first, question)
    further = [
        place for place in np.flatnonzero((added >= _TELLS).any(axis=0)).tolist() if candidates[place].node.id
    ]
    if not further:
        return tuple(candidates)
    worth = np.zeros(len(candidates))
    tied = _ties([candidates[at] for at in first], [candidates[at] for at in further], question, snapshot)
    worth[further] = np.round((tied * added[:, further]).max(axis=0), 6)
    return tuple(
        [
            told(each, {**each.parts, "bridge": gain}) if gain > 0 else each
            for each, gain in zip(candidates, worth.tolist(), strict=True)
        ]
    )


def _first(candidates: Sequence[Candidate]) -> list[int]:
    """The places of the most relevant candidates."""
    places = [at for at, each in enumerate(candidates) if each.node.id and each.parts.get("relevance", 0.0) > 0]
    return sorted(places, key=lambda place: _by_relevance(candidates[place]))[:_FIRST]


def _by_relevance(candidate: Candidate) -> tuple[float, str, str]:
    return -candidate.parts["relevance"], candidate.node.tenant, candidate.node.key


def _added(candidates: Sequence[Candidate], first: Sequence[int], question: Mapping[int, float]) -> "Floats":
    """For each of the first, the share of the question that each candidate tells beyond it, by its relevance."""
    terms = sorted(question)
    tells = np.array([[term in each.covers for term in terms] for each in candidates], dtype=np.float64)
    weight = np.array([question[term] for term in terms])
    if not first or not weight.sum() > 0:
        return np.zeros((len(first), len(candidates)))
    relevance = np.array([candidates[place].parts["relevance"] for place in first])
    added: Floats = relevance[:, None] * (((1.0 - tells[first]) * (weight / weight.sum())) @ tells.T)
    return added


def _ties(
    first: Sequence[Candidate], further: Sequence[Candidate], question: Mapping[int, float], snapshot: Snapshot
) -> "Floats":
    """For each of the first, how surely each of the further speaks of something that it speaks of too: 0 to 1."""
    # Not by numpy's functions for sets, whose first use loads a large part of numpy that nothing else needs.
    known = np.array(sorted(set(_words(first).tolist()) - question.keys()), dtype=np.uint32)
    own, held = (_held(known, group) for group in (first, further))
    shared = held.any(axis=0)
    rarity = np.zeros(len(known))
    rarity[shared], passages = _rarity(known[shared].tolist(), snapshot)
    told_by = own * rarity
    if len(known) > _WORDS:
        told_by[told_by < np.sort(told_by, axis=1)[:, -_WORDS, None]] = 0.0
    sure: Floats = np.minimum(told_by @ held.T / (_CERTAIN * np.log1p(passages)), 1.0)
    return sure


def _words(candidates: Sequence[Candidate]) -> "Hashes":
    """The words of some candidates, one after the other."""
    return np.frombuffer(b"".join([each.words for each in candidates]), dtype="<u4")


def _held(known: "Hashes", candidates: Sequence[Candidate]) -> "Floats":
    """For each candidate, 1 for every known word that it holds."""
    table = np.zeros((len(candidates), len(known)))
    if not len(known):
        return table
    said = _words(candidates)
    owner = np.repeat(np.arange(len(candidates)), [len(each.words) // said.itemsize for each in candidates])
    place = np.minimum(np.searchsorted(known, said), len(known) - 1)
    holds = known[place] == said
    table[owner[holds], place[holds]] = 1.0
    return table


def _rarity(words: Sequence[int], snapshot: Snapshot) -> "tuple[Floats, int]":
    """How telling each word is, nothing for those that many passages hold; and how many passages there are."""
    statistics = snapshot.statistics(words)
    rarity = inverse_frequency(statistics, words)
    most = max(_RARE * statistics.passages, 2)
    rarity[[statistics.frequency.get(word, 0) > most for word in words]] = 0.0
    return rarity, statistics.passages
