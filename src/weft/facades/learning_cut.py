"""Items cut to their cap: the longest of what they print gives way first, and a note says where the rest is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from weft.facades.learning_results import CODE, EXPERIENCE
from weft.model import Candidate, Detail, Item, Json, Node
from weft.ports import TokenCounter
from weft.profile import Block, Section
from weft.render import ItemStyle, open_format, text_of
from weft.render.values import PLACEHOLDER, value_of, words_of
from weft.sketch import sketch
from weft.terms import term_hash
from weft.text import analyze

TRUNCATED: Final = "truncated"
"""The field that holds the note; the profile's blocks say how it is printed."""

LEAST: Final = 40
"""Where a quarter of a source's budget is less than any item needs, this is what an item may cost."""

_READ_CHARACTERS: Final = 40
"""Characters of a value that are looked at for each token it may cost."""
_SHORTEST: Final = 8
"""A value is not cut below so many tokens: then whole values go, the last one first."""
_COMPARED: Final = 20_000
_ROUNDS: Final = 40


@dataclass(frozen=True, slots=True)
class Scissors:
    """How the items of one section are printed and counted."""

    source: str
    section: Section
    count: TokenCounter

    def shown(self, item: Item) -> str:
        """The item as the page prints it."""
        style = ItemStyle(self.section.blocks, True, (), 3)
        return text_of(open_format("markdown").item(item, style)).strip("\n")

    def cut(self, candidate: Candidate, cap: int) -> Candidate | None:
        """The candidate costing at most its cap with its note, or None where not even that shows anything."""
        for limit in (cap, LEAST) if cap < LEAST else (cap,):
            fitting = self._within(candidate, limit)
            if fitting is not None:
                return fitting
        return None

    def _within(self, candidate: Candidate, limit: int) -> Candidate | None:
        brief = self._brief(candidate, limit)
        if brief is candidate and self._tokens(candidate) <= limit:
            return candidate
        note = {**brief.node.fields, TRUNCATED: _note(self.source, candidate.node)}
        # What repeats what is judged by the whole text: long items may well begin alike.
        fingerprint = candidate.sketch or _sketch(candidate.node)
        told = replace(brief, node=replace(brief.node, fields=note), text_tokens=None, sketch=fingerprint)
        for _ in range(_ROUNDS):
            over = self._tokens(told) - limit
            if over <= 0:
                return told
            shorter = self._shorter(told.node, over)
            if shorter is None:
                return None
            told = replace(told, node=shorter)
        return None

    def _tokens(self, candidate: Candidate) -> int:
        return self.count.count(self.shown(Item(candidate, Detail.WHOLE)))

    def _brief(self, candidate: Candidate, limit: int) -> Candidate:
        """The candidate without what is certainly too long, so that a huge text is never counted whole."""
        most, node = _READ_CHARACTERS * limit, candidate.node
        for name, words in list(_printed(node, self.section.blocks)):
            if len(words) > most:
                node = _with(node, name, f"{words[:most].rstrip()}...")
        return candidate if node is candidate.node else replace(candidate, node=node, text_tokens=None)

    def _shorter(self, node: Node, over: int) -> Node | None:
        """The node with its longest value shorter by so many tokens, or without its last when all are short."""
        printed = list(_printed(node, self.section.blocks))
        costs = [(self.count.count(words), name, words) for name, words in printed]
        tokens, name, words = max(costs, default=(0, "", ""), key=lambda each: (each[0], each[1]))
        if tokens > _SHORTEST:
            kept = self.count.cut(words.removesuffix("..."), max(tokens - over - 1, _SHORTEST - 1)).rstrip()
            return _with(node, name, f"{kept}...")
        return _with(node, printed[-1][0], "") if len(printed) > 1 else None


def _sketch(node: Node) -> bytes:
    return sketch([term_hash(term) for term in analyze(node.text[:_COMPARED])])


def _note(source: str, node: Node) -> str:
    if source == CODE:
        return (
            f"truncated, see full at {node.fields.get('file_path') or node.origin.file}:{node.origin.first_line}"
        )
    if source == EXPERIENCE:
        identity = node.fields.get("experience_id") or node.fields.get("id") or node.key
        return f"truncated, full experience ID: {identity}"
    return "truncated"


def _printed(node: Node, blocks: tuple[Block, ...]) -> Iterator[tuple[str, str]]:
    """The values that the blocks print and that may be long, by name."""
    for name in dict.fromkeys(name for block in blocks for name in _named(node, block)):
        value = value_of(node, name)
        if isinstance(value, str | list | tuple) and value and name != TRUNCATED:
            yield name, value if isinstance(value, str) else words_of(value)


def _named(node: Node, block: Block) -> Iterator[str]:
    """The names of what a block prints: its fields, the placeholders of its form, or the text."""
    own = [name.partition("=")[0] for name in block.fields]
    yield from own
    yield from (match[1] for match in PLACEHOLDER.finditer(block.form))
    if block.block in ("text", "code") and not any(value_of(node, name) for name in own):
        yield "text"


def _with(node: Node, name: str, words: str) -> Node:
    if name in ("text", "summary", "title"):
        own = {"text": node.text, "summary": node.summary, "title": node.title, name: words}
        return replace(node, text=own["text"], summary=own["summary"], title=own["title"])
    head, _, rest = name.partition(".")
    inner = node.fields.get(head)
    told: Json = {**inner, rest: words} if rest and isinstance(inner, Mapping) else words
    return replace(node, fields={**node.fields, head: told})
