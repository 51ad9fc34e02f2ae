"""The blocks of a profile, applied to one item."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from weft.model import Detail, Item, Json, Node
from weft.profiles.types import Block
from weft.render.body import Body, Entries, Entry, ItemStyle, Piece, Prose, Title, Words, body_of, text_run
from weft.render.lines import one_line
from weft.render.node_values import (
    Dialect,
    filled,
    label_of,
    name_of,
    path_words,
    place_of,
    score_words,
    value_of,
    words_of,
)
from weft.text import is_code, is_inside

_LEFT_OUT_OF_SUMMARIES: Final = frozenset({"fields", "tags", "links", "tree", "images"})
_SHOWN_ELSEWHERE: Final = frozenset({"relationships", "images", "signature"})

_PLAIN_KIND: Final = "note"
"""The kind of what has no other: it tells a reader nothing."""


def pieces_of(item: Item, style: ItemStyle, dialect: Dialect) -> list[Piece]:
    """What the item prints at its level of detail, in the order of its blocks."""
    pieces: list[Piece] = []
    for block in style.blocks:
        if item.detail is Detail.SUMMARY and block.block in _LEFT_OUT_OF_SUMMARIES:
            continue
        piece = (
            _line(item, block, style, dialect)
            if block.block == "line" or (block.block == "bullet" and block.form)
            else _MAKERS[block.block](item, block, style)
        )
        if piece is not None:
            pieces.append(piece)
    return pieces


def _title(item: Item, block: Block, style: ItemStyle) -> Piece:
    node = item.candidate.node
    return Title(name_of(node), one_line(node.kind).upper() if block.label == "kind" else "")


def _line(item: Item, block: Block, style: ItemStyle, dialect: Dialect) -> Piece | None:
    """A filled-in form; where it names {text}, that is the body at the item's detail."""
    node = item.candidate.node
    lead, text, tail = _form(block, dialect).partition("{text}")
    before, after = filled(lead, node, dialect), filled(tail, node, dialect)
    body = body_of(item, limit=block.limit, titled=style.titled) if text else None
    asked = before.asked + after.asked + bool(text)
    if asked and not (before.found or after.found or body):
        return None
    return Prose(block.block, body, before.text if body else before.text.rstrip(), after.text.rstrip())


def _form(block: Block, dialect: Dialect) -> str:
    if not block.label:
        return block.form
    label = f"**{block.label}**" if dialect.marks else block.label
    gap = "" if not block.form or block.form[0] in ":,.;" else " "
    return f"{label}{gap}{block.form}"


