"""Words with {name} placeholders, as used in questions, filters, headings, titles and footers."""

import json
import math
import re
from collections.abc import Mapping
from typing import Final

from weft.errors import InvalidInput, ProfileError, UnknownName
from weft.model import Json
from weft.profiles.types import Parameter, Profile
from weft.text import normalise_name

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


_WORDS: Final = {"text": "text", "integer": "a whole number", "number": "a number", "flag": "true or false"}
_FLAGS: Final = {"true": True, "yes": True, "false": False, "no": False}


def resolve_parameters(profile: Profile, given: Mapping[str, Json], question: str = "") -> dict[str, Json]:
    """Every parameter of the profile with its value: the given one, else its default, else None.

    A flag is set by a question that holds one of its phrases.
    """
    known = {parameter.name: parameter for parameter in profile.parameters}
    for name in given:
        if name not in known:
            raise UnknownName("parameter", name, known, f"The profile {profile.name!r} takes no others.")
    return {name: _resolve(parameter, given.get(name), question) for name, parameter in known.items()}


def coerce(parameter: Parameter, value: Json) -> Json:
    """The value as the parameter's type, reading numbers and flags from text as a command line gives them."""
    if parameter.type == "choice":
        if value not in parameter.choices:
            raise UnknownName(parameter.name, str(value), parameter.choices)
        return value
    readers = {"text": _text, "integer": _integer, "number": _number, "flag": _flag}
    result = readers[parameter.type](value)
    if result is None:
        words = _WORDS[parameter.type]
        raise InvalidInput(f"{value!r} is not allowed for the parameter {parameter.name!r}. Give {words}.")
    return result


def _resolve(parameter: Parameter, value: Json, question: str) -> Json:
    if value is not None:
        return coerce(parameter, value)
    if any(_holds(question, phrase) for phrase in parameter.phrases):
        return True
    if parameter.required:
        allowed = ", ".join(parameter.choices) if parameter.choices else _WORDS[parameter.type]
        raise InvalidInput(f"The parameter {parameter.name!r} is required. Give one of: {allowed}.")
    return parameter.default


def _holds(question: str, phrase: str) -> bool:
    """Whether the words of a phrase stand in the question, one after the other, however they are written."""
    return f" {normalise_name(phrase)} " in f" {normalise_name(question)} "


def _text(value: Json) -> Json:
    return value if isinstance(value, str) else None


def _integer(value: Json) -> Json:
    if isinstance(value, str):
        digits = value.strip()
        return int(digits) if digits.removeprefix("-").isdecimal() and len(digits) < 19 else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: Json) -> Json:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _flag(value: Json) -> Json:
    if isinstance(value, str):
        return _FLAGS.get(value.strip().lower())
    return value if isinstance(value, bool) else None
