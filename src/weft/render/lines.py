"""Printed lines with their sources, and the part of a node's text that an item shows.

All formats print `Lines`; joining them gives the text of the page, and reading their sources gives its manifest.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.model import Detail, Item, Node, Origin
from weft.render.harmless import clean, one_line
from weft.text import find_body_start, find_fences, find_signature, is_blank

_BLANK_LINES: Final = re.compile(r"(?:[^\S\n]*\n)+")
_BEFORE_FILLED_LINE: Final = re.compile(r"\n(?!\n|\Z)")
_TWO_BLANK_LINES: Final = re.compile(r"\n[^\S\n]*\n[^\S\n]*\n")
_FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})")
_LAYOUT_LINE: Final = re.compile(
    r"""
    ^[ \t]*(?:
        (?:
            (?: </?(?:div|p|center|figure|details|section|br|hr|iframe)\b | <img\b(?![^<>]*\balt="[^"])
                | <a[ ](?:id|name)= | </a\b | <!--(?=[^<>]*--) )
            [^<>]*>[ \t]*
        )+
        | \.\.[ ]_[^\n]*:[ \t]*
        | \([\w.:-]+\)=[ \t]*
    )$
    """,
    re.MULTILINE | re.VERBOSE,
)
"""A line of nothing but HTML that lays out a page, shows an image without a description or comments on the text;
or of a label to which other pages link (`.. _name:` in reStructuredText, `(name)=` in MyST)."""
_LAYOUT_SIGNS: Final = ("<", ".. _", ")=")
"""A text without one of these has no such line."""
_LAID_OUT_KINDS: Final = frozenset({"note", "document", "section"})
"""The kinds of texts that are written to be shown as pages: in others, such a line is what is talked about."""
_FIELD_LINE: Final = re.compile(r"([^\W\d_][\w -]{0,39}?)::[ \t]+(\S.*)")
"""A line of a note that only states a field; one in a list may have lines below it, and is not taken."""
_WIKILINK: Final = re.compile(r"\[\[(?:[^\[\]]*[|/])?([^\[\]|/]*)\]\]")
_MAX_MEMBER_CHARACTERS: Final = 110
"""Characters of a signature that tells of a definition: its name, and what it takes."""

Span = tuple[int, int]


class Lines(Struct, frozen=True):
    """One printed line, or several that follow each other on the page as they do in their source.

    `key`, `tenant` and `origin` name the source; `key` is None for lines that Weft itself prints (the frame).
    `source_line` is the source line of the first of them: it counts in `origin.file` if the node knows its first
    line there, else within the node's text. `verbatim` promises that `text` occurs in the node's text character
    for character.
    """

    text: str
    key: str | None = None
    tenant: str | None = None
    origin: Origin | None = None
    source_line: int | None = None
    verbatim: bool = False

    @property
    def count(self) -> int:
        """The number of lines."""
        return self.text.count("\n") + 1

    def split_first(self) -> "list[Lines]":
        """Return the first line and, if there are any, the others as a second element."""
        return self._split(self.text.find("\n"))

    def split_last(self) -> "list[Lines]":
        """Return the last line, with the others (if there are any) as an element before it."""
        return self._split(self.text.rfind("\n"))

    def _split(self, newline: int) -> "list[Lines]":
        if newline < 0:
            return [self]
        first, rest = replace(self, text=self.text[:newline]), replace(self, text=self.text[newline + 1 :])
        if self.source_line is None:
            return [first, rest]
        return [first, replace(rest, source_line=self.source_line + first.count)]


BLANK = Lines("")


def frame_lines(*texts: str) -> tuple[Lines, ...]:
    """Return lines that Weft itself prints, which have no source."""
    return tuple([Lines(text) for text in texts])


def node_line(node: Node, text: str) -> Lines:
    """Return a line that says something about a node without quoting its text."""
    return Lines(text, node.key, node.tenant, node.origin)


def join_lines(lines: Sequence[Lines]) -> str:
    """Return the text of the lines, with no newline after the last one."""
    return "\n".join([each.text for each in lines])


class Run(Struct, frozen=True, gc=False):
    """A stretch of text ready to print (`text`), and as it is stored (`raw`).

    `first_line` is the source line of its beginning, or None if the text has no known lines. `numbers` are the
    source lines of all its lines where some between them are not printed. `opening` and `closing` are the lines of
    a Markdown fence that it was cut out of, for formats that print it in one.
    """

    text: str
    raw: str
    first_line: int | None = None
    numbers: tuple[int, ...] = ()
    opening: str = ""
    closing: str = ""


class Body(Struct, frozen=True, gc=False):
    """The shown part of a text: runs with a gap between any two, and whether text was left out around them."""

    runs: tuple[Run, ...]
    gap_before: bool = False
    gap_after: bool = False
    code: bool = False
    members: tuple[Node, ...] = ()
    """Definitions that are printed as a line each, before or behind the runs as they stand in the file."""


def build_body(
    item: Item, code: bool = False, limit: int | None = None, titled: bool = False, fenced: bool = False
) -> Body | None:
    """Return what the item's level of detail shows of its node, or None if that is nothing.

    At most `limit` characters are shown. With `titled`, the name is printed above already: a text that begins with
    it is shown from the next line on, and a text that is nothing but the name not at all. With `fenced`, a part of
    a Markdown fence is printed in one.
    """
    body, members = _build_runs(item, code, limit, titled, fenced), item.candidate.members
    if not code or not members or item.detail is Detail.SUMMARY:
        return body
    return replace(body or Body((), code=True), members=members)


def _build_runs(item: Item, code: bool, limit: int | None, titled: bool, fenced: bool) -> Body | None:
    """Return what is shown of the text of the item's own node, or None if that is nothing."""
    node = item.candidate.node
    if item.detail is Detail.SUMMARY and not item.spans:
        return _summary_body(node, code)
    # An item without spans is priced before its text is chosen.
    if item.detail is not Detail.WHOLE and not item.spans:
        return None
    start, end = item.candidate.window or (0, len(node.text))
    if titled and node.text[start:end].strip() == node.title.strip():
        return None
    if item.detail is Detail.WHOLE:
        bounds = (find_body_start(node.text, node.title) if titled else 0, len(node.text))
        return _quote_spans(node, [_trim(*bounds, node.text)], bounds, code, limit, fenced)
    # A passage shows its own window of the text: what lies outside of it is no gap.
    bounds = item.candidate.window or (find_body_start(node.text, node.title) if titled else 0, len(node.text))
    return _quote_spans(node, _join_spans(item.spans, node.text, bounds[0]), bounds, code, limit, fenced)


