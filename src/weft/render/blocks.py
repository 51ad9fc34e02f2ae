"""Apply the blocks of a profile to one item: each block makes one piece, or none if it has nothing to print.

Pieces are the same for all formats, and each format turns them into lines.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from weft.model import Detail, Item, Json, Node
from weft.profiles.types import Block
from weft.render.harmless import one_line
from weft.render.lines import Body, build_body, leave_out_fields, plain_body
from weft.render.node_values import (
    Dialect,
    display_name,
    fill_form,
    format_location,
    format_occasion,
    format_path,
    format_score,
    format_value,
    read_value,
    split_label,
    turn_heading,
)
from weft.text import is_code, is_inside_sentence

_WORD: Final = re.compile(r"[^\W_]+")
_NOT_IN_SUMMARIES: Final = frozenset({"fields", "tags", "links", "tree", "images"})
# Fields that have blocks of their own, so the `fields` block leaves them out unless it names them.
_FIELDS_WITH_OWN_BLOCK: Final = frozenset({"relationships", "images", "signature"})
_DISPLAY_FIELDS: Final = frozenset(
    {"cssclass", "cssclasses", "embeds", "layout", "mobile", "permalink", "publish"}
)
"""Fields that say how a note is shown, not what it knows: filters find them, and no page prints them unasked."""

_SECTION_ITEM_LEVEL: Final = 3
"""The depth of the heading of an item in a section; items in parts of a subject stand deeper."""
_DATA: Final = "data"
"""The label of blocks that only formats for programs print."""
_MAX_TITLE_TAGS: Final = 5
"""Tags behind a title: more of them would hide the name."""
_PLAIN_KINDS: Final = frozenset({"note", "document"})
"""Kinds that most texts have: printing them tells a reader nothing."""


class ItemStyle(Struct, frozen=True):
    """The style in which the items of one section or part are printed.

    `fields` are the lens's, and restrict the `fields` block; empty means all. `level` is the depth of an item's
    heading: 3 in a section, 4 in a part. `named` says that the heading above the items already names them.
    Pointers to nodes that were reached against an edge of one of the `related_edge_types` print that edge.
    `labels` are the labels that the page prints in bold, which stored text must not imitate; None stands for all.
    With `outline`, items stand below each other as in their outline.
    """

    blocks: tuple[Block, ...]
    include_fields: bool = True
    fields: tuple[str, ...] = ()
    level: int = 3
    named: bool = False
    related_edge_types: tuple[str, ...] = ()
    labels: frozenset[str] | None = None
    outline: bool = False

    @property
    def titled(self) -> bool:
        """Whether the item's name is printed above its text."""
        return self.named or any(block.block == "title" or "{title}" in block.form for block in self.blocks)


class Title(Struct, frozen=True, gc=False):
    """The item's name, with its kind and tags if the block asks for them."""

    text: str
    kind: str = ""
    tags: tuple[str, ...] = ()


class Phrase(Struct, frozen=True, gc=False):
    """Words on one line, already cleaned; `role` is the name of their block, `value` what data formats print."""

    role: str
    text: str
    value: Json = None


class Entry(Struct, frozen=True, gc=False):
    """One named value: its name as stored, the label to print, the value itself and its printed form."""

    name: str
    label: str
    value: Json
    text: str


class Entries(Struct, frozen=True, gc=False):
    """A list of named values; `role` is fields, links, tree or images."""

    role: str
    entries: tuple[Entry, ...]


class Prose(Struct, frozen=True, gc=False):
    """Text over one or more lines, with a lead before the first and a tail behind the last."""

    role: str
    body: Body | None
    lead: str = ""
    tail: str = ""


Piece = Title | Phrase | Entries | Prose


def build_pieces(item: Item, style: ItemStyle, dialect: Dialect) -> list[Piece]:
    """Return what the item prints at its level of detail, in the order of its blocks."""
    pieces: list[Piece] = []
    for block in style.blocks:
        if item.detail is Detail.SUMMARY and block.block in _NOT_IN_SUMMARIES:
            continue
        if block.label == _DATA and not dialect.is_data:
            continue
        # Only filled-in forms depend on the format, so only they are given its dialect.
        piece = (
            _line(item, block, style, dialect)
            if block.block == "line" or (block.block == "bullet" and block.form)
            else _PIECE_MAKERS[block.block](item, block, style)
        )
        if piece is not None:
            pieces.append(piece)
    return _as_turn(item, pieces, dialect) if item.turn and not dialect.is_data else pieces


