"""Plain text for everything that interfaces print besides pages: tables, ledgers, nodes and differences.

The command line and the MCP server use the same functions, so that both print the same lines.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from weft.model import CALIBRATED, Candidate, Edge, LedgerEntry, Node, Origin, Step, View

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.history import Difference
    from weft.memory import Experience
    from weft.pipeline.exact import ExactHit


SEARCH_COLUMNS: Final = ("score", "kind", "title", "at")
LEDGER_COLUMNS: Final = ("section", "title", "detail", "tokens", "score", "parts", "path", "reason", "key")
_SEARCH_TITLE_WIDTH: Final = 50
_LEDGER_TITLE_WIDTH: Final = 40
_LINE_TITLE_WIDTH: Final = 60
"""Characters of a title in a search, in a ledger (whose rows have most columns), and in a line without columns."""
_MAX_COUNTED_FILES: Final = 8
"""Files whose hits are counted where not all hits are printed."""
_HIT_WIDTH: Final = 120
"""Characters of a line that holds an exact text; minified lines would fill a screen."""
_NOT_IN_MESSAGES: Final = "Messages of commits are searched only where the kind commit is asked for."
_SIGNS_OF_EXPRESSIONS: Final = ("|", ".*", "\\")
"""Signs by which a text that no line holds looks like a regular expression without its slashes."""
_HASH_LENGTH: Final = 10
_REQUEST_WIDTH: Final = 200
"""Characters of a changed request in a difference; parameters may hold whole texts."""
_CONTROL_CHARACTERS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters except tab and newline, and those that change the direction of text."""
_MAX_PADDED_WIDTH: Final = 90
"""Characters that a column is padded to at most: one long cell must not push the columns of all rows apart."""
_MAX_EDGES: Final = 5_000
"""Edges read of one entity: enough for the hero of a long novel, and a bound on the work for a hub with more."""
_MAX_COMPANIONS: Final = 12
"""Entities named under "Most often with": those after them share only a scene or two."""
_SENTENCE_WIDTH: Final = 300
"""Characters of a quoted sentence; longer ones are cut, so that each stays a line or three."""
_COMPANY_EDGES: Final = ("co_occurs", "speaks_with")


def printable(text: str) -> str:
    """Return stored text without the characters that could control a terminal."""
    return _CONTROL_CHARACTERS.sub("", text)


def one_line(text: str, width: int | None = None) -> str:
    """Return stored text on one line, cut to a width with an ellipsis."""
    line = " ".join(printable(text).split())
    return line if width is None or len(line) <= width else f"{line[: width - 1]}…"


