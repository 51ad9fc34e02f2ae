"""What the fields of requests may hold: every one is known, bounded, and described as it is checked."""

import math
import re
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

NodeType = Literal[
    "faq", "playbook", "permission_rule", "concept", "schema_index", "schema_field", "example", "entity"
]

LARGEST_ID: Final = 2**53 - 1
_DEEPEST: Final = 32
_MOST_VALUES: Final = 20_000


class Known(BaseModel):
    """A request in which every field is known."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, given: Any) -> Any:
        for name in given if isinstance(given, dict) else ():
            if name not in cls.model_fields:
                raise _unknown_field(str(name), list(cls.model_fields))
        return given


class Body(Known):
    """A JSON body: true is no number and "10" is none either, as the description says."""

    model_config = ConfigDict(strict=True)

    @model_validator(mode="before")
    @classmethod
    def _whole_numbers(cls, given: Any) -> Any:
        """JSON knows one kind of number: 10.0 is as whole as 10."""
        if not isinstance(given, dict):
            return given
        return {name: int(each) if _is_whole(each) else each for name, each in given.items()}


def _is_whole(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer()


def _unknown_field(name: str, known: list[str]) -> PydanticCustomError:
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    message = "there is no such field.{hint} Known: {known}"
    return PydanticCustomError(
        "unknown_field", message, {"name": name[:80], "hint": hint, "known": ", ".join(known)}
    )


def _bounded(content: dict[str, Any]) -> dict[str, Any]:
    """Refuse content that is nested or large beyond what a node holds."""
    todo: list[tuple[Any, int]] = [(content, 1)]
    seen = 0
    while todo:
        value, depth = todo.pop()
        seen += 1
        if depth > _DEEPEST or seen > _MOST_VALUES:
            raise PydanticCustomError(
                "content_bounds", f"content holds at most {_MOST_VALUES} values, nested at most {_DEEPEST} deep"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise PydanticCustomError("content_number", "numbers in content are finite")
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        todo += [(each, depth + 1) for each in inner]
    return content


_UNSEEN: Final = r"\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
"""Controls, and characters that no reader sees but that turn or break lines."""
NAME: Final = rf"^[^{_UNSEEN}]*[^\s{_UNSEEN}][^{_UNSEEN}]*$"


def described(pattern: str) -> dict[str, Any]:
    """The pattern for the description; the check itself is ours, because its message says what to do."""
    return {"pattern": pattern}


def _named(text: str) -> str:
    if not re.fullmatch(NAME, text):
        raise PydanticCustomError("name", "a name has visible characters, no control characters, not only blanks")
    return text


Name = Annotated[
    str, Field(min_length=1, max_length=200, json_schema_extra=described(NAME)), AfterValidator(_named)
]
Tenants = Annotated[list[Name], Field(max_length=256)]
Kind = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Identifier = Annotated[int, Field(ge=1, le=LARGEST_ID)]
Content = Annotated[dict[str, Any], AfterValidator(_bounded)]
Tags = Annotated[list[Name], Field(max_length=100)]
Query = Annotated[str, Field(max_length=20_000)]


def _written(given: Any) -> Any:
    """Refuse what is no text: a number would be taken for seconds."""
    if not isinstance(given, str):
        raise PydanticCustomError("time", "a time is a text in ISO 8601 with its zone, as 2026-05-01T12:00:00Z")
    return given


Moment = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_written)]
