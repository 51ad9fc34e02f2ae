"""Parse TOML, YAML and JSON as far as needed to say that a file is broken, is data, or what it holds."""

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson
from msgspec import Struct

_MAX_ALIASES: Final = 100
"""References in a YAML file beyond which it is not loaded: nested ones multiply what they stand for."""
_MAX_DEPTH: Final = 12
"""Levels of a JSON file beyond which it is data: people do not nest settings so deep."""
_MAX_LIST: Final = 50
"""Entries of a list at the top of a YAML file beyond which it is data, such as a table of people."""
_MAX_COMMENTED_CHARACTERS: Final = 20_000
_TEMPLATE: Final = re.compile(r"(?<!\$)\{\{|\{%")
"""Marks of a template, which is no YAML or JSON before it is filled in; `${{ }}` of workflows is."""
_JSON_COMMENT: Final = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_JSON_LAST_COMMA: Final = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])')


class Parsed(Struct, frozen=True):
    """The value in a file, None where there is none, what is wrong with it, and why it is data if it is."""

    value: Any = None
    problem: str = ""
    data: str = ""


def parse(text: str, language: str) -> Parsed:
    """Parse a file of a language that can be checked; others, and templates, have no value and no problem."""
    parser = _PARSERS.get(language)
    if parser is None or (language != "toml" and _TEMPLATE.search(text)):
        return Parsed()
    try:
        value = parser(text)
    # Deeply nested brackets exhaust the stack of parsers written in Python.
    except RecursionError:
        return Parsed(data="data: nested too deeply")
    except ValueError as error:
        return Parsed(
            problem=f"Not {_NAMES[language]} ({_one_line(error)}); kept as text. Correct it and index again."
        )
    return Parsed(value, data=_data_reason(value, language))


def _data_reason(value: object, language: str) -> str:
    # Settings in JSON are objects; a list is a table, a fixture or a translation.
    if isinstance(value, list) and (language == "json" or len(value) > _MAX_LIST):
        return f"data: a list of {len(value):,} values"
    if language == "json" and _is_deeper(value, _MAX_DEPTH):
        return f"data: nested deeper than {_MAX_DEPTH} levels"
    return ""


def _is_deeper(value: object, levels: int) -> bool:
    if not isinstance(value, list | dict):
        return False
    if levels == 0:
        return True
    inner = value.values() if isinstance(value, dict) else value
    return any(_is_deeper(each, levels - 1) for each in inner)


def _parse_json(text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        first = error
    # Many programs allow comments and a comma before a closing bracket in their JSON, which people write and keep
    # short; in a long file the patterns could backtrack for minutes.
    try:
        if len(text) > _MAX_COMMENTED_CHARACTERS:
            raise first
        bare = _JSON_COMMENT.sub(lambda found: found[1] or "", text)
        return orjson.loads(_JSON_LAST_COMMA.sub(lambda found: found[1] or "", bare))
    except orjson.JSONDecodeError:
        raise first from None


def _parse_yaml(text: str) -> object:
    """Return the first document of a YAML file, None if its references would multiply."""
    # Loaded here, because only reading such files needs it.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # Events are read first: they find every error and expand no reference.
        events = list(yaml.parse(text, Loader=loader))
        if sum(isinstance(event, yaml.AliasEvent) for event in events) > _MAX_ALIASES:
            return None
        return next(iter(yaml.load_all(text, Loader=loader)), None)
    except yaml.constructor.ConstructorError:
        # A tag of a program's own (`!Ref`) is sound YAML that only this program can load.
        return None
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


_PARSERS: Final[Mapping[str, Callable[[str], object]]] = {
    "toml": tomllib.loads,
    "json": _parse_json,
    "jsonc": _parse_json,
    "yaml": _parse_yaml,
}
_NAMES: Final = {"toml": "TOML", "json": "JSON", "jsonc": "JSON", "yaml": "YAML"}


def _one_line(error: ValueError) -> str:
    return " ".join(str(error).split())[:160]


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return a value if it is a mapping, or else an empty one."""
    return value if isinstance(value, Mapping) else {}
