"""Make the reference of the service's routes from its OpenAPI document."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scripts.reference.markdown import code, head, page, table

from weft import Weft
from weft.interfaces.rest.addresses import Exposure
from weft.interfaces.rest.app import make_app
from weft.interfaces.rest.served_store import Served, Serving

_ERRORS = "Every route may also answer with a [problem document](errors.md#over-http)."


def service_page() -> str:
    """Return every route with its parameters and body, then every record that bodies and answers are made of."""
    document = openapi_document()
    lines = head(
        "Routes of the service",
        "Every route of `weft serve` with what it takes and answers. [The service over HTTP](../rest.md) explains "
        "them with examples; a running service has the same as `/openapi.json` and, to try out, at `/docs`.",
        _ERRORS,
    )
    routes = list(_routes(document))
    lines += table(
        ("route", "what it does"), ((f"`{method} {path}`", _said(route)) for method, path, route in routes)
    )
    for method, path, route in routes:
        lines += _route(method, path, route)
    lines += ["## Records", "", "What bodies and answers are made of.", ""]
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines += _record(name, schema)
    return page(lines)


def openapi_document() -> dict[str, Any]:
    """Return the service's description of itself, which depends on no store."""
    nowhere = Path("nowhere")
    served = Served(Serving(nowhere, False, exposure=Exposure()), lambda: Weft.open(nowhere, create=False))
    return make_app(served).openapi()


def _routes(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, operations in document["paths"].items():
        for method, route in operations.items():
            yield method.upper(), path, route


def _said(route: Mapping[str, Any]) -> str:
    return str(route.get("description") or route.get("summary", "")).split("\n\n", maxsplit=1)[0]


def _route(method: str, path: str, route: Mapping[str, Any]) -> list[str]:
    lines = [f"## {method} {path}", "", str(route.get("description") or route.get("summary", "")), ""]
    lines += table(
        ("parameter", "in", "type", "meaning"),
        (
            (code(each["name"]), each["in"], _type(each.get("schema", {})), _bounded(each, each.get("schema", {})))
            for each in route.get("parameters", ())
        ),
    )
    for kind, content in route.get("requestBody", {}).get("content", {}).items():
        lines += [f"Body ({code(kind)}): {_type(content['schema'])}.", ""]
    for status, answer in route["responses"].items():
        if status.startswith("2"):
            types = [_type(content.get("schema", {})) for content in answer.get("content", {}).values()]
            lines += [f"Answers {status}: {' or '.join(filter(None, types)) or 'no body'}.", ""]
    return lines


def _record(name: str, schema: Mapping[str, Any]) -> list[str]:
    required = set(schema.get("required", ()))
    lines = [f"### {name}", "", str(schema.get("description", "")), ""]
    rows = (
        (
            code(field) + (" (required)" if field in required else ""),
            _type(described),
            code(str(described["default"])) if described.get("default") not in (None, "", [], {}) else "",
            _bounded(described, described),
        )
        for field, described in schema.get("properties", {}).items()
    )
    return [*lines, *table(("field", "type", "default", "meaning"), rows)]


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a value in words, with a link where it is a record."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return " or ".join(dict.fromkeys(_type(each) for each in options))
    if "enum" in schema:
        return " or ".join(code(str(each)) for each in schema["enum"])
    if "const" in schema:
        return code(str(schema["const"]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _bounded(described: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return the description of a value with the bounds that a value of it must keep."""
    words = {
        "minimum": "at least {}",
        "exclusiveMinimum": "more than {}",
        "maximum": "at most {}",
        "minLength": "{} characters or more",
        "maxLength": "at most {} characters",
        "minItems": "{} items or more",
        "maxItems": "at most {} items",
    }
    kinds = [schema, *(schema.get("anyOf") or ())]
    bounds = [text.format(each[key]) for each in kinds for key, text in words.items() if key in each]
    said = str(described.get("description", ""))
    return f"{said} {'; '.join(dict.fromkeys(bounds)).capitalize()}." if bounds else said
