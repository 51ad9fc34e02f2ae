"""Provide the documented Python entry points of each design, thin layers over the one engine.

Each name is imported from its module when it is first used, so that a design costs only what it needs.
"""

from typing import TYPE_CHECKING, Any, Final

# Type checkers and editors read these; at run time `_MODULES` below says the same.
if TYPE_CHECKING:
    from weft.assemblers.learning.assembler import (
        ContextAssembler,
        ContextAssemblyError,
        InvalidContextTypeError,
        Searcher,
        assemble_context,
        get_premortem_context,
    )
    from weft.assemblers.learning.results import ContextItem, FormattedContext
    from weft.assemblers.learning.store_searcher import StoreSearcher
    from weft.assemblers.narrative.entity_context import (
        Chunk,
        EntityContext,
        EntityContextBuilder,
        ImportancePriority,
        NarrativePriority,
        PriorityStrategy,
        RelevancePriority,
        UsageBasedPriority,
    )
    from weft.assemblers.narrative.formatter import SmartContextFormatter, smart_formatter
    from weft.assemblers.workspace import (
        AssembledContext,
        AssemblyOptions,
        ContextSource,
        Entity,
        SearchResult,
        WorkspaceAssembler,
        assemble,
    )


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
    "WorkspaceAssembler",
    "assemble",
    "assemble_context",
    "get_premortem_context",
    "smart_formatter",
]

_MODULES: Final = {
    "AssembledContext": "weft.assemblers.workspace",
    "AssemblyOptions": "weft.assemblers.workspace",
    "Chunk": "weft.assemblers.narrative.entity_context",
    "ContextAssembler": "weft.assemblers.learning.assembler",
    "ContextAssemblyError": "weft.assemblers.learning.assembler",
    "ContextItem": "weft.assemblers.learning.results",
    "ContextSource": "weft.assemblers.workspace",
    "Entity": "weft.assemblers.workspace",
    "EntityContext": "weft.assemblers.narrative.entity_context",
    "EntityContextBuilder": "weft.assemblers.narrative.entity_context",
    "FormattedContext": "weft.assemblers.learning.results",
    "ImportancePriority": "weft.assemblers.narrative.entity_context",
    "InvalidContextTypeError": "weft.assemblers.learning.assembler",
    "NarrativePriority": "weft.assemblers.narrative.entity_context",
    "PriorityStrategy": "weft.assemblers.narrative.entity_context",
    "RelevancePriority": "weft.assemblers.narrative.entity_context",
    "SearchResult": "weft.assemblers.workspace",
    "Searcher": "weft.assemblers.learning.assembler",
    "SmartContextFormatter": "weft.assemblers.narrative.formatter",
    "StoreSearcher": "weft.assemblers.learning.store_searcher",
    "UsageBasedPriority": "weft.assemblers.narrative.entity_context",
    "WorkspaceAssembler": "weft.assemblers.workspace",
    "assemble": "weft.assemblers.workspace",
    "assemble_context": "weft.assemblers.learning.assembler",
    "get_premortem_context": "weft.assemblers.learning.assembler",
    "smart_formatter": "weft.assemblers.narrative.formatter",
}
"""The module of each entry point."""


def __getattr__(name: str) -> Any:
    """Import an entry point when it is first used."""
    # Needed by the first use of a name only, like the modules themselves.
    from importlib import import_module

    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'weft.assemblers' has no attribute {name!r}")
