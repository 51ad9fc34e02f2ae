"""Make the reference of the Python library from signatures, docstrings and the fields of records."""

import inspect
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from msgspec import Struct
from scripts.reference.markdown import code, head, page
from scripts.reference.signatures import annotation_text, docstring, record, signature_block

import weft
import weft.client
from weft import Weft, assemblers, errors, model, ports, testing
from weft.sources import files

_RECORDS = (
    *("Node", "Alias", "Origin", "Edge", "Filter", "View", "Topic", "Request"),
    *("Context", "Citation", "LedgerEntry", "ManifestEntry", "Candidate", "Step"),
)
_PORTS = ("Source", "Unit", "Problem", "Embedder", "TokenCounter")


def library_page() -> str:
    """Return every public name: the class `Weft`, records, ports, clients, entry points of designs and errors."""
    lines = head(
        "Python names",
        "Every public name of the package, with its signature and docstring. [The library](../library.md) shows "
        "each method of `Weft` at work.",
        "What this page names is public in the sense of the [policy](../policy.md): it changes only with notice.",
    )
    lines += [f"`from weft import {', '.join(name for name in weft.__all__ if name != '__version__')}`", ""]
    lines += ["## Weft", "", docstring(Weft), ""]
    for name, member in weft_members():
        lines += _member(f"Weft.{name}", member)
    lines += ["## Records", "", "Frozen: to change one, make another with `msgspec.structs.replace`.", ""]
    for name in _RECORDS:
        lines += record(getattr(model, name))
    lines += ["## Ports", "", "What `weft.ports` asks of things that are written outside the package.", ""]
    for name in _PORTS:
        lines += record(getattr(ports, name)) if name in ("Unit", "Problem") else _class(getattr(ports, name))
    lines += [
        "## Formats",
        "",
        "In `weft.sources.files`, for [plugins](../plugins.md) that read a kind of file.",
        "",
    ]
    lines += [*_class(files.Format), *record(files.SourceSettings)]
    lines += ["## Test suites", "", docstring(testing), ""]
    lines += [line for name in ("check_embedder", "check_token_counter") for line in _function(testing, name)]
    lines += ["## Clients of a service", "", "`from weft.client import WeftClient`; needs httpx.", ""]
    lines += [line for name in weft.client.__all__ for line in _class(getattr(weft.client, name))]
    lines += ["## Entry points of the designs", "", "`from weft.assemblers import ...`.", ""]
    lines += [line for name in assemblers.__all__ for line in _entry_point(name)]
    lines += ["## Errors", "", "In `weft.errors`; [errors](errors.md) lists their messages.", ""]
    lines += ["```text", _tree(errors), "```", ""]
    return page(lines)


def weft_members() -> Iterator[tuple[str, Any]]:
    """Iterate over the public members of `Weft` in the order of its source."""
    order = [name for name in vars(Weft) if not name.startswith("_")]
    yield from ((name, inspect.getattr_static(Weft, name)) for name in order)


def _member(name: str, member: Any) -> list[str]:
    if isinstance(member, property) or type(member).__name__ == "cached_property":
        function = getattr(member, "fget", None) or member.func
        gives = annotation_text(inspect.signature(function).return_annotation)
        return [f"### {name}", "", f"Property: {code(gives)}.", "", docstring(member), ""]
    function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
    return [f"### {name}", "", *signature_block(name, function), docstring(function), ""]


def _class(kind: type) -> list[str]:
    lines = [f"### {kind.__name__}", "", docstring(kind), ""]
    if "__init__" in vars(kind) and not issubclass(kind, BaseException) and kind.__module__ != "weft.ports":
        lines += signature_block(kind.__name__, kind.__init__)
    for name, member in vars(kind).items():
        if name.startswith("_") or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        if isinstance(member, property):
            lines += [f"- `{name}`: {_one_line(docstring(member))}"]
            continue
        shown = signature_block(name, member)[1:-2]
        lines += [f"- `{' '.join(' '.join(shown).split())}`: {_one_line(docstring(member))}"]
    return [*lines, ""]


def _entry_point(name: str) -> list[str]:
    found = getattr(assemblers, name)
    if inspect.isfunction(found):
        return _function(assemblers, name)
    if isinstance(found, type):
        return _class(found) if not issubclass(found, Struct) else record(found)
    return [f"### {name}", "", f"A ready {code(type(found).__name__)}.", ""]


def _function(module: ModuleType, name: str) -> list[str]:
    found = getattr(module, name)
    return [f"### {name}", "", *signature_block(name, found), docstring(found), ""]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _tree(module: ModuleType) -> str:
    text = inspect.getdoc(module) or ""
    tree = [line for line in text.splitlines() if line.startswith("    ")]
    return textwrap.dedent("\n".join(tree))
