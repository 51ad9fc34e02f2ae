"""What leads from the best candidates to other texts: the names in them that the question does not hold."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from weft.frozen import dataclass
from weft.model import Candidate, Filter, Node, Step
from weft.ports import Index, NodeRow, PassageRow, Snapshot, TermStatistics
from weft.scoring.bm25 import inverse_frequency, term_hashes
from weft.scoring.candidates import told
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
_RARE_NAME: Final = 0.005
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
    most = max(_RARE_NAME * passages, _FEW)
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


SAME_NAME: Final = "same name"
"""The type of the step that leads from a text to another which holds a name that it holds."""

_PROPOSED: Final = 60
_FURTHER: Final = 10
"""How many of the texts found by a name become candidates, of how many that are looked at."""
_ALONE: Final = 0.2
"""What a name is worth that leads to a text which tells nothing of the question; a share of the question."""
_TELLS: Final = 0.1
"""What tells less of the question than this share of it completes nothing by a rare word alone."""
_RARE_WORD: Final = 0.01
"""A word in more than this share of all passages ties nothing together."""
_WORDS: Final = 12
"""How many of a text's rare words may be shared; the rarest."""
_CERTAIN: Final = 1.3
"""Two texts surely speak of the same when they share this many times what the rarest word tells."""


def follow(
    found: Leads,
    candidates: Sequence[Candidate],
    question: Mapping[int, float],
    filter: Filter,
    desk: tuple[Snapshot, Index],
) -> tuple[Candidate, ...]:
    """The best few texts beyond the candidates that hold a name which one of the first holds."""
    snapshot, index = desk
    if not found.sought:
        return ()
    proposed = index.lexical(snapshot, found.sought, filter, _PROPOSED).passage_ids.tolist()
    known = {each.node.id for each in candidates}
    rows = [row for row in snapshot.passages(proposed) if row.node_id not in known]
    best = _best(rows, _promise(rows, found, question)) if rows else {}
    least = sorted((worth for worth, _ in best.values()), reverse=True)[:_FURTHER]
    # All that tie with the last one are loaded, so that the cut falls by key and not by chance.
    stored = snapshot.nodes([node for node, (worth, _) in best.items() if worth >= least[-1]])
    order = sorted(stored.values(), key=lambda row: (-best[row.node.id][0], row.node.tenant, row.node.key))
    steps = [(found.first[best[row.node.id][1]], row) for row in order[:_FURTHER]]
    return tuple([_led_to(row, lead) for lead, row in steps if not _of_one_text(lead.node, row.node)])


def _promise(rows: Sequence[PassageRow], found: Leads, question: Mapping[int, float]) -> "Floats":
    """For each of the first, what each row may be worth that holds one of its names."""
    texts = [row.term_hashes for row in rows]
    tells = held_by(np.array(sorted(question), dtype=np.uint32), texts)
    return _relevance(found) * found.ties(texts) * (_ALONE + _added(found, tells, question))


def _best(rows: Sequence[PassageRow], worth: "Floats") -> dict[int, tuple[float, int]]:
    """By node, what its best passage is worth and the place of the candidate that leads to it."""
    rounded = np.round(worth, 9)
    best: dict[int, tuple[float, int]] = {}
    for row, value, lead in zip(rows, rounded.max(axis=0).tolist(), rounded.argmax(axis=0).tolist(), strict=True):
        if value > best.get(row.node_id, (0.0, 0))[0]:
            best[row.node_id] = (value, lead)
    return best


def _led_to(row: NodeRow, lead: Candidate) -> Candidate:
    return Candidate(
        node=row.node,
        probe=lead.probe,
        distance=lead.distance + 1,
        root=lead.root,
        path=(*lead.path, Step(row.node.key, SAME_NAME, id=row.node.id)),
        text_tokens=row.text_tokens,
        sketch=row.sketch,
    )


def _of_one_text(one: Node, other: Node) -> bool:
    """Whether two nodes are parts of one text, which have its title: names lead from none of them to another."""
    return one.title != "" and one.title == other.title


