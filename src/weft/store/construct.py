"""Frozen records at half the cost: rows become objects by the hundred for every answer."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

Record = TypeVar("Record")


def constructor(record: type[Record]) -> Callable[..., Record]:
    """A function that takes all fields by position and returns the frozen, slotted dataclass.

    A frozen dataclass looks up every field anew when it sets it; this sets the slots directly. Written as source
    because a loop over the slots would cost as much as it saves.
    """
    names = [field.name for field in fields(record)]  # type: ignore[arg-type]
    lines = [f"def make({', '.join(names)}):", " record = new(type_)"]
    lines += [f" set_{name}(record, {name})" for name in names]
    scope: dict[str, Any] = {f"set_{name}": getattr(record, name).__set__ for name in names}
    scope |= {"new": object.__new__, "type_": record}
    exec("\n".join([*lines, " return record"]), scope)
    made: Callable[..., Record] = scope["make"]
    return made
