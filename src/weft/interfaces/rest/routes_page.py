"""The page /docs: every route with its fields, as plain HTML that runs no script and loads nothing."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final

from starlette.responses import HTMLResponse

_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    ":root{color-scheme:light dark}"
    "code{font-family:ui-monospace,monospace}summary{cursor:pointer;padding:.3rem 0}"
    "table{border-collapse:collapse;margin:.5rem 0 1rem 1rem}td,th{text-align:left;padding:.2rem .8rem .2rem 0;"
    "vertical-align:top;border-bottom:1px solid #8884}"
)
_HEADERS: Final = {
    # Nothing is loaded and nothing runs; the style stands in the page itself.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_MAX_TYPE_DEPTH: Final = 3
"""Lists within lists whose types are spelled out."""


def routes_page(description: Mapping[str, Any]) -> HTMLResponse:
    """Return the page for an OpenAPI document."""
    about = description["info"]
    sections = "\n".join(_describe_tag(tag, description) for tag in _tags(description))
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(about["title"])}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f"<h1>{escape(about['title'])} {escape(about['version'])}</h1><p>{escape(about['description'])}</p>"
        '<p>For programs: <a href="openapi.json">openapi.json</a>. Errors are problem documents (RFC 9457).</p>'
        f"{sections}</body></html>"
    )
    return HTMLResponse(text, headers=_HEADERS)


def _tags(description: Mapping[str, Any]) -> list[str]:
    """Return the groups of routes, in the order of the routes."""
    tags = [operation["tags"][0] for _, _, operation in _operations(description) if operation.get("tags")]
    return list(dict.fromkeys(tags))


def _operations(description: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def _describe_tag(tag: str, description: Mapping[str, Any]) -> str:
    routes = [
        f"<details><summary><code>{method} {escape(path)}</code> {escape(operation.get('description', ''))}"
        f"</summary>{_table(_fields(operation, description))}</details>"
        for method, path, operation in _operations(description)
        if tag in operation.get("tags", ())
    ]
    return f"<h2>{escape(tag.capitalize())}</h2>{''.join(routes)}"


def _fields(operation: Mapping[str, Any], description: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the name, place, type and meaning of everything that a route takes."""
    for parameter in operation.get("parameters", ()):
        schema = parameter.get("schema", {})
        yield parameter["name"], parameter["in"], _type(schema), parameter.get("description", "")
    for media_type, body in operation.get("requestBody", {}).get("content", {}).items():
        schema = _resolve(body.get("schema", {}), description)
        if not schema.get("properties"):
            yield "", media_type, _type(schema), ""
        for name, value in schema.get("properties", {}).items():
            yield name, "body", _type(value), value.get("description", "")


def _resolve(schema: Mapping[str, Any], description: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return description["components"]["schemas"].get(name, schema) if name else schema


def _type(schema: Mapping[str, Any], depth: int = 0) -> str:
    """Return a schema in a word or two."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if depth < _MAX_TYPE_DEPTH and "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(each, depth + 1) for each in schema["anyOf"]))
    if depth < _MAX_TYPE_DEPTH and schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}), depth + 1)}"
    return str(schema.get("type", "any"))


def _table(fields: Iterator[tuple[str, str, str, str]]) -> str:
    rows = [f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in field)}</tr>" for field in fields]
    head = "<tr><th>field</th><th>in</th><th>type</th><th>meaning</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>" if rows else "<p>Takes nothing.</p>"
