"""Convert values as people write them in records and front matter into what a node can hold, and into text."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from weft.model import Edge, Json, Node
from weft.sources.files import clean

_MAX_NESTING: Final = 32
"""Levels of lists and mappings that are kept: far more than people write, and no danger to recursion."""
_MAX_VALUES: Final = 20_000
"""Values kept of one record or front matter; it bounds what a few YAML anchors can multiply to."""
_MAX_YAML_DEPTH: Final = 100
"""Levels of a YAML text that is loaded: its loader recurses in C, and ends the process at some ten thousand."""
_INT64_LIMIT: Final = 2**63
"""The stores keep integers in 64 bits; a larger one becomes text."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MIN_MILLISECONDS: Final = 100_000_000_000
"""A timestamp from this number on counts milliseconds: as seconds it would lie beyond the year 5100."""
_MAX_SHOWN_CHARACTERS: Final = 80
"""How much of a bad value an error message quotes."""
_LIST_SEPARATORS: Final = re.compile(r"[,;|]")
_NAME_SEPARATORS: Final = re.compile(r"[;|]")
_NUMBERED_FIELDS: Final = frozenset({"steps", "step", "procedure", "instructions"})
_NEXT_EDGE: Final = "next"


class UnusableValue(ValueError):
    """A value that cannot be used; the message quotes it and says what is allowed."""


def yaml_loader() -> Any:
    """Return the YAML parser in C, some ten times as fast as the other, which builds of PyYAML without it get."""
    # Loaded here and below, because most sources have no YAML.
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str) -> object:
    """Return the value of a YAML text; raise ValueError or YAMLError for one that cannot be loaded."""
    import yaml

    check_yaml_depth(text)
    return yaml.load(text, Loader=yaml_loader())


def check_yaml_depth(text: str) -> None:
    """Raise ValueError for YAML that nests so deep that loading it would end the process."""
    # Every level begins with one of these: most texts have too few of them to nest so deep.
    if sum(map(text.count, "[{-?:")) <= _MAX_YAML_DEPTH:
        return
    import yaml

    depth = 0
    try:
        # Events come without recursion. An error among them is told by whoever loads the text.
        for event in yaml.parse(text, Loader=yaml_loader()):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_YAML_DEPTH:
                raise ValueError(f"it nests more than {_MAX_YAML_DEPTH} levels deep")
    except yaml.YAMLError:
        return


def to_json(value: object) -> Json:
    """Convert a value to JSON that every store can hold: clean text, finite numbers, bounded depth and size."""
    return _plain(value, 0, [_MAX_VALUES])


def _plain(value: object, depth: int, left: list[int]) -> Json:
    # `left` is a list of one number because all levels of the recursion count down the same allowance.
    left[0] -= 1
    if left[0] < 0 or depth > _MAX_NESTING:
        return None
    # Before int, because a bool is one in Python.
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, int):
        return value if -_INT64_LIMIT <= value < _INT64_LIMIT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return _plain_compound(value, depth, left)


def _plain_compound(value: object, depth: int, left: list[int]) -> Json:
    if isinstance(value, datetime):
        return _to_utc(value).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {clean(str(key)): _plain(part, depth + 1, left) for key, part in value.items() if left[0] > 0}
    if isinstance(value, list | tuple | set | frozenset):
        # YAML has sets, whose order differs from run to run.
        parts = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [_plain(part, depth + 1, left) for part in parts if left[0] > 0]
    return clean(str(value))


def to_text(value: object) -> str:
    """Convert a scalar to text; raise UnusableValue for anything else."""
    if isinstance(value, str):
        return clean(value).strip()
    if isinstance(value, bool | int | float | date):
        return str(to_json(value)).lower() if isinstance(value, bool) else str(to_json(value))
    raise UnusableValue(f"{_quote(value)} is not text; a string is allowed")


def split_words(value: object) -> tuple[str, ...]:
    """Return the texts of a list, or of one text split at `,` `;` `|`, each once."""
    return _split(value, _LIST_SEPARATORS)


def split_names(value: object) -> tuple[str, ...]:
    """Return the names in a list, or in one text split at `;` `|` (a name may hold a comma), each once."""
    return _split(value, _NAME_SEPARATORS)


def _split(value: object, separators: re.Pattern[str]) -> tuple[str, ...]:
    parts: Sequence[object] = separators.split(value) if isinstance(value, str) else (value,)
    if isinstance(value, list | tuple):
        parts = value
    texts = (to_text(part) for part in parts if part is not None)
    return tuple(dict.fromkeys(text for text in texts if text))


