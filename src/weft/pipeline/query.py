"""Read a question as the searches need it, and measure passages against it.

A `Query` has terms, phrases and a vector; `Reading` is what it is put to; `Pool` sums up nodes by their passages.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from weft.errors import EmbedderError
from weft.model import Filter, Node
from weft.ports import Embedder, Index, LayeredEmbedder, PassageRow, Repositories, Snapshot, TermStatistics
from weft.profiles.types import Fusion
from weft.scoring.bm25 import (
    TermColumns,
    inverse_frequency,
    passage_statistics,
    score_terms,
    term_hash,
    term_hashes,
)
from weft.text import find_proper_names
from weft.text.terms import STOP_WORDS, analyze, is_code, spell_otherwise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


_MAX_PROPOSING_TERMS: Final = 24
"""Terms by which an index proposes passages, the rarest first; more make searches for pasted logs slow."""
_MAX_PROPOSING_SHARE: Final = 0.2
"""A term in more than this share of all passages proposes none: it would return most of the store."""
_MAX_QUESTION_CHARS: Final = 20_000
"""Characters of a question, or of an earlier turn, that are read; embedders read far fewer."""
_MAX_NARROWED_NODES: Final = 400
"""Of more nodes than this that a filter leaves, the statistics of the whole view say as much, and cost less."""
_TERM_PREFIX_CHARS: Final = 4
"""A word and its term have so many letters in common, whatever the ending of the word."""
_LAST_TURN_WEIGHT: Final = 0.5
"""The weight of the turn before the question: it colours the answer and does not decide it."""
_TURN_DECAY: Final = 0.8
"""The factor by which each turn before that weighs less."""
_OTHER_SPELLING_WEIGHT: Final = 0.5
"""The weight of a word of the question in another spelling, which a text has in place of the first."""
_MAX_PHRASES: Final = 24
"""Of more phrases in a long question only the weightiest count; each costs a search of every candidate."""
_REACH_CHARACTERS: Final = 32
"""The second word begins at most so far behind the beginning of the first, with fillers between them."""
_SEPARATOR: Final = "\n" * (_REACH_CHARACTERS + 1)
"""Stands between a title and a text, so that no phrase begins in the one and ends in the other."""
_MAX_WORD_CHARACTERS: Final = 24
"""A word is read no further than this, unless its beginning is longer."""
_HAS_SMALL_LETTER: Final = re.compile(r"(?!I['’])\w*[^\W\d_A-Z]")
_WORD: Final = re.compile(r"[A-Za-z][\w+#]*")
_MAX_SPANS: Final = 6
"""Passages of a node that are kept as its best ones; an excerpt of a page seldom has room for more."""

NodeMeasures = tuple[dict[str, float], dict[int, float], tuple[tuple[int, int], ...], bytes]
"""Scores by name, the gain of each term and phrase, the spans of the best passages, and their packed terms."""
StageCallback = Callable[[str], None]
"""Called with the name of each stage when the stage is finished; the service measures stages with it."""


class Reading(Struct, frozen=True):
    """One consistent reading of the store: a snapshot, the index over it, and an embedder if there is one.

    `notes` name what is missing from the reading; the caller that returns the answer adds them to it.
    `repositories` are asked for what only git can tell, where they are on this machine.
    """

    snapshot: Snapshot
    index: Index
    embedder: Embedder | None
    notes: tuple[str, ...] = ()
    repositories: Repositories | None = None


class Phrase(Struct, frozen=True):
    """Two neighbouring terms of a question, and their share of the weight of all its phrases.

    `beginnings` are the letters that the words of each term begin with; `key` stands for both terms together.
    """

    terms: tuple[str, str]
    beginnings: tuple[str, str]
    hashes: tuple[int, int]
    key: int
    share: float


def build_phrases(terms: Sequence[str], weights: Mapping[int, float]) -> tuple[Phrase, ...]:
    """Return the phrases of a question, given by its terms in order; each weighs as much as its lighter term."""
    # Kept by term, because the phrases need both the word and its hash.
    hashes = {term: term_hash(term) for term in terms}
    weight = {
        (left, right): min(weights.get(hashes[left], 0.0), weights.get(hashes[right], 0.0))
        for left, right in pairwise(terms)
        if left != right
    }
    # Ties fall by the words themselves, so that the phrases are the same in every process.
    heaviest = sorted([pair for pair in weight if weight[pair] > 0], key=lambda pair: (-weight[pair], pair))
    kept = heaviest[:_MAX_PHRASES]
    total = sum([weight[pair] for pair in kept])
    return tuple(
        [
            Phrase(
                terms=(left, right),
                beginnings=(_beginning(left), _beginning(right)),
                hashes=(hashes[left], hashes[right]),
                # No term holds a blank, so the key of a phrase is that of no term.
                key=term_hash(f"{left} {right}"),
                share=round(weight[left, right] / total, 9),
            )
            for left, right in kept
        ]
    )


def _beginning(term: str) -> str:
    """Return the beginning of every word of a term: a stem may end in a letter that not all of its words have."""
    return term[:-1] if len(term) > 3 and term[-1] in "ei" else term


def find_held_phrases(asked: Iterable[Phrase], words: Collection[int], title: str, text: str) -> list[Phrase]:
    """Return the phrases that stand in a title or a text, which together hold these words of the question."""
    if len(words) < 2:
        return []
    possible = [phrase for phrase in asked if phrase.hashes[0] in words and phrase.hashes[1] in words]
    if not possible:
        return []
    whole = title + _SEPARATOR + text
    lower = whole.lower()
    # Capitals part the words in camelCase; where lowering made two letters of one, offsets no longer agree.
    written = whole if len(whole) == len(lower) else lower
    return [phrase for phrase in possible if _holds(written, lower, phrase)]


def _holds(text: str, lower: str, phrase: Phrase) -> bool:
    """Return whether the terms are neighbours in a text: sought by their letters, which is quick, then analysed.

    A term is not found where its letters have accents; folding every text would cost more than all else here.
    """
    first, second = phrase.beginnings
    start = lower.find(first)
    while start >= 0:
        after = start + len(first)
        following = lower.find(second, after, after + _REACH_CHARACTERS)
        if following >= 0 and phrase.terms in pairwise(analyze(text[start : _word_end(lower, following, second)])):
            return True
        # A word of several parts is a term, and so is each of its parts.
        if second in first and phrase.terms in pairwise(analyze(text[start : _word_end(lower, start, first)])):
            return True
        start = lower.find(first, after)
    return False


def _word_end(lower: str, start: int, beginning: str) -> int:
    """Return where a word ends of which the beginning is known."""
    end = start + len(beginning)
    while lower[end : end + 1].isalnum() and end - start < _MAX_WORD_CHARACTERS:
        end += 1
    return end


class Query(Struct, frozen=True):
    """A question as the searches see it: its terms with their weights, its vector, the view's statistics, and
    the phrases in it."""

    text: str
    terms: Mapping[int, float]
    vector: "NDArray[np.float32] | None"
    statistics: TermStatistics
    phrases: tuple[Phrase, ...] = ()
    notes: tuple[str, ...] = ()
    """The parts of the question that could not be used, and why."""
    quality_vector: "NDArray[np.float32] | None" = None
    """The vector of the better embedder, where the store has such vectors."""

    def rarities(self) -> dict[int, float]:
        """Return how telling each term of the question is in this view, by term."""
        terms = sorted(self.terms)
        return dict(zip(terms, inverse_frequency(self.statistics, terms).tolist(), strict=True))

    @property
    def mentions_names(self) -> bool:
        """Whether the question mentions somebody or something by name: an acronym, or `I`, is no name here."""
        return any(map(_HAS_SMALL_LETTER.match, find_proper_names(self.text)))

    def term_weights(self) -> dict[int, float]:
        """Return how much of the question each of its terms is: its rarity times how often it is asked."""
        return {term: rarity * self.terms[term] for term, rarity in self.rarities().items()}


class QuestionTerms(Struct, frozen=True):
    """The terms of a question by weight, and how the words for them begin."""

    weights: Mapping[int, float]
    prefixes: tuple[str, ...]

    @classmethod
    def read(cls, question: str, weights: Mapping[int, float]) -> "QuestionTerms":
        """Read the terms of a question, whose weights are known."""
        return cls(weights, tuple(sorted({term[:_TERM_PREFIX_CHARS] for term in analyze(question)})))


def understand(question: str, snapshot: Snapshot, embedder: Embedder | None, history: Sequence[str] = ()) -> Query:
    """Return the query for a question, coloured by the turns before it, latest first."""
    text = question[:_MAX_QUESTION_CHARS]
    turns = [
        (text, 1.0),
        *((turn[:_MAX_QUESTION_CHARS], _LAST_TURN_WEIGHT * _TURN_DECAY**age) for age, turn in enumerate(history)),
    ]
    words_by_turn = [analyze(turn) for turn, _ in turns]
    terms = {term: float(count) for term, count in Counter(term_hashes(words_by_turn[0])).items()}
    for words, (_, weight) in zip(words_by_turn[1:], turns[1:], strict=True):
        # A term repeated from turn to turn counts once, with its highest weight.
        terms |= {term: max(terms.get(term, 0.0), weight) for term in term_hashes(words)}
    spellings = [(part, other, term_hash(other)) for part, other in spell_otherwise(text)]
    statistics = snapshot.statistics((*terms, *(hash for *_, hash in spellings if hash not in terms)))
    for part, other, hash in spellings:
        # A spelling that the store does not use says nothing, and must not count as a word that is missing.
        if hash not in terms and statistics.frequency.get(hash):
            # The number of a name, as in HTTP/3 for http3, says nothing alone.
            replaced = term_hashes([term for term in part if term.isdecimal() and other.endswith(term)])
            missing = {term for term in term_hashes(part) if not statistics.frequency.get(term)}.union(replaced)
            terms = {term: weight for term, weight in terms.items() if term not in missing}
            terms[hash] = 1.0 if missing else _OTHER_SPELLING_WEIGHT
    turns[0] = (_without_common_languages(text, statistics), 1.0)
    # Embedded apart and then averaged: turns joined into one text would drown the question.
    vector, notes = _embed_turns(turns, embedder)
    quality = _embed_turns(turns, embedder.quality)[0] if isinstance(embedder, LayeredEmbedder) else None
    query = Query(text, terms, vector, statistics, notes=notes, quality_vector=quality)
    return replace(query, phrases=build_phrases(words_by_turn[0], query.rarities()))


def _without_common_languages(question: str, statistics: TermStatistics) -> str:
    """Return the question without the names of languages in which much of the store is written.

    Words have their rarity in the store, which makes such a name count for little; a vector has none, and half of
    that of "python check file is readonly" would be about Python.
    """
    ceiling = _MAX_PROPOSING_SHARE * statistics.passages
    named = [word for word in _WORD.findall(question) if is_code(word)]
    common = {
        word
        for word in named
        if any(statistics.frequency.get(term, 0) > ceiling for term in term_hashes(analyze(word)))
    }
    if not common:
        return question
    left = _WORD.sub(lambda word: "" if word[0] in common else word[0], question)
    return left if any(word.lower() not in STOP_WORDS for word in _WORD.findall(left)) else question


def _embed_turns(
    turns: Sequence[tuple[str, float]], embed: Embedder | None
) -> tuple["NDArray[np.float32] | None", tuple[str, ...]]:
    """Return the weighted mean of the turns' vectors, of unit length; None and a note where the embedder fails."""
    turns = [(turn, weight) for turn, weight in turns if turn.strip()]
    if embed is None or not turns:
        return None, ()
    try:
        vectors = embed.embed([turn for turn, _ in turns])
    except EmbedderError as error:
        return None, (f"Meaning is left out, candidates come from words and links alone. {error}",)
    if len(turns) == 1:
        return np.asarray(vectors[0], dtype=np.float32), ()
    mean = np.array([weight for _, weight in turns]) @ vectors.astype(np.float64)
    length = float(np.linalg.norm(mean))
    return (mean / (length or 1.0)).astype(np.float32), ()


