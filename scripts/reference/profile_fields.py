"""Make the reference of a profile's fields from their types, and of the profiles that come with Weft."""

import inspect
from collections.abc import Iterator
from typing import get_args

from msgspec import Struct
from scripts.reference.markdown import code, head, page, table
from scripts.reference.signatures import record_fields

from weft.profiles import loading, types
from weft.profiles.types import Profile


def profile_page() -> str:
    """Return every table of a profile with its keys, and what each profile that comes with Weft is."""
    built_in = {name: loading.load_profile(name) for name in loading.builtin_profiles()}
    lines = head(
        "Profile fields",
        "Every table and key of a profile file, with its type and default. "
        "[Every key of a profile](../profile-format.md) says what each means.",
    )
    lines += ["## The profiles that come with Weft", ""]
    lines += table(
        ("profile", "budget", "format", "floor", "lenses", "presets", "sections"),
        (_summary(profile) for profile in built_in.values()),
    )
    lines += [f"- `{profile.name}`: {profile.description}" for profile in built_in.values()]
    lines += ["", f"Signals that can be weighed: {', '.join(code(each) for each in types.SIGNALS)}.", ""]
    lines += [f"Blocks that an item can print: {', '.join(code(each) for each in types.BLOCKS)}.", ""]
    for kind in _kinds():
        lines += [f"## {kind.__name__}", "", inspect.getdoc(kind) or "", ""]
        rows = ((code(each.name), _type(each.type), each.default) for each in record_fields(kind))
        lines += table(("key", "type", "default"), rows)
    return page(lines)


def _summary(profile: Profile) -> tuple[str, ...]:
    return (
        code(profile.name),
        str(profile.max_tokens or "none"),
        str(profile.format),
        f"{profile.floor:g}",
        ", ".join(_name(each) for each in profile.lenses),
        ", ".join(_name(each) for each in profile.presets),
        ", ".join(_name(each) for each in profile.sections),
    )


def _name(each: object) -> str:
    return each if isinstance(each, str) else str(getattr(each, "name", each))


def _kinds() -> Iterator[type[Struct]]:
    """Iterate over the tables of a profile, the whole profile first."""
    found = [
        kind
        for kind in vars(types).values()
        if isinstance(kind, type) and issubclass(kind, Struct) and kind.__module__ == types.__name__
    ]
    yield from sorted(found, key=lambda kind: kind is not Profile)


def _type(words: str) -> str:
    """Return the type in the words of TOML."""
    choices = get_args(vars(types).get(words))
    if choices and all(isinstance(each, str) for each in choices):
        return " or ".join(code(each or '""') for each in choices)
    for python, toml in (
        ("tuple[str, ...]", "list of texts"),
        ("Mapping[str, float]", "table of numbers"),
        ("Mapping[str, str]", "table of texts"),
    ):
        words = words.replace(python, toml)
    return code(
        {"str": "text", "int": "whole number", "float": "number", "bool": "true or false"}.get(words, words)
    )
