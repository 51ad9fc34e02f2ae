"""Define the closed vocabularies of the learning memory, and check the words, numbers and texts it is given."""

from collections.abc import Sequence
from typing import Final

from weft.errors import InvalidInput, UnknownName

MEMORY: Final = "memory"
EXPERIENCE: Final = "experience"
VALUE: Final = "value"
"""The kinds of nodes of the learning memory."""

CATEGORIES: Final = ("fact", "instruction", "preference", "decision", "profile", "error", "workflow", "context")
"""The categories of a memory."""
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
"""The kinds of work that an agent was doing."""
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
"""How it went about it."""
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
"""Why a hypothesis was wrong."""
OUTCOMES: Final = ("confirmed", "falsified", "abandoned")
"""How an experience can end."""
OPEN: Final = "open"
"""The status of an experience until it has one of the outcomes."""
TIERS: Final = ("gold", "silver", "bronze", "abandoned")
"""How far an outcome can be relied on, from the most to the least."""
AXES: Final = ("full", "strategy", "surprise", "root_cause")
"""The sides on which an experience is searched, each a node of its own."""


def check_word(what: str, given: str, allowed: Sequence[str]) -> str:
    """Return the given word as the vocabulary has it, or raise an error that lists the vocabulary."""
    # Agents write "Debugging" and " debugging"; neither is worth an error.
    word = given.strip().lower()
    if word not in allowed:
        raise UnknownName(what, given, allowed)
    return word


def check_fraction(what: str, given: float) -> float:
    """Return a number from 0 to 1, or raise an error that says so."""
    # Written so that NaN, which compares false with everything, is refused too.
    if not 0.0 <= given <= 1.0:
        raise InvalidInput(f"{what} {given} is out of range. Give a number from 0 to 1.")
    return float(given)


def check_text(what: str, given: str, max_characters: int, advice: str) -> str:
    """Return a text without blanks around it, or raise an error if it is empty or too long."""
    text = given.strip()
    if not text:
        raise InvalidInput(f"The {what} is empty. Say it in a few words.")
    if len(text) > max_characters:
        raise InvalidInput(
            f"The {what} has {len(text):,} characters; at most {max_characters:,} are kept. {advice}"
        )
    return text