def narrow(query: Query, filter: Filter, snapshot: Snapshot) -> Query:
    """Reweigh the query for the few nodes that a filter leaves: words that most of these hold count for less.

    A term then weighs by the geometric mean of how rare it is among them and in the whole view.
    """
    if not query.terms or not (filter.where or filter.tags):
        return query
    ids = snapshot.matching_ids(filter)
    # Among one node every word is as common as any other, which says nothing.
    if not 1 < len(ids) <= _MAX_NARROWED_NODES:
        return query
    terms = sorted(query.terms)
    rarity_here = inverse_frequency(passage_statistics(snapshot.passages_of_nodes(ids.tolist()), terms), terms)
    # Rounded, so that the last digits of a root are the same on every machine.
    factors = np.sqrt(rarity_here / inverse_frequency(query.statistics, terms)).round(9).tolist()
    weighed = {term: query.terms[term] * factor for term, factor in zip(terms, factors, strict=True)}
    return replace(query, terms=weighed)


def proposing_terms(query: Query) -> tuple[int, ...]:
    """Return the rarest terms of the query: very frequent ones only order candidates, they do not propose any."""
    frequency = query.statistics.frequency
    known = sorted((frequency[term], term) for term in query.terms if frequency.get(term, 0) > 0)
    # The rarest term always proposes, even where every word of the question is frequent.
    ceiling = max(_MAX_PROPOSING_SHARE * query.statistics.passages, known[0][0] if known else 0)
    return tuple(term for count, term in known if count <= ceiling)[:_MAX_PROPOSING_TERMS]


