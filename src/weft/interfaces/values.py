"""Read what people write into values: clean text, tenants, budgets, times and parameters."""

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from weft.errors import InvalidInput
from weft.model import DEFAULT_TENANT, UNSET, Unset

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]+")


def clean(words: str) -> str:
    """Return an argument as valid text: broken UTF-8 is replaced, control characters become spaces."""
    valid = os.fsencode(words).decode("utf-8", "replace") if _escaped(words) else words
    return _CONTROL.sub(" ", valid).strip()


def _escaped(words: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in words)


def read_tenants(given: Sequence[str] | None) -> tuple[str, ...]:
    """Return the tenants to read, `default` when none is named."""
    return tuple(dict.fromkeys(clean(each) for each in given or ())) or (DEFAULT_TENANT,)


def read_budget(given: str | None) -> int | Unset | None:
    """Return a token budget: a number, None for `none`, or UNSET (the profile decides) when nothing is given."""
    if given is None:
        return UNSET
    if given.strip().lower() == "none":
        return None
    if not re.fullmatch(r"[0-9]{1,12}", given.strip()):
        raise InvalidInput(f"{given!r} is no number of tokens. Give a whole number of 1 or more, or `none`.")
    return int(given)


def read_time(given: str | None) -> datetime | None:
    """Return a moment in ISO 8601, in UTC when it names no zone, or None when nothing is given."""
    if given is None:
        return None
    try:
        moment = datetime.fromisoformat(given.strip())
    except ValueError as error:
        raise InvalidInput(
            f"{given!r} is no time. Write it in ISO 8601, such as 2026-05-01 or 2026-05-01T12:00:00Z."
        ) from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def read_parameters(given: Sequence[str] | None) -> dict[str, str]:
    """Return the profile's parameters from `name=value` words."""
    parameters = {}
    for each in given or ():
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise InvalidInput(f"{each!r} sets nothing. Write --set NAME=VALUE, such as --set domain=billing.")
        parameters[name.strip()] = clean(value)
    return parameters