def count_noun(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun, as in `1 file` and `1,200 files`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def commit_reference(node: Node) -> str:
    """Return the beginning of a commit's hash and its day."""
    hash = (node.origin.commit or node.key)[:_HASH_LENGTH]
    return f"{hash} {node.created:%Y-%m-%d}" if node.created else hash


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return the lines of a table: rows under their column names, aligned with spaces."""
    cells = [[one_line(str(cell)) for cell in row] for row in rows]
    # The last column needs no padding, which `rstrip` removes again.
    widths = [min(_MAX_PADDED_WIDTH, max(map(len, column))) for column in zip(columns, *cells, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (columns, *cells)
    ]


def relevance(candidate: Candidate) -> float:
    """Return the calibrated relevance of a search's result; its score is made by a profile, later."""
    return candidate.parts.get(CALIBRATED, 0.0)


def search_rows(candidates: Sequence[Candidate]) -> list[tuple[str, ...]]:
    """Return the rows of a search: under `SEARCH_COLUMNS`, one for each result."""
    return [
        (
            f"{relevance(candidate):.3f}",
            candidate.node.kind,
            one_line(candidate.node.title, _SEARCH_TITLE_WIDTH),
            _place(candidate.node),
        )
        for candidate in candidates
    ]


def _place(node: Node) -> str:
    """Return what finds the node again: file and line, the hash of a commit, or its key."""
    if node.origin.file and node.origin.first_line:
        return format_origin(node.origin)
    if node.origin.commit and not node.origin.file:
        return commit_reference(node)
    return node.key


def exact_lines(written: str, hits: "Sequence[ExactHit]", limit: int) -> list[str]:
    """Return the lines that hold a text as `file:line: [definition] text`, below how many there are in all."""
    files = len({hit.node.origin.file or hit.node.key for hit in hits})
    more = f", {limit} shown (raise limit)" if len(hits) > limit else ""
    counted = f"{count_noun(len(hits), 'line')} in {count_noun(files, 'file')}"
    heading = f"{one_line(written, _LINE_TITLE_WIDTH)!r}: {counted}{more}"
    shown = [line for hit in hits[:limit] for line in (_hit_line(hit), *_around_lines(hit))]
    hints = [] if hits else [_NOT_IN_MESSAGES]
    if not hits and any(sign in written for sign in _SIGNS_OF_EXPRESSIONS):
        hints = ["A regular expression is written between slashes, as in /take|give/."]
    return [heading, *hints, *shown, *_count_rest(hits[limit:])]


def _count_rest(hits: "Sequence[ExactHit]") -> list[str]:
    """Return how many of the hits that are not shown stand in which files, those with the most first."""
    counts = Counter(hit.node.origin.file or hit.node.key for hit in hits)
    listed = [f"{one_line(file)} {count}" for file, count in counts.most_common(_MAX_COUNTED_FILES)]
    more = [f"{len(counts) - len(listed)} more files"] if len(counts) > len(listed) else []
    return [f"[… {', '.join([*listed, *more])}]"] if listed else []


def _around_lines(hit: "ExactHit") -> list[str]:
    """Return the lines around a hit with their numbers, the hit itself marked."""
    return [
        f"  {number}{'>' if number == hit.line else ':'} {printable(text)[:_HIT_WIDTH]}".rstrip()
        for number, text in hit.around
    ]


def _hit_line(hit: "ExactHit") -> str:
    """Return a line with its place, which can be shown, and the definition around it, which is looked up next."""
    # Where the lines around it are printed, it stands among these.
    node, text = hit.node, "" if hit.around else one_line(hit.text, _HIT_WIDTH)
    if not node.origin.file:
        return f"{_place(node)}: {text}"
    # Imported here: `weft --help` loads this module, and the shapes of questions would take a tenth of its time.
    from weft.pipeline.shapes import DEFINITION_KINDS

    around = f"[{one_line(node.title, _LINE_TITLE_WIDTH)}] " if node.kind in DEFINITION_KINDS else ""
    return f"{node.origin.file}:{hit.line}: {around}{text}".rstrip()


def ledger_rows(entries: Sequence[LedgerEntry]) -> list[tuple[object, ...]]:
    """Return the rows of a ledger: under `LEDGER_COLUMNS`, the fate of each candidate and the reason."""
    return [
        (
            entry.section,
            one_line(entry.title or entry.key, _LEDGER_TITLE_WIDTH),
            entry.detail.value,
            entry.tokens or "",
            f"{entry.score:.3f}",
            _format_parts(entry.parts),
            _format_path(entry.path),
            _format_reason(entry),
            entry.key,
        )
        for entry in entries
    ]


def ledger_lines(entries: Sequence[LedgerEntry]) -> Iterator[str]:
    """Yield the fate of each candidate on one line, without the padding of a table, which costs tokens."""
    for entry in entries:
        facts = (
            f"{one_line(entry.title or entry.key, _LINE_TITLE_WIDTH)} [{one_line(entry.key)}]",
            f"score {entry.score:.3f} {_format_parts(entry.parts)}".rstrip(),
            one_line(_format_path(entry.path)),
            one_line(_format_reason(entry)),
        )
        yield f"{entry.detail.value}: " + "; ".join(fact for fact in facts if fact)


def _format_reason(entry: LedgerEntry) -> str:
    return f"{entry.reason}; {entry.mark}" if entry.mark else entry.reason


def _format_parts(parts: Mapping[str, float]) -> str:
    """Return the parts of a score, without those that two decimals round to zero."""
    return " ".join(f"{name}={value:.2f}" for name, value in sorted(parts.items()) if round(value, 2))


def _format_path(path: Sequence[Step]) -> str:
    """Return the edges from the start to the node, each with its direction."""
    return " ".join(f"{step.edge_type} {'→' if step.direction == 'out' else '←'} {step.key}" for step in path)


def whole_text(weft: "Weft", node: Node, view: View) -> str:
    """Return a node's facts and text and, for an entity, what the stories visible in the view say about it."""
    # Loaded here, because `weft --help` loads this module and does not need the word lists.
    from weft.story import KINDS

    lines = ["\n".join(_node_lines(node))]
    if node.kind in KINDS:
        with weft.reading(view) as reading:
            # The view decides which chapters are visible, so that nothing after `as_of` is given away.
            found = reading.snapshot.edges([node.id], _MAX_EDGES)
            ids = {id for source, target, _ in found for id in (source, target)} - {node.id}
            others = {row.node.key: row.node for row in reading.snapshot.nodes(sorted(ids)).values()}
        edges = [edge for _, _, edge in found]
        lines += _relation_lines(node, edges, others)
        lines += _companion_lines(node, edges, others)
        lines += _mention_lines(node, edges, others)
    return "\n".join(lines)


def _node_lines(node: Node) -> Iterator[str]:
    yield one_line(node.title or node.key)
    facts = {
        "key": node.key,
        "kind": node.kind,
        "tenant": node.tenant,
        "from": format_origin(node.origin),
        "aliases": ", ".join(alias.text for alias in node.aliases),
        "tags": ", ".join(node.tags),
        "sequence": node.sequence,
        "known from": node.known_from,
        "created": node.created,
        "modified": node.modified,
        **{f"field {field}": value for field, value in sorted(node.fields.items())},
    }
    for fact, value in facts.items():
        if value not in (None, "", (), [], {}):
            yield f"  {one_line(fact)}: {one_line(str(value))}"
    # A summary that only repeats the beginning of the text is left out.
    repeats_text = one_line(node.text).startswith(one_line(node.summary).rstrip("…"))
    for paragraph in ("" if repeats_text else node.summary, node.text):
        if paragraph.strip():
            yield f"\n{printable(paragraph).rstrip()}"


def _relation_lines(node: Node, edges: Sequence[Edge], others: Mapping[str, Node]) -> Iterator[str]:
    """Yield the relations that a text states, each with the sentence that states it."""
    from weft.story import TIES

    lines = []
    for edge in edges:
        other = edge.target if edge.source == node.key else edge.source
        if edge.type in TIES and other in others:
            arrow = "→" if edge.source == node.key else "←"
            # Only the first line of the evidence is the sentence.
            evidence = one_line(edge.evidence.partition("\n")[0], _SENTENCE_WIDTH)
            line = f"  {edge.type} {arrow} {one_line(others[other].title)}"
            lines.append(f"{line}: {evidence}" if evidence else line)
    if lines:
        yield "\nRelations:"
        # Several makers may have found the same relation; it is printed once.
        yield from dict.fromkeys(lines)


def _companion_lines(node: Node, edges: Sequence[Edge], others: Mapping[str, Node]) -> Iterator[str]:
    """Yield a line with the entities that share most scenes with the node."""
    # Summed, because two entities may be linked both by scenes and by conversations.
    weights: dict[str, float] = {}
    for edge in edges:
        other = edge.target if edge.source == node.key else edge.source
        if edge.type in _COMPANY_EDGES and other in others:
            weights[other] = weights.get(other, 0.0) + edge.weight
    companions = sorted(weights, key=lambda key: (-weights[key], key))[:_MAX_COMPANIONS]
    if companions:
        yield "\nMost often with: " + ", ".join(one_line(others[key].title) for key in companions)


def _mention_lines(node: Node, edges: Sequence[Edge], others: Mapping[str, Node]) -> Iterator[str]:
    """Yield, in the order of the story, the first sentence of each chapter or scene that mentions the node."""
    first_offsets: dict[str, int] = {}
    for edge in edges:
        text = others.get(edge.source)
        if edge.type == "mentions" and edge.target == node.key and text is not None and text.sequence is not None:
            offset = _mention_offset(edge.evidence)
            first_offsets[edge.source] = min(first_offsets.get(edge.source, offset), offset)
    # The key breaks ties: several scenes may have one number in the sequence.
    texts = sorted((others[key] for key in first_offsets), key=lambda text: (text.sequence or 0, text.key))
    if texts:
        yield "\nNamed in:"
    for text in texts:
        sentence = _sentence_at(text.text, first_offsets[text.key])
        yield f"  {one_line(text.title or text.key)}: {one_line(sentence, _SENTENCE_WIDTH)}"


def _mention_offset(evidence: str) -> int:
    """Return the offset of a mention in its text, which its evidence ends with, as in `Alice @120`."""
    offset = evidence.rpartition("@")[2]
    return int(offset) if offset.isdigit() else 0


def _sentence_at(text: str, offset: int) -> str:
    """Return the sentence around an offset; with the one before it, if it only continues that one."""
    from weft.text import split_sentences

    previous = 0
    for start, end in split_sentences(text):
        if end > offset:
            # "…" she said: a sentence that begins in lower case says who spoke, the one before what was said.
            return text[previous if text[start : start + 1].islower() else start : end]
        previous = start
    return ""


def format_origin(origin: Origin) -> str:
    """Return where a node came from: its file and first line, else its URL or commit."""
    line = f":{origin.first_line}" if origin.file and origin.first_line else ""
    mark = f" ({origin.stale.value})" if origin.stale is not None else ""
    return f"{origin.file}{line}{mark}" if origin.file else origin.url or origin.commit or ""


def difference_lines(difference: "Difference") -> Iterator[str]:
    """Yield the lines of a difference: changes of the request, each change with its reason, and a count."""
    yield f"{difference.before} → {difference.after}"
    for request_change in difference.asked:
        yield f"asked differently: {one_line(request_change, _REQUEST_WIDTH)}"
    for change in difference.changes:
        title = one_line(change.title or change.key, _LINE_TITLE_WIDTH)
        yield f"{change.what:8}  {title}  [{one_line(change.key)}]"
        yield f"          {one_line(change.why)}"
    yield f"{len(difference.changes)} changed, {difference.unchanged} as before"


def experience_lines(experience: "Experience") -> Iterator[str]:
    """Yield the lines of an experience: its state, the last attempt, the outcome, then earlier attempts."""
    tier = f", {experience.tier}" if experience.tier else ""
    yield f"{experience.id}  {experience.domain} | {experience.strategy}  ({experience.status}{tier})"
    cause, lesson = experience.root_cause, experience.lesson
    facts = {
        "goal": experience.goal,
        "hypothesis": experience.hypothesis,
        "action": experience.action,
        "prediction": experience.prediction,
        "result": experience.result,
        "surprise": experience.surprise,
        "root cause": f"{cause.category}: {cause.description}".removesuffix(": ") if cause else "",
        "what worked": lesson.what_worked if lesson else "",
        "takeaway": lesson.takeaway if lesson else "",
        "confidence": f"{experience.tier}, {experience.tier_reason}" if experience.tier_reason else "",
        "taken back": "; ".join(experience.withdrawn),
        "files": ", ".join(experience.files),
        "started": _format_minute(experience.started),
        "resolved": _format_minute(experience.resolved) if experience.resolved else "",
    }
    yield from (f"  {name}: {one_line(value)}" for name, value in facts.items() if value.strip())
    for number, attempt in enumerate(experience.before, start=1):
        steps = f"{attempt.hypothesis} → {attempt.action} → {attempt.prediction}"
        yield f"  attempt {number} ({attempt.strategy}, {_format_minute(attempt.at)}): {one_line(steps)}"


def _format_minute(moment: datetime) -> str:
    """Return a moment in UTC, to the minute."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
