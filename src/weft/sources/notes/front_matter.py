"""Read the front matter of notes: YAML between two lines of dashes, and the values in it."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

import yaml
from msgspec import Struct

from weft.model import Json
from weft.ports import Problem
from weft.sources.files import error_line
from weft.sources.values import UnusableValue, load_yaml, to_json

Value = TypeVar("Value")

_FRONT_MATTER: Final = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_MAX_FRONT_MATTER_CHARACTERS: Final = 65_536
"""Longer front matter is not parsed: YAML is slow, and nobody writes as much by hand."""


def split_front_matter(text: str, where: str) -> tuple[dict[str, Json], str, int, tuple[Problem, ...]]:
    """Split a note into its front matter by lower-case key, its body, the body's first line, and problems."""
    block = _FRONT_MATTER.match(text)
    if block is None:
        return {}, text, 1, ()
    body, line = text[block.end() :], text.count("\n", 0, block.end()) + 1
    values, reason = _parse_yaml(block.group(1))
    problem = Problem(f"{where}:1", f"{reason} The note is indexed without its front matter.")
    return values, body, line, (problem,) if reason else ()


def _parse_yaml(block: str) -> tuple[dict[str, Json], str]:
    """Return the values of front matter and no reason, or no values and the reason why it cannot be used."""
    if len(block) > _MAX_FRONT_MATTER_CHARACTERS:
        limit = _MAX_FRONT_MATTER_CHARACTERS
        return {}, f"The front matter has {len(block):,} characters; at most {limit:,} are read."
    try:
        loaded = load_yaml(block)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        return {}, f"The front matter is not YAML ({error_line(error)})."
    if loaded is None:
        return {}, ""
    if not isinstance(loaded, Mapping):
        return {}, f"The front matter is {type(loaded).__name__}, not `key: value` lines."
    values = to_json(loaded)
    if not isinstance(values, dict):
        return {}, ""
    return {str(name).strip().lower(): value for name, value in values.items()}, ""


class FrontMatterReader(Struct):
    """A reader of front matter: known keys are taken out, and the rest becomes fields."""

    where: str
    values: dict[str, Json]
    problems: list[Problem]

    def take(self, names: Sequence[str], convert: Callable[[object], Value], default: Value) -> Value:
        """Take the first value under these names, converted; an unusable one is reported and stays a field."""
        for name in names:
            value = self.values.get(name)
            if value is None or value == "":
                continue
            try:
                converted = convert(value)
            except UnusableValue as error:
                self.problems.append(Problem(f"{self.where}:1", f"{name}: {error}. The note is kept without it."))
                return default
            # Taken out only once it was converted, so that an unusable value remains as a field.
            del self.values[name]
            return converted
        return default