def to_integer(value: object) -> int:
    """Convert a value to a whole number of at most 64 bits."""
    try:
        number = int(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int) or not -_INT64_LIMIT <= number < _INT64_LIMIT:
        raise UnusableValue(f"{_quote(value)} is not a whole number")
    return number


def to_number(value: object, low: float, high: float) -> float:
    """Convert a value to a finite number within [low, high]."""
    try:
        # Not a number fails the test of the range below, so that all bad values get one message.
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and low <= number <= high):
        allowed = f"a number from {low:g}" + (f" to {high:g}" if math.isfinite(high) else "")
        raise UnusableValue(f"{_quote(value)} is not {allowed}")
    return number


def to_time(value: object) -> datetime:
    """Convert ISO 8601, or seconds or milliseconds since 1970, to a time in UTC; without a zone it is UTC."""
    try:
        # Before date, because a datetime is one.
        if isinstance(value, datetime):
            return _to_utc(value)
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        if isinstance(value, str) and not _is_timestamp(value):
            return _to_utc(datetime.fromisoformat(value.strip()))
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            seconds = float(value)
            return _EPOCH + timedelta(seconds=seconds / 1000 if abs(seconds) >= _MIN_MILLISECONDS else seconds)
    except (ValueError, OverflowError):
        pass
    raise UnusableValue(f"{_quote(value)} is not a time; ISO 8601 or seconds since 1970 are allowed")


def to_time_or_none(value: object) -> datetime | None:
    """Convert a value to a time in UTC; return None for None and for a value that is not a time."""
    try:
        return to_time(value) if value is not None else None
    except UnusableValue:
        return None


def _is_timestamp(text: str) -> bool:
    # Eight digits are a date without dashes in ISO 8601, so a timestamp has at least nine.
    return re.fullmatch(r"\s*-?\d{9,14}(\.\d+)?\s*", text) is not None


def _to_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _quote(value: object) -> str:
    quoted = repr(value)
    limit = _MAX_SHOWN_CHARACTERS
    return quoted if len(quoted) <= limit else quoted[: limit - 3] + "..."


def to_labelled_lines(content: Json) -> str:
    """Write the content as labelled lines: mappings as `Label: value`, steps numbered, other lists with dashes."""
    if isinstance(content, Mapping):
        parts = [_label_field(str(name), value) for name, value in content.items()]
        return "\n".join(part for part in parts if part)
    if isinstance(content, Sequence) and not isinstance(content, str):
        return _list_lines(content, numbered=False)
    return _scalar_text(content)


def _label_field(name: str, value: Json) -> str:
    label = name.replace("_", " ").strip()
    label = label[:1].upper() + label[1:]
    if isinstance(value, str | int | float) or value is None:
        text = _scalar_text(value)
        return f"{label}: {text}" if text else ""
    if isinstance(value, Mapping):
        inner = "\n".join(f"- {line}" for line in to_labelled_lines(value).split("\n") if line)
    else:
        inner = _list_lines(value, numbered=name.lower() in _NUMBERED_FIELDS)
    return f"{label}:\n{inner}" if inner else ""


def _list_lines(values: Sequence[Json], *, numbered: bool) -> str:
    texts = [text for text in (_join_inline(value) for value in values) if text]
    return "\n".join(
        f"{number}. {text}" if numbered else f"- {text}" for number, text in enumerate(texts, start=1)
    )


def _join_inline(value: Json) -> str:
    if isinstance(value, Mapping):
        parts = ((str(name).replace("_", " "), _join_inline(part)) for name, part in value.items())
        return "; ".join(f"{name}: {text}" for name, text in parts if text)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(text for text in (_join_inline(part) for part in value) if text)
    return _scalar_text(value)


def _scalar_text(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).strip()


def sequence_edges(nodes: Iterable[Node]) -> Iterator[Edge]:
    """Link each node to the node with the same title and the next number in the sequence."""
    keys = {(node.tenant, node.title, node.sequence): node.key for node in nodes if node.title}
    for (tenant, title, sequence), key in keys.items():
        next_key = keys.get((tenant, title, sequence + 1)) if sequence is not None else None
        if next_key is not None:
            yield Edge(key, next_key, _NEXT_EDGE, tenant=tenant)
