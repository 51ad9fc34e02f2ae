"""Write a profile back as TOML with every default filled in, and compare two profiles.

Lists and small tables stay on one line, which general TOML writers do not offer; comparing prints values alike.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from weft.profiles.toml_reader import NONE, has_name, required_fields
from weft.profiles.types import Block, Lens, Parameter, Profile

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+\Z")
_NAMED_TABLES: Final = (Parameter, Lens)
"""The types written as [group.NAME], whose order says nothing; all others are written as [[group]] in their
order."""
_ABSENT: Final = object()
"""Stands for a key that only one of two mappings has."""


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