def plain_body(text: str) -> Body | None:
    """Return a body of words that are not the node's text, such as its summary, or None if there are none."""
    stripped = clean(text).strip()
    return Body((Run(stripped, text.strip()),)) if stripped else None


def run_lines(node: Node, run: Run, text: str) -> list[Lines]:
    """Return the lines of a run, printed as `text`; each is marked verbatim if it equals the stored line."""
    key, tenant, origin, first = node.key, node.tenant, node.origin, run.first_line
    # Most runs are printed as they are stored, and stay one element however many lines they have.
    if first is None or (text is run.raw and not run.numbers):
        return [Lines(text, key, tenant, origin, first, first is not None)]
    stored = [line.removesuffix("\r") for line in run.raw.split("\n")]
    return [
        Lines(line, key, tenant, origin, number, line == stored_line)
        for number, line, stored_line in zip(
            run.numbers or range(first, first + len(stored)), text.split("\n"), stored, strict=True
        )
    ]


def _summary_body(node: Node, code: bool) -> Body | None:
    """Return the signature for code, or where there is no summary; else the summary."""
    signature = node.fields.get("signature")
    known = plain_body(signature) if isinstance(signature, str) else None
    if known is not None and (code or not node.summary.strip()):
        return Body(known.runs, code=code)
    return plain_body(node.summary)


def _quote_spans(
    node: Node, spans: Sequence[Span], bounds: Span, code: bool, limit: int | None, fenced: bool
) -> Body | None:
    """Quote the spans of the node's text; whether there are gaps around them is judged within `bounds`."""
    text, origin = node.text, node.origin
    line = origin.first_line if origin.file and origin.first_line is not None else 1
    left_out = {line + index for index in _find_surplus_lines(node)} if not code else set()
    counted = 0  # newlines are counted from span to span, never twice over the same text
    runs: list[Run] = []
    shown = _limit_spans(spans, text, limit)
    fences = find_fences(text) if fenced else []
    for start, end in shown:
        line += text.count("\n", counted, start)
        counted = start
        run = _leave_out(_make_run(text[start:end], line), left_out)
        runs.append(_refence(run, (start, end), fences) if fences else run)
    runs = [run for run in runs if run.text]
    if not runs:
        return None
    gap_before = not is_blank(text, bounds[0], shown[0][0])
    gap_after = not is_blank(text, shown[-1][1], bounds[1])
    return Body(tuple(runs), gap_before, gap_after, code)


def _refence(run: Run, span: Span, fences: Iterable[tuple[int, int, str, str]]) -> Run:
    """Return the run with the lines of a fence that its span cuts through."""
    for start, end, line, mark in fences:
        opening = line if start <= span[0] < end else ""
        closing = mark if start <= span[1] <= end else ""
        if opening or closing:
            run = replace(run, opening=run.opening or opening, closing=closing or run.closing)
    return run


