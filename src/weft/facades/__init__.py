"""The documented Python entry points of each design, thin over the one engine."""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from weft.facades.learning import (
        ContextAssembler,
        ContextAssemblyError,
        InvalidContextTypeError,
        Searcher,
        assemble_context,
        get_premortem_context,
    )
    from weft.facades.learning_types import ContextItem, FormattedContext
    from weft.facades.narrative import SmartContextFormatter, smart_formatter
    from weft.facades.narrative_entities import Chunk, EntityContext, EntityContextBuilder
    from weft.facades.narrative_priority import (
        ImportancePriority,
        NarrativePriority,
        PriorityStrategy,
        RelevancePriority,
        UsageBasedPriority,
    )
    from weft.facades.results import Entity, SearchResult
    from weft.facades.store_searcher import StoreSearcher
    from weft.facades.workspace import AssembledContext, AssemblyOptions, ContextSource, assemble

_HOMES: Final = {
    "AssembledContext": "weft.facades.workspace",
    "AssemblyOptions": "weft.facades.workspace",
    "Chunk": "weft.facades.narrative_entities",
    "ContextAssembler": "weft.facades.learning",
    "ContextAssemblyError": "weft.facades.learning",
    "ContextItem": "weft.facades.learning_types",
    "ContextSource": "weft.facades.workspace",
    "Entity": "weft.facades.results",
    "EntityContext": "weft.facades.narrative_entities",
    "EntityContextBuilder": "weft.facades.narrative_entities",
    "FormattedContext": "weft.facades.learning_types",
    "ImportancePriority": "weft.facades.narrative_priority",
    "InvalidContextTypeError": "weft.facades.learning",
    "NarrativePriority": "weft.facades.narrative_priority",
    "PriorityStrategy": "weft.facades.narrative_priority",
    "RelevancePriority": "weft.facades.narrative_priority",
    "SearchResult": "weft.facades.results",
    "Searcher": "weft.facades.learning",
    "SmartContextFormatter": "weft.facades.narrative",
    "StoreSearcher": "weft.facades.store_searcher",
    "UsageBasedPriority": "weft.facades.narrative_priority",
    "assemble": "weft.facades.workspace",
    "assemble_context": "weft.facades.learning",
    "get_premortem_context": "weft.facades.learning",
    "smart_formatter": "weft.facades.narrative",
}

__all__ = [
    "AssembledContext",
    "AssemblyOptions",
    "Chunk",
    "ContextAssembler",
    "ContextAssemblyError",
    "ContextItem",
    "ContextSource",
    "Entity",
    "EntityContext",
    "EntityContextBuilder",
    "FormattedContext",
    "ImportancePriority",
    "InvalidContextTypeError",
    "NarrativePriority",
    "PriorityStrategy",
    "RelevancePriority",
    "SearchResult",
    "Searcher",
    "SmartContextFormatter",
    "StoreSearcher",
    "UsageBasedPriority",
    "assemble",
    "assemble_context",
    "get_premortem_context",
    "smart_formatter",
]


def __getattr__(name: str) -> Any:
    """The entry points, loaded when first used: each design pays only for what it needs."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'weft.facades' has no attribute {name!r}")
