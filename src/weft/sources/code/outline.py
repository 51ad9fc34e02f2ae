"""What a file of code defines, refers to and imports: its outline, without its text."""

from sys import intern
from typing import Any

import orjson

from weft.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that code refers to: `call`, `use` or `base`; `on` is what stands before its dot, `?` if no name."""

    kind: str
    name: str
    on: str
    line: int


@dataclass(frozen=True, slots=True)
class Import:
    """What is brought in from another module; `item` is a name in it, `alias` what that is called here."""

    module: str
    item: str
    alias: str
    line: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """One definition: its name below its file (`Class.method`), its lines, and what it refers to.

    `parent` is the name of the symbol around it, or empty; a definition that repeats a name ends in `~2`.
    """

    name: str
    kind: str
    first_line: int
    last_line: int
    parent: str = ""
    signature: str = ""
    summary: str = ""
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """All that is known of a file of code; `broken` says that it has syntax errors."""

    language: str
    lines: int = 0
    summary: str = ""
    symbols: tuple[Symbol, ...] = ()
    imports: tuple[Import, ...] = ()
    references: tuple[Reference, ...] = ()
    framing: tuple[int, ...] = ()
    """Lines that only open a block around definitions and say nothing themselves."""
    broken: bool = False


def packed(outline: Outline) -> bytes:
    """The outline as bytes."""
    return orjson.dumps(outline)


def unpacked(content: bytes) -> Outline:
    """The outline that was packed."""
    told = orjson.loads(content)
    told["symbols"] = tuple(
        Symbol(**{**each, "references": _references(each["references"])}) for each in told["symbols"]
    )
    told["imports"] = tuple(Import(**each) for each in told["imports"])
    told["references"] = _references(told["references"])
    told["framing"] = tuple(told["framing"])
    return Outline(**told)


def _references(told: list[dict[str, Any]]) -> tuple[Reference, ...]:
    # A repository says the same names thousands of times, and holds each once.
    return tuple(
        Reference(intern(each["kind"]), intern(each["name"]), intern(each["on"]), each["line"]) for each in told
    )
