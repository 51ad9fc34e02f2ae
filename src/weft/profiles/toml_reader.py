"""Which numbers each field of a profile takes."""

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import date, time
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, get_args, get_origin

from weft.errors import ProfileError, nearest
from weft.frozen import dataclass
from weft.model import Json
from weft.profiles.types import Block


@dataclass(frozen=True, slots=True)
class Bound:
    """Numbers from `least` to `most`; an open end leaves the end itself out."""

    least: float = 0.0
    most: float = math.inf
    open_least: bool = False
    open_most: bool = False

    def holds(self, number: float) -> bool:
        """Whether the number is one of them."""
        above = number > self.least if self.open_least else number >= self.least
        below = number < self.most if self.open_most else number <= self.most
        return above and below and math.isfinite(number)

    def __str__(self) -> str:
        words = f"more than {self.least:g}" if self.open_least else f"at least {self.least:g}"
        if self.most < math.inf:
            words += f" and {'less than' if self.open_most else 'at most'} {self.most:g}"
        return words


_COUNT: Final = Bound(1)
_POSITIVE: Final = Bound(open_least=True)
_FRACTION: Final = Bound(0, 1, open_least=True)
_NOT_NEGATIVE: Final = Bound()
_BOUNDS: Final = {
    "profile_version": Bound(1, 1),
    "max_tokens": _COUNT,
    "max_depth": _COUNT,
    "seeds": _COUNT,
    "fan_out": _COUNT,
    "pool": _COUNT,
    "item_tokens": _COUNT,
    "share": _POSITIVE,
    "half_life_days": _POSITIVE,
    "item_cap": _FRACTION,
    "similarity": _FRACTION,
    "floor": Bound(0, 1),
    "coverage": Bound(0, 1),
    "restart": Bound(0, 1, open_least=True, open_most=True),
    "table": Bound(0, 1),
}
_FREE: Final = ("default", "presets")
"""Fields of any content: what they hold is checked where it is used."""


def check_bound(name: str, value: object) -> None:
    """Refuses a number, or a table with a number, that the field of this name does not take."""
    bound = _BOUNDS.get(name, _NOT_NEGATIVE)
    for number in () if name in _FREE else _numbers(value):
        if not bound.holds(number):
            raise ProfileError(f"{number:g} is not allowed. Give a number that is {bound}.")


