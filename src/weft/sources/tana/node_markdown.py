"""A node as the Local API of Tana prints it: its state on the first line, its fields below, each with its values.

- [x] Order putty #task <!-- node-id: order -->
  - **Owner**: [Ada Quill #person](tana:ada)
  - **Needs**:
    - [Glass](tana:glass)
    - A ladder <!-- node-id: ladder -->
      - from the shed <!-- node-id: shed -->
"""

import re
from collections.abc import Iterator
from dataclasses import field
from typing import Final

from weft.frozen import dataclass
from weft.model import Json
from weft.sources.tana.export import PlainName, field_key, plain_name

_COMMENT: Final = re.compile(r"\s*<!--.*?-->", re.DOTALL)
_NODE_ID: Final = re.compile(r"<!--\s*node-id:\s*([\w-]+)\s*-->")
_BULLET: Final = re.compile(r"^([ \t]*)[-*][ \t]+(.*)$")
_FIELD: Final = re.compile(r"^\*\*(.{1,200}?)\*\*:[ \t]*(.*)$")
_BOX: Final = re.compile(r"^\[([ xX])\](?:\s+|$)")
_LINK: Final = re.compile(r"\[([^\[\]]*)\]\((?:tana:|https?://app\.tana\.inc/?\?nodeid=)([\w-]+)\)")
_TAGS: Final = re.compile(r"(?:\s+#(?!\d)[^\s#]+)+$")


@dataclass(frozen=True, slots=True)
class Line:
    """One bullet: how far it is indented, what it says, and the id of its node where that is told."""

    indent: int
    text: str
    node_id: str = ""


@dataclass(slots=True)
class Printed:
    """What a node's Markdown tells: fields, nodes among their values by (field, id), and what its name refers to.

    `owned` are the (id, name) of values that have notes of their own below them.
    """

    fields: dict[str, Json] = field(default_factory=dict)
    links: list[tuple[str, str]] = field(default_factory=list)
    owned: list[tuple[str, str]] = field(default_factory=list)
    references: tuple[str, ...] = ()


def read_markdown(markdown: str) -> Printed:
    """What a node's Markdown tells; whatever has another form is passed over."""
    lines = list(_lines(markdown))
    if not lines:
        return Printed()
    box = _BOX.match(lines[0].text)
    printed = Printed(references=named(_BOX.sub("", lines[0].text)).references)
    if box is not None and box[1] != " ":
        printed.fields["done"] = True
    for name, values in _fields(lines[1:]):
        _tell(printed, name, values)
    return printed


def named(text: str) -> PlainName:
    """A name as the API writes it without markup and comments, and what it refers to."""
    return plain_name(_LINK.sub(_reference, _COMMENT.sub("", text)), lambda _: "")


def _lines(markdown: str) -> Iterator[Line]:
    for row in markdown.expandtabs(2).splitlines():
        bullet = _BULLET.match(row)
        if bullet is not None:
            node_id = _NODE_ID.search(bullet[2])
            text = _COMMENT.sub("", bullet[2]).strip()
            yield Line(len(bullet[1]), text, node_id[1] if node_id else "")


def _fields(lines: list[Line]) -> list[tuple[str, list[Line]]]:
    """Each field directly below the node, with its values and all that is below them."""
    level = min((line.indent for line in lines), default=0)
    found: list[tuple[str, list[Line]]] = []
    below: list[Line] = []
    for line in lines:
        if line.indent > level:
            below.append(line)
            continue
        # What is below a line that is no field goes nowhere.
        below = []
        told = _FIELD.match(line.text)
        if told is not None:
            below += [Line(line.indent + 1, told[2], line.node_id)] if told[2] else []
            found.append((named(told[1]).text, below))
    return found


def _tell(printed: Printed, name: str, lines: list[Line]) -> None:
    """Add one field; of what is below its values only the ids of those are told."""
    level = min((line.indent for line in lines), default=0)
    said: list[Json] = []
    for place, line in enumerate(lines):
        if line.indent != level:
            continue
        value, box = named(line.text), _BOX.fullmatch(line.text)
        said.append(box[1] != " " if box is not None else value.text)
        printed.links += [(name, target) for target in value.references]
        if line.node_id and any(after.indent > level for after in lines[place + 1 : place + 2]):
            printed.owned.append((line.node_id, value.text))
            printed.links.append((name, line.node_id))
    if said:
        printed.fields[field_key(name)] = said[0] if len(said) == 1 else said


def _reference(match: re.Match[str]) -> str:
    """A link to a node as Tana writes references elsewhere: without the tags that the node bears."""
    return f"[[{_TAGS.sub('', match[1]).strip() or match[2]}^{match[2]}]]"
