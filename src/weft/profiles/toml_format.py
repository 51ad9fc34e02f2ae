"""Read TOML tables into the types of a profile, write them back with every default filled in, and compare two.

The types of the fields say what a table may hold; `_BOUNDS` says which numbers each field takes. Reading
collects every problem with its dotted path and goes on, so that an author sees all of them at once. Writing
keeps lists and small tables on one line, which general TOML writers do not offer; comparing prints values alike.
"""

import json
import math
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time
from enum import Enum
from functools import cache
from typing import Any, Final, Literal, TypeGuard, TypeVar, get_args, get_origin

from msgspec import Struct
from msgspec.structs import replace

from weft.errors import ProfileError, nearest_name
from weft.model import Json
from weft.profiles.types import Block, Lens, Parameter, Profile

T = TypeVar("T", bound=Struct)

NONE: Final = "none"
"""How a file says "no value": TOML has no null."""

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+\Z")
_NAMED_TABLES: Final = (Parameter, Lens)
"""The types written as [group.NAME], whose order says nothing; all others are written as [[group]] in their
order."""
_ABSENT: Final = object()
"""Stands for a key that only one of two mappings has."""


class Bound(Struct, frozen=True):
    """A range of numbers from `least` to `most`; an open end leaves the end itself out."""

    least: float = 0.0
    most: float = math.inf
    open_least: bool = False
    open_most: bool = False

    def holds(self, number: float) -> bool:
        """Return whether the number lies in the range."""
        above = number > self.least if self.open_least else number >= self.least
        below = number < self.most if self.open_most else number <= self.most
        # TOML knows inf and nan, and neither is a weight or a limit.
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
    "noise": Bound(0, 1),
    "doubt": Bound(0, 1),
    "coverage": Bound(0, 1),
    "restart": Bound(0, 1, open_least=True, open_most=True),
    "table": Bound(0, 1),
}
"""The numbers that a field of this name takes in any table; fields that are not listed take numbers from 0 up."""
_UNBOUNDED: Final = ("default", "presets")
"""Fields of any content: what they hold is checked where it is used."""


def check_bound(name: str, value: object) -> None:
    """Refuse a number, or a table with a number, that the field of this name does not take."""
    bound = _BOUNDS.get(name, _NOT_NEGATIVE)
    for number in () if name in _UNBOUNDED else _numbers(value):
        if not bound.holds(number):
            raise ProfileError(f"{number:g} is not allowed. Give a number that is {bound}.")


def _numbers(value: object) -> list[float]:
    if isinstance(value, dict):
        return [number for item in value.values() for number in _numbers(item)]
    # A bool is an int in Python, and true is no number.
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


class Position(Struct, frozen=True):
    """A position while reading: its dotted path, the list of problems so far, and whether names may be added."""

    problems: list[str]
    path: str = ""
    may_add: bool = True

    def child(self, key: str) -> "Position":
        """Return the position one key further."""
        return replace(self, path=f"{self.path}.{key}" if self.path else key)

    def report(self, problem: object) -> None:
        """Add a problem at this position; reading goes on."""
        self.problems.append(f"{self.path}: {problem}")


def read(kind: type[T], table: Mapping[str, object], position: Position) -> T | None:
    """Read a value of the kind; return None when a required key is missing."""
    values = _read_fields(kind, table, position, None)
    # All of them are named at once, as all other problems are.
    required = required_fields(kind)
    for name in required:
        if name not in table:
            position.child(name).report(f'missing. Add {name} = "...".')
    return kind(**values) if all(name in values for name in required) else None


def amend(base: T, table: Mapping[str, object], position: Position) -> T:
    """Return the base with the table's values: tables change key by key, lists and mappings as a whole."""
    return replace(base, **_read_fields(type(base), table, position, base))


@cache
def field_types(kind: type[Struct]) -> dict[str, Any]:
    """Return the type of each field."""
    return {name: kind.__annotations__[name] for name in kind.__struct_fields__}


def required_fields(kind: type[Struct]) -> tuple[str, ...]:
    """Return the names of the fields that have no default; msgspec keeps defaults for the last fields only."""
    names = kind.__struct_fields__
    return names[: len(names) - len(kind.__struct_defaults__)]


def is_record_type(kind: object) -> TypeGuard[type[Struct]]:
    """Return whether this is one of the types of `profiles/types.py`, which are written as tables."""
    return isinstance(kind, type) and issubclass(kind, Struct)


def has_name(kind: object) -> bool:
    """Return whether values of this type have a `name`, and so can be written as [tables.by_name]."""
    return is_record_type(kind) and "name" in field_types(kind)


def describe_unknown(given: object, allowed: Sequence[str], what: str = "value") -> str:
    """Return a sentence that names the nearest allowed word and then all of them."""
    close = nearest_name(str(given), allowed)
    guess = f" Did you mean {close!r}?" if close else ""
    return f"unknown {what} {given!r}.{guess} Allowed: {', '.join(allowed) or '(none defined)'}."


