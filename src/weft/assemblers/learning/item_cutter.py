"""Cut items to their cap: the longest printed value is shortened first, and a note says where the rest is."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Self

from msgspec import Struct, field
from msgspec.structs import replace

from weft.assemblers.learning.results import CODE, EXPERIENCE
from weft.model import Candidate, Detail, Item, Json, Node
from weft.ports import TokenCounter
from weft.profiles.types import Block, Section
from weft.render import ItemStyle, join_lines, open_format
from weft.render.node_values import PLACEHOLDER, format_value
from weft.scoring.bm25 import term_hash
from weft.scoring.similarity import sketch
from weft.text import analyze
from weft.text.sentences import is_inside_sentence, split_sentences

TRUNCATED: Final = "truncated"
"""The field that holds the note; the profile's blocks say how it is printed."""

MIN_CAP_TOKENS: Final = 40
"""The least that a cap is taken for: the quarter of a very small budget is less than any item needs."""

_CHARACTERS_READ_PER_TOKEN: Final = 40
"""Characters of a value that are looked at per token it may cost; no text has so long tokens throughout."""
_CHARACTERS_PER_TOKEN: Final = 3
"""For estimates; prose and code have more characters per token, so that estimates are rather too high."""
_FRAME_TOKENS: Final = 12
"""About what the labels of an item cost."""
_FRAME_VARIATION_TOKENS: Final = 6
"""By how many tokens the labels of two items differ at most (names, dates and kinds), with rare exceptions."""
_PLAIN_WORD: Final = "word"
"""Stands for every value when the labels of an item are counted: it costs one token."""
_MIN_VALUE_TOKENS: Final = 8
"""A value is not cut to fewer tokens, which would say nothing: instead the last value is dropped whole."""
_SKETCHED_CHARACTERS: Final = 20_000
"""Characters of a text from which repetition is judged; more would cost time and change no verdict."""
_MAX_ROUNDS: Final = 40
"""Attempts to bring an item below its cap; each cuts by the measured excess, so two or three are usual."""

_CUT: Final = "..."
"""Stands at the end of a value that is not shown whole, as the design has it."""
_NODE_ATTRIBUTES: Final = ("text", "summary", "title")
"""Values that are attributes of a node; all others are fields."""


class PrintedValue(NamedTuple):
    """A value that items print: its name, split at the first dot, and the most characters printed of it."""

    name: str
    head: str
    rest: str
    max_characters: int | None

    def read(self, node: Node) -> Json:
        """Return the value as the node has it."""
        if self.name in _NODE_ATTRIBUTES:
            attribute: str = getattr(node, self.name)
            return attribute
        # Names such as `lesson.what_worked` reach into a field that is a mapping.
        value = node.fields.get(self.head)
        return value.get(self.rest) if self.rest and isinstance(value, Mapping) else value


