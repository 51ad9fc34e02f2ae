"""Items cut to their cap: the longest of what they print gives way first, and a note says where the rest is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, NamedTuple, Self

from weft.assemblers.learning.found import CODE, EXPERIENCE
from weft.frozen import dataclass
from weft.model import Candidate, Detail, Item, Json, Node
from weft.ports import TokenCounter
from weft.profiles.types import Block, Section
from weft.render import ItemStyle, open_format, text_of
from weft.render.node_values import PLACEHOLDER, format_value
from weft.scoring.bm25 import term_hash
from weft.scoring.sketch import sketch
from weft.text import analyze

TRUNCATED: Final = "truncated"
"""The field that holds the note; the profile's blocks say how it is printed."""

LEAST: Final = 40
"""Where a quarter of a source's budget is less than any item needs, this is what an item may cost."""

_READ_CHARACTERS: Final = 40
"""Characters of a value that are looked at for each token it may cost."""
_CHARACTERS_A_TOKEN: Final = 3
_FRAME: Final = 12
"""About what the labels of an item cost."""
_PLAIN_WORD: Final = "word"
_VARIATION: Final = 6
"""By how many tokens the frames of two items differ at most, but for rare ones: names, dates and kinds."""
_OWN: Final = ("text", "summary", "title")
_SHORTEST: Final = 8
"""A value is not cut below so many tokens: then whole values go, the last one first."""
_COMPARED: Final = 20_000
_ROUNDS: Final = 40


class Printed(NamedTuple):
    """A value that items print: where a node has it, and how many of its characters are printed at most."""

    name: str
    head: str
    rest: str
    most: int | None

    def of(self, node: Node) -> Json:
        """The value, as the node has it."""
        if self.name in _OWN:
            own: str = getattr(node, self.name)
            return own
        found = node.fields.get(self.head)
        return found.get(self.rest) if self.rest and isinstance(found, Mapping) else found


@dataclass(frozen=True, slots=True)
class Scissors:
    """How the items of one section are printed and counted."""

    source: str
    section: Section
    count: TokenCounter
    printed: Sequence[Printed]
    frames: dict[tuple[str, ...], int] = field(default_factory=dict)
    """What items cost beside their values, by the names of the values they have, as found in the first of them."""

    @classmethod
    def of(cls, source: str, section: Section, count: TokenCounter) -> Self:
        """The scissors for a section."""
        named = dict(_named(section.blocks))
        return cls(source, section, count, [Printed(*_path(name), most) for name, most in named.items()])

    def shown(self, item: Item) -> str:
        """The item as the page prints it."""
        style = ItemStyle(self.section.blocks, True, (), 3)
        return text_of(open_format("markdown").item(item, style)).strip("\n")

    def estimate(self, candidate: Candidate) -> int:
        """About what an item costs, rather too much than too little: prose has more than three letters a token."""
        return sum(map(len, self._values(candidate.node).values())) // _CHARACTERS_A_TOKEN + _FRAME

    def cut(self, candidate: Candidate, cap: int, *, exact: bool = True) -> Candidate | None:
        """The candidate costing at most its cap with its note, or None where not even that shows anything.

        What is not exact is not printed to be counted: it may, rarely, cost a few tokens more than the cap.
        """
        for limit in (cap, LEAST) if cap < LEAST else (cap,):
            # By estimate a value that goes leaves its label behind: where there is little room, that is too much.
            for exactly in (False, True)[exact:]:
                fitting = self._within(candidate, limit, exactly)
                if fitting is not None:
                    return fitting
        return None

    def _within(self, candidate: Candidate, limit: int, exact: bool) -> Candidate | None:
        whole = self._values(candidate.node)
        values = {name: _beginning(words, limit) for name, words in whole.items()}
        tokens = dict(zip(values, self.count.count_many(list(values.values())), strict=True))
        frame = _FRAME if exact else self._frame(candidate, tokens)
        if values == whole and self._fits(candidate, sum(tokens.values()), frame, limit, exact):
            return candidate
        note = _note(self.source, candidate.node)
        over = sum(tokens.values()) + self.count.count(f"\n*({note})*") + frame - limit
        for _ in range(_ROUNDS):
            while over > 0:
                saved = self._shorten(values, tokens, over)
                if not saved:
                    return None
                over -= saved
            told = _told(candidate, whole, values, note)
            over = self._tokens(told) - limit if exact else 0
            if over <= 0:
                return told
        return None

    def _fits(self, candidate: Candidate, tokens: int, frame: int, limit: int, exact: bool) -> bool:
        """Whether an item whose values cost so many tokens needs no cutting."""
        if not exact:
            return tokens + frame <= limit
        return tokens <= limit and self._tokens(candidate) <= limit

    def _frame(self, candidate: Candidate, tokens: Mapping[str, int]) -> int:
        """About what an item with these values costs beside them, rather too much than too little."""
        names = tuple(tokens)
        if names not in self.frames:
            short = _with(candidate.node, dict.fromkeys(names, _PLAIN_WORD))
            printed = self._tokens(replace(candidate, node=short))
            self.frames[names] = printed - len(names) + _VARIATION
        return self.frames[names]

    def _values(self, node: Node) -> dict[str, str]:
        """What the node has of what is printed, as words."""
        found = {}
        for each in self.printed:
            value = each.of(node)
            if value and isinstance(value, str | list | tuple):
                found[each.name] = (value if isinstance(value, str) else format_value(value))[: each.most]
        if "text" in found and self.source == CODE and len(found.keys() & {"signature", "summary"}):
            del found["text"]
        return found

    def _tokens(self, candidate: Candidate) -> int:
        return self.count.count(self.shown(Item(candidate, Detail.WHOLE)))

    def _shorten(self, values: dict[str, str], tokens: dict[str, int], over: int) -> int:
        """Cut the longest value, or drop the last when all are short; how many tokens that saves."""
        name = max(tokens, key=lambda each: (tokens[each], each), default="")
        if name and tokens[name] > _SHORTEST:
            before, kept = tokens[name], max(tokens[name] - over - 1, _SHORTEST - 1)
            values[name] = f"{self.count.cut(values[name].removesuffix('...'), kept).rstrip()}..."
            tokens[name] = self.count.count(values[name])
            if tokens[name] < before:
                return before - tokens[name]
        if len(tokens) < 2:
            return 0
        last = list(tokens)[-1]
        values[last] = ""
        return max(tokens.pop(last), 1)


