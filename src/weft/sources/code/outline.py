"""The outline of a code file: what it defines, refers to and imports, without its text.

The cache stores outlines with their fields by name.
"""

import re
from collections.abc import Iterable
from sys import intern
from typing import Any, Final

import msgspec
import orjson
from msgspec import Struct

MODULE_SEPARATOR: Final = re.compile(r"[./\\:]")
"""Stands between the parts of a module as imports write it."""


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


# --- changes -------------------------------------------------------------------------------------------------


def list_changed_names(before: Outline, after: Outline) -> set[str] | None:
    """Return the names that a file defines or imports in one of two states only; None if any may be affected."""
    bases = [
        {
            symbol.name: [(base.on, base.name) for base in symbol.references if base.kind == "base"]
            for symbol in outline.symbols
        }
        for outline in (before, after)
    ]
    has_other_bases = any(bases[1].get(name, listed) != listed for name, listed in bases[0].items())
    if before.language != after.language or has_other_bases:
        return None
    imports = [{(each.module, each.item, each.alias) for each in outline.imports} for outline in (before, after)]
    changed = {name.rpartition(".")[2] for name in bases[0].keys() ^ bases[1].keys()}
    for module, item, alias in imports[0] ^ imports[1]:
        if item == "*":
            return None
        changed |= {alias, item, MODULE_SEPARATOR.split(module)[-1]} - {""}
    # Definitions in another order: of several with a name, another one may come first.
    return changed or None


def follow_aliases(names: Iterable[str], outlines: Iterable[Outline]) -> set[str] | None:
    """Add the names under which files import and pass on these names; None where a class is extended by one.

    What such a class inherits is found under names that its file does not mention.
    """
    found, listed = set(names), list(outlines)
    aliases = {(each.item, each.alias) for outline in listed for each in outline.imports if each.alias}
    while more := {alias for item, alias in aliases if item in found} - found:
        found |= more
    bases = {
        end
        for outline in listed
        for symbol in outline.symbols
        for reference in symbol.references
        if reference.kind == "base"
        for end in (reference.name, reference.on)
    }
    return None if found & bases else found