def _make_run(raw: str, line: int) -> Run:
    """Clean a stretch of text; lines at its ends that cleaning leaves empty are removed."""
    text = clean(raw)
    if text is raw:
        return Run(raw, raw, line)
    start, end = _trim(0, len(text), text)
    skipped = text.count("\n", 0, start)
    # Cleaning keeps the number of newlines, so the same lines can be cut from the stored text.
    stored = raw.split("\n")[skipped : text.count("\n", 0, end) + 1]
    return Run(text[start:end], "\n".join(stored), line + skipped)


def leave_out_fields(node: Node, body: Body, printed: Collection[tuple[str, str]]) -> Body | None:
    """Return the body without the lines that only state one of the printed fields; None if that is all of it."""
    first = node.origin.first_line if node.origin.file and node.origin.first_line is not None else 1
    left_out = {first + index for index in _find_surplus_lines(node, printed)}
    runs = tuple([run for each in body.runs if (run := _leave_out(each, left_out)).text])
    return replace(body, runs=runs) if runs or body.members else None


def _find_surplus_lines(node: Node, printed: Collection[tuple[str, str]] = ()) -> Iterator[int]:
    """Yield the index of each line that is layout, states a printed field, or is blank below a blank one.

    Comments and queries that a note hides leave blank lines, so that those below them keep their numbers.
    """
    # Only notes hide anything, and few texts are laid out: the others are not read line by line.
    hides = "_form" in node.fields and (bool(printed) or _TWO_BLANK_LINES.search(node.text) is not None)
    is_laid_out = (
        node.kind in _LAID_OUT_KINDS
        and any(sign in node.text for sign in _LAYOUT_SIGNS)
        and _LAYOUT_LINE.search(node.text) is not None
    )
    if not hides and not is_laid_out:
        return
    fence, below_blank = "", False
    for index, line in enumerate(node.text.split("\n")):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and line.strip() == mark[1]:
            fence = ""
        is_layout = is_laid_out and _LAYOUT_LINE.fullmatch(line) is not None
        if not fence and (is_layout or (printed and _read_field(line) in printed)):
            yield index
            continue
        is_blank_line = not fence and not line.strip()
        if is_blank_line and below_blank:
            yield index
        below_blank = is_blank_line


def _read_field(line: str) -> tuple[str, str] | None:
    """Return the name and the value of the field that a line states, as the reader of notes stores them."""
    match = _FIELD_LINE.fullmatch(line)
    if match is None:
        return None
    return re.sub(r"[ .-]+", "_", match[1].strip().lower()), one_line(_WIKILINK.sub(r"\1", match[2]))


def _leave_out(run: Run, left_out: Collection[int]) -> Run:
    """Return the run without some lines of its source; the others keep their numbers."""
    if not left_out or run.first_line is None:
        return run
    texts, stored = run.text.split("\n"), run.raw.split("\n")
    numbers = run.numbers or range(run.first_line, run.first_line + len(texts))
    kept = [index for index, number in enumerate(numbers) if number not in left_out]
    if len(kept) == len(texts):
        return run
    # What stood around the lines that go may leave blank ones at the ends.
    filled = [position for position, index in enumerate(kept) if texts[index].strip()]
    kept = kept[filled[0] : filled[-1] + 1] if filled else []
    if not kept:
        return Run("", "")
    text, raw = ("\n".join([lines[index] for index in kept]) for lines in (texts, stored))
    return Run(text, raw, numbers[kept[0]], tuple([numbers[index] for index in kept]))


def _join_spans(spans: Iterable[Span], text: str, first: int) -> list[Span]:
    """Return the spans from `first` on, in order and trimmed; those with only blanks between them become one."""
    joined: list[Span] = []
    for start, end in sorted((max(first, start), min(end, len(text))) for start, end in spans):
        if joined and (start <= joined[-1][1] or is_blank(text, joined[-1][1], start)):
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        elif start < end:
            joined.append((start, end))
    trimmed = (_trim(start, end, text) for start, end in joined)
    return [span for span in trimmed if span[0] < span[1]]


def _trim(start: int, end: int, text: str) -> Span:
    """Leave out blank lines before the span and white space behind it; the first line keeps its indentation."""
    if is_blank(text, start, end):
        return start, start
    blank = _BLANK_LINES.match(text, start, end)
    start = blank.end() if blank else start
    return start, start + len(text[start:end].rstrip())


def _limit_spans(spans: Sequence[Span], text: str, limit: int | None) -> Sequence[Span]:
    """Return the first `limit` characters of the spans, cut between words."""
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
    """Return the last index at or before `end` that does not cut a word; `end` if one word is all there is."""
    index = end
    while index > start and not (text[index].isspace() or text[index - 1].isspace()):
        index -= 1
    cut = start + len(text[start:index].rstrip())
    return cut if cut > start else end


