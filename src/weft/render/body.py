"""The part of a node's text that an item shows, in runs that know their source lines."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from weft.frozen import dataclass
from weft.model import Detail, Item, Json, Node
from weft.profiles.types import Block
from weft.render.lines import Lines, clean
from weft.text import below_title, is_blank

_BLANK_LINES: Final = re.compile(r"(?:[^\S\n]*\n)+")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of text ready to print, beside what it was; `first_line` is None where lines are not known."""

    text: str
    raw: str
    first_line: int | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """What is shown of a text: its runs, a gap between any two, and whether something was left out around them."""

    runs: tuple[Run, ...]
    gap_before: bool = False
    gap_after: bool = False
    code: bool = False


def body_of(item: Item, code: bool = False, limit: int | None = None, titled: bool = False) -> Body | None:
    """What the item's detail shows of its node, at most `limit` characters, or None when there is nothing.

    Where the name stands above already (`titled`), a text that begins with it is shown from the next line on,
    and one that says no more not at all.
    """
    node = item.candidate.node
    if item.detail is Detail.SUMMARY and not item.spans:
        return _summary(node, code)
    if titled and node.text.strip() == node.title.strip():
        return None
    if item.detail is Detail.WHOLE:
        first = below_title(node.text, node.title) if titled else 0
        bounds = (first, len(node.text))
        return _quoted(node, [_trimmed(*bounds, node.text)], (bounds, code, limit))
    if not item.spans:
        return None
    bounds = item.candidate.window or (below_title(node.text, node.title) if titled else 0, len(node.text))
    return _quoted(node, _joined(item.spans, node.text, bounds[0]), (bounds, code, limit))


def quoted_lines(node: Node, run: Run, text: str) -> list[Lines]:
    """The printed form of a run, marked verbatim where nothing was changed in it."""
    key, tenant, origin, first = node.key, node.tenant, node.origin, run.first_line
    if first is None or text is run.raw:
        return [Lines(text, key, tenant, origin, first, first is not None)]
    stored = [line.removesuffix("\r") for line in run.raw.split("\n")]
    return [
        Lines(line, key, tenant, origin, number, line == was)
        for number, (line, was) in enumerate(zip(text.split("\n"), stored, strict=True), first)
    ]


def text_run(text: str) -> Body | None:
    """A body of words that stand beside the node's text, such as its summary."""
    stripped = clean(text).strip()
    return Body((Run(stripped, text.strip()),)) if stripped else None


def _summary(node: Node, code: bool) -> Body | None:
    signature = node.fields.get("signature")
    known = text_run(signature) if isinstance(signature, str) else None
    if known is not None and (code or not node.summary.strip()):
        return Body(known.runs, code=code)
    return text_run(node.summary)


def _quoted(node: Node, spans: Sequence[Span], manner: tuple[Span, bool, int | None]) -> Body | None:
    (first, last), code, limit = manner
    text, origin = node.text, node.origin
    line = origin.first_line if origin.file and origin.first_line is not None else 1
    counted = 0
    runs: list[Run] = []
    shown = _limited(spans, text, limit)
    for start, end in shown:
        line += text.count("\n", counted, start)
        counted = start
        runs.append(_run(text[start:end], line))
    runs = [run for run in runs if run.text]
    if not runs:
        return None
    goes_before, goes_on = not is_blank(text, first, shown[0][0]), not is_blank(text, shown[-1][1], last)
    return Body(tuple(runs), goes_before, goes_on, code)


def _run(raw: str, line: int) -> Run:
    """The text to print; where cleaning empties lines at its ends, they go."""
    text = clean(raw)
    if text is raw:
        return Run(raw, raw, line)
    start, end = _trimmed(0, len(text), text)
    skipped = text.count("\n", 0, start)
    stored = raw.split("\n")[skipped : text.count("\n", 0, end) + 1]
    return Run(text[start:end], "\n".join(stored), line + skipped)


def _joined(spans: Iterable[Span], text: str, first: int) -> list[Span]:
    """The spans from `first` on, in order, without blank lines around them; those that touch become one."""
    joined: list[Span] = []
    for start, end in sorted((max(first, start), min(end, len(text))) for start, end in spans):
        if joined and (start <= joined[-1][1] or is_blank(text, joined[-1][1], start)):
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        elif start < end:
            joined.append((start, end))
    trimmed = (_trimmed(start, end, text) for start, end in joined)
    return [span for span in trimmed if span[0] < span[1]]


def _trimmed(start: int, end: int, text: str) -> Span:
    if is_blank(text, start, end):
        return start, start
    blank = _BLANK_LINES.match(text, start, end)
    start = blank.end() if blank else start
    return start, start + len(text[start:end].rstrip())


def _limited(spans: Sequence[Span], text: str, limit: int | None) -> Sequence[Span]:
    if limit is None:
        return spans
    kept: list[Span] = []
    for start, end in spans:
        if end - start > limit:
            kept.extend([(start, _word_end(text, start, start + limit))] if limit > 0 else [])
            break
        kept.append((start, end))
        limit -= end - start
    return kept


def _word_end(text: str, start: int, end: int) -> int:
    """The last place at or before `end` that does not cut a word, unless one word is all there is."""
    place = end
    while place > start and not (text[place].isspace() or text[place - 1].isspace()):
        place -= 1
    cut = start + len(text[start:place].rstrip())
    return cut if cut > start else end


@dataclass(frozen=True, slots=True)
class ItemStyle:
    """How the items of one section or part are printed.

    `fields` are the lens's, and restrict the `fields` block; empty means all. `level` is the depth of an item's
    heading: 3 in a section, 4 in a part. `named` says that the heading above the items already names them.
    Pointers to what was walked to against a link of a type in `asides` name that link.
    """

    blocks: tuple[Block, ...]
    include_fields: bool = True
    fields: tuple[str, ...] = ()
    level: int = 3
    named: bool = False
    asides: tuple[str, ...] = ()

    @property
    def titled(self) -> bool:
        """Whether the item's name is printed above its text."""
        return self.named or any(each.block == "title" or "{title}" in each.form for each in self.blocks)


@dataclass(frozen=True, slots=True)
class Title:
    """The item's name, with its kind when the block asks for it."""

    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """A few words on one line, already cleaned; `role` is the block they come from."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One named value: the name as stored, its label, the value and the words for it."""

    name: str
    label: str
    value: Json
    text: str


@dataclass(frozen=True, slots=True)
class Entries:
    """A list of named values; `role` is fields, links, tree or images."""

    role: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Prose:
    """Words of the node, over several lines if need be, between a lead and a tail on the first and last line."""

    role: str
    body: Body | None
    lead: str = ""
    tail: str = ""


Piece = Title | Words | Entries | Prose
