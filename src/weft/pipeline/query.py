"""A question as the searches see it: terms, vector, phrases, and how telling each of its words is in a view."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.errors import EmbedderError
from weft.frozen import dataclass
from weft.model import Filter
from weft.ports import Embedder, Snapshot, TermStatistics
from weft.scoring.bm25 import inverse_frequency, statistics_of, term_hashes
from weft.text import analyze
from weft.text.phrases import Phrase, phrases

if TYPE_CHECKING:
    from numpy.typing import NDArray


_PROPOSING_TERMS: Final = 24
_FREQUENT: Final = 0.2
_QUESTION_LIMIT: Final = 20_000
_FEW: Final = 400
"""Of more nodes than this that a filter leaves, the statistics of the whole view tell as much."""
_RECALLED: Final = 0.5
_FADING: Final = 0.8
"""What the turn before the question weighs, and how much of that each turn before it."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question as the searches see it: its terms with their weights, its vector, the view's statistics, and
    the words that stand side by side in it."""

    text: str
    terms: Mapping[int, float]
    vector: "NDArray[np.float32] | None"
    statistics: TermStatistics
    phrases: tuple[Phrase, ...] = ()
    notes: tuple[str, ...] = ()
    """What of it could not be understood."""

    def weights(self) -> dict[int, float]:
        """How telling each term of the question is in this view."""
        terms = sorted(self.terms)
        return dict(zip(terms, inverse_frequency(self.statistics, terms).tolist(), strict=True))

    def mass(self) -> dict[int, float]:
        """How much of the question each of its terms is: how telling it is, by how often it is asked."""
        return {term: weight * self.terms[term] for term, weight in self.weights().items()}


def understand(question: str, snapshot: Snapshot, embed: Embedder | None, history: Sequence[str] = ()) -> Query:
    """The question's terms, vector and statistics, coloured by the turns before it, latest first."""
    asked = question[:_QUESTION_LIMIT]
    turns = [
        (asked, 1.0),
        *((turn[:_QUESTION_LIMIT], _RECALLED * _FADING**age) for age, turn in enumerate(history)),
    ]
    said = [analyze(turn) for turn, _ in turns]
    terms = {term: float(count) for term, count in Counter(term_hashes(said[0])).items()}
    for words, (_, weight) in zip(said[1:], turns[1:], strict=True):
        # A term repeated from turn to turn tells no more than where it weighs most.
        terms |= {term: max(terms.get(term, 0.0), weight) for term in term_hashes(words)}
    vector, notes = _meaning(turns, embed)
    query = Query(asked, terms, vector, snapshot.statistics(tuple(terms)), notes=notes)
    return replace(query, phrases=phrases(said[0], query.weights()))


def _meaning(
    turns: Sequence[tuple[str, float]], embed: Embedder | None
) -> tuple["NDArray[np.float32] | None", tuple[str, ...]]:
    """The vector of the turns; where the embedder does not answer, none and why."""
    try:
        return _vector(turns, embed), ()
    except EmbedderError as error:
        return None, (f"Meaning is left out, candidates come from words and links alone. {error}",)


def _vector(turns: Sequence[tuple[str, float]], embed: Embedder | None) -> "NDArray[np.float32] | None":
    """The weighted mean of the turns' vectors, of unit length."""
    said = [(turn, weight) for turn, weight in turns if turn.strip()]
    if embed is None or not said:
        return None
    vectors = embed.embed([turn for turn, _ in said])
    if len(said) == 1:
        return np.asarray(vectors[0], dtype=np.float32)
    mean = np.array([weight for _, weight in said]) @ vectors.astype(np.float64)
    length = float(np.linalg.norm(mean))
    unit: NDArray[np.float32] = (mean / (length or 1.0)).astype(np.float32)
    return unit


def narrow(query: Query, filter: Filter, snapshot: Snapshot) -> Query:
    """The query for the few nodes that a filter leaves: what most of them say tells them apart less.

    A term then weighs by the geometric mean of how rare it is among them and in the whole view.
    """
    if not query.terms or not (filter.where or filter.tags):
        return query
    ids = snapshot.matching(filter)
    if not 1 < len(ids) <= _FEW:
        return query
    terms = sorted(query.terms)
    here = inverse_frequency(statistics_of(snapshot.passages_of(ids.tolist()), terms), terms)
    factor = np.sqrt(here / inverse_frequency(query.statistics, terms)).round(9).tolist()
    weighed = {term: query.terms[term] * each for term, each in zip(terms, factor, strict=True)}
    return replace(query, terms=weighed)


def proposing_terms(query: Query) -> tuple[int, ...]:
    """The rarest terms of the query: very frequent ones only order candidates, they do not propose any."""
    frequency = query.statistics.frequency
    known = sorted((frequency[term], term) for term in query.terms if frequency.get(term, 0) > 0)
    ceiling = max(_FREQUENT * query.statistics.passages, known[0][0] if known else 0)
    return tuple(term for count, term in known if count <= ceiling)[:_PROPOSING_TERMS]
