"""Find what stands for a long definition or file on a small page: its members, and the part that describes it."""

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import inf
from typing import Final

from weft.model import Node
from weft.pipeline.excerpt import find_declaration
from weft.pipeline.query import Reading
from weft.pipeline.shapes import Span
from weft.pipeline.walk import Relevance
from weft.ports import NodeRow

ALL_EDGES: Final = 100_000
"""Edges that are read around some nodes before they are filtered: more than any node has in practice."""
OUTLINED_KINDS: Final = frozenset({"class", "enum", "interface", "module", "struct", "trait", "type", "file"})
"""Kinds of nodes that hold definitions, of which an outline lists one a line."""
_MEMBER_TOKENS: Final = 22
"""The tokens of one line of an outline: its number and a signature."""
_OUTLINE_SHARE: Final = 0.25
"""The share of a page that an outline may take: with the text above it, it stays within two fifths."""
_MIN_MEMBERS: Final = 6
_MIN_TOKENS: Final = 120
"""Tokens of an outline on the smallest page: a few members, whatever else is on it."""
_NUMBER_TOKENS: Final = 8
"""The tokens of the mark and the number before a member."""
_CHARS_PER_TOKEN: Final = 3
"""Characters of a token in signatures, which have more signs than prose."""
_MAX_MEMBERS: Final = 40
_MAX_DOCUMENTED_LINES: Final = 12
"""A longer documentation inside of a function is left to the words of the question, and the code shown first."""
_MAX_NAMED: Final = 4
"""Definitions that are named of those that a commit touched."""
_ASKS_PARAMETERS: Final = re.compile(
    r"(?i)\b(?:parameters?|arguments?|keywords?|options?|defaults?|signature|accepts?|takes?|passed)\b"
)
_FILE_KINDS: Final = frozenset({"file", "module"})
_FIELD: Final = re.compile(
    r"(?m)^[ \t]+(?:(?:pub|public|private|protected|static|final|readonly|val|var|let)\s[^\n({]*"
    r"|[A-Za-z_]\w*\??\s*:\s*[^\n]+)$"
)
"""A line of a class that declares a field, with its type or in a language that marks it."""
_MIN_FIELDS: Final = 2
_MAX_BETWEEN_FIELDS: Final = 2
"""Line breaks from one field to the next: a blank line or a remark may stand between them."""
_MAX_FIELD_LINES: Final = 24
"""Lines of a class with its fields that are shown before what matches the question best."""
_DOCSTRING: Final = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''|/\*.*?\*/", re.DOTALL)


def file_members(node: Node, reading: Reading) -> list[Node]:
    """Return the nodes that were read from the same file, by their first line."""
    snapshot = reading.snapshot
    file_ids = snapshot.find([f"{node.origin.source}:{node.origin.file}"]).values()
    found = {id for ids in file_ids for id in ids}
    waiting = set(found)
    # Members of classes are contained in these, and not in the file.
    while waiting:
        inner = {
            target
            for _, target, edge in snapshot.edges(sorted(waiting), ALL_EDGES)
            if edge.type == "contains" and target not in found
        }
        found |= inner
        waiting = inner
    nodes = [
        row.node for row in snapshot.nodes(sorted(found)).values() if row.node.origin.file == node.origin.file
    ]
    return sorted(nodes, key=lambda each: (each.origin.first_line or 0, each.key))


def find_members(node: Node, reading: Reading) -> list[Node]:
    """Return the definitions that stand directly in a class or file, in the order of their lines."""
    definitions = [each for each in file_members(node, reading) if each.kind != "file"]
    if node.kind == "file":
        return [each for each in definitions if "." not in each.title and "::" not in each.title]
    prefix = re.compile(rf"{re.escape(node.title)}(?:\.|::)[^.:]+\Z")
    return [each for each in definitions if prefix.match(each.title)]


