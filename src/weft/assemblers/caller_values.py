"""Read values of what callers hand over, which may be a mapping or any object."""

from collections.abc import Mapping
from typing import Any


def first_value(holder: object, *names: str) -> Any:
    """Return the value of the first of the names that a mapping or an object has one for, else None."""
    for name in names:
        value = holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
        # A method, such as `dict.values` or `str.title`, is no value.
        if value is not None and not callable(value):
            return value
    return None