def _as_turn(item: Item, pieces: Iterable[Piece], dialect: Dialect) -> list[Piece]:
    """Return the pieces of a turn: its speaker before the text, and only the first with a heading and no other.

    A scene below another one of its chapter has its number and line in place of a heading.
    """
    node = item.candidate.node
    if node.kind == "scene":
        place = Phrase("location", _scene_place(item))
        return [*pieces] if item.turn == 1 else [place, *(each for each in pieces if not _is_heading(each))]
    kept: list[Piece] = [each for each in pieces if not isinstance(each, Title) and not _is_location(each)]
    # Other texts with a speaker begin with it.
    if node.kind == "message":
        speaker = one_line(str(node.fields.get("author") or str(node.fields.get("role")).capitalize()))
        name = dialect.inline(speaker.replace("*", ""))
        # Both marks are escaped where a stored line begins with them.
        lead = f"**{name}:** " if dialect.keeps_marks else f"== {name}: "
        kept = [replace(each, lead=lead) if _is_text(each) else each for each in kept]
    return [Title(turn_heading(node)), *kept] if item.turn == 1 else kept


def _scene_place(item: Item) -> str:
    number, line = one_line(item.candidate.node.title).rpartition(", ")[2], shown_line(item)
    return number if line is None else f"{number} · line {line}"


def _is_heading(piece: Piece) -> bool:
    return isinstance(piece, Title) or _is_location(piece)


def _is_location(piece: Piece) -> bool:
    return isinstance(piece, Phrase) and piece.role == "location"


def _is_text(piece: Piece) -> TypeGuard[Prose]:
    return isinstance(piece, Prose) and piece.role in ("text", "code")


def _title(item: Item, block: Block, style: ItemStyle) -> Piece:
    node = item.candidate.node
    if block.label != "tags":
        return Title(display_name(node), one_line(node.kind).upper() if block.label == "kind" else "")
    tags = [tag for tag in map(one_line, node.tags) if tag]
    # A note is of the kind that it is tagged with.
    kind = one_line(node.kind) if node.kind not in _PLAIN_KINDS else next(iter(tags), "")
    others = [tag for tag in tags if tag.casefold() != kind.casefold()]
    return Title(display_name(node), kind.upper(), tuple(f"#{tag}" for tag in others[:_MAX_TITLE_TAGS]))


def _line(item: Item, block: Block, style: ItemStyle, dialect: Dialect) -> Piece | None:
    """Fill in the block's form; its {text} is the body at the item's level of detail.

    A form that has placeholders, none of them with a value, prints nothing.
    """
    node = item.candidate.node
    # Split at the text, because it is quoted with its source line by line and the rest is not.
    lead, text, tail = _labelled_form(block, dialect).partition("{text}")
    before, after = fill_form(lead, node, dialect), fill_form(tail, node, dialect)
    body = build_body(item, limit=block.limit, titled=style.titled) if text else None
    if body and block.block == "bullet" and item.candidate.window:
        body = _mark_cut_sentences(item, body)
    # A form of plain words is always printed: its author wrote a label.
    placeholders = before.placeholders + after.placeholders + bool(text)
    if placeholders and not (before.filled or after.filled or body):
        return None
    return Prose(block.block, body, before.text if body else before.text.rstrip(), after.text.rstrip())


def _labelled_form(block: Block, dialect: Dialect) -> str:
    if not block.label:
        return block.form
    label = f"**{block.label}**" if dialect.keeps_marks else block.label
    # Marks like a colon follow their label directly.
    gap = "" if not block.form or block.form[0] in ":,.;" else " "
    return f"{label}{gap}{block.form}"


