"""Find handlers by the names of their jobs."""

from collections.abc import Callable
from importlib import import_module

from pigeonhole.worker import Handler

_known: dict[str, Handler] = {}


def handles(name: str) -> Callable[[Handler], Handler]:
    """Register a function for the jobs of one name. Two functions for one name are a mistake."""

    def register(handler: Handler) -> Handler:
        if name in _known:
            raise ValueError(f"two handlers are called {name!r}")
        _known[name] = handler
        return handler

    return register


def load(*modules: str) -> dict[str, Handler]:
    """Import the modules that register handlers, and return all of them."""
    for module in modules:
        import_module(module)
    return dict(_known)