def _numbers(value: object) -> list[float]:
    if isinstance(value, dict):
        return [number for item in value.values() for number in _numbers(item)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    T = TypeVar("T", bound=DataclassInstance)
else:
    T = TypeVar("T")

NONE: Final = "none"
"""How a file says "no value": TOML has no null."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where reading is: a dotted path, the list that problems are added to, and whether new names may appear."""

    problems: list[str]
    path: str = ""
    grow: bool = True

    def at(self, key: str) -> "Place":
        """The place one key further."""
        return replace(self, path=f"{self.path}.{key}" if self.path else key)

    def refuse(self, problem: object) -> None:
        """Notes a problem at this place; reading goes on."""
        self.problems.append(f"{self.path}: {problem}")


def read(kind: type[T], table: Mapping[str, object], place: Place) -> T | None:
    """A value of the kind, or None when what it cannot do without is missing."""
    values = _read_fields(kind, table, place, None)
    required = [item.name for item in fields(kind) if item.default is MISSING and item.default_factory is MISSING]
    for name in required:
        if name not in table:
            place.at(name).refuse(f'missing. Add {name} = "...".')
    return kind(**values) if all(name in values for name in required) else None


def amend(base: T, table: Mapping[str, object], place: Place) -> T:
    """The base with what the table says instead: tables change key by key, lists and mappings as a whole."""
    return replace(base, **_read_fields(type(base), table, place, base))


@cache
def hints(kind: type) -> dict[str, Any]:
    """The type of each field; profile.py writes them as objects, except Json, which is a string."""
    return {item.name: item.type for item in fields(kind)}


def named(kind: object) -> bool:
    """Whether values of this type are told apart by a `name` and so can be written as [tables.by_name]."""
    return isinstance(kind, type) and is_dataclass(kind) and "name" in hints(kind)


def unknown(given: object, allowed: Sequence[str], what: str = "value") -> str:
    """A sentence that names the nearest allowed word and then all of them."""
    close = nearest(str(given), allowed)
    guess = f" Did you mean {close!r}?" if close else ""
    return f"unknown {what} {given!r}.{guess} Allowed: {', '.join(allowed) or '(none defined)'}."


def _read_fields(kind: type, table: Mapping[str, object], place: Place, base: object) -> dict[str, Any]:
    known = hints(kind)
    values: dict[str, Any] = {}
    for key, given in table.items():
        here = place.at(key)
        try:
            if key not in known:
                raise ProfileError(unknown(key, tuple(known), "key"))
            value = _read_value(known[key], given, here, getattr(base, key, None))
            check_bound(key, value)
            values[key] = value
        except ProfileError as refused:
            here.refuse(refused)
    return values


def _read_value(hint: Any, given: object, place: Place, base: object) -> Any:
    origin = get_origin(hint)
    if origin is types.UnionType:
        return None if given == NONE else _read_value(get_args(hint)[0], given, place, base)
    if origin is tuple:
        return _read_tuple(get_args(hint)[0], given, place, base)
    if origin is not None and origin is not Literal:
        return _read_mapping(get_args(hint)[1], given, place)
    if is_dataclass(hint):
        return _read_table(hint, given, place, base)
    return _read_leaf(hint, given)


def _read_table(kind: Any, given: object, place: Place, base: Any) -> Any:
    if kind is Block and isinstance(given, str):
        return Block(given)
    table = _expect(given, dict, "a table")
    return read(kind, table, place) if base is None else amend(base, table, place)


def _read_mapping(inner: Any, given: object, place: Place) -> dict[str, Any]:
    table = _expect(given, dict, "a table such as { name = 1.0 }")
    values = {}
    for key in sorted(table):
        try:
            values[key] = _read_value(inner, table[key], place.at(key), None)
        except ProfileError as refused:
            place.at(key).refuse(refused)
    return values


def _read_tuple(inner: Any, given: object, place: Place, base: Any) -> tuple[Any, ...]:
    if named(inner) and isinstance(given, dict):
        return _amend_named(inner, given, place, base or ())
    form = "a list of tables, or a table by name" if named(inner) else 'a list such as ["one", "two"]'
    items = []
    for position, item in enumerate(_expect(given, list, form)):
        name = item.get("name") if named(inner) and isinstance(item, dict) else None
        here = place.at(name) if isinstance(name, str) else replace(place, path=f"{place.path}[{position}]")
        try:
            items.append(_read_value(inner, item, here, None))
        except ProfileError as refused:
            here.refuse(refused)
    return tuple(item for item in items if item is not None)


def _amend_named(kind: Any, tables: Mapping[str, object], place: Place, base: Sequence[Any]) -> tuple[Any, ...]:
    items = {item.name: item for item in base}
    for name, given in tables.items():
        try:
            if name not in items and not place.grow:
                raise ProfileError(unknown(name, tuple(items), "name"))
            table = _expect(given, dict, "a table")
            if "name" in table:
                raise ProfileError(f"its header already names it {name!r}. Remove the key name.")
            if name in items:
                items[name] = amend(items[name], table, place.at(name))
            elif (made := read(kind, {"name": name, **table}, place.at(name))) is not None:
                items[name] = made
        except ProfileError as refused:
            place.at(name).refuse(refused)
    return tuple(items.values())


def _read_leaf(hint: Any, given: object) -> Any:
    if hint == Json:
        return _read_json(given)
    if get_origin(hint) is Literal:
        return _read_choice(given, get_args(hint))
    if issubclass(hint, Enum):
        return hint(_read_choice(given, tuple(member.value for member in hint)))
    if hint is float and type(given) is int:
        return float(given)
    words = {str: "text in quotes", bool: "true or false", int: "a whole number", float: "a number"}
    if type(given) is not hint:
        raise ProfileError(f"{given!r} is not allowed here. Write {words[hint]}.")
    return given


def _read_choice(given: object, allowed: tuple[str, ...]) -> str:
    if isinstance(given, str) and given in allowed:
        return given
    raise ProfileError(unknown(given, allowed))


def _read_json(given: Any) -> Json:
    if isinstance(given, dict):
        return {key: _read_json(value) for key, value in given.items()}
    if isinstance(given, list):
        return [_read_json(value) for value in given]
    if isinstance(given, (date, time)):
        raise ProfileError(f"{given} is a date. Write it as text in quotes.")
    if isinstance(given, float) and not math.isfinite(given):
        raise ProfileError(f"{given} is not a finite number.")
    result: bool | int | float | str = given
    return result


def _expect(given: object, kind: type, words: str) -> Any:
    if not isinstance(given, kind):
        raise ProfileError(f"{given!r} is not allowed here. Write {words}.")
    return given
