"""The documented Python entry points of each design, thin over the one engine."""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from weft.facades.learning import (
        ContextAssembler,
        ContextAssemblyError,
        ContextItem,
        FormattedContext,
        InvalidContextTypeError,
        Searcher,
        assemble_context,
        get_premortem_context,
    )
    from weft.facades.results import Entity, SearchResult
    from weft.facades.store_searcher import StoreSearcher
    from weft.facades.workspace import AssembledContext, AssemblyOptions, ContextSource, assemble

_HOMES: Final = {
    "AssembledContext": "weft.facades.workspace",
    "AssemblyOptions": "weft.facades.workspace",
    "ContextAssembler": "weft.facades.learning",
    "ContextAssemblyError": "weft.facades.learning",
    "ContextItem": "weft.facades.learning",
    "ContextSource": "weft.facades.workspace",
    "Entity": "weft.facades.results",
    "FormattedContext": "weft.facades.learning",
    "InvalidContextTypeError": "weft.facades.learning",
    "SearchResult": "weft.facades.results",
    "Searcher": "weft.facades.learning",
    "StoreSearcher": "weft.facades.store_searcher",
    "assemble": "weft.facades.workspace",
    "assemble_context": "weft.facades.learning",
    "get_premortem_context": "weft.facades.learning",
}

__all__ = [
    "AssembledContext",
    "AssemblyOptions",
    "ContextAssembler",
    "ContextAssemblyError",
    "ContextItem",
    "ContextSource",
    "Entity",
    "FormattedContext",
    "InvalidContextTypeError",
    "SearchResult",
    "Searcher",
    "StoreSearcher",
    "assemble",
    "assemble_context",
    "get_premortem_context",
]


def __getattr__(name: str) -> Any:
    """The entry points, loaded when first used: each design pays only for what it needs."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'weft.facades' has no attribute {name!r}")