class Scale(Struct, frozen=True):
    """The best BM25 score and the best cosine of a search; other scores are shares of these."""

    lexical_top: float = 0.0
    cosine_top: float = 0.0

    @classmethod
    def of(cls, score: "Floats", cosine: "Floats") -> "Scale":
        """Return the scale on which the best of these scores is 1."""
        return cls(float(score.max(initial=0.0)), float(cosine.max(initial=0.0)))

    def lexical(self, score: "Floats") -> "Floats":
        """Return BM25 scores as shares of the best."""
        return _share(score, self.lexical_top)

    def relevance(self, score: "Floats", cosine: "Floats", fusion: Fusion) -> "Floats":
        """Return the convex sum of both shares; a search that found nothing leaves its weight to the other."""
        lexical = fusion.lexical if self.lexical_top > 0 else 0.0
        semantic = fusion.semantic if self.cosine_top > 0 else 0.0
        total = (lexical + semantic) or 1.0
        fused = lexical * _share(score, self.lexical_top) + semantic * _share(cosine, self.cosine_top)
        return np.round(fused / total, 9)


def _share(score: "Floats", top: float) -> "Floats":
    return np.clip(score / top, 0.0, 1.0) if top > 0 else np.zeros(len(score))


def sum_gains(term_gains: "Floats") -> "Floats":
    """Return the BM25 score of each passage: the sum of what its terms add."""
    scores: Floats = np.round(term_gains.sum(axis=1), 9)
    return scores