def bridge(
    candidates: Sequence[Candidate], found: Leads, question: Mapping[int, float], snapshot: Snapshot
) -> tuple[Candidate, ...]:
    """The candidates, those with the part `bridge` that one of the first leads to.

    It is the share of the question that the candidate tells and the other does not, times how surely the rare
    words that both hold, or a name, tie them together, times how relevant the other is. A name leads on even to
    what tells nothing of the question. `question` says how much each of its terms tells.
    """
    if not found.first:
        return tuple(candidates)
    texts = [each.words for each in candidates]
    added = _added(found, _covered(candidates, question), question)
    worth = np.zeros(added.shape)
    if found.sought:
        worth = found.ties(texts) * (_ALONE + added) * _elsewhere(found.first, candidates)
    further = np.flatnonzero((_relevance(found) * added >= _TELLS).any(axis=0)).tolist()
    if further:
        tied = _ties(found.first, [texts[at] for at in further], question, snapshot)
        worth[:, further] = np.maximum(worth[:, further], tied * added[:, further])
    gains = np.round((worth * _relevance(found) * _apart(found.first, candidates)).max(axis=0), 6)
    return tuple(
        [
            told(each, {**each.parts, "bridge": gain}) if gain > 0 else each
            for each, gain in zip(candidates, gains.tolist(), strict=True)
        ]
    )


def _relevance(found: Leads) -> "Floats":
    """How relevant each of the first is, one a row."""
    return np.array([[each.parts["relevance"]] for each in found.first])


def _apart(first: Sequence[Candidate], candidates: Sequence[Candidate]) -> "Floats":
    """For each of the first, 1 for every candidate that is stored and another one."""
    ids = np.array([each.node.id for each in candidates])
    apart: Floats = ((ids > 0) & (ids != np.array([[each.node.id] for each in first]))).astype(np.float64)
    return apart


def _elsewhere(first: Sequence[Candidate], candidates: Sequence[Candidate]) -> "Floats":
    """For each of the first, 1 for every candidate that is no part of the same text."""
    apart = [[not _of_one_text(lead.node, each.node) for each in candidates] for lead in first]
    return np.array(apart, dtype=np.float64)


def _covered(candidates: Sequence[Candidate], question: Mapping[int, float]) -> "Floats":
    """For each candidate, 1 for every term of the question, in ascending order, that its best passage holds."""
    terms = sorted(question)
    return np.array([[term in each.covers for term in terms] for each in candidates], dtype=np.float64)


def _added(found: Leads, tells: "Floats", question: Mapping[int, float]) -> "Floats":
    """For each of the first, the share of the question that each text tells beyond it."""
    weight = np.array([question[term] for term in sorted(question)])
    if not weight.sum() > 0:
        return np.zeros((len(found.first), len(tells)))
    added: Floats = ((1.0 - _covered(found.first, question)) * (weight / weight.sum())) @ tells.T
    return added


def _ties(
    first: Sequence[Candidate], texts: Sequence[bytes], question: Mapping[int, float], snapshot: Snapshot
) -> "Floats":
    """For each of the first, how surely each text speaks of something that it speaks of too: 0 to 1."""
    leading = [each.words for each in first]
    # Not by numpy's functions for sets, whose first use loads a large part of numpy that nothing else needs.
    known = np.array(sorted(set(hashes_of(leading).tolist()) - question.keys()), dtype=np.uint32)
    own, held = (held_by(known, group) for group in (leading, texts))
    shared = held.any(axis=0)
    rarity = np.zeros(len(known))
    rarity[shared], passages = _rarity(known[shared].tolist(), snapshot)
    told_by = own * rarity
    if len(known) > _WORDS:
        told_by[told_by < np.sort(told_by, axis=1)[:, -_WORDS, None]] = 0.0
    sure: Floats = np.minimum(told_by @ held.T / (_CERTAIN * np.log1p(passages)), 1.0)
    return sure


def _rarity(words: Sequence[int], snapshot: Snapshot) -> "tuple[Floats, int]":
    """How telling each word is, nothing for those that many passages hold; and how many passages there are."""
    statistics = snapshot.statistics(words)
    rarity = inverse_frequency(statistics, words)
    most = max(_RARE_WORD * statistics.passages, 2)
    rarity[[statistics.frequency.get(word, 0) > most for word in words]] = 0.0
    return rarity, statistics.passages