def quote_body(
    node: Node,
    body: Body | None,
    gap: Callable[[int | None], str],
    guard: Callable[[str], str],
    later: Callable[[str], str] | None = None,
) -> list[Lines]:
    """Return the body's lines made harmless by `guard`, with the mark of a `gap` wherever text was left out.

    In code the mark is given the line of the file that follows it: a margin with the number of every line would
    cost a fifth more. Runs behind a gap are guarded by `later`, where a format needs another guard for them.
    """
    if body is None:
        return []
    first = body.runs[0].first_line or 0 if body.runs else 0
    lines = [_member_line(each, gap, guard) for each in body.members if (each.origin.first_line or 0) < first]
    counts_lines = body.code and node.origin.file is not None and node.origin.first_line is not None
    for index, run in enumerate(body.runs):
        behind_gap = index or body.gap_before
        if behind_gap:
            lines.append(Lines(gap(run.first_line if counts_lines else None)))
        lines += _guarded_lines(node, run, later or guard if behind_gap else guard)
    after = [_member_line(each, gap, guard) for each in body.members if (each.origin.first_line or 0) >= first]
    # The lines of members say themselves that something was left out before them.
    return [*lines, *(after or ([Lines(gap(None))] if body.gap_after else []))]


def _guarded_lines(node: Node, run: Run, guard: Callable[[str], str]) -> list[Lines]:
    """Return the lines of a run made harmless, within its fence where it was cut out of one."""
    if not run.opening and not run.closing:
        return run_lines(node, run, guard(run.text))
    # Together, because what is harmless depends on the fence; no guard changes the number of lines.
    above, below = [run.opening] if run.opening else [], [run.closing] if run.closing else []
    guarded = guard("\n".join([*above, run.text, *below])).split("\n")
    first, last = len(above), len(guarded) - len(below)
    inside = run_lines(node, run, "\n".join(guarded[first:last]))
    return [*map(Lines, guarded[:first]), *inside, *map(Lines, guarded[last:])]


def _member_line(node: Node, gap: Callable[[int | None], str], guard: Callable[[str], str]) -> Lines:
    """Return the line of a definition that is told by its signature alone."""
    signature, line = str(node.fields.get("signature") or ""), node.origin.first_line
    found = find_signature(node.text, signature)
    if found is not None and line is not None:
        # Decorators and comments stand above it.
        line += node.text.count("\n", 0, found[0])
    words = one_line(signature or f"{node.kind} {node.title}")[:_MAX_MEMBER_CHARACTERS]
    return node_line(node, f"{gap(line)} {guard(words)}")


def bracket_gap(line: int | None) -> str:
    """Return the mark for text that was left out, with the line of the file that follows it in code."""
    return f"[… {line}:]" if line is not None else "[…]"


def add_lead_and_tail(node: Node, lead: str, lines: list[Lines], tail: str) -> list[Lines]:
    """Return the lines with a lead before the first and a tail behind the last."""
    if not lines:
        return [node_line(node, lead + tail)]
    if lead:
        first, *others = lines[0].split_first()
        lines[:1] = [_reworded(node, lead + first.text, first), *others]
    if tail:
        *others, last = lines[-1].split_last()
        lines[-1:] = [*others, _reworded(node, last.text + tail, last)]
    return lines


def _reworded(node: Node, text: str, lines: Lines) -> Lines:
    """Return other words for some lines: they keep the source line, but are no longer verbatim."""
    return Lines(text, node.key, node.tenant, node.origin, lines.source_line)


def make_bullet(lines: Sequence[Lines]) -> list[Lines]:
    """Return the lines as one list item, all but the first indented."""
    texts = [f"- {lines[0].text.lstrip()}", *[f"  {each.text}" if each.text else "" for each in lines[1:]]]
    return [
        Lines(_indent_following(text), each.key, each.tenant, each.origin, each.source_line)
        for text, each in zip(texts, lines, strict=True)
    ]


def indent_lines(lines: Sequence[Lines], levels: int) -> list[Lines]:
    """Return the lines two spaces further right for each level; empty ones stay empty."""
    if not levels:
        return [*lines]
    before = "  " * levels
    return [
        replace(each, text="\n".join(f"{before}{line}" if line else "" for line in each.text.split("\n")))
        for each in lines
    ]


def _indent_following(text: str) -> str:
    """Put two spaces before all but the first line, and before none that is empty."""
    # Plain replacement is faster, and right unless there are empty lines.
    return _BEFORE_FILLED_LINE.sub("\n  ", text) if "\n\n" in text else text.replace("\n", "\n  ")
