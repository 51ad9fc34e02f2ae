"""Format the values of nodes and candidates as short words, and fill in the line forms of profiles with them."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct

from weft.model import FOUND_ENTITY, Candidate, Json, Node
from weft.profiles.types import SIGNALS, Profile
from weft.render.harmless import one_line

PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_][\w.-]*)(?::(\d+))?\}")
"""A placeholder of a form: `{name}`, or `{name:80}` for at most 80 characters of the value."""
_OPTIONAL: Final = re.compile(r"\[\[(.*?)\]\]")
_LINE_START: Final = re.compile(r"[ \t>*+\-\d.)]*")
_MARKDOWN_MARKS: Final = re.compile(r"[*`]")

_BOLD: Final = re.compile(r"\*\*([^*]+)\*\*")
_FRAME_LABELS: Final = ("Sources", "Note", "Tags", "User", "Assistant")
"""Labels that the frame of any page may print."""

_EVENT_KINDS: Final = frozenset({"commit", "message", "session", "decision", "memory", "experience"})
"""Kinds of nodes that happened at a time: a reader must know which of two came later."""
_AUTHOR_FIELDS: Final = ("author", "speaker")
"""Fields that name who said or did it. A message's role stands in its title."""
_COMMIT_HASH_LENGTH: Final = 10
"""Characters of a commit hash that are printed: enough to be unique even in very large repositories."""
_VALUE_DECIMALS: Final = 4
_SCORE_DECIMALS: Final = 3
_SCORE_TOLERANCE: Final = 0.0005
"""The distance from the score at which parts are still printed as its sum: half of the last printed decimal."""
_MAX_PARSED_FORMS: Final = 256
"""Parsed forms that are kept; all built-in profiles together have far fewer."""


def _read_book(node: Node) -> str | None:
    """Return the name of the book that a chapter or scene stands in: its file, if that holds several of them."""
    file = node.origin.file
    is_part = node.kind in ("chapter", "scene") and "#" in node.key
    return PurePosixPath(str(file)).stem if file and is_part else None


