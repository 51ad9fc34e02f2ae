"""The YAML block at the head of a Markdown note."""

import re
from collections.abc import Mapping
from typing import Final

import yaml

from weft.model import Json
from weft.ports import Problem
from weft.sources.values import plain

_BLOCK: Final = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_MAX_BLOCK: Final = 65_536
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def split_front_matter(text: str, where: str) -> tuple[dict[str, Json], str, int, tuple[Problem, ...]]:
    """The front matter by lower-case key, the body, the line it begins on, and what was wrong."""
    block = _BLOCK.match(text)
    if block is None:
        return {}, text, 1, ()
    body, line = text[block.end() :], text.count("\n", 0, block.end()) + 1
    values, reason = _load(block.group(1))
    problems = (
        (Problem(f"{where}:1", f"{reason} The note is indexed without its front matter."),) if reason else ()
    )
    return values, body, line, problems


def _load(block: str) -> tuple[dict[str, Json], str]:
    if len(block) > _MAX_BLOCK:
        return {}, f"The front matter has {len(block):,} characters; at most {_MAX_BLOCK:,} are read."
    try:
        loaded = yaml.load(block, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        return {}, f"The front matter is not YAML ({' '.join(str(error).split())[:160]})."
    if loaded is None:
        return {}, ""
    if not isinstance(loaded, Mapping):
        return {}, f"The front matter is {type(loaded).__name__}, not `key: value` lines."
    made = plain(loaded)
    return (
        ({str(name).strip().lower(): value for name, value in made.items()}, "")
        if isinstance(made, dict)
        else ({}, "")
    )
