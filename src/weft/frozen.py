"""Frozen records that are made at half the cost: every answer makes them by the hundred."""

from dataclasses import MISSING, fields
from typing import Any, TypeVar

Record = TypeVar("Record")


def quickly_made(record: type[Record]) -> type[Record]:
    """The frozen, slotted dataclass with an `__init__` that sets its slots directly.

    The one that dataclasses write looks up every field anew to set it. Written as source, as theirs is, because a
    loop over the slots would cost as much as it saves.
    """
    scope: dict[str, Any] = {"MISSING": MISSING}
    parameters, lines = [], []
    for field in fields(record):  # type: ignore[arg-type]
        name, given = field.name, field.name
        scope[f"set_{name}"] = getattr(record, name).__set__
        if field.default is not MISSING:
            scope[f"default_{name}"] = field.default
            parameters.append(f"{name}=default_{name}")
        elif field.default_factory is not MISSING:
            scope[f"make_{name}"] = field.default_factory
            parameters.append(f"{name}=MISSING")
            given = f"make_{name}() if {name} is MISSING else {name}"
        else:
            parameters.append(name)
        lines.append(f" set_{name}(self, {given})")
    exec("\n".join([f"def __init__(self, {', '.join(parameters)}):", *lines]), scope)
    made: Any = record
    made.__init__ = scope["__init__"]
    return record
