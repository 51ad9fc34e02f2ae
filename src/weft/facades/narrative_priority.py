"""What makes one passage about an entity come before another: swappable, each a value of one type."""

from dataclasses import field

from weft.frozen import dataclass
from weft.profile import Order, Score


@dataclass(frozen=True, slots=True)
class PriorityStrategy:
    """How the passages of an entity are ranked, and in which order those that fit are printed."""

    score: Score
    order: Order = "score"


def _by(**weights: float) -> Score:
    return Score(weights=weights)


@dataclass(frozen=True, slots=True)
class UsageBasedPriority(PriorityStrategy):
    """Passages that name the entity most, among those that have to do with the query."""

    score: Score = field(default_factory=lambda: _by(usage=0.6, relevance=0.4))


@dataclass(frozen=True, slots=True)
class RelevancePriority(PriorityStrategy):
    """Passages that have most to do with the query."""

    score: Score = field(default_factory=lambda: _by(relevance=1.0))


@dataclass(frozen=True, slots=True)
class ImportancePriority(PriorityStrategy):
    """Passages from the texts that matter most in the whole story."""

    score: Score = field(default_factory=lambda: _by(importance=0.7, relevance=0.3))


@dataclass(frozen=True, slots=True)
class NarrativePriority(PriorityStrategy):
    """The passages that have most to do with the query, in the order of the story."""

    score: Score = field(default_factory=lambda: _by(relevance=0.7, usage=0.3))
    order: Order = "sequence"
