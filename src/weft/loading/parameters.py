"""The values a caller gives to a profile's parameters, checked and completed."""

import math
from collections.abc import Mapping
from typing import Final

from weft.errors import InvalidInput, UnknownName
from weft.model import Json
from weft.profile import Parameter, Profile
from weft.text import normalise_name

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
