"""The names under which the designs' entry points were first published; `weft.assemblers` is their home."""

from typing import Any

from weft import assemblers


def __getattr__(name: str) -> Any:
    return getattr(assemblers, name)