def _beginning(words: str, limit: int) -> str:
    """As much of a value as is looked at, so that a huge one is never counted whole."""
    most = _READ_CHARACTERS * limit
    return words if len(words) <= most else f"{words[:most].rstrip()}..."


def _told(candidate: Candidate, whole: Mapping[str, str], values: Mapping[str, str], note: str) -> Candidate:
    cut = {name: words for name, words in values.items() if words != whole[name]}
    # What repeats what is judged by the whole text: long items may well begin alike.
    fingerprint = candidate.sketch or _sketch(candidate.node)
    noted = _with(candidate.node, {**cut, TRUNCATED: note})
    return replace(candidate, node=noted, text_tokens=None, sketch=fingerprint)


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


def _named(blocks: Sequence[Block]) -> Iterator[tuple[str, int | None]]:
    """What blocks print: their fields, the placeholders of their forms, the text; with its most characters."""
    for block in blocks:
        yield from ((name.partition("=")[0], None) for name in block.fields)
        for match in PLACEHOLDER.finditer(block.form):
            if match[1] != TRUNCATED:
                yield match[1], int(match[2]) if match[2] else None
        if block.block in ("text", "code"):
            yield "text", None


def _path(name: str) -> tuple[str, str, str]:
    """The name, the field it begins with, and what is meant inside of that field, if anything."""
    head, _, rest = name.partition(".")
    return name, head, rest


def _with(node: Node, values: Mapping[str, str]) -> Node:
    """The node with some of its values as these words."""
    own = {"title": node.title, "summary": node.summary, "text": node.text}
    fields = dict(node.fields)
    for name, words in values.items():
        _, head, rest = _path(name)
        inner = fields.get(head)
        if name in own:
            own[name] = words
        else:
            fields[head] = {**inner, rest: words} if rest and isinstance(inner, Mapping) else words
    return replace(node, title=own["title"], summary=own["summary"], text=own["text"], fields=fields)