class ItemCutter(Struct, frozen=True):
    """The way to print, count and cut the items of one section."""

    source: str
    section: Section
    count: TokenCounter
    printed_values: Sequence[PrintedValue]
    frames: dict[tuple[str, ...], int] = field(default_factory=dict)
    """The tokens of an item apart from its values, by the names of the values, counted on the first such item."""

    @classmethod
    def for_section(cls, source: str, section: Section, count: TokenCounter) -> Self:
        """Return the cutter for the items of a section."""
        # A value that several blocks print is cut once, with the limit of the last.
        limits = dict(_find_printed(section.blocks))
        return cls(
            source, section, count, [PrintedValue(*_split_name(name), most) for name, most in limits.items()]
        )

    def print_item(self, item: Item) -> str:
        """Return the item as the page prints it."""
        style = ItemStyle(self.section.blocks, True, (), 3)
        return join_lines(open_format("markdown").item(item, style)).strip("\n")

    def estimate(self, candidate: Candidate) -> int:
        """Return about what an item costs, rather too much than too little."""
        characters = sum(map(len, self._read_values(candidate.node).values()))
        return characters // _CHARACTERS_PER_TOKEN + _FRAME_TOKENS

    def cut(self, candidate: Candidate, cap: int, *, exact: bool = True) -> Candidate | None:
        """Return the candidate cut to cost at most its cap, note included, or None if nothing of it would remain.

        If not `exact`, the item is not printed to be counted: it may, rarely, cost a few tokens more than the cap.
        """
        # A cap below the minimum is tried as it is first: a short item may fit it.
        for limit in (cap, MIN_CAP_TOKENS) if cap < MIN_CAP_TOKENS else (cap,):
            # By estimate, a dropped value still pays for its label. Under a small cap that may leave nothing, so
            # the exact way is tried too.
            for is_exact in (False, True)[exact:]:
                fitting = self._cut_to(candidate, limit, is_exact)
                if fitting is not None:
                    return fitting
        return None

    def _cut_to(self, candidate: Candidate, limit: int, exact: bool) -> Candidate | None:
        whole = self._read_values(candidate.node)
        values = {name: _beginning(words, limit) for name, words in whole.items()}
        tokens = dict(zip(values, self.count.count_many(list(values.values())), strict=True))
        # The exact way measures the printed item below, so a guess is enough to begin with.
        frame = _FRAME_TOKENS if exact else self._frame_tokens(candidate, tokens)
        if values == whole and self._fits(candidate, sum(tokens.values()), frame, limit, exact):
            return candidate
        # The note is part of what the item costs, so it is counted before anything is cut.
        note = _truncation_note(self.source, candidate.node)
        excess = sum(tokens.values()) + self.count.count(f"\n*({note})*") + frame - limit
        for _ in range(_MAX_ROUNDS):
            while excess > 0:
                saved = self._shorten(values, tokens, excess)
                if not saved:
                    return None
                excess -= saved
            shortened = _with_note(candidate, whole, values, note)
            excess = self._count_printed(shortened) - limit if exact else 0
            if excess <= 0:
                return shortened
        return None

    def _fits(self, candidate: Candidate, tokens: int, frame: int, limit: int, exact: bool) -> bool:
        """Return whether an item whose values cost so many tokens needs no cutting."""
        if not exact:
            return tokens + frame <= limit
        return tokens <= limit and self._count_printed(candidate) <= limit

    def _frame_tokens(self, candidate: Candidate, tokens: Mapping[str, int]) -> int:
        """Return about what an item with these values costs apart from them, rather too much than too little."""
        names = tuple(tokens)
        if names not in self.frames:
            # One item is printed with one-token values; the rest of its cost is labels and separators.
            short = _with_values(candidate.node, dict.fromkeys(names, _PLAIN_WORD))
            printed = self._count_printed(replace(candidate, node=short))
            self.frames[names] = printed - len(names) + _FRAME_VARIATION_TOKENS
        return self.frames[names]

    def _read_values(self, node: Node) -> dict[str, str]:
        """Return the node's printed values as words, by name."""
        found = {}
        for printed in self.printed_values:
            value = printed.read(node)
            if value and isinstance(value, str | list | tuple):
                words = value if isinstance(value, str) else format_value(value)
                found[printed.name] = words[: printed.max_characters]
        # Code prints its signature and summary in place of its text.
        if "text" in found and self.source == CODE and len(found.keys() & {"signature", "summary"}):
            del found["text"]
        return found

    def _count_printed(self, candidate: Candidate) -> int:
        return self.count.count(self.print_item(Item(candidate, Detail.WHOLE)))

    def _shorten(self, values: dict[str, str], tokens: dict[str, int], excess: int) -> int:
        """Cut the longest value, or drop the last one if all are short; return how many tokens that saves."""
        # The name breaks ties, so that equal lengths are cut in the same order every time.
        name = max(tokens, key=lambda name: (tokens[name], name), default="")
        if name and tokens[name] > _MIN_VALUE_TOKENS:
            before, kept = tokens[name], max(tokens[name] - excess - 1, _MIN_VALUE_TOKENS - 1)
            values[name] = _cut_at_end(values[name].removesuffix(_CUT), kept, self.count, self.source == CODE)
            tokens[name] = self.count.count(values[name])
            if tokens[name] < before:
                return before - tokens[name]
        if len(tokens) < 2:
            return 0
        # Blocks print the most important value first, so the last one goes.
        last = list(tokens)[-1]
        values[last] = ""
        return max(tokens.pop(last), 1)


