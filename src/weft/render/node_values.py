"""What a node says about itself, as short words: its values by name, and lines filled in from a form."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final

from weft.frozen import dataclass
from weft.model import Candidate, Json, Node
from weft.profiles.types import SIGNALS
from weft.render.lines import one_line
from weft.scoring.candidates import beside, is_aside

PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_][\w.-]*)(?::(\d+))?\}")
_OPTIONAL: Final = re.compile(r"\[\[(.*?)\]\]")
_OWN: Final = frozenset({"title", "kind", "key", "summary", "text"})
_LINE_START: Final = re.compile(r"[ \t>*+\-\d.)]*")
_MARKS: Final = re.compile(r"[*`]")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a format takes words: whether markdown's own marks are kept, and what makes a line's start harmless."""

    marks: bool
    guard: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Filled:
    """A filled-in form, how many placeholders it had and how many of them had a value."""

    text: str
    asked: int
    found: int


def name_of(node: Node) -> str:
    """The node's title on one line, or its key when it has none."""
    return one_line(node.title) or one_line(node.key)


_SHORT_HASH: Final = 10


def place_of(node: Node) -> str:
    """The file and line, the address or the commit that the node came from; empty when it has none of them."""
    origin = node.origin
    if origin.file:
        file = one_line(origin.file)
        return f"{file}:{origin.first_line}" if origin.first_line is not None else file
    if origin.commit and not origin.url:
        return f"commit {one_line(origin.commit)[:_SHORT_HASH]}"
    return one_line(origin.url or "")


def found_at(node: Node) -> str:
    """Where a reader finds the node again: its place, or its key where a file of many nodes says nothing of it."""
    return one_line(node.key) if is_one_of_many(node) else place_of(node) or one_line(node.key)


def is_one_of_many(node: Node) -> bool:
    """Whether the node came from a file that holds others too, without a line of its own."""
    origin = node.origin
    return bool(origin.file) and origin.first_line is None and str(origin.file) not in node.key


def value_of(node: Node, name: str) -> Json:
    """The value behind a name: title, kind, key, summary, text, a field (dots lead inside), then the origin."""
    if name in _OWN:
        return str(getattr(node, name)) or None
    found = _field(node.fields, name)
    return found if found is not None else _attribute(node, name)


def words_of(value: Json) -> str:
    """A value as words on one line; lists are joined by commas, nothing is empty."""
    if value is None:
        return ""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, Mapping):
        return _mapping_words(value)
    return ", ".join(words for words in map(words_of, value) if words)


def number(value: float) -> str:
    """A number with at most four decimals and no trailing zeros."""
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    return str(round(value, 4)).removesuffix(".0")


def label_of(name: str) -> tuple[str, str]:
    """The field's name and the label to print for it: `name=Label`, or the name made readable."""
    field, equals, label = name.partition("=")
    return field, label if equals else field.rpartition(".")[2].replace("_", " ").strip().capitalize()


def filled(form: str, node: Node, dialect: Dialect) -> Filled:
    """The form with the node's values for its placeholders; a part in [[ ]] only if all it names is there."""
    asked = found = 0
    printed = ""
    for part in _parsed(form):
        if part.optional and not all(words_of(value_of(node, hole.name)) for hole in part.holes):
            continue
        for hole in part.holes:
            value = words_of(value_of(node, hole.name))[: hole.most]
            asked, found = asked + 1, found + bool(value)
            printed += _literal(hole.before, dialect)
            printed += _value(value, printed, dialect)
        printed += _literal(part.after, dialect)
    return Filled(printed, asked, found)