def _read_fields(
    kind: type[Struct], table: Mapping[str, object], position: Position, base: object
) -> dict[str, Any]:
    known = field_types(kind)
    values: dict[str, Any] = {}
    for key, given in table.items():
        here = position.child(key)
        try:
            if key not in known:
                raise ProfileError(describe_unknown(key, tuple(known), "key"))
            # Under the base's value, so that a table changes only the keys that it has.
            value = _read_value(known[key], given, here, getattr(base, key, None))
            check_bound(key, value)
            values[key] = value
        except ProfileError as problem:
            here.report(problem)
    return values


def _read_value(hint: Any, given: object, position: Position, base: object) -> Any:
    """Read a value of the hinted type; a table changes the base, if there is one."""
    # Before all else: Json is a union itself, and takes any value as it is.
    if hint == Json:
        return _read_json(given)
    origin = get_origin(hint)
    if origin is types.UnionType:
        # Optional fields are `X | None`, so that the first type is that of the value.
        return None if given == NONE else _read_value(get_args(hint)[0], given, position, base)
    if origin is tuple:
        return _read_tuple(get_args(hint)[0], given, position, base)
    if origin is not None and origin is not Literal:
        return _read_mapping(get_args(hint)[1], given, position)
    if is_record_type(hint):
        return _read_table(hint, given, position, base)
    return _read_scalar(hint, given)


def _read_table(kind: Any, given: object, position: Position, base: Any) -> Any:
    if kind is Block and isinstance(given, str):
        return Block(given)
    table = _expect(given, dict, "a table")
    return read(kind, table, position) if base is None else amend(base, table, position)


def _read_mapping(inner: Any, given: object, position: Position) -> dict[str, Any]:
    table = _expect(given, dict, "a table such as { name = 1.0 }")
    values = {}
    # Sorted, so that equal profiles are also written alike.
    for key in sorted(table):
        try:
            values[key] = _read_value(inner, table[key], position.child(key), None)
        except ProfileError as problem:
            position.child(key).report(problem)
    return values


def _read_tuple(inner: Any, given: object, position: Position, base: Any) -> tuple[Any, ...]:
    """Read a list, which replaces the base, or tables by name, which change it."""
    if has_name(inner) and isinstance(given, dict):
        return _amend_by_name(inner, given, position, base or ())
    form = "a list of tables, or a table by name" if has_name(inner) else 'a list such as ["one", "two"]'
    items = []
    for index, item in enumerate(_expect(given, list, form)):
        name = item.get("name") if has_name(inner) and isinstance(item, dict) else None
        # A problem is reported under the item's name, where it has one, and not under its number.
        by_number = replace(position, path=f"{position.path}[{index}]")
        here = position.child(name) if isinstance(name, str) else by_number
        try:
            items.append(_read_value(inner, item, here, None))
        except ProfileError as problem:
            here.report(problem)
    return tuple(item for item in items if item is not None)


def _amend_by_name(
    kind: Any, tables: Mapping[str, object], position: Position, base: Sequence[Any]
) -> tuple[Any, ...]:
    # A dict keeps the base's order, and puts what is new at the end.
    items = {item.name: item for item in base}
    for name, given in tables.items():
        try:
            if name not in items and not position.may_add:
                raise ProfileError(describe_unknown(name, tuple(items), "name"))
            table = _expect(given, dict, "a table")
            if "name" in table:
                raise ProfileError(f"its header already names it {name!r}. Remove the key name.")
            if name in items:
                items[name] = amend(items[name], table, position.child(name))
            elif (made := read(kind, {"name": name, **table}, position.child(name))) is not None:
                items[name] = made
        except ProfileError as problem:
            position.child(name).report(problem)
    return tuple(items.values())


def _read_scalar(hint: Any, given: object) -> Any:
    """Read a choice, an enum, or exactly the hinted type: a bool is no number here."""
    if get_origin(hint) is Literal:
        return _read_choice(given, get_args(hint))
    if issubclass(hint, Enum):
        return hint(_read_choice(given, tuple(member.value for member in hint)))
    # A weight may be written as 1; everywhere else the type must be the very same.
    if hint is float and type(given) is int:
        return float(given)
    words = {str: "text in quotes", bool: "true or false", int: "a whole number", float: "a number"}
    if type(given) is not hint:
        raise ProfileError(f"{given!r} is not allowed here. Write {words[hint]}.")
    return given


def _read_choice(given: object, allowed: tuple[str, ...]) -> str:
    if isinstance(given, str) and given in allowed:
        return given
    raise ProfileError(describe_unknown(given, allowed))


def _read_json(given: Any) -> Json:
    if isinstance(given, dict):
        return {key: _read_json(value) for key, value in given.items()}
    if isinstance(given, list):
        return [_read_json(value) for value in given]
    if isinstance(given, (date, time)):
        raise ProfileError(f"{given} is a date. Write it as text in quotes.")
    if isinstance(given, float) and not math.isfinite(given):
        raise ProfileError(f"{given} is not a finite number.")
    scalar: bool | int | float | str = given
    return scalar