def _location(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    """Make a phrase of where the shown text stands, when it was said and by whom, or else of the node's kind.

    A `brief` one leaves out a kind that tells nothing.
    """
    node = item.candidate.node
    location = format_location(node, shown_line(item))
    if not location and not (block.label == "brief" and node.kind in _PLAIN_KINDS):
        location = one_line(node.kind)
    words = " · ".join([part for part in (location, *format_occasion(node)) if part])
    return Phrase("location", words) if words else None


def shown_line(item: Item) -> int | None:
    """Return the line of the file at which the shown part of a text begins."""
    node = item.candidate.node
    first = node.origin.first_line
    if first is None or item.detail is not Detail.EXCERPT or not item.spans:
        return first
    return first + node.text.count("\n", 0, item.spans[0][0])


def _summary(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    body = None if _text_repeats_summary(item, style) else plain_body(item.candidate.node.summary)
    return Prose("summary", body) if body else None


def _text_repeats_summary(item: Item, style: ItemStyle) -> bool:
    """Return whether what another block prints of the text contains the summary, as code does its docstring."""
    node = item.candidate.node
    if item.detail not in (Detail.WHOLE, Detail.EXCERPT) or not node.summary:
        return False
    # A block with a limit may cut off the very place where the summary stands.
    if not any(block.block in ("text", "code") and not (block.fields or block.limit) for block in style.blocks):
        return False
    shown = [node.text] if item.detail is Detail.WHOLE else [node.text[start:end] for start, end in item.spans]
    # Compared by words: a summary has neither the marks nor the line breaks of the text.
    summary = " ".join(_WORD.findall(node.summary))
    return any(f" {summary} " in f" {' '.join(_WORD.findall(text))} " for text in shown)


def _text(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    return _body_piece(item, block, style, code=is_code(item.candidate.node.language))


def _code(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    """Quote the text as code; with `fields`, the values of those that the node has take its place."""
    # Values that are no text, such as a list, cannot be code.
    values = [value for name in block.fields if isinstance(value := read_value(item.candidate.node, name), str)]
    body = plain_body("\n".join(values)) if item.detail is not Detail.SUMMARY else None
    return Prose("code", replace(body, code=True)) if body else _body_piece(item, block, style, code=True)


def _body_piece(item: Item, block: Block, style: ItemStyle, code: bool) -> Piece | None:
    body = build_body(item, code, block.limit, style.titled, fenced=not code)
    if body is not None and not code and (printed := _printed_values(item, style)):
        body = leave_out_fields(item.candidate.node, body, printed)
    if body is None or (_is_summary(item, body) and any(other.block == "summary" for other in style.blocks)):
        return None
    # What a subject is defined by keeps its marks: the reader must know that there is more of it.
    if not body.code and style.level == _SECTION_ITEM_LEVEL:
        body = _mark_cut_sentences(item, body)
    return Prose("code" if body.code else "text", body)


def _printed_values(item: Item, style: ItemStyle) -> frozenset[tuple[str, str]]:
    """Return the names and values of fields that the page prints of a note whose text may state them too."""
    if "::" not in item.candidate.node.text or item.detail is Detail.SUMMARY:
        return frozenset()
    blocks = [block for block in style.blocks if block.block == "fields" and block.label != _DATA]
    pieces = [piece for block in blocks if isinstance(piece := _fields(item, block, style), Entries)]
    entries = [entry for piece in pieces for entry in piece.entries]
    values = [(e.name, e.value if isinstance(e.value, list | tuple) else (e.value,)) for e in entries]
    return frozenset((name, format_value(value)) for name, listed in values for value in listed)


def _mark_cut_sentences(item: Item, body: Body) -> Body:
    """Mark what was left out around prose only where that cuts a sentence: most excerpts lack an end."""
    if not item.spans:
        return body
    text, start, end = item.candidate.node.text, item.spans[0][0], item.spans[-1][1]
    return replace(
        body,
        gap_before=body.gap_before and is_inside_sentence(text, start),
        gap_after=body.gap_after and is_inside_sentence(text, end),
    )


def _is_summary(item: Item, body: Body) -> bool:
    """Return whether the body is the node's summary, which a `summary` block prints already."""
    # Only a body that is not quoted from the text has no source line.
    run = body.runs[0] if body.runs else None
    return run is not None and run.first_line is None and run.raw == item.candidate.node.summary.strip()


def _bullet(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    body = build_body(item, limit=block.limit, titled=style.titled)
    if body and item.candidate.window:
        # A passage in a list reads as a quotation.
        body = _mark_cut_sentences(item, body)
    return Prose("bullet", body) if body else None


def _fields(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    node = item.candidate.node
    if not style.include_fields:
        return None
    # Sorted, because stores may return the fields of a node in any order.
    labelled = [split_label(name) for name in block.fields or sorted(_plain_fields(node))]
    allowed = [(name, label) for name, label in labelled if not style.fields or name in style.fields]
    if any("{mark}" in other.form for other in style.blocks):
        allowed = [(name, label) for name, label in allowed if name != "mark"]
    return _entries_piece("fields", _value_entries(node, allowed), block.limit)


def _plain_fields(node: Node) -> Iterator[str]:
    """Yield the names of the fields that are printed by default: values, and lists of values."""
    for name, value in node.fields.items():
        nested = isinstance(value, Mapping) or (
            isinstance(value, list | tuple) and any(isinstance(part, Mapping | list | tuple) for part in value)
        )
        # Names with an underscore before them are the source's own.
        if not nested and name not in _FIELDS_WITH_OWN_BLOCK | _DISPLAY_FIELDS and not name.startswith("_"):
            yield name


def _caption(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    entries = list(_value_entries(item.candidate.node, map(split_label, block.fields)))[: block.limit]
    words = ", ".join(f"{entry.label}: {entry.text}" for entry in entries)
    return Phrase("caption", words) if words else None


def _tags(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    tags = [one_line(tag) for tag in item.candidate.node.tags[: block.limit]]
    return Phrase("tags", ", ".join(tag for tag in tags if tag)) if any(tags) else None


def _path(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    candidate = item.candidate
    words = format_path(candidate)
    steps = [{"edge": step.edge_type, "direction": step.direction, "to": step.key} for step in candidate.path]
    return Phrase("path", words, [{"from": candidate.root}, *steps]) if words else None


def _score(item: Item, block: Block, style: ItemStyle) -> Piece:
    known = item.candidate.parts
    parts = {name: known[name] for name in block.fields or sorted(known) if name in known}
    return Phrase("score", format_score(item.candidate, block.fields), parts)


def _links(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    """List the node's own relations, or the steps of its path if it has none."""
    # Relations say more than the way on which a search happened to come here.
    related = list(_relation_entries(item.candidate.node, block.fields))
    steps = (_relation_entry(step.edge_type, step.key) for step in item.candidate.path)
    return _entries_piece("links", related or steps, block.limit)


def _tree(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    return _entries_piece("tree", _relation_entries(item.candidate.node, block.fields), block.limit)


def _images(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    images = item.candidate.node.fields.get("images")
    listed = images if isinstance(images, list | tuple) else (images,)
    return _entries_piece("images", filter(None, map(_image_entry, listed)), block.limit)


def _handle(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    """Make a phrase of the node's handle; a node without an id is in no store and cannot be asked for."""
    node = item.candidate.node
    return Phrase("handle", one_line(node.handle)) if node.id else None


def _value_entries(node: Node, labelled: Iterable[tuple[str, str]]) -> Iterator[Entry]:
    for name, label in labelled:
        value = read_value(node, name)
        words = format_value(value)
        if words:
            yield Entry(one_line(name), one_line(label), value, words)


def _relation_entries(node: Node, fields: tuple[str, ...]) -> Iterator[Entry]:
    for name in fields or ("relationships",):
        related = node.fields.get(name)
        for relation in related if isinstance(related, list | tuple) else ():
            if isinstance(relation, Mapping) and (title := format_value(relation.get("title"))):
                yield _relation_entry(format_value(relation.get("type")) or "related", title)


def _relation_entry(type: str, title: str) -> Entry:
    name, words = one_line(type), one_line(title)
    return Entry(name, name.upper(), words, words)


def _image_entry(image: Json) -> Entry | None:
    if isinstance(image, Mapping):
        ref, alt = format_value(image.get("ref")), format_value(image.get("alt"))
    else:
        ref, alt = format_value(image), ""
    # An image without a description is called by its file's name.
    return Entry(alt or ref.rpartition("/")[2], alt, ref, ref) if ref else None


def _entries_piece(role: str, entries: Iterable[Entry], limit: int | None) -> Entries | None:
    kept = tuple(entries)[:limit]
    return Entries(role, kept) if kept else None


def draw_tree(node: Node, piece: Entries) -> list[str]:
    """Return the node's name above its relations, drawn as branches."""
    branches = ["├─"] * (len(piece.entries) - 1) + ["└─"]
    rows = (
        f"  {branch} {entry.label} → {entry.text}" for branch, entry in zip(branches, piece.entries, strict=True)
    )
    return [display_name(node), *rows]


_PIECE_MAKERS: Final[Mapping[str, Callable[[Item, Block, ItemStyle], Piece | None]]] = {
    "title": _title,
    "location": _location,
    "summary": _summary,
    "text": _text,
    "code": _code,
    "bullet": _bullet,
    "fields": _fields,
    "caption": _caption,
    "tags": _tags,
    "path": _path,
    "score": _score,
    "links": _links,
    "tree": _tree,
    "images": _images,
    "handle": _handle,
}
