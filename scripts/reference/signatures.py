"""Write signatures, fields of records and docstrings as a reader of Python wants to see them."""

import ast
import inspect
import textwrap
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from scripts.reference.markdown import code, table

from weft import model

_JSON = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


def signature_block(name: str, function: Any) -> list[str]:
    """Return the signature of a function as code, with a parameter a line where it is long."""
    signature = inspect.signature(function)
    parameters = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
    written, keyword_only = [], False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not keyword_only:
            if not any(other.kind is other.VAR_POSITIONAL for other in parameters):
                written.append("*")
            keyword_only = True
        written.append(_parameter(each))
    gives = (
        ""
        if signature.return_annotation is signature.empty
        else f" -> {annotation_text(signature.return_annotation)}"
    )
    line = f"{name}({', '.join(written)}){gives}"
    if len(line) > 100:
        line = f"{name}(\n    " + ",\n    ".join(written) + f",\n){gives}"
    return ["```text", line, "```", ""]


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    typed = "" if parameter.annotation is parameter.empty else f": {annotation_text(parameter.annotation)}"
    default = "" if parameter.default is parameter.empty else f" = {value_text(parameter.default)}"
    return f"{stars}{parameter.name}{typed}{default}"


def annotation_text(annotation: Any) -> str:
    """Return a type without the modules that its parts stand in."""
    if isinstance(annotation, type) and not hasattr(annotation, "__args__"):
        return annotation.__name__
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    for prefix in ("collections.abc.", "datetime.", "pathlib.", "typing.", "contextlib."):
        text = text.replace(prefix, "")
    # A JSON value is a long union; Python keeps no trace of the name that it has in the source.
    text = text.replace("'", "").replace(_JSON, "Json")
    # Names of our own modules say nothing to a reader of a signature.
    words = text.replace("'", "").replace('"', "")
    return "".join(_short(part) for part in _split_names(words))


def _split_names(text: str) -> list[str]:
    parts, current = [], ""
    for character in text:
        if character.isalnum() or character in "._":
            current += character
        else:
            parts += [current, character]
            current = ""
    return [*parts, current]


def _short(name: str) -> str:
    return name.rsplit(".", 1)[-1] if name.startswith("weft.") else name


def value_text(value: Any) -> str:
    """Return a default as it is written in source."""
    if value is model.UNSET:
        return "UNSET"
    if isinstance(value, Struct) and not [
        each for each in record_fields(type(value)) if each.default == "required"
    ]:
        # A record of defaults would fill the line with all of them.
        return f"{type(value).__name__}()" if value == type(value)() else repr(value)
    return "…" if " at 0x" in repr(value) else repr(value)


class RecordField(Struct, frozen=True):
    """A field of a record as its source has it; a default that is made anew each time is `empty`."""

    name: str
    type: str
    default: str
    note: str


def record_fields(kind: type) -> list[RecordField]:
    """Return the fields of a record in their order, those of its base classes first."""
    found: dict[str, RecordField] = {}
    for each in reversed(kind.__mro__):
        if each.__module__.startswith("msgspec") or not hasattr(each, "__struct_fields__"):
            continue
        last = ""
        for statement in _class_body(each):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                last = statement.target.id
                found[last] = RecordField(last, _written(statement.annotation), _default(statement.value), "")
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and last:
                found[last] = replace(found[last], note=str(statement.value.value))
                last = ""
    return [found[name] for name in getattr(kind, "__struct_fields__", found)]


def _class_body(kind: type) -> list[ast.stmt]:
    parsed = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    return parsed.body if isinstance(parsed, ast.ClassDef) else []


def _written(annotation: ast.expr) -> str:
    return annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)


def _default(value: ast.expr | None) -> str:
    if value is None:
        return "required"
    text = ast.unparse(value)
    return "empty" if text.startswith("field(") else code(text)


def record(kind: type) -> list[str]:
    """Return a record with its fields, their types and defaults."""
    rows = [(code(each.name), code(each.type), each.default, each.note) for each in record_fields(kind)]
    properties = [
        (
            code(name),
            code(annotation_text(inspect.signature(member.fget).return_annotation)),
            "property",
            docstring(member),
        )
        for name, member in vars(kind).items()
        if isinstance(member, property) and not name.startswith("_") and member.fget
    ]
    columns = ("field", "type", "default", "meaning")
    return [f"### {kind.__name__}", "", docstring(kind), "", *table(columns, rows + properties)]


def docstring(found: Any) -> str:
    """Return the docstring of anything, or nothing."""
    text = inspect.getdoc(found) or ""
    # Four blanks at the start of a paragraph would be read as code.
    return "\n".join(line.strip() if not line.startswith("    ") else line for line in text.splitlines())