def _location(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    node = item.candidate.node
    place = place_of(node)
    if not place and block.label == "brief" and node.kind == _PLAIN_KIND:
        return None
    return Words("location", place or one_line(node.kind))


def _summary(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    body = None if _told_below(item, style) else text_run(item.candidate.node.summary)
    return Prose("summary", body) if body else None


def _told_below(item: Item, style: ItemStyle) -> bool:
    """Whether the text that is printed whole below holds the summary, as code does its docstring."""
    node = item.candidate.node
    quotes = any(each.block in ("text", "code") and not each.fields and not each.limit for each in style.blocks)
    if item.detail is not Detail.WHOLE or not quotes or not node.summary:
        return False
    return " ".join(node.summary.split()) in " ".join(node.text.split())


def _text(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    return _body(item, block, style, code=is_code(item.candidate.node.language))


def _code(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    """The text as code; with `fields`, those of them that the node has stand for it."""
    told = [words for name in block.fields if isinstance(words := value_of(item.candidate.node, name), str)]
    body = text_run("\n".join(told)) if item.detail is not Detail.SUMMARY else None
    return Prose("code", replace(body, code=True)) if body else _body(item, block, style, code=True)


def _bullet(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    body = body_of(item, limit=block.limit, titled=style.titled)
    if body and item.candidate.window:
        # A passage in a list is a quotation: that its text goes on need only be said of a sentence.
        text, start, end = item.candidate.node.text, item.spans[0][0], item.spans[-1][1]
        before, after = body.gap_before and is_inside(text, start), body.gap_after and is_inside(text, end)
        body = Body(body.runs, before, after)
    return Prose("bullet", body) if body else None


def _body(item: Item, block: Block, style: ItemStyle, code: bool) -> Piece | None:
    body = body_of(item, code, block.limit, style.titled)
    if body is None or (_is_summary(item, body) and any(other.block == "summary" for other in style.blocks)):
        return None
    return Prose("code" if body.code else "text", body)


def _is_summary(item: Item, body: Body) -> bool:
    """Whether the body is the node's summary, which a `summary` block prints already."""
    return body.runs[0].first_line is None and body.runs[0].raw == item.candidate.node.summary.strip()


def _fields(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    node = item.candidate.node
    if not style.include_fields:
        return None
    named = [label_of(name) for name in block.fields or sorted(_plain_fields(node))]
    allowed = [(name, label) for name, label in named if not style.fields or name in style.fields]
    return _entries("fields", _values(node, allowed), block.limit)


def _plain_fields(node: Node) -> Iterator[str]:
    for name, value in node.fields.items():
        nested = isinstance(value, Mapping) or (
            isinstance(value, list | tuple) and any(isinstance(part, Mapping | list | tuple) for part in value)
        )
        if not nested and name not in _SHOWN_ELSEWHERE:
            yield name


def _caption(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    entries = list(_values(item.candidate.node, map(label_of, block.fields)))[: block.limit]
    words = ", ".join(f"{entry.label}: {entry.text}" for entry in entries)
    return Words("caption", words) if words else None


def _tags(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    tags = [one_line(tag) for tag in item.candidate.node.tags[: block.limit]]
    return Words("tags", ", ".join(tag for tag in tags if tag)) if any(tags) else None


def _path(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    words = path_words(item.candidate)
    return Words("path", words) if words else None


def _score(item: Item, block: Block, style: ItemStyle) -> Piece:
    return Words("score", score_words(item.candidate, block.fields))


def _links(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    related = list(_related(item.candidate.node, block.fields))
    walked = (_relation(step.edge_type, step.key) for step in item.candidate.path)
    return _entries("links", related or walked, block.limit)


def _tree(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    return _entries("tree", _related(item.candidate.node, block.fields), block.limit)


def _images(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    images = item.candidate.node.fields.get("images")
    listed = images if isinstance(images, list | tuple) else (images,)
    return _entries("images", filter(None, map(_image, listed)), block.limit)


def _handle(item: Item, block: Block, style: ItemStyle) -> Piece | None:
    """What to ask for; what no store holds cannot be asked for."""
    node = item.candidate.node
    return Words("handle", one_line(node.handle)) if node.id else None


def _values(node: Node, named: Iterable[tuple[str, str]]) -> Iterator[Entry]:
    for name, label in named:
        value = value_of(node, name)
        words = words_of(value)
        if words:
            yield Entry(one_line(name), one_line(label), value, words)


def _related(node: Node, fields: tuple[str, ...]) -> Iterator[Entry]:
    for name in fields or ("relationships",):
        related = node.fields.get(name)
        for relation in related if isinstance(related, list | tuple) else ():
            if isinstance(relation, Mapping) and words_of(relation.get("title")):
                yield _relation(words_of(relation.get("type")) or "related", words_of(relation.get("title")))


def _relation(type: str, title: str) -> Entry:
    name, words = one_line(type), one_line(title)
    return Entry(name, name.upper(), words, words)


def _image(image: Json) -> Entry | None:
    if isinstance(image, Mapping):
        ref, alt = words_of(image.get("ref")), words_of(image.get("alt"))
    else:
        ref, alt = words_of(image), ""
    return Entry(alt or ref.rpartition("/")[2], alt, ref, ref) if ref else None


def _entries(role: str, entries: Iterable[Entry], limit: int | None) -> Entries | None:
    kept = tuple(entries)[:limit]
    return Entries(role, kept) if kept else None


_MAKERS: Final[Mapping[str, Callable[[Item, Block, ItemStyle], Piece | None]]] = {
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
