"""Weft weaves what is known into what a model reads: one page, within its budget, every line cited."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.model import Candidate, Context, Edge, Filter, Node, Origin, Request


__all__ = ["Candidate", "Context", "Edge", "Filter", "Node", "Origin", "Request", "Weft", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import weft` costs nothing."""
    if name == "Weft":
        from weft.api import Weft

        return Weft
    if name in __all__:
        from weft import model

        return getattr(model, name)
    raise AttributeError(f"module 'weft' has no attribute {name!r}")
