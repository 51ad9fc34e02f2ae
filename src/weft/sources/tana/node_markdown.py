"""Parse a node as the Local API of Tana prints it: its state on the first line, its fields with values below.

- [x] Order putty #task <!-- node-id: order -->
  - **Owner**: [Ada Quill #person](tana:ada)
  - **Needs**:
    - [Glass](tana:glass)
    - A ladder <!-- node-id: ladder -->
      - from the shed <!-- node-id: shed -->
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from weft.model import Json
from weft.sources.tana.export import PlainName, field_key, plain_name

_COMMENT: Final = re.compile(r"\s*<!--.*?-->", re.DOTALL)
_NODE_ID: Final = re.compile(r"<!--\s*node-id:\s*([\w-]+)\s*-->")
_BULLET: Final = re.compile(r"^([ \t]*)[-*][ \t]+(.*)$")
_FIELD: Final = re.compile(r"^\*\*(.{1,200}?)\*\*:[ \t]*(.*)$")
_CHECKBOX: Final = re.compile(r"^\[([ xX])\](?:\s+|$)")
_LINK: Final = re.compile(r"\[([^\[\]]*)\]\((?:tana:|https?://app\.tana\.inc/?\?nodeid=)([\w-]+)\)")
_TRAILING_TAGS: Final = re.compile(r"(?:\s+#(?!\d)[^\s#]+)+$")


class Bullet(Struct, frozen=True):
    """One bullet: its indentation, its text, and the id of its node where that is printed."""

    indent: int
    text: str
    node_id: str = ""


class ParsedNode(Struct):
    """The content of a node's Markdown.

    `links` are the (field, id) of nodes among the values of fields, `owned` the (id, name) of values that have
    notes of their own below them, and `references` the ids in the node's name.
    """

    fields: dict[str, Json] = field(default_factory=dict)
    links: list[tuple[str, str]] = field(default_factory=list)
    owned: list[tuple[str, str]] = field(default_factory=list)
    references: tuple[str, ...] = ()


def parse_node(markdown: str) -> ParsedNode:
    """Parse a node's Markdown; lines of another form are passed over."""
    lines = list(_read_bullets(markdown))
    if not lines:
        return ParsedNode()
    box = _CHECKBOX.match(lines[0].text)
    parsed = ParsedNode(references=parse_name(_CHECKBOX.sub("", lines[0].text)).references)
    if box is not None and box[1] != " ":
        parsed.fields["done"] = True
    for name, values in _group_fields(lines[1:]):
        _add_field(parsed, name, values)
    return parsed


def parse_name(text: str) -> PlainName:
    """Return a name as the API writes it, without markup and comments, and what it refers to."""
    return plain_name(_LINK.sub(_write_reference, _COMMENT.sub("", text)), lambda _: "")


def _read_bullets(markdown: str) -> Iterator[Bullet]:
    for row in markdown.expandtabs(2).splitlines():
        bullet = _BULLET.match(row)
        if bullet is not None:
            node_id = _NODE_ID.search(bullet[2])
            text = _COMMENT.sub("", bullet[2]).strip()
            yield Bullet(len(bullet[1]), text, node_id[1] if node_id else "")


def _group_fields(lines: list[Bullet]) -> list[tuple[str, list[Bullet]]]:
    """Return each field directly below the node with the bullets below it."""
    level = min((line.indent for line in lines), default=0)
    found: list[tuple[str, list[Bullet]]] = []
    below: list[Bullet] = []
    for line in lines:
        if line.indent > level:
            below.append(line)
            continue
        # A new list for each line at this level: what is below a line that is no field is dropped with it.
        below = []
        field_line = _FIELD.match(line.text)
        if field_line is not None:
            below += [Bullet(line.indent + 1, field_line[2], line.node_id)] if field_line[2] else []
            found.append((parse_name(field_line[1]).text, below))
    return found


def _add_field(parsed: ParsedNode, name: str, lines: list[Bullet]) -> None:
    """Add one field; what is below its values are notes of their own, of which only the owner's id is kept."""
    level = min((line.indent for line in lines), default=0)
    values: list[Json] = []
    for index, line in enumerate(lines):
        if line.indent != level:
            continue
        value, box = parse_name(line.text), _CHECKBOX.fullmatch(line.text)
        values.append(box[1] != " " if box is not None else value.text)
        parsed.links += [(name, target) for target in value.references]
        has_children = index + 1 < len(lines) and lines[index + 1].indent > level
        if line.node_id and has_children:
            parsed.owned.append((line.node_id, value.text))
            parsed.links.append((name, line.node_id))
    if values:
        parsed.fields[field_key(name)] = values[0] if len(values) == 1 else values


def _write_reference(match: re.Match[str]) -> str:
    """Write a link to a node as exports write references, without the tags of the node."""
    return f"[[{_TRAILING_TAGS.sub('', match[1]).strip() or match[2]}^{match[2]}]]"
