"""The outline of a code file: what it defines, refers to and imports, without its text.

The cache stores outlines with their fields by name.
"""

from sys import intern
from typing import Any

import msgspec
import orjson
from msgspec import Struct


class Reference(Struct, frozen=True):
    """A name that code refers to, with the line.

    `kind` is `call`, `use` or `base`; `on` is what stands before the name's dot, `?` if that is no name.
    """

    kind: str
    name: str
    on: str
    line: int


class Import(Struct, frozen=True):
    """One import: `item` is the name imported from the module, `alias` the name it gets in this file."""

    module: str
    item: str
    alias: str
    line: int


class Symbol(Struct, frozen=True):
    """One definition: its name within its file (`Class.method`), its lines, and what it refers to.

    `parent` is the name of the symbol around it, or empty. The second definition of a name ends in `~2`.
    """

    name: str
    kind: str
    first_line: int
    last_line: int
    parent: str = ""
    signature: str = ""
    summary: str = ""
    references: tuple[Reference, ...] = ()


class Outline(Struct, frozen=True):
    """Everything known of a code file; `broken` says that it has syntax errors."""

    language: str
    lines: int = 0
    summary: str = ""
    symbols: tuple[Symbol, ...] = ()
    imports: tuple[Import, ...] = ()
    references: tuple[Reference, ...] = ()
    framing: tuple[int, ...] = ()
    """Lines that only open or close a block around definitions, such as `impl X {`."""
    broken: bool = False


def pack(outline: Outline) -> bytes:
    """Serialise an outline for the cache."""
    return msgspec.json.encode(outline)


def unpack(content: bytes, *, interface_only: bool = False) -> Outline:
    """Return the outline that was packed; on request with those references only that others can see, the bases."""
    # Not decoded by msgspec into the records directly: names would not be interned, and each be held many times.
    values = orjson.loads(content)
    values["symbols"] = tuple(
        Symbol(**{**symbol, "references": _unpack_references(symbol["references"], interface_only)})
        for symbol in values["symbols"]
    )
    values["imports"] = tuple(Import(**imported) for imported in values["imports"])
    values["references"] = _unpack_references(values["references"], interface_only)
    values["framing"] = tuple(values["framing"])
    return Outline(**values)


def _unpack_references(listed: list[dict[str, Any]], bases_only: bool) -> tuple[Reference, ...]:
    # A repository repeats the same names thousands of times; interned, each is held in memory once.
    return tuple(
        Reference(intern(raw["kind"]), intern(raw["name"]), intern(raw["on"]), raw["line"])
        for raw in listed
        if not bases_only or raw["kind"] == "base"
    )
