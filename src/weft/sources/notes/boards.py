"""Read the canvases and bases of Obsidian: boards of cards and notes, and views of notes by their properties."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

import msgspec
import yaml
from msgspec import Struct, field

from weft.model import Edge, Json, Node, Origin
from weft.ports import NOTE_FORM, Problem, Unit
from weft.sources.files import (
    MAX_TEXT_CHARACTERS,
    File,
    SourceSettings,
    clean,
    decode,
    error_line,
    file_stamp,
    read_bytes,
)
from weft.sources.notes.note_index import NoteIndex, NoteNames
from weft.sources.notes.references import NOTE_SUFFIXES, Reference, find_references, find_tags
from weft.sources.values import load_yaml, to_json
from weft.text.redact_source import redact_source

BOARD_SUFFIXES: Final = frozenset({".canvas", ".base"})
_SUFFIXES: Final = tuple(BOARD_SUFFIXES)
_NOTE_SUFFIXES: Final = tuple(NOTE_SUFFIXES)
_VERSION: Final = 1
"""To be changed whenever the same file would give other nodes or edges."""
_MAX_BYTES: Final = 4 * MAX_TEXT_CHARACTERS
# Notes, folders and tags that the filters of a base name.
_FILTER_LINK: Final = re.compile(r"""(?:hasLink|link|file)\(\s*["']([^"'\n]+)["']""")


class _Card(Struct, frozen=True):
    """One card of a canvas, as the JSON Canvas format writes it."""

    id: str = ""
    type: str = ""
    text: str = ""
    file: str = ""
    url: str = ""
    label: str = ""
    subpath: str = ""
    x: float = 0
    y: float = 0
    width: float = 0
    height: float = 0


class _Arrow(Struct, frozen=True, rename={"source": "fromNode", "target": "toNode"}):
    source: str = ""
    target: str = ""
    label: str = ""


class _Canvas(Struct, frozen=True):
    nodes: list[_Card] = field(default_factory=list)
    edges: list[_Arrow] = field(default_factory=list)


class Boards:
    """The canvases and bases of one source, one unit a file."""

    suffixes = BOARD_SUFFIXES

    def __init__(self, settings: SourceSettings) -> None:
        self.settings = settings
        self._files: dict[str, File] = {}
        self._note_index = NoteIndex()

    def survey(self, files: Sequence[File]) -> None:
        """Take note of the names of all notes, which cards and filters link to."""
        others = [file.name for file in files if file.name.lower().endswith(_SUFFIXES)]
        notes = [file.name for file in files if file.name.lower().endswith(_NOTE_SUFFIXES)] if others else []
        self._note_index = NoteIndex.of(dict.fromkeys(notes, NoteNames()), others)

    def takes(self, file: File) -> bool:
        """Take every file with one of the suffixes."""
        return True

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """List the (name, stamp) of every board.

        Which note a card means is no part of it: Obsidian rewrites a board when a note on it is moved.
        """
        self._files = {file.name: file for file in files}
        for file in files:
            yield file.name, f"{file_stamp(file.path)}-{_VERSION}"

    def reread(self, files: Sequence[File], changed: Sequence[File]) -> Iterator[Unit]:
        """Iterate over changed boards; their links are resolved among all notes."""
        self.survey(files)
        list(self.units(changed))
        yield from (self.read(file.name) for file in changed)

    def read(self, unit: str) -> Unit:
        """Read one canvas or base."""
        file = self._files[unit]
        stamp = f"{file_stamp(file.path)}-{_VERSION}"
        content, problem = read_bytes(file, _MAX_BYTES)
        if problem:
            return Unit(unit, stamp, problems=(problem,))
        text, problems = decode(content, unit)
        safe = redact_source(clean(text))
        is_canvas = file.path.suffix.lower() == ".canvas"
        try:
            read = self._read_canvas if is_canvas else self._read_base
            node, edges = read(file, safe.text)
        except (msgspec.MsgspecError, yaml.YAMLError, ValueError, RecursionError) as error:
            kind = "canvas" if is_canvas else "base"
            reason = f"It is no {kind} that can be read ({error_line(error)}). Save it in Obsidian."
            return Unit(unit, stamp, problems=(*problems, Problem(unit, reason)))
        return Unit(unit, stamp, (node,), edges, problems, redacted=len(safe.kinds))

    def _read_canvas(self, file: File, text: str) -> tuple[Node, tuple[Edge, ...]]:
        # An empty canvas is an empty file.
        canvas = msgspec.json.decode(text or "{}", type=_Canvas)
        cards = {card.id: card for card in canvas.nodes}
        lines = [*_card_lines(canvas.nodes), *_arrow_lines(canvas.edges, cards)]
        body = "\n\n".join(lines)
        node = self._node(file, "canvas", body, tags=find_tags(body))
        targets = {card.id: self._target(card.file) for card in canvas.nodes if card.type == "file"}
        edges: dict[tuple[str, str, str], Edge] = {}

        def draw(source: str, target: str | None, kind: str, evidence: str) -> None:
            if target is not None and source != target:
                edge = Edge(source, target, kind, evidence=evidence, tenant=self.settings.tenant)
                edges.setdefault((source, target, kind), edge)

        for target in targets.values():
            draw(node.key, target, "embeds", "card")
        for card in canvas.nodes:
            for reference in find_references(card.text):
                if not reference.remote:
                    draw(node.key, self._resolve(reference, file.name), "links", reference.written)
        # An arrow between two notes links them, as its label says.
        for arrow in canvas.edges:
            source, target = targets.get(arrow.source), targets.get(arrow.target)
            if source and target:
                draw(source, target, "links", f"{arrow.label} ({node.title})" if arrow.label else node.title)
        return node, tuple(edges.values())

    def _read_base(self, file: File, text: str) -> tuple[Node, tuple[Edge, ...]]:
        loaded = to_json(load_yaml(text) or {})
        if not isinstance(loaded, Mapping):
            raise ValueError("not `key: value` lines")
        node = self._node(file, "base", text.rstrip("\n"), summary=_describe_base(loaded), language="yaml")
        edges = {}
        for match in _FILTER_LINK.finditer(text):
            target = self._target(match[1])
            if target is not None:
                edges[target] = Edge(
                    node.key, target, "links", evidence=match[0] + ")", tenant=self.settings.tenant
                )
        return node, tuple(edges.values())

    def _node(
        self,
        file: File,
        kind: str,
        text: str,
        *,
        summary: str = "",
        tags: tuple[str, ...] = (),
        language: str | None = None,
    ) -> Node:
        # A base is quoted as it is written; the lines of a canvas are none of its file's.
        lines = (1, text.count("\n") + 1) if language else (None, None)
        return Node(
            key=f"{self.settings.source}:{file.name}",
            kind=kind,
            tenant=self.settings.tenant,
            title=PurePosixPath(file.name).stem,
            summary=summary,
            text=text,
            language=language,
            fields=dict(NOTE_FORM),
            tags=tags,
            origin=Origin(self.settings.source, file.name, *lines),
            modified=self.settings.modified_time(file.path),
        )

    def _target(self, name: str) -> str | None:
        return self._resolve(Reference(name, name, 1, embedded=True, wiki=True), "")

    def _resolve(self, reference: Reference, within: str) -> str | None:
        target, _ = self._note_index.resolve(reference, within)
        return None if target is None else f"{self.settings.source}:{target}"


def _card_lines(cards: Sequence[_Card]) -> Iterator[str]:
    """Yield the cards as they are read: groups one after another, and within them from top to bottom."""
    groups = sorted((card for card in cards if card.type == "group"), key=_position)
    members: dict[str, list[_Card]] = {group.id: [] for group in groups}
    free: list[_Card] = []
    for card in sorted((card for card in cards if card.type != "group"), key=_position):
        inner = [group for group in groups if _is_inside(card, group)]
        # The smallest group around a card is the one that it was put into.
        owner = min(inner, key=lambda group: group.width * group.height, default=None)
        (free if owner is None else members[owner.id]).append(card)
    yield from filter(None, map(_card_text, free))
    for group in groups:
        inside = list(filter(None, map(_card_text, members[group.id])))
        if inside:
            yield "\n\n".join([f"**{group.label}**", *inside] if group.label else inside)


def _position(card: _Card) -> tuple[float, float, str]:
    return card.y, card.x, card.id


def _is_inside(card: _Card, group: _Card) -> bool:
    return (
        group.x <= card.x + card.width / 2 <= group.x + group.width
        and group.y <= card.y + card.height / 2 <= group.y + group.height
    )


def _card_text(card: _Card) -> str:
    return card.text.strip() or (f"[[{card.file}{card.subpath}]]" if card.file else card.url)


def _card_name(card: _Card) -> str:
    """Return the words by which an arrow names a card: its first line, or the name of its note."""
    if card.file:
        return f"[[{PurePosixPath(card.file).stem}]]"
    return (card.label or card.text.strip().partition("\n")[0] or card.url).strip("# ")


def _arrow_lines(arrows: Sequence[_Arrow], cards: Mapping[str, _Card]) -> Iterator[str]:
    lines = [
        f"- {_card_name(cards[arrow.source])} → {_card_name(cards[arrow.target])}"
        + (f": {arrow.label}" if arrow.label else "")
        for arrow in arrows
        if arrow.source in cards and arrow.target in cards
    ]
    if lines:
        yield "\n".join(lines)


def _describe_base(base: Mapping[str, Json]) -> str:
    """Return one line about the views of a base and what they show."""
    views = base.get("views")
    described = [
        f"{view.get('type', 'view')} “{view.get('name', '')}”"
        + (f" of {', '.join(map(str, order))}" if isinstance(order := view.get("order"), list) and order else "")
        for view in (views if isinstance(views, list) else ())
        if isinstance(view, Mapping)
    ]
    return f"Lists notes as {'; '.join(described)}." if described else ""
