"""The documented Python entry points of each design, thin over the one engine."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from weft.facades.narrative import SmartContextFormatter, smart_formatter
    from weft.facades.narrative_entities import Chunk, EntityContext, EntityContextBuilder
    from weft.facades.narrative_priority import (
        ImportancePriority,
        NarrativePriority,
        PriorityStrategy,
        RelevancePriority,
        UsageBasedPriority,
    )

__all__ = [
    "Chunk",
    "EntityContext",
    "EntityContextBuilder",
    "ImportancePriority",
    "NarrativePriority",
    "PriorityStrategy",
    "RelevancePriority",
    "SmartContextFormatter",
    "UsageBasedPriority",
    "smart_formatter",
]

_HOMES: Final = {
    "narrative": ("SmartContextFormatter", "smart_formatter"),
    "narrative_entities": ("Chunk", "EntityContext", "EntityContextBuilder"),
    "narrative_priority": (
        "ImportancePriority",
        "NarrativePriority",
        "PriorityStrategy",
        "RelevancePriority",
        "UsageBasedPriority",
    ),
}


def __getattr__(name: str) -> Any:
    """The entry points, loaded when first used."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"weft.facades.{module}"), name)
    raise AttributeError(f"module 'weft.facades' has no attribute {name!r}")
