"""What a coding agent learns: memories, experiences and what emerges from them, by value and as nodes."""

from weft.memory.experience_nodes import experience_nodes, experience_of
from weft.memory.experiences import (
    AlreadyResolved,
    Attempt,
    Experience,
    Lesson,
    Outcome,
    RootCause,
    attempted_again,
    begun,
    ended,
)
from weft.memory.judge import Judgement, Verdict, judge
from weft.memory.memories import Earlier, Memory, changed, memory_node, memory_of, merged, new_memory
from weft.memory.usage import UsageBook, Used
from weft.memory.values import Value, emerging, value_node, value_of
from weft.memory.vocabulary import (
    AXES,
    CATEGORIES,
    DOMAINS,
    EXPERIENCE,
    MEMORY,
    OPEN,
    OUTCOMES,
    ROOT_CAUSES,
    STRATEGIES,
    TIERS,
    VALUE,
    one_of,
)

__all__ = [
    "AXES",
    "CATEGORIES",
    "DOMAINS",
    "EXPERIENCE",
    "MEMORY",
    "OPEN",
    "OUTCOMES",
    "ROOT_CAUSES",
    "STRATEGIES",
    "TIERS",
    "VALUE",
    "AlreadyResolved",
    "Attempt",
    "Earlier",
    "Experience",
    "Judgement",
    "Lesson",
    "Memory",
    "Outcome",
    "RootCause",
    "UsageBook",
    "Used",
    "Value",
    "Verdict",
    "attempted_again",
    "begun",
    "changed",
    "emerging",
    "ended",
    "experience_nodes",
    "experience_of",
    "judge",
    "memory_node",
    "memory_of",
    "merged",
    "new_memory",
    "one_of",
    "value_node",
    "value_of",
]
