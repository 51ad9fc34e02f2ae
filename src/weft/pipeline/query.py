"""Read a question as the searches need it: terms, vector, phrases, and how telling each word is in a view."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.errors import EmbedderError
from weft.frozen import dataclass
from weft.model import Filter
from weft.ports import Embedder, Snapshot, TermStatistics
from weft.scoring.bm25 import inverse_frequency, passage_statistics, term_hashes
from weft.text import analyze
from weft.text.phrases import Phrase, phrases

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MAX_PROPOSING_TERMS: Final = 24
"""Terms by which an index proposes passages, the rarest first; more make searches for pasted logs slow."""
_MAX_PROPOSING_SHARE: Final = 0.2
"""A term in more than this share of all passages proposes none: it would return most of the store."""
_MAX_QUESTION_CHARS: Final = 20_000
"""Characters of a question, or of an earlier turn, that are read; embedders read far fewer."""
_MAX_NARROWED_NODES: Final = 400
"""Of more nodes than this that a filter leaves, the statistics of the whole view say as much, and cost less."""
_LAST_TURN_WEIGHT: Final = 0.5
"""The weight of the turn before the question: it colours the answer and does not decide it."""
_TURN_DECAY: Final = 0.8
"""The factor by which each turn before that weighs less."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question as the searches see it: its terms with their weights, its vector, the view's statistics, and
    the phrases in it."""

    text: str
    terms: Mapping[int, float]
    vector: "NDArray[np.float32] | None"
    statistics: TermStatistics
    phrases: tuple[Phrase, ...] = ()
    notes: tuple[str, ...] = ()
    """The parts of the question that could not be used, and why."""

    def rarities(self) -> dict[int, float]:
        """Return how telling each term of the question is in this view, by term."""
        terms = sorted(self.terms)
        return dict(zip(terms, inverse_frequency(self.statistics, terms).tolist(), strict=True))

    def term_weights(self) -> dict[int, float]:
        """Return how much of the question each of its terms is: its rarity times how often it is asked."""
        return {term: rarity * self.terms[term] for term, rarity in self.rarities().items()}


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
    vector, notes = _embed_turns(turns, embedder)
    query = Query(text, terms, vector, snapshot.statistics(tuple(terms)), notes=notes)
    return replace(query, phrases=phrases(words_by_turn[0], query.rarities()))


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
    if not 1 < len(ids) <= _MAX_NARROWED_NODES:
        return query
    terms = sorted(query.terms)
    rarity_here = inverse_frequency(passage_statistics(snapshot.passages_of_nodes(ids.tolist()), terms), terms)
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
