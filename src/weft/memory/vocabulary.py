"""The closed vocabularies of the learning memory: what a memory, an experience and its outcome may be called."""

from collections.abc import Sequence
from typing import Final

from weft.errors import InvalidInput, UnknownName

MEMORY: Final = "memory"
EXPERIENCE: Final = "experience"
VALUE: Final = "value"

CATEGORIES: Final = ("fact", "preference", "decision", "error", "workflow", "context")
DOMAINS: Final = (
    "debugging",
    "refactoring",
    "feature",
    "testing",
    "configuration",
    "documentation",
    "performance",
    "security",
    "integration",
)
STRATEGIES: Final = (
    "systematic-elimination",
    "trial-and-error",
    "research-first",
    "divide-and-conquer",
    "root-cause-analysis",
    "copy-from-similar",
    "check-assumptions",
    "read-the-error",
    "ask-user",
)
ROOT_CAUSES: Final = (
    "wrong-assumption",
    "missing-knowledge",
    "oversight",
    "environment-issue",
    "misleading-symptom",
    "incomplete-fix",
    "wrong-scope",
    "test-isolation",
    "timing-issue",
)
OUTCOMES: Final = ("confirmed", "falsified", "abandoned")
OPEN: Final = "open"
TIERS: Final = ("gold", "silver", "bronze", "abandoned")
AXES: Final = ("full", "strategy", "surprise", "root_cause")


def one_of(what: str, given: str, allowed: Sequence[str]) -> str:
    """The given word if the vocabulary has it, else an error that lists the vocabulary."""
    word = given.strip().lower()
    if word not in allowed:
        raise UnknownName(what, given, allowed)
    return word


def fraction(what: str, given: float) -> float:
    """A number from 0 to 1, or an error that says so."""
    if not 0.0 <= given <= 1.0:
        raise InvalidInput(f"{what} {given} is out of range. Give a number from 0 to 1.")
    return float(given)


def words(what: str, given: str, most: int, advice: str) -> str:
    """A text that says something and is not too long, without blanks around it."""
    text = given.strip()
    if not text:
        raise InvalidInput(f"The {what} is empty. Say it in a few words.")
    if len(text) > most:
        raise InvalidInput(f"The {what} has {len(text):,} characters; at most {most:,} are kept. {advice}")
    return text
