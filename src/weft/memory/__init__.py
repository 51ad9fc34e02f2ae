"""The learning memory of coding agents: memories, experiences, and the values that emerge from them.

Each is a frozen record (memories, experiences, values), is kept as nodes, and is written and found by its `_store`
module. `judge` finds repetitions and contradictions among memories.
"""

# The `_store` modules are not imported here: they load indexing, which readers do not need.
from weft.history.usage import HookCounts, MemoryUsage, UsageLog
from weft.memory.experience_nodes import experience_from_node, experience_nodes
from weft.memory.experiences import (
    AlreadyResolved,
    Attempt,
    Experience,
    Lesson,
    Outcome,
    RootCause,
    add_attempt,
    apply_outcome,
    new_experience,
    withdraw_outcome,
)
from weft.memory.memories import (
    Earlier,
    Memory,
    change_memory,
    memory_from_node,
    memory_node,
    merge_memories,
    new_memory,
)
from weft.memory.values import Value, find_values, value_from_node, value_node
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
    check_word,
)
from weft.text.judge import Judgement, Verdict, judge

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
    "HookCounts",
    "Judgement",
    "Lesson",
    "Memory",
    "MemoryUsage",
    "Outcome",
    "RootCause",
    "UsageLog",
    "Value",
    "Verdict",
    "add_attempt",
    "apply_outcome",
    "change_memory",
    "check_word",
    "experience_from_node",
    "experience_nodes",
    "find_values",
    "judge",
    "memory_from_node",
    "memory_node",
    "merge_memories",
    "new_experience",
    "new_memory",
    "value_from_node",
    "value_node",
    "withdraw_outcome",
]