def _cut_at_end(words: str, tokens: int, count: TokenCounter, is_code: bool) -> str:
    """Return the beginning of a value up to a whole line or sentence, or at least a whole word.

    Of code, only whole lines are kept: a statement that breaks off misleads.
    """
    kept = count.cut(words, tokens)
    line_end = len(kept) if words[len(kept) : len(kept) + 1] == "\n" else kept.rfind("\n")
    # The last sentence that is kept may be a part of one; the whole text tells.
    spans = () if is_code else split_sentences(kept)
    end = max((line_end, *(end for _, end in spans if not is_inside_sentence(words, end))))
    if end > 0:
        return f"{kept[:end].rstrip()}{chr(10) if end == line_end else ' '}{_CUT}"
    whole_words = kept if words[len(kept) : len(kept) + 1].isspace() else kept.rpartition(" ")[0]
    return f"{(whole_words or kept).rstrip()}{_CUT}"


def _beginning(words: str, limit: int) -> str:
    """Return as much of a value as can matter, so that a huge one is never counted whole."""
    most = _CHARACTERS_READ_PER_TOKEN * limit
    return words if len(words) <= most else f"{words[:most].rstrip()}..."


def _with_note(candidate: Candidate, whole: Mapping[str, str], values: Mapping[str, str], note: str) -> Candidate:
    cut = {name: words for name, words in values.items() if words != whole[name]}
    # Repetition is judged by the whole text: long items may well begin alike.
    fingerprint = candidate.sketch or _sketch(candidate.node)
    noted = _with_values(candidate.node, {**cut, TRUNCATED: note})
    return replace(candidate, node=noted, text_tokens=None, sketch=fingerprint)


def _sketch(node: Node) -> bytes:
    return sketch([term_hash(term) for term in analyze(node.text[:_SKETCHED_CHARACTERS])])


def _truncation_note(source: str, node: Node) -> str:
    if source == CODE:
        return (
            f"truncated, see full at {node.fields.get('file_path') or node.origin.file}:{node.origin.first_line}"
        )
    if source == EXPERIENCE:
        identity = node.fields.get("experience_id") or node.fields.get("id") or node.key
        return f"truncated, full experience ID: {identity}"
    return "truncated"


def _find_printed(blocks: Sequence[Block]) -> Iterator[tuple[str, int | None]]:
    """Yield the names that blocks print (fields, placeholders of forms, the text) with their most characters."""
    for block in blocks:
        yield from ((name.partition("=")[0], None) for name in block.fields)
        for match in PLACEHOLDER.finditer(block.form):
            if match[1] != TRUNCATED:
                yield match[1], int(match[2]) if match[2] else None
        if block.block in ("text", "code"):
            yield "text", None


def _split_name(name: str) -> tuple[str, str, str]:
    """Return the name, the field that it begins with, and the name inside of that field, if any."""
    head, _, rest = name.partition(".")
    return name, head, rest


def _with_values(node: Node, values: Mapping[str, str]) -> Node:
    """Return the node with these words for some of its values."""
    attributes = {"title": node.title, "summary": node.summary, "text": node.text}
    fields = dict(node.fields)
    for name, words in values.items():
        _, head, rest = _split_name(name)
        inner = fields.get(head)
        if name in attributes:
            attributes[name] = words
        else:
            fields[head] = {**inner, rest: words} if rest and isinstance(inner, Mapping) else words
    return replace(
        node, title=attributes["title"], summary=attributes["summary"], text=attributes["text"], fields=fields
    )