def read_cosines(
    rows: Sequence[PassageRow], known: Mapping[int, float], query: Query | None, snapshot: Snapshot
) -> "Floats":
    """Return the cosine of every row, computed from the stored vectors where the search did not return it."""
    ids = [row.id for row in rows]
    cosine = np.array([known.get(id, 0.0) for id in ids], dtype=np.float64)
    missing = [index for index, id in enumerate(ids) if id not in known]
    if query is not None and query.vector is not None and missing:
        missing_ids = [ids[index] for index in missing]
        vectors = snapshot.vectors(missing_ids)
        # In double precision, so that the position of a row in the matrix does not show after rounding.
        cosine[missing] = np.round(vectors.astype(np.float64) @ query.vector.astype(np.float64), 6)
        if query.quality_vector is not None:
            from weft.pipeline.quality import blend_cosines

            cosine[missing] = blend_cosines(cosine[missing], missing_ids, query.quality_vector, snapshot)
    return cosine


class Pool(Struct, frozen=True):
    """Passages with their scores on one scale; `indices` lists the passages of each node, by node id."""

    rows: Sequence[PassageRow]
    scale: Scale
    terms: Sequence[int]
    gains: Sequence[Sequence[float]]
    relevance: Sequence[float]
    lexical: Sequence[float]
    cosine: Sequence[float]
    indices: Mapping[int, list[int]]
    phrases: Mapping[Phrase, float]

    @classmethod
    def measure(
        cls,
        rows: Sequence[PassageRow],
        query: Query,
        cosine: "Floats",
        scale: Scale | None,
        fusion: Fusion,
        *,
        term_gains: "Floats | None" = None,
    ) -> "Pool":
        """Measure the rows against the query on the given scale, or on their own where it is None.

        `term_gains` saves computing what each term adds to each row where the caller knows it already.
        """
        indices: dict[int, list[int]] = {}
        for index, row in enumerate(rows):
            indices.setdefault(row.node_id, []).append(index)
        if term_gains is None:
            term_gains = score_terms(TermColumns.of(rows), query.terms, query.statistics, fusion.title_weight)
        score = sum_gains(term_gains)
        known = scale or Scale.of(score, cosine)
        # Plain lists, because most nodes have one passage, for which an array is slower than a look-up.
        relevance, lexical = known.relevance(score, cosine, fusion).tolist(), known.lexical(score).tolist()
        scaled = np.round(term_gains / (known.lexical_top or 1.0), 9).tolist()
        phrases: dict[Phrase, float] = {}
        if fusion.phrase_weight:
            phrases = {phrase: round(fusion.phrase_weight * phrase.share, 9) for phrase in query.phrases}
        terms = sorted(query.terms)
        return cls(rows, known, terms, scaled, relevance, lexical, cosine.tolist(), indices, phrases)

    def best(self, node: int) -> float:
        """Return the relevance of a node's best passage."""
        return max([self.relevance[index] for index in self.indices[node]])

    def passes_floor(self, node: int, floor: float) -> bool:
        """Return whether a node shares a word with the question, or is similar enough without one."""
        return any(self.lexical[index] > 0 or self.cosine[index] >= floor for index in self.indices[node])

    def measure_node(self, node: Node) -> NodeMeasures:
        """Return the best of each score over a node's passages, the gain of each term and phrase of the question,
        the spans of the best passages, and the packed hashes of their terms."""
        indices = self.indices[node.id]
        if len(indices) == 1:
            return self._measure_single(indices[0], node)
        lexical, covers = self.lexical_match(
            max(indices, key=lambda index: (self.lexical[index], -self.rows[index].passage.ordinal)), node
        )
        semantic = max(0.0, *[self.cosine[index] for index in indices])
        best_first = sorted(indices, key=lambda index: (-self.relevance[index], self.rows[index].passage.ordinal))
        rows = [self.rows[index] for index in best_first[:_MAX_SPANS]]
        return (
            {"relevance": self.best(node.id), "lexical": lexical, "semantic": semantic},
            covers,
            tuple([(row.passage.start, row.passage.end) for row in rows]),
            b"".join([row.term_hashes for row in rows]),
        )

    def _measure_single(self, index: int, node: Node) -> NodeMeasures:
        """Return the same for a node of one passage, as most are, without sorting anything."""
        row, (lexical, covers) = self.rows[index], self.lexical_match(index, node)
        parts = {"relevance": self.relevance[index], "lexical": lexical, "semantic": max(0.0, self.cosine[index])}
        return parts, covers, ((row.passage.start, row.passage.end),), row.term_hashes

    def lexical_match(self, index: int, node: Node) -> tuple[float, dict[int, float]]:
        """Return the lexical score of a node's passage, and the gain of each term and phrase of the question."""
        covers = {term: gain for term, gain in zip(self.terms, self.gains[index], strict=True) if gain > 0}
        if not self.phrases:
            return round(self.lexical[index], 9), covers
        passage = self.rows[index].passage
        matches = find_held_phrases(self.phrases, covers, node.title, node.text[passage.start : passage.end])
        # A phrase counts like a term of its own, so that coverage treats its repetition the same way.
        covers |= {phrase.key: self.phrases[phrase] for phrase in matches}
        return round(self.lexical[index] + sum([self.phrases[phrase] for phrase in matches]), 9), covers
