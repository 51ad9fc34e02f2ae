"""Words with {name} placeholders, as used in questions, filters, headings, titles and footers."""

import json
import re
from collections.abc import Mapping

from weft.errors import ProfileError
from weft.model import Json

_TOKEN = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")
_OPTIONAL = re.compile(r"\[\[((?:(?!\[\[|\]\]).)*)\]\]", re.DOTALL)
_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def fill(template: str, values: Mapping[str, Json]) -> str:
    """The template with each {name} replaced by its value and each [[part]] kept only if all it names is given.

    `{{` and `}}` print braces. A value of None is not given and prints as nothing. Brackets around words
    without a placeholder are ordinary words. Values are never read as templates themselves.
    """
    pieces: list[str] = []
    end = 0
    for part in _OPTIONAL.finditer(template):
        names = placeholders(part[1])
        if names:
            pieces.append(_fill(template[end : part.start()], values))
            pieces.append(_fill(part[1], values) if all(is_given(values, name) for name in names) else "")
            end = part.end()
    pieces.append(_fill(template[end:], values))
    return "".join(pieces)


def placeholders(template: str) -> tuple[str, ...]:
    """The names a template uses, in order of first use."""
    return tuple(dict.fromkeys(match[1] for match in _TOKEN.finditer(template) if match[1]))


def is_given(values: Mapping[str, Json], name: str | None) -> bool:
    """Whether a `when` holds: no name, or a parameter that is neither missing, empty nor false."""
    if name is None:
        return True
    value = values.get(name)
    return value is not None and value is not False and value != ""


def malformed(template: str) -> tuple[str, ...]:
    """The braces of a template that are neither a plain {name} nor an escaped brace."""
    return tuple(
        match[0]
        for match in _BRACES.finditer(template)
        if match[0] not in ("{{", "}}") and not _PLAIN.match(match[1] or "")
    )


def _fill(template: str, values: Mapping[str, Json]) -> str:
    return _TOKEN.sub(lambda match: _printed(match, template, values), template)


def _printed(match: re.Match[str], template: str, values: Mapping[str, Json]) -> str:
    name = match[1]
    if not name:
        return match[0][0]
    if name not in values:
        allowed = ", ".join(sorted(values)) or "(none)"
        raise ProfileError(f"{{{name}}} in {template!r} has no value. Known here: {allowed}.")
    value = values[name]
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