def _expect(given: object, kind: type, words: str) -> Any:
    if not isinstance(given, kind):
        raise ProfileError(f"{given!r} is not allowed here. Write {words}.")
    return given


# --- writing and comparing ---------------------------------------------------------------------------------


def show_profile(profile: Profile) -> str:
    """Return the profile as TOML with every key; reading it again gives an equal profile."""
    return "\n".join(_table_lines(profile, "")).strip() + "\n"


def show_lens(lens: Lens) -> str:
    """Return the lens as TOML with every key, as a file of its own holds it."""
    return "\n".join(_table_lines(lens, "", ("name",))) + "\n"


def diff_lenses(old: Lens, new: Lens) -> tuple[str, ...]:
    """Return a line for each difference but the name."""
    return tuple(_differences(replace(old, name=new.name), new, ""))


def diff_profiles(old: Profile, new: Profile) -> tuple[str, ...]:
    """Return a line `dotted.path: old -> new` for each difference; an added item is compared with the defaults."""
    return tuple(_differences(old, new, ""))


def _table_lines(value: Any, path: str, skip: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the lines of one record: first its own keys, then its tables, as TOML demands."""
    items = [(name, getattr(value, name)) for name in value.__struct_fields__ if name not in skip]
    for name, content in items:
        # A default of None is left out: "none" would be read as a text.
        if not _has_own_table(content) and not (name == "default" and content is None):
            yield f"{name} = {_inline(content)}"
    # Tables after keys: in TOML, a key behind a table's header belongs to that table.
    for name, content in items:
        if _has_own_table(content):
            yield from _nested_lines(content, f"{path}.{name}" if path else name)


def _nested_lines(content: Any, path: str) -> Iterator[str]:
    """Yield the lines of a field that has tables of its own."""
    if isinstance(content, Mapping):
        for name, table in content.items():
            yield from ("", f"[{path}.{_key(name)}]", *(f"{_key(key)} = {_inline(table[key])}" for key in table))
    elif isinstance(content, Struct):
        yield from ("", f"[{path}]", *_table_lines(content, path))
    else:
        for item in content:
            if isinstance(item, _NAMED_TABLES):
                header = f"{path}.{_key(item.name)}"
                yield from ("", f"[{header}]", *_table_lines(item, header, ("name",)))
            else:
                yield from ("", f"[[{path}]]", *_table_lines(item, path))


def _has_own_table(content: Any) -> bool:
    if isinstance(content, Mapping):
        return any(isinstance(value, Mapping) for value in content.values())
    return _has_named_items(content) or isinstance(content, Struct)


def _inline(value: Any) -> str:
    """Return a value on one line."""
    if value is None or value is _ABSENT:
        return _text(NONE)
    if isinstance(value, Struct):
        return _inline_record(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {_inline(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(_inline(item) for item in value)}]"
    return json.dumps(value)


def _inline_record(value: Any) -> str:
    """Return on one line what differs from the defaults; a block that has only a name is its name."""
    if isinstance(value, Block) and value == Block(value.block):
        return _text(value.block)
    # A block has a required field, and all other records that are written inline have none.
    default = Block("") if isinstance(value, Block) else type(value)()
    names = value.__struct_fields__
    return _inline(
        {name: getattr(value, name) for name in names if getattr(value, name) != getattr(default, name)}
    )


def _text(value: str) -> str:
    # TOML's basic strings are JSON's, but for DEL, which TOML wants escaped.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if _BARE.match(name) else _text(name)


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
    if type(old) is type(new) and isinstance(new, Struct) and not isinstance(new, Block):
        for name in new.__struct_fields__:
            yield from _differences(getattr(old, name), getattr(new, name), f"{path}.{name}" if path else name)
    elif _has_named_items(old) or _has_named_items(new):
        yield from _differences_by_name(old, new, path)
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            yield from _differences(old.get(key, _ABSENT), new.get(key, _ABSENT), f"{path}.{_key(key)}")
    elif old != new:
        yield f"{path}: {_inline(old)} -> {_inline(new)}"


def _differences_by_name(old: Sequence[Any], new: Sequence[Any], path: str) -> Iterator[str]:
    before = {item.name: item for item in old}
    if list(before) != [item.name for item in new]:
        yield f"{path}: {_inline(list(before))} -> {_inline([item.name for item in new])}"
    for item in new:
        known = before.get(item.name) or _default_item(type(item), item.name)
        yield from _differences(known, item, f"{path}.{_key(item.name)}")


def _default_item(kind: Any, name: str) -> Any:
    """Return an item of which only the name is known; required fields are empty."""
    return kind(**{**dict.fromkeys(required_fields(kind), ""), "name": name})


def _has_named_items(content: Any) -> bool:
    return isinstance(content, tuple) and bool(content) and has_name(type(content[0]))