# Names that mean the node's own attribute even if a field has the same name.
_RESERVED_NAMES: Final = frozenset({"title", "kind", "key", "summary", "text"})
_ATTRIBUTES: Final[Mapping[str, Callable[[Node], "Json | datetime"]]] = {
    "file": lambda node: node.origin.file,
    "book": _read_book,
    # With the mark, since profiles print a line behind its file.
    "line": lambda node: (
        node.origin.first_line if node.origin.stale is None else f"{node.origin.first_line} ({node.origin.stale})"
    ),
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


def display_name(node: Node) -> str:
    """Return the node's title on one line, or its key if it has none."""
    return one_line(node.title) or one_line(node.key)


def format_location(node: Node, line: int | None = None) -> str:
    """Return the file and line, the URL or the commit that the node came from; empty if it has none of them.

    `line` takes the place of the node's first line, where a later part of its text is shown.
    """
    origin = node.origin
    # Of a note in an export the address opens the note, and the file does not.
    if origin.file and not (origin.url and is_one_of_many(node)):
        file, line = one_line(origin.file), origin.first_line if line is None else line
        mark = f" ({origin.stale.value})" if origin.stale is not None else ""
        return f"{file}:{line}{mark}" if line is not None else f"{file}{mark}"
    if origin.commit and not origin.url:
        return f"commit {one_line(origin.commit)[:_COMMIT_HASH_LENGTH]}"
    return one_line(origin.url or "")


def format_occasion(node: Node) -> tuple[str, str]:
    """Return the day on which something was said or done, and who did; empty for texts that are not an event.

    A person or thing that was found in a story has the chapter of the quoted passage in place of a day.
    """
    if FOUND_ENTITY in node.key:
        return format_value(node.fields.get("chapter")), ""
    if node.kind not in _EVENT_KINDS:
        return "", ""
    time = node.created or node.modified
    author = next((node.fields[name] for name in _AUTHOR_FIELDS if isinstance(node.fields.get(name), str)), "")
    return f"{time:%Y-%m-%d}" if time else "", one_line(str(author))


def turn_heading(node: Node) -> str:
    """Return the heading for the turns of one day of a conversation; empty for what is no turn of one."""
    if not isinstance(node.fields.get("role"), str):
        return ""
    if node.kind != "message":
        return one_line(node.title)
    name = node.fields.get("session")
    where = one_line(name) if isinstance(name, str) else format_location(node)
    return " · ".join(part for part in (where, format_occasion(node)[0]) if part)


def format_reference(node: Node) -> str:
    """Return how a reader finds the node again: its location, or its key if the location does not identify it."""
    return one_line(node.key) if is_one_of_many(node) else format_location(node) or one_line(node.key)


def is_one_of_many(node: Node) -> bool:
    """Return whether the node has no line of its own in a file that contains other nodes too."""
    origin = node.origin
    return bool(origin.file) and origin.first_line is None and str(origin.file) not in node.key


def read_value(node: Node, name: str) -> Json:
    """Return the value of a name: a reserved attribute, a field (dots lead inside) or another attribute."""
    if name in _RESERVED_NAMES:
        return str(getattr(node, name)) or None
    # Fields before attributes: a record may have a `source` or `file` of its own.
    found = _read_field(node.fields, name)
    if found is not None:
        return found
    value = _ATTRIBUTES[name](node) if name in _ATTRIBUTES else None
    return value.isoformat() if isinstance(value, datetime) else value


def _read_field(fields: Mapping[str, Json], name: str) -> Json:
    if name in fields or "." not in name:
        return fields.get(name)
    head, _, rest = name.partition(".")
    inner = fields.get(head)
    return _read_field(inner, rest) if isinstance(inner, Mapping) else None


def format_value(value: Json) -> str:
    """Return a value as words on one line; lists are joined by commas, None is empty."""
    if value is None:
        return ""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _format_number(value, _VALUE_DECIMALS)
    if isinstance(value, Mapping):
        return _format_mapping(value)
    return ", ".join(words for words in map(format_value, value) if words)


def _format_mapping(value: Mapping[str, Json]) -> str:
    """Return the mapping's title or name if it has one, else all its pairs in the order of their names."""
    for name in ("title", "name"):
        if isinstance(value.get(name), str):
            return format_value(value[name])
    pairs: Sequence[tuple[str, str]] = [(one_line(name), format_value(value[name])) for name in sorted(value)]
    return ", ".join(f"{name}: {words}" for name, words in pairs if words)


def _format_number(value: float, decimals: int) -> str:
    """Return a number rounded to some decimals, without trailing zeros."""
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    return str(round(value, decimals)).removesuffix(".0")


def split_label(name: str) -> tuple[str, str]:
    """Return a field's name and its label: those of `name=Label`, or the name itself made readable."""
    field, equals, label = name.partition("=")
    return field, label if equals else field.rpartition(".")[2].replace("_", " ").strip().capitalize()


def label_key(label: str) -> str:
    """Return a label as labels are compared: in small letters, without marks around it."""
    return one_line(label).casefold().strip(" :*_.")


def bold_labels(profile: Profile) -> frozenset[str] | None:
    """Return the labels that pages of a profile print in bold; None if a form prints a stored value so."""
    parts = [part for section in profile.sections for part in section.parts]
    printed = [*(section.blocks for section in profile.sections), *(part.blocks for part in parts)]
    blocks = [block for blocks in printed for block in blocks]
    words = [word for block in blocks for word in _BOLD.findall(block.form)]
    if any("{" in word for word in words):
        return None
    labels = [*words, *(part.label for part in parts), *(block.label for block in blocks), *_FRAME_LABELS]
    return frozenset(map(label_key, filter(None, labels)))


def format_score(candidate: Candidate, only: Sequence[str] = ()) -> str:
    """Return the score and the signals behind it (or `only` some of them), as a sum if they add up to it."""
    names = [*(name for name in SIGNALS if name in candidate.parts), *sorted(set(candidate.parts) - set(SIGNALS))]
    names = [name for name in names if not only or name in only]
    score = _format_number(candidate.score, _SCORE_DECIMALS)
    if not names:
        return score
    parts = [f"{one_line(name)} {_format_number(candidate.parts[name], _SCORE_DECIMALS)}" for name in names]
    total = sum(candidate.parts[name] for name in names)
    if math.isclose(total, candidate.score, abs_tol=_SCORE_TOLERANCE):
        return f"{score} = {' + '.join(parts)}"
    return f"{score} ({', '.join(parts)})"


def format_path(candidate: Candidate) -> str:
    """Return the steps from the candidate back to where the walk began; empty if it was not reached by a walk."""
    steps = candidate.path
    before = [candidate.root, *(step.key for step in steps)]
    # Each step is printed backwards, so an edge that leads out to the candidate points left.
    back = [
        f"{one_line(step.edge_type)} {'←' if step.direction == 'out' else '→'} {one_line(key)}".rstrip()
        for step, key in zip(steps, before, strict=False)
    ]
    return ", ".join(reversed(back))


def format_related_link(candidate: Candidate, edge_types: Sequence[str]) -> str:
    """Return the edge from a related pointer to its neighbour, as in `calls Queue.take`; empty for other items."""
    if not candidate.is_related_pointer(edge_types):
        return ""
    key = candidate.previous_key
    # The readable end of a key: the symbol of `repo:path#symbol`, else all but the name of the source.
    name = key.rpartition("#")[2] if "#" in key else key.partition(":")[2] or key
    return f"{one_line(candidate.path[-1].edge_type)} {one_line(name)}"


class Dialect(Struct, frozen=True):
    """The needs of a format: whether it keeps Markdown's marks, and what makes stored values harmless.

    `guard` is for a value at the start of a line, `inline` for one within a line. Programs read what `is_data`.
    """

    keeps_marks: bool
    guard: Callable[[str], str]
    inline: Callable[[str], str] = str
    is_data: bool = False


class FilledForm(Struct, frozen=True):
    """A form with its values, the number of its placeholders, and how many of them had a value."""

    text: str
    placeholders: int
    filled: int


_EMPTY_FORM: Final = FilledForm("", 0, 0)


def fill_form(form: str, node: Node, dialect: Dialect) -> FilledForm:
    """Fill in the node's values; a part in [[ ]] is printed only if all its placeholders have values."""
    if not form:
        return _EMPTY_FORM
    placeholders = filled = 0
    printed = ""
    for part in _parse_form(form):
        # Without all its values an optional part would read as a torso, such as a label with nothing behind it.
        if part.optional and not all(format_value(read_value(node, slot.name)) for slot in part.slots):
            continue
        for slot in part.slots:
            value = format_value(read_value(node, slot.name))[: slot.max_characters]
            placeholders, filled = placeholders + 1, filled + bool(value)
            printed += _literal(slot.before, dialect)
            printed += _guard_value(value, printed, dialect) if value else ""
        printed += _literal(part.after, dialect)
    return FilledForm(printed, placeholders, filled)


class _FormSlot(Struct, frozen=True):
    """A placeholder and the words before it."""

    before: str
    name: str
    max_characters: int | None


class _FormPart(Struct, frozen=True):
    """A part of a form: its placeholders, the words after them, and whether it needs all their values."""

    slots: tuple[_FormSlot, ...]
    after: str
    optional: bool


# Profiles have few forms, and each is filled in for every item.
@lru_cache(_MAX_PARSED_FORMS)
def _parse_form(form: str) -> tuple[_FormPart, ...]:
    # A pattern with one group splits a text into what is outside and inside of it by turns.
    parts = enumerate(_OPTIONAL.split(form))
    return tuple(_parse_part(words, bool(index % 2)) for index, words in parts if words)


def _parse_part(words: str, optional: bool) -> _FormPart:
    slots, end = [], 0
    for match in PLACEHOLDER.finditer(words):
        slots.append(_FormSlot(words[end : match.start()], match[1], int(match[2]) if match[2] else None))
        end = match.end()
    return _FormPart(tuple(slots), words[end:], optional)


def _literal(text: str, dialect: Dialect) -> str:
    return text if dialect.keeps_marks else _MARKDOWN_MARKS.sub("", text)


def _guard_value(value: str, before: str, dialect: Dialect) -> str:
    """Keep a value from ending the code span before it, or from opening something at the start of a line."""
    if dialect.keeps_marks and before.endswith("`"):
        value = value.replace("`", "'")
    elif _LINE_START.fullmatch(before):
        value = dialect.guard(value)
    return dialect.inline(value)
