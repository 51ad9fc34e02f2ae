"""Evidence in several texts: what the best candidates leave open of a question is told by others that share a rare
word or a name with them, some of which no search for the question finds."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.candidates import told
from weft.leads import Leads, hashes_of, held_by
from weft.model import Candidate, Filter, Node, Step
from weft.ports import Index, NodeRow, PassageRow, Snapshot
from weft.terms import inverse_frequency

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SAME_NAME: Final = "same name"
"""The type of the step that leads from a text to another which holds a name that it holds."""

_PROPOSED: Final = 60
_FURTHER: Final = 10
"""How many of the texts found by a name become candidates, of how many that are looked at."""
_ALONE: Final = 0.2
"""What a name is worth that leads to a text which tells nothing of the question; a share of the question."""
_TELLS: Final = 0.1
"""What tells less of the question than this share of it completes nothing by a rare word alone."""
_RARE: Final = 0.01
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
    most = max(_RARE * statistics.passages, 2)
    rarity[[statistics.frequency.get(word, 0) > most for word in words]] = 0.0
    return rarity, statistics.passages
