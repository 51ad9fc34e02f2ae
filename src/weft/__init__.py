"""Weft weaves what is known into what a model reads: one page, within its budget, every line cited."""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.model import Candidate, Context, Edge, Filter, Node, Origin, Request


__all__ = ["Candidate", "Context", "Edge", "Filter", "Node", "Origin", "Request", "Weft", "__version__"]

__version__ = "0.2.0"


def _warn_of_namesake(folder: str) -> None:
    """Warn if the folder of installed packages also has the other distribution that is imported as `weft`.

    Both write into one folder, so that each breaks files of the other. Metadata is not read: the names of the
    folder's entries are enough and cost a tenth of a millisecond.
    """
    try:
        namesakes = [name for name in os.listdir(folder) if name.startswith("weft-") and name.endswith("-info")]  # noqa: PTH208
    except OSError:
        # A package inside a zip file has no folder to look into.
        return
    if namesakes:
        import warnings

        warnings.warn(
            f"Another package called 'weft' ({namesakes[0]}) is installed in {folder}, and both are imported as "
            "weft. Remove both and install this one again: pip uninstall weft weft-context, then "
            "pip install weft-context",
            RuntimeWarning,
            stacklevel=3,
        )


# Not with pathlib, which would make `import weft` slower.
_warn_of_namesake(os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import weft` costs nothing."""
    if name == "Weft":
        from weft.api import Weft

        return Weft
    if name in __all__:
        from weft import model

        return getattr(model, name)
    raise AttributeError(f"module 'weft' has no attribute {name!r}")
