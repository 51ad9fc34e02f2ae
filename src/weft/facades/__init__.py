"""The documented Python entry points of each design, thin over the one engine."""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from weft.facades.results import Entity, SearchResult
    from weft.facades.workspace import AssembledContext, AssemblyOptions, ContextSource, assemble

_HOMES: Final = {
    "AssembledContext": "weft.facades.workspace",
    "AssemblyOptions": "weft.facades.workspace",
    "ContextSource": "weft.facades.workspace",
    "Entity": "weft.facades.results",
    "SearchResult": "weft.facades.results",
    "assemble": "weft.facades.workspace",
}

__all__ = ["AssembledContext", "AssemblyOptions", "ContextSource", "Entity", "SearchResult", "assemble"]


def __getattr__(name: str) -> Any:
    """The entry points, loaded when first used: each design pays only for what it needs."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'weft.facades' has no attribute {name!r}")
