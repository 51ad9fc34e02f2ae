"""Cut the part of a node's text that an item shows into runs that know their source lines."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from weft.frozen import dataclass
from weft.model import Detail, Item, Node
from weft.render.lines import Lines, clean
from weft.text import below_title, is_blank

_BLANK_LINES: Final = re.compile(r"(?:[^\S\n]*\n)+")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of text ready to print (`text`), and as it is stored (`raw`).

    `first_line` is the source line of its beginning, or None if the text has no known lines.
    """

    text: str
    raw: str
    first_line: int | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """The shown part of a text: runs with a gap between any two, and whether text was left out around them."""

    runs: tuple[Run, ...]
    gap_before: bool = False
    gap_after: bool = False
    code: bool = False


def build_body(item: Item, code: bool = False, limit: int | None = None, titled: bool = False) -> Body | None:
    """Return what the item's level of detail shows of its node, or None if that is nothing.

    At most `limit` characters are shown. With `titled`, the name is printed above already: a text that begins with
    it is shown from the next line on, and a text that is nothing but the name not at all.
    """
    node = item.candidate.node
    if item.detail is Detail.SUMMARY and not item.spans:
        return _summary_body(node, code)
    if titled and node.text.strip() == node.title.strip():
        return None
    if item.detail is Detail.WHOLE:
        bounds = (below_title(node.text, node.title) if titled else 0, len(node.text))
        return _quote_spans(node, [_trim(*bounds, node.text)], bounds, code, limit)
    if not item.spans:
        return None
    # A passage shows its own window of the text: what lies outside of it is no gap.
    bounds = item.candidate.window or (below_title(node.text, node.title) if titled else 0, len(node.text))
    return _quote_spans(node, _join_spans(item.spans, node.text, bounds[0]), bounds, code, limit)


def plain_body(text: str) -> Body | None:
    """Return a body of words that are not the node's text, such as its summary, or None if there are none."""
    stripped = clean(text).strip()
    return Body((Run(stripped, text.strip()),)) if stripped else None


def run_lines(node: Node, run: Run, text: str) -> list[Lines]:
    """Return the lines of a run, printed as `text`; each is marked verbatim if it equals the stored line."""
    key, tenant, origin, first = node.key, node.tenant, node.origin, run.first_line
    # Most runs are printed as they are stored, and stay one element however many lines they have.
    if first is None or text is run.raw:
        return [Lines(text, key, tenant, origin, first, first is not None)]
    stored = [line.removesuffix("\r") for line in run.raw.split("\n")]
    return [
        Lines(line, key, tenant, origin, number, line == stored_line)
        for number, (line, stored_line) in enumerate(zip(text.split("\n"), stored, strict=True), first)
    ]


def _summary_body(node: Node, code: bool) -> Body | None:
    """Return the signature for code, or where there is no summary; else the summary."""
    signature = node.fields.get("signature")
    known = plain_body(signature) if isinstance(signature, str) else None
    if known is not None and (code or not node.summary.strip()):
        return Body(known.runs, code=code)
    return plain_body(node.summary)


def _quote_spans(node: Node, spans: Sequence[Span], bounds: Span, code: bool, limit: int | None) -> Body | None:
    """Quote the spans of the node's text; whether there are gaps around them is judged within `bounds`."""
    text, origin = node.text, node.origin
    line = origin.first_line if origin.file and origin.first_line is not None else 1
    counted = 0  # newlines are counted from span to span, never twice over the same text
    runs: list[Run] = []
    shown = _limit_spans(spans, text, limit)
    for start, end in shown:
        line += text.count("\n", counted, start)
        counted = start
        runs.append(_make_run(text[start:end], line))
    runs = [run for run in runs if run.text]
    if not runs:
        return None
    gap_before = not is_blank(text, bounds[0], shown[0][0])
    gap_after = not is_blank(text, shown[-1][1], bounds[1])
    return Body(tuple(runs), gap_before, gap_after, code)


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
