"""Read tool arguments as models really write them: other names, numbers in quotes, lists or single values."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from weft.errors import InvalidInput, UnknownName
from weft.interfaces.request import Kind, RequestField, clean

_SCHEMAS: Final[Mapping[Kind, dict[str, Any]]] = {
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "words": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    "number": {"type": "integer"},
    "fraction": {"type": "number", "minimum": 0, "maximum": 1},
    "flag": {"type": "boolean"},
    "budget": {"type": "integer", "minimum": 1},
    "mapping": {"type": "object"},
    "time": {"type": "string"},
}
_YES: Final = ("true", "yes", "on", "1")
_NO: Final = ("false", "no", "off", "0")
"""The words that models write for true and false."""
_MAX_SHOWN_CHARACTERS: Final = 80
"""Characters of a refused value in the message about it."""


def schema_of(parameters: Sequence[RequestField], required: Sequence[str] = ()) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments; other names are left to `read_arguments`."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {parameter.name: _property(parameter) for parameter in parameters},
    }
    return {**schema, "required": list(required)} if required else schema


def _property(parameter: RequestField) -> dict[str, Any]:
    limits = {"enum": list(parameter.choices), "minimum": parameter.least, "maximum": parameter.most}
    own = {name: value for name, value in limits.items() if value not in (None, [])}
    return {**_SCHEMAS[parameter.kind], **own, "description": parameter.help}


def read_arguments(arguments: Mapping[str, Any], parameters: Sequence[RequestField]) -> dict[str, Any]:
    """Return the arguments by their proper names, as values of their types; absent and null ones are left out."""
    by_name = {_plain(name): field for field in parameters for name in (field.name, *field.aliases)}
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        parameter = by_name.get(_plain(name))
        if parameter is None:
            raise UnknownName("argument", name, [field.name for field in parameters])
        # Models send empty values for arguments that they have no use for.
        if value is None or value in ("", []):
            continue
        read = _read(parameter, value)
        # The same value under two names is harmless, two values are a contradiction.
        if found.setdefault(parameter.name, read) != read:
            raise InvalidInput(f"{parameter.name!r} is given twice, as {found[parameter.name]!r} and as {read!r}.")
    return found


def _plain(name: str) -> str:
    """Return a name as it compares: maxTokens, max-tokens and MAX_TOKENS are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _read(parameter: RequestField, value: Any) -> Any:
    if parameter.kind == "budget" and isinstance(value, str) and value.strip().lower() == "none":
        return None
    return _READERS[parameter.kind](parameter, value)


def _number(parameter: RequestField, value: Any) -> int:
    number = value
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9][0-9_,]{0,14}(\.0+)?\s*", value):
        number = float(re.sub(r"[_,\s]", "", value))
    # To Python True is the number 1; NaN and infinity differ from their own floor.
    if isinstance(number, bool) or not isinstance(number, int | float) or number != number // 1:
        raise _refusal(parameter, value, "a whole number")
    low, high = parameter.least, parameter.most
    if (low is not None and number < low) or (high is not None and number > high):
        raise _refusal(parameter, value, f"a whole number {_range(low, high)}")
    return int(number)


def _fraction(parameter: RequestField, value: Any) -> float:
    number = value
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]*\.?[0-9]+\s*", value):
        number = float(value)
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1:
        raise _refusal(parameter, value, "a number from 0 to 1")
    return float(number)


def _range(low: int | None, high: int | None) -> str:
    return f"of {low} or more" if high is None else f"from {low} to {high}"


def _flag(parameter: RequestField, value: Any) -> bool:
    word = str(value).strip().lower()
    if word not in (*_YES, *_NO):
        raise _refusal(parameter, value, "true or false")
    return word in _YES


def _mapping(parameter: RequestField, value: Any) -> dict[str, Any]:
    decoded = _decode(value)
    if not isinstance(decoded, dict):
        raise _refusal(parameter, value, "an object of names and values")
    return {clean(name): clean(item) if isinstance(item, str) else item for name, item in decoded.items()}


def _texts(parameter: RequestField, value: Any) -> tuple[str, ...]:
    decoded = _decode(value)
    if isinstance(decoded, list):
        parts = [_text(parameter, item) for item in decoded]
    elif parameter.kind == "texts":
        parts = [part.strip() for part in _text(parameter, decoded).split(",")]
    else:
        parts = [_text(parameter, value)]
    return tuple(part for part in parts if part)


def _decode(value: Any) -> Any:
    """Decode lists and objects that are sent as a string of JSON."""
    # Some clients send every argument as a string.
    if isinstance(value, str) and value.strip()[:1] in ("[", "{"):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def _text(parameter: RequestField, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _refusal(parameter, value, "text")
    return clean(str(value))


def _choice(parameter: RequestField, value: Any) -> str:
    text = _text(parameter, value)
    if not parameter.choices:
        return text
    if text.lower() not in parameter.choices:
        raise UnknownName(parameter.name, text, parameter.choices)
    return text.lower()


def _refusal(parameter: RequestField, value: Any, wanted: str) -> InvalidInput:
    text = str(value)
    shown = text if len(text) <= _MAX_SHOWN_CHARACTERS else f"{text[:_MAX_SHOWN_CHARACTERS]}…"
    return InvalidInput(f"{parameter.name!r} takes {wanted}, not {shown!r}. Leave it out for the default.")


_READERS: Final[Mapping[Kind, Callable[[RequestField, Any], Any]]] = {
    "text": _choice,
    "texts": _texts,
    "words": _texts,
    "number": _number,
    "fraction": _fraction,
    "flag": _flag,
    "budget": _number,
    "mapping": _mapping,
    "time": _text,
}
