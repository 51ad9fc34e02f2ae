"""Resolve the parameters a caller gives, and fill them into texts with {name} placeholders.

Questions, filters, headings, titles and footers are such texts.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Final

from weft.errors import InvalidInput, ProfileError, UnknownName
from weft.model import Json
from weft.profiles.types import Parameter, Profile
from weft.text import normalise_name

_TOKEN: Final = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")
_OPTIONAL: Final = re.compile(r"\[\[((?:(?!\[\[|\]\]).)*)\]\]", re.DOTALL)
_BRACES: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TYPE_WORDS: Final = {"text": "text", "integer": "a whole number", "number": "a number", "flag": "true or false"}
_FLAGS: Final = {"true": True, "yes": True, "false": False, "no": False}
_MAX_INTEGER_CHARACTERS: Final = 18
"""Digits of a whole number that always fit into 64 bits, as stores keep them."""


def fill(template: str, values: Mapping[str, Json]) -> str:
    """Return the template with each {name} replaced by its value, and each [[part]] only if all it names is given.

    `{{` and `}}` print braces. A value of None is not given and prints as nothing. Brackets around words
    without a placeholder are ordinary words. Values are never read as templates themselves.
    """
    pieces: list[str] = []
    end = 0
    for part in _OPTIONAL.finditer(template):
        names = placeholders(part[1])
        if names:
            pieces.append(_fill_part(template[end : part.start()], values))
            pieces.append(_fill_part(part[1], values) if all(is_given(values, name) for name in names) else "")
            end = part.end()
    pieces.append(_fill_part(template[end:], values))
    return "".join(pieces)


def placeholders(template: str) -> tuple[str, ...]:
    """Return the names a template uses, in order of first use."""
    return tuple(dict.fromkeys(match[1] for match in _TOKEN.finditer(template) if match[1]))


def is_given(values: Mapping[str, Json], name: str | None) -> bool:
    """Whether a `when` holds: no name, or a parameter that is neither missing, empty nor false."""
    if name is None:
        return True
    value = values.get(name)
    return value is not None and value is not False and value != ""


def malformed(template: str) -> tuple[str, ...]:
    """Return the braces of a template that are neither a plain {name} nor an escaped brace."""
    return tuple(
        match[0]
        for match in _BRACES.finditer(template)
        if match[0] not in ("{{", "}}") and not _PLAIN_NAME.match(match[1] or "")
    )


def _fill_part(template: str, values: Mapping[str, Json]) -> str:
    return _TOKEN.sub(lambda match: _value_text(match, template, values), template)


def _value_text(match: re.Match[str], template: str, values: Mapping[str, Json]) -> str:
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


def resolve_parameters(profile: Profile, given: Mapping[str, Json], question: str = "") -> dict[str, Json]:
    """Return every parameter of the profile with its value: the given one, else its default, else None.

    A flag is set by a question that holds one of its phrases.
    """
    known = {parameter.name: parameter for parameter in profile.parameters}
    for name in given:
        if name not in known:
            raise UnknownName("parameter", name, known, f"The profile {profile.name!r} takes no others.")
    return {name: _resolve(parameter, given.get(name), question) for name, parameter in known.items()}


def coerce(parameter: Parameter, value: Json) -> Json:
    """Return the value as the parameter's type; numbers and flags may be text, as a command line gives them."""
    if parameter.type == "choice":
        if value not in parameter.choices:
            raise UnknownName(parameter.name, str(value), parameter.choices)
        return value
    readers = {"text": _read_text, "integer": _read_integer, "number": _read_number, "flag": _read_flag}
    result = readers[parameter.type](value)
    if result is None:
        words = _TYPE_WORDS[parameter.type]
        raise InvalidInput(f"{value!r} is not allowed for the parameter {parameter.name!r}. Give {words}.")
    return result


def _resolve(parameter: Parameter, value: Json, question: str) -> Json:
    if value is not None:
        return coerce(parameter, value)
    if any(_contains(question, phrase) for phrase in parameter.phrases):
        return True
    if parameter.required:
        allowed = ", ".join(parameter.choices) if parameter.choices else _TYPE_WORDS[parameter.type]
        raise InvalidInput(f"The parameter {parameter.name!r} is required. Give one of: {allowed}.")
    return parameter.default


def _contains(question: str, phrase: str) -> bool:
    """Whether the question has the words of a phrase, one after the other, however they are written."""
    return f" {normalise_name(phrase)} " in f" {normalise_name(question)} "


def _read_text(value: Json) -> Json:
    return value if isinstance(value, str) else None


def _read_integer(value: Json) -> Json:
    if isinstance(value, str):
        digits = value.strip()
        is_number = digits.removeprefix("-").isdecimal() and len(digits) <= _MAX_INTEGER_CHARACTERS
        return int(digits) if is_number else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _read_number(value: Json) -> Json:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _read_flag(value: Json) -> Json:
    if isinstance(value, str):
        return _FLAGS.get(value.strip().lower())
    return value if isinstance(value, bool) else None
