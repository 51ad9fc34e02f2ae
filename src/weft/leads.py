"""What leads from the best candidates to other texts: the names in them that the question does not hold."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from weft.frozen import dataclass
from weft.model import Candidate
from weft.ports import Snapshot, TermStatistics
from weft.terms import term_hashes
from weft.text import analyze, proper_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Hashes = NDArray[np.uint32]
    Places = NDArray[np.intp]

_FIRST: Final = 4
"""From so many of the best candidates a bridge may lead."""
_OPEN: Final = 0.1
"""Where one text leaves less of the question open than this share of it, no name is followed."""
_NAMES: Final = 10
"""How many names of a text may lead on; the rarest."""
_SOUGHT: Final = 12
"""How many names of all of them are searched for."""
_RARE: Final = 0.005
"""A name leads nowhere if its rarer word is in more than this share of all passages."""
_FEW: Final = 5
"""As many passages may hold it in a small store."""
_LONE: Final = 0.6
"""A name of one word is so much less sure than one of two."""

_Pair = tuple[int, int]
"""Two words that stand side by side in a name; the same one twice for a name of one word."""


class _Name(NamedTuple):
    """A name in one of the first candidates, by its place among them, and how surely it is meant elsewhere."""

    owner: int
    pair: _Pair
    sure: float


@dataclass(frozen=True, slots=True)
class Leads:
    """The candidates that a bridge may lead from, and the names in them that the question does not hold.

    For each pair of words: `owner`, whose name it is, by place in `first`; `sure`, how surely another text that
    holds both words means the same; and `pairs`, their places in `words`. `sought` are the rarer words of the
    pairs that promise most.
    """

    first: tuple[Candidate, ...]
    words: "Hashes"
    pairs: "Places"
    owner: "Places"
    sure: "Floats"
    sought: tuple[int, ...]

    def ties(self, texts: Sequence[bytes]) -> "Floats":
        """For each of the first, how surely each text, given by its packed words, holds one of its names."""
        held = held_by(self.words, texts)
        both = held[:, self.pairs[:, 0]] * held[:, self.pairs[:, 1]] * self.sure
        own = [both[:, self.owner == place] for place in range(len(self.first))]
        return np.array([each.max(axis=1, initial=0.0) for each in own])


def leads(candidates: Sequence[Candidate], question: Mapping[int, float], snapshot: Snapshot) -> Leads:
    """The most relevant candidates, with the rarest names in the best passage of each.

    Where one of them tells all of the question, no other text is needed and no name looked for.
    """
    known = [each for each in candidates if each.node.id and each.parts.get("relevance", 0.0) > 0]
    first = tuple(sorted(known, key=_by_relevance)[:_FIRST])
    names = [_names(each, question) for each in first] if _open(first, question) >= _OPEN else []
    words = np.array(sorted({word for each in names for pair in each for word in pair}), dtype=np.uint32)
    statistics = snapshot.statistics(words.tolist())
    found = [_Name(at, *rare) for at, pairs in enumerate(names) for rare in _rarest(pairs, statistics)]
    by_worth = sorted(found, key=lambda name: (-name.sure * first[name.owner].parts["relevance"], name.pair))
    return Leads(
        first,
        words,
        np.searchsorted(words, np.array([name.pair for name in found], dtype=np.uint32).reshape(-1, 2)),
        np.array([name.owner for name in found], dtype=np.intp),
        np.array([name.sure for name in found]),
        tuple(dict.fromkeys([name.pair[0] for name in by_worth]))[:_SOUGHT],
    )


def _by_relevance(candidate: Candidate) -> tuple[float, str, str]:
    return -candidate.parts["relevance"], candidate.node.tenant, candidate.node.key


def _open(first: Sequence[Candidate], question: Mapping[int, float]) -> float:
    """The least share of the question that one of the first leaves open; nothing where nothing is asked."""
    whole = sum(question.values())
    told = [sum(question[term] for term in each.covers if term in question) for each in first]
    return 1.0 - max(told, default=0.0) / whole if whole > 0 else 0.0


def _names(candidate: Candidate, question: Mapping[int, float]) -> set[_Pair]:
    """What the title and the best passage of a candidate name and the question does not."""
    start, end = candidate.spans[0] if candidate.spans else (0, 0)
    pairs: set[_Pair] = set()
    for text in (candidate.node.title, candidate.node.text[start:end]):
        for name in proper_names(text):
            words = term_hashes(analyze(name))
            pairs.update(pairwise(words) if len(words) > 1 else zip(words, words, strict=True))
    return {pair for pair in pairs if pair[0] not in question or pair[1] not in question}


def _rarest(pairs: Collection[_Pair], statistics: TermStatistics) -> list[tuple[_Pair, float]]:
    """Those of the names that few but several passages hold, the rarer word first, and how sure each is."""
    frequency, passages = statistics.frequency, statistics.passages
    most = max(_RARE * passages, _FEW)
    rarer_first = {tuple(sorted(pair, key=lambda word: (frequency.get(word, 0), word))) for pair in pairs}
    counted = sorted((frequency.get(pair[0], 0), *pair) for pair in rarer_first)
    rare = [(count, (rarer, other)) for count, rarer, other in counted if 1 < count <= most][:_NAMES]
    return [
        (pair, _sure(count / passages, passages) * (_LONE if pair[0] == pair[1] else 1.0)) for count, pair in rare
    ]


def _sure(share: float, passages: int) -> float:
    """How surely a name means the same everywhere if its rarer word is in such a share of all passages: 0 to 1."""
    return round(float(-np.log(share) / np.log1p(passages)), 9)


def hashes_of(texts: Sequence[bytes]) -> "Hashes":
    """The words of some texts, one after the other."""
    return np.frombuffer(b"".join(texts), dtype="<u4")


def held_by(known: "Hashes", texts: Sequence[bytes]) -> "Floats":
    """For each text, given by its packed words, 1 for every known word that it holds."""
    table = np.zeros((len(texts), len(known)))
    if not len(known):
        return table
    said = hashes_of(texts)
    owner = np.repeat(np.arange(len(texts)), [len(each) // said.itemsize for each in texts])
    place = np.minimum(np.searchsorted(known, said), len(known) - 1)
    holds = known[place] == said
    table[owner[holds], place[holds]] = 1.0
    return table