@dataclass(frozen=True, slots=True)
class _Hole:
    """A placeholder with the words before it: whose value, and at most how many of its characters."""

    before: str
    name: str
    most: int | None


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a form: its placeholders, the words after them, and whether it stands only if all have values."""

    holes: tuple[_Hole, ...]
    after: str
    optional: bool


@lru_cache(256)
def _parsed(form: str) -> tuple[_Part, ...]:
    """The parts of a form; profiles have few forms, and each is filled in for every item."""
    # A pattern with one group splits a text into what is outside and inside of it by turns.
    return tuple(_part(words, bool(at % 2)) for at, words in enumerate(_OPTIONAL.split(form)) if words)


def _part(words: str, optional: bool) -> _Part:
    holes, place = [], 0
    for match in PLACEHOLDER.finditer(words):
        holes.append(_Hole(words[place : match.start()], match[1], int(match[2]) if match[2] else None))
        place = match.end()
    return _Part(tuple(holes), words[place:], optional)


def score_words(candidate: Candidate, only: Sequence[str] = ()) -> str:
    """The score and the signals behind it (or only some of them), as a sum where they do add up to it."""
    names = [*(name for name in SIGNALS if name in candidate.parts), *sorted(set(candidate.parts) - set(SIGNALS))]
    names = [name for name in names if not only or name in only]
    score = _short(candidate.score)
    if not names:
        return score
    parts = [f"{one_line(name)} {_short(candidate.parts[name])}" for name in names]
    if math.isclose(sum(candidate.parts[name] for name in names), candidate.score, abs_tol=0.0005):
        return f"{score} = {' + '.join(parts)}"
    return f"{score} ({', '.join(parts)})"


def path_words(candidate: Candidate) -> str:
    """How the candidate was reached, from itself back to where the walk began; empty when it was not walked to."""
    steps = candidate.path
    before = [candidate.root, *(step.key for step in steps)]
    back = [
        f"{one_line(step.edge_type)} {'←' if step.direction == 'out' else '→'} {one_line(key)}".rstrip()
        for step, key in zip(steps, before, strict=False)
    ]
    return ", ".join(reversed(back))


def aside_words(candidate: Candidate, types: Sequence[str]) -> str:
    """The link that leads from an aside to what it stands beside: `calls Queue.take`; nothing for other items."""
    if not is_aside(candidate, types):
        return ""
    key = beside(candidate)
    name = key.rpartition("#")[2] if "#" in key else key.partition(":")[2] or key
    return f"{one_line(candidate.path[-1].edge_type)} {one_line(name)}"


def _short(value: float) -> str:
    return str(round(value, 3)).removesuffix(".0")


def _field(fields: Mapping[str, Json], name: str) -> Json:
    if name in fields or "." not in name:
        return fields.get(name)
    head, _, rest = name.partition(".")
    inner = fields.get(head)
    return _field(inner, rest) if isinstance(inner, Mapping) else None


_ATTRIBUTES: Final[Mapping[str, Callable[[Node], "Json | datetime"]]] = {
    "file": lambda node: node.origin.file,
    "line": lambda node: node.origin.first_line,
    "url": lambda node: node.origin.url,
    "commit": lambda node: node.origin.commit,
    "source": lambda node: node.origin.source or None,
    "language": lambda node: node.language,
    "importance": lambda node: node.importance or None,
    "sequence": lambda node: node.sequence,
    "created": lambda node: node.created,
    "modified": lambda node: node.modified,
    "tags": lambda node: node.tags or None,
}


def _attribute(node: Node, name: str) -> Json:
    value = _ATTRIBUTES[name](node) if name in _ATTRIBUTES else None
    return value.isoformat() if isinstance(value, datetime) else value


def _mapping_words(value: Mapping[str, Json]) -> str:
    for name in ("title", "name"):
        if isinstance(value.get(name), str):
            return words_of(value[name])
    pairs: Sequence[tuple[str, str]] = [(one_line(name), words_of(value[name])) for name in sorted(value)]
    return ", ".join(f"{name}: {words}" for name, words in pairs if words)


def _literal(text: str, dialect: Dialect) -> str:
    return text if dialect.marks else _MARKS.sub("", text)


def _value(value: str, before: str, dialect: Dialect) -> str:
    if dialect.marks and before.endswith("`"):
        return value.replace("`", "'")
    return dialect.guard(value) if _LINE_START.fullmatch(before) else value