def choose_members(members: Sequence[Node], budget: int | None, measure: Relevance) -> tuple[Node, ...]:
    """Return the members that an outline on a page of so many tokens lists: those nearest to the question."""
    room = int(_OUTLINE_SHARE * budget / _MEMBER_TOKENS) if budget is not None else _MAX_MEMBERS
    limit = min(max(room, _MIN_MEMBERS), _MAX_MEMBERS)
    # Overloads are told by the first of them.
    members = list({node.title: node for node in reversed(members)}.values())[::-1]
    # Long signatures make an outline that no small page takes: the class would be left out with it.
    most = max(_OUTLINE_SHARE * budget, _MIN_TOKENS) if budget is not None else inf
    if len(members) <= limit and sum(map(_line_tokens, members)) <= most:
        return tuple(members)
    relevance: Mapping[int, float] = measure([node.id for node in members])
    best = sorted(members, key=lambda node: (_is_private(node), -relevance.get(node.id, 0.0), node.key))[:limit]
    spent = accumulate(map(_line_tokens, best))
    chosen = [node for node, tokens in zip(best, spent, strict=True) if tokens <= most]
    return tuple(sorted(chosen, key=lambda node: (node.origin.first_line or 0, node.key)))


def _line_tokens(node: Node) -> int:
    """Return about how many tokens a member's line of an outline costs."""
    signature = node.fields.get("signature")
    return _NUMBER_TOKENS + len(signature if isinstance(signature, str) else node.title) // _CHARS_PER_TOKEN


def _is_private(node: Node) -> bool:
    return re.split(r"\.|::", node.title)[-1].startswith("_")


def shown_first(node: Node) -> Span | None:
    """Return the part of a definition's text that is shown first; None for a short one, all of which is.

    Of a class that is its beginning, and of a function with a long documentation its code.
    """
    documented = _DOCSTRING.search(node.text)
    fields = _fields_part(node, documented)
    if fields is not None:
        return fields
    if documented is None or node.text.count("\n", *documented.span()) < _MAX_DOCUMENTED_LINES:
        return None
    if node.kind in OUTLINED_KINDS:
        paragraph = node.text.find("\n\n", documented.start(), documented.end())
        return 0, paragraph if paragraph > 0 else documented.end()
    code = node.text.find("\n", documented.end())
    return (code + 1, len(node.text)) if 0 < code < len(node.text) - 1 else None


def _fields_part(node: Node, documented: re.Match[str] | None) -> Span | None:
    """Return the beginning of a class to the end of its first fields, where more follows them: remarks, mostly."""
    if node.kind in _FILE_KINDS or node.kind not in OUTLINED_KINDS:
        return None
    start, last, count = documented.end() if documented else 0, 0, 0
    for match in _FIELD.finditer(node.text, start):
        if count and node.text.count("\n", last, match.start()) > _MAX_BETWEEN_FIELDS:
            break
        last, count = match.end(), count + 1
    is_short = node.text.count("\n", 0, last) <= _MAX_FIELD_LINES
    return (0, last) if count >= _MIN_FIELDS and is_short and node.text[last:].strip() else None


def part_asked_for(node: Node, question: str, *, asked: bool, is_beside: bool) -> Span | None:
    """Return the part of a named definition that is shown first, or alone `is_beside` a list of what uses it.

    Where parameters are asked for, that is all of its signature.
    """
    signature = str(node.fields.get("signature") or "")
    if is_beside or (signature and node.kind not in OUTLINED_KINDS and _ASKS_PARAMETERS.search(question)):
        return find_declaration(node.text, signature)
    return shown_first(node) if asked else None


def find_files_called(file: str, reading: Reading) -> list[NodeRow]:
    """Return the files whose path ends as the question says, the shortest path first."""
    found = reading.snapshot.find([file, file.rpartition("/")[2]])
    rows = reading.snapshot.nodes(sorted({number for numbers in found.values() for number in numbers})).values()
    named = [row for row in rows if f"/{row.node.origin.file or ''}".endswith(f"/{file}") and row.node.language]
    return sorted(named, key=lambda row: (len(row.node.origin.file or ""), row.node.tenant, row.node.key))


def describe_change(node: Node, titles: Sequence[str]) -> str:
    """Return the gist of a commit's difference: its size, and which of the definitions asked about it touched."""
    size = f"+{node.fields.get('insertions', 0)} -{node.fields.get('deletions', 0)}"
    more = f" and {len(titles) - _MAX_NAMED} more" if len(titles) > _MAX_NAMED else ""
    return f"{size} in {', '.join(titles[:_MAX_NAMED])}{more}" if titles else size
