"""A node's text and fields as one `content` object, and back."""

from collections.abc import Mapping

from weft.model import Json, Node
from weft.sources.readable import readable


def content_of(node: Node) -> dict[str, Json]:
    """The structured fields, with the text under `text` where it says more than they do."""
    fields = dict(node.fields)
    if not node.text or _same_lines(node.text, readable(fields)):
        return fields
    return {"text": node.text, **fields}


def _same_lines(one: str, other: str) -> bool:
    """Whether two texts differ at most in the order of their lines: fields may be kept in another order."""
    return len(one) == len(other) and (one == other or sorted(one.split("\n")) == sorted(other.split("\n")))


def text_and_fields(content: Mapping[str, Json]) -> tuple[str, dict[str, Json]]:
    """What a node stores of a content object: its `text`, or all of it made readable, and the other fields."""
    fields = dict(content)
    text = fields.get("text")
    if isinstance(text, str):
        del fields["text"]
        return text, fields
    return readable(fields), fields
