"""Find the tasks of a note with their states and dates, as Obsidian, its plugins and Logseq write them."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import xxhash
from msgspec import Struct, field
from msgspec.structs import replace

from weft.model import Edge, Node
from weft.ports import LINE_OF, NOTE_FORM
from weft.sources.notes.references import blank_code, field_key, find_tags, name_links

_CHECKBOX: Final = re.compile(
    r"^[ \t]*(?:>[ \t]*)*(?:[-*+]|\d+[.)])[ \t]+\[(?P<mark>[^\]\n])\][ \t]+(?P<words>\S[^\n]*)$"
    r"|^[ \t]*[-*][ \t]+(?P<marker>TODO|DOING|NOW|LATER|WAITING|WAIT|IN-PROGRESS|DONE|CANCELL?ED)[ \t]+"
    r"(?P<rest>\S[^\n]*)$",
    re.MULTILINE,
)
_STATUS_BY_MARK: Final = {
    **dict.fromkeys("xX", "done"),
    **dict.fromkeys("/", "in progress"),
    **dict.fromkeys("-", "cancelled"),
    **dict.fromkeys(">", "deferred"),
}
"""The states of Obsidian's other checkboxes that change whether something is to be done; all others are open."""
_STATUS_BY_MARKER: Final = {
    **dict.fromkeys(("DONE",), "done"),
    **dict.fromkeys(("DOING", "NOW", "IN-PROGRESS"), "in progress"),
    **dict.fromkeys(("WAITING", "WAIT"), "waiting"),
    **dict.fromkeys(("CANCELED", "CANCELLED"), "cancelled"),
}
_OPEN: Final = "open"

_DATE: Final = r"(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2})?)?"
_DATE_BY_SIGN: Final = {
    "📅": "due",
    "⏳": "scheduled",
    "🛫": "start",
    "➕": "created",
    "✅": "done",
    "❌": "cancelled",
}
_SIGN_DATE: Final = re.compile(rf"({'|'.join(_DATE_BY_SIGN)})\ufe0f?[ \t]*{_DATE}")
_PRIORITY_BY_SIGN: Final = {"🔺": "highest", "⏫": "high", "🔼": "medium", "🔽": "low", "⏬": "lowest"}
_PRIORITY: Final = re.compile(rf"({'|'.join(_PRIORITY_BY_SIGN)})\ufe0f?|\[#([ABC])\]")
_PRIORITY_BY_LETTER: Final = {"A": "high", "B": "medium", "C": "low"}
_REPEATS: Final = re.compile(r"🔁\ufe0f?[ \t]*([A-Za-z0-9, ]+?)(?=[ \t]*(?:[^\w\s,]|$))")
_FIELD: Final = re.compile(r"[\[(]([^\W\d_][\w -]{0,39}?)::[ \t]*((?:\[\[[^\]\n]*\]\]|[^\])\n])*)[\])]")
# Logseq writes dates on the lines below: `DEADLINE: <2026-05-01 Fri>`.
_LINE_DATE: Final = re.compile(rf"[ \t]*(DEADLINE|SCHEDULED):[ \t]*<{_DATE}[^>\n]*>[ \t]*")
_KEY_BY_LINE: Final = {"DEADLINE": "due", "SCHEDULED": "scheduled"}
_KEY_BY_FIELD: Final = {"completion": "done", "completed": "done", "deadline": "due"}
"""Other names that Dataview and its users give to a date of a task."""
_TAG: Final = re.compile(r"(?<!\S)#[^\s#]+")
_BLOCK: Final = re.compile(r"[ \t]+\^([A-Za-z0-9-]+)[ \t]*$")
_MAX_TITLE_CHARACTERS: Final = 300
"""A longer task is a paragraph, of which the note holds the rest."""


class Task(Struct, frozen=True):
    """One task: its words without marks and dates, its line in the text, its state, dates and other values."""

    words: str
    line: int
    status: str
    tags: tuple[str, ...] = ()
    values: dict[str, str] = field(default_factory=dict)
    block: str = ""


def find_tasks(text: str) -> Iterator[Task]:
    """Iterate over the tasks of a text, in order; those in code and comments are none."""
    visible = blank_code(text)
    for match in _CHECKBOX.finditer(visible):
        status = _STATUS_BY_MARK.get(match["mark"] or "") or _STATUS_BY_MARKER.get(match["marker"] or "") or _OPEN
        group = "words" if match["mark"] else "rest"
        written = text[match.start(group) : match.end(group)]
        line = text.count("\n", 0, match.start()) + 1
        task = _read_words(written, line, status)
        if task.words:
            dates = _dates_below(visible, match.end())
            yield replace(task, values={**task.values, **dates}) if dates else task


def _read_words(written: str, line: int, status: str) -> Task:
    """Return the task of one line without its marks."""
    values: dict[str, str] = {}
    for match in _FIELD.finditer(written):
        key = field_key(match[1])
        values.setdefault(_KEY_BY_FIELD.get(key, key), name_links(match[2].strip()))
    for match in _SIGN_DATE.finditer(written):
        values.setdefault(_DATE_BY_SIGN[match[1]], match[2])
    for match in _PRIORITY.finditer(written):
        values.setdefault("priority", _PRIORITY_BY_SIGN.get(match[1]) or _PRIORITY_BY_LETTER[match[2]])
    repeats = _REPEATS.search(written)
    if repeats:
        values.setdefault("repeats", repeats[1].strip())
    block = _BLOCK.search(written)
    words = written
    for pattern in (_BLOCK, _FIELD, _SIGN_DATE, _REPEATS, _PRIORITY):
        words = pattern.sub(" ", words)
    words = " ".join(name_links(_TAG.sub(" ", words)).split())[:_MAX_TITLE_CHARACTERS]
    return Task(words, line, status, find_tags(written), values, block[1] if block else "")


def _dates_below(visible: str, end: int) -> dict[str, str]:
    """Return the dates that stand on the lines directly below a task."""
    dates: dict[str, str] = {}
    start = end + 1
    while (match := _LINE_DATE.match(visible, start)) is not None:
        dates[_KEY_BY_LINE[match[1]]] = match[2]
        start = match.end() + 1
    return dates


def task_nodes(note: Node, text: str) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
    """Return a node for each task in the text of a note, and the edges that lead to them from the note."""
    nodes: list[Node] = []
    counts: Counter[str] = Counter()
    for task in find_tasks(text):
        # By its words and not its place, so that a task keeps its key when others are written above it.
        mark = task.block or xxhash.xxh3_64_hexdigest(task.words.encode("utf-8", "replace"))[:8]
        counts[mark] += 1
        name = mark if counts[mark] == 1 else f"{mark}-{counts[mark]}"
        line = (note.origin.first_line or 1) + task.line - 1
        values = {**task.values, "status": task.status, "note": note.title}
        nodes.append(
            Node(
                key=f"{note.key}#task-{name}",
                kind="task",
                tenant=note.tenant,
                title=task.words,
                language=note.language,
                fields={
                    **{key: values[key] for key in sorted(values) if values[key]},
                    **NOTE_FORM,
                    LINE_OF: note.key,
                },
                tags=task.tags,
                origin=replace(note.origin, first_line=line, last_line=line),
                sequence=note.sequence,
                known_from=note.known_from,
                created=note.created,
                modified=note.modified,
            )
        )
    return tuple(nodes), tuple(Edge(note.key, node.key, "parent", tenant=note.tenant) for node in nodes)
