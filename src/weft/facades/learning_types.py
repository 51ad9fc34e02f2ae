"""What callers of the learning memory get."""

from dataclasses import field
from typing import Any

from weft.frozen import dataclass


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One piece of context: what it is, how it is printed, how relevant it is (0..1), and the facts about it."""

    source: str
    content: str
    relevance: float
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FormattedContext:
    """A page within its budget, and its items by relevance; `notes` name the sources that are missing."""

    markdown: str = ""
    items: list[ContextItem] = field(default_factory=list)
    token_count: int = 0
    sources_used: dict[str, int] = field(default_factory=dict)
    budget_exceeded: bool = False
    """Always False: the budget is hard."""
    notes: tuple[str, ...] = ()
