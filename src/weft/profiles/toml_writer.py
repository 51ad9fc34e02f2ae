"""Writes a profile back as TOML with every default filled in, and compares two of them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final

from weft.profiles.toml_reader import NONE, named
from weft.profiles.types import Block, Lens, Parameter, Profile

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+\Z")
_BY_NAME: Final = (Parameter, Lens)
_ABSENT: Final = object()
"""Stands for a key that only one of two mappings has."""


def show_profile(profile: Profile) -> str:
    """The profile as TOML that says everything; reading it again gives an equal profile."""
    return "\n".join(_table(profile, "")).strip() + "\n"


def show_lens(lens: Lens) -> str:
    """The lens as TOML that says everything, as a file of its own holds it."""
    return "\n".join(_table(lens, "", ("name",))) + "\n"


def diff_lenses(old: Lens, new: Lens) -> tuple[str, ...]:
    """One line for each difference but the name."""
    return tuple(line for line in _changes(old, new, "") if not line.startswith("name: "))


def diff_profiles(old: Profile, new: Profile) -> tuple[str, ...]:
    """One line for each difference, as `dotted.path: old -> new`; an added item is compared with the defaults."""
    return tuple(_changes(old, new, ""))


def _table(value: Any, path: str, skip: tuple[str, ...] = ()) -> Iterator[str]:
    items = [(item.name, getattr(value, item.name)) for item in fields(value) if item.name not in skip]
    for name, content in items:
        if not _has_own_table(content) and not (name == "default" and content is None):
            yield f"{name} = {_inline(content)}"
    for name, content in items:
        if _has_own_table(content):
            yield from _tables(content, f"{path}.{name}" if path else name)


def _tables(content: Any, path: str) -> Iterator[str]:
    if isinstance(content, Mapping):
        for name, table in content.items():
            yield from ("", f"[{path}.{_key(name)}]", *(f"{_key(key)} = {_inline(table[key])}" for key in table))
    elif is_dataclass(content):
        yield from ("", f"[{path}]", *_table(content, path))
    else:
        for item in content:
            if isinstance(item, _BY_NAME):
                header = f"{path}.{_key(item.name)}"
                yield from ("", f"[{header}]", *_table(item, header, ("name",)))
            else:
                yield from ("", f"[[{path}]]", *_table(item, path))


def _has_own_table(content: Any) -> bool:
    if isinstance(content, Mapping):
        return any(isinstance(value, Mapping) for value in content.values())
    return _by_name(content) or is_dataclass(content)


def _inline(value: Any) -> str:
    if value is None or value is _ABSENT:
        return _text(NONE)
    if is_dataclass(value):
        return _short(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {_inline(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(_inline(item) for item in value)}]"
    return json.dumps(value)


def _short(value: Any) -> str:
    """Only what differs from the defaults; a block with nothing more than its name is just the name."""
    if isinstance(value, Block) and value == Block(value.block):
        return _text(value.block)
    default = Block("") if isinstance(value, Block) else type(value)()
    names = [item.name for item in fields(value)]
    return _inline(
        {name: getattr(value, name) for name in names if getattr(value, name) != getattr(default, name)}
    )


def _text(value: str) -> str:
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if _BARE.match(name) else _text(name)


def _changes(old: Any, new: Any, path: str) -> Iterator[str]:
    if type(old) is type(new) and is_dataclass(new) and not isinstance(new, Block):
        for item in fields(new):
            name = item.name
            yield from _changes(getattr(old, name), getattr(new, name), f"{path}.{name}" if path else name)
    elif _by_name(old) or _by_name(new):
        yield from _named_changes(old, new, path)
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            yield from _changes(old.get(key, _ABSENT), new.get(key, _ABSENT), f"{path}.{_key(key)}")
    elif old != new:
        yield f"{path}: {_inline(old)} -> {_inline(new)}"


def _named_changes(old: Sequence[Any], new: Sequence[Any], path: str) -> Iterator[str]:
    before = {item.name: item for item in old}
    if list(before) != [item.name for item in new]:
        yield f"{path}: {_inline(list(before))} -> {_inline([item.name for item in new])}"
    for item in new:
        known = before.get(item.name) or _bare(type(item), item.name)
        yield from _changes(known, item, f"{path}.{_key(item.name)}")


def _bare(kind: Any, name: str) -> Any:
    """An item of which only the name is said; what has no default is empty."""
    needed = [
        field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING
    ]
    return kind(**{**dict.fromkeys(needed, ""), "name": name})


def _by_name(content: Any) -> bool:
    return isinstance(content, tuple) and bool(content) and named(type(content[0]))
