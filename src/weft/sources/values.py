"""Values as people write them in records and front matter, turned into what a node can hold."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final

from weft.model import Edge, Json, Node
from weft.sources.files import clean

_MAX_DEPTH: Final = 32
_MAX_VALUES: Final = 20_000
_INT64: Final = 2**63
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECONDS_FROM: Final = 100_000_000_000
_LIST_SEPARATORS: Final = re.compile(r"[,;|]")
_NAME_SEPARATORS: Final = re.compile(r"[;|]")


class Unusable(ValueError):
    """A value that cannot be used; the message says what was given and what is allowed."""


def plain(value: object) -> Json:
    """The value as JSON that every store can hold: clean text, finite numbers, bounded depth and size."""
    return _plain(value, 0, [_MAX_VALUES])


def _plain(value: object, depth: int, left: list[int]) -> Json:
    left[0] -= 1
    if left[0] < 0 or depth > _MAX_DEPTH:
        return None
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, int):
        return value if -_INT64 <= value < _INT64 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return _plain_compound(value, depth, left)


def _plain_compound(value: object, depth: int, left: list[int]) -> Json:
    if isinstance(value, datetime):
        return _utc(value).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {clean(str(key)): _plain(part, depth + 1, left) for key, part in value.items() if left[0] > 0}
    if isinstance(value, list | tuple | set | frozenset):
        parts = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [_plain(part, depth + 1, left) for part in parts if left[0] > 0]
    return clean(str(value))


def text_of(value: object) -> str:
    """A scalar as text; anything else is unusable."""
    if isinstance(value, str):
        return clean(value).strip()
    if isinstance(value, bool | int | float | date):
        return str(plain(value)).lower() if isinstance(value, bool) else str(plain(value))
    raise Unusable(f"{_shown(value)} is not text; a string is allowed")


def words_of(value: object) -> tuple[str, ...]:
    """A list of short texts, or one text split at `,` `;` `|`, without repetition."""
    return _split(value, _LIST_SEPARATORS)


def names_of(value: object) -> tuple[str, ...]:
    """A list of names, or one text split at `;` `|` (a name may hold a comma), without repetition."""
    return _split(value, _NAME_SEPARATORS)


def _split(value: object, separators: re.Pattern[str]) -> tuple[str, ...]:
    parts: Sequence[object] = separators.split(value) if isinstance(value, str) else (value,)
    if isinstance(value, list | tuple):
        parts = value
    texts = (text_of(part) for part in parts if part is not None)
    return tuple(dict.fromkeys(text for text in texts if text))


def integer_of(value: object) -> int:
    """A whole number of at most 64 bits."""
    try:
        number = int(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int) or not -_INT64 <= number < _INT64:
        raise Unusable(f"{_shown(value)} is not a whole number")
    return number


def number_of(value: object, low: float, high: float) -> float:
    """A finite number within [low, high]."""
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and low <= number <= high):
        allowed = f"a number from {low:g}" + (f" to {high:g}" if math.isfinite(high) else "")
        raise Unusable(f"{_shown(value)} is not {allowed}")
    return number


def time_of(value: object) -> datetime:
    """A moment in UTC from ISO 8601 or seconds (or milliseconds) since 1970; without a zone it is UTC."""
    try:
        if isinstance(value, datetime):
            return _utc(value)
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        if isinstance(value, str) and not _is_epoch(value):
            return _utc(datetime.fromisoformat(value.strip()))
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            seconds = float(value)
            return _EPOCH + timedelta(seconds=seconds / 1000 if abs(seconds) >= _MILLISECONDS_FROM else seconds)
    except (ValueError, OverflowError):
        pass
    raise Unusable(f"{_shown(value)} is not a time; ISO 8601 or seconds since 1970 are allowed")


def _is_epoch(text: str) -> bool:
    return re.fullmatch(r"\s*-?\d{9,14}(\.\d+)?\s*", text) is not None


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."


_NUMBERED: Final = frozenset({"steps", "step", "procedure", "instructions"})


def readable(content: Json) -> str:
    """The content as labelled lines: mappings as `Label: value`, steps numbered, other lists with dashes."""
    if isinstance(content, Mapping):
        parts = [_labelled(str(name), value) for name, value in content.items()]
        return "\n".join(part for part in parts if part)
    if isinstance(content, Sequence) and not isinstance(content, str):
        return _listed(content, numbered=False)
    return _scalar(content)


def _labelled(name: str, value: Json) -> str:
    label = name.replace("_", " ").strip()
    label = label[:1].upper() + label[1:]
    if isinstance(value, str | int | float) or value is None:
        text = _scalar(value)
        return f"{label}: {text}" if text else ""
    if isinstance(value, Mapping):
        inner = "\n".join(f"- {line}" for line in readable(value).split("\n") if line)
    else:
        inner = _listed(value, numbered=name.lower() in _NUMBERED)
    return f"{label}:\n{inner}" if inner else ""


def _listed(values: Sequence[Json], *, numbered: bool) -> str:
    texts = [text for text in (_inline(value) for value in values) if text]
    return "\n".join(
        f"{number}. {text}" if numbered else f"- {text}" for number, text in enumerate(texts, start=1)
    )


def _inline(value: Json) -> str:
    if isinstance(value, Mapping):
        parts = ((str(name).replace("_", " "), _inline(part)) for name, part in value.items())
        return "; ".join(f"{name}: {text}" for name, text in parts if text)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(text for text in (_inline(part) for part in value) if text)
    return _scalar(value)


def _scalar(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).strip()


FOLLOWS = "next"


def following(nodes: Iterable[Node]) -> Iterator[Edge]:
    """A link from each node to the one with the same title and the next place in the sequence."""
    places = {(node.tenant, node.title, node.sequence): node.key for node in nodes if node.title}
    for (tenant, title, place), key in places.items():
        after = places.get((tenant, title, place + 1)) if place is not None else None
        if after is not None:
            yield Edge(key, after, FOLLOWS, tenant=tenant)
