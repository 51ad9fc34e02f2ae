"""Plain text for everything that interfaces print besides pages: tables, ledgers, nodes and differences.

The command line and the MCP server use the same functions, so that both print the same lines.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from weft.history import Difference
from weft.model import CALIBRATED, Candidate, LedgerEntry, Node, Origin, Step

if TYPE_CHECKING:
    from weft.memory import Experience


SEARCH_COLUMNS: Final = ("score", "kind", "title", "key")
LEDGER_COLUMNS: Final = ("section", "title", "detail", "tokens", "score", "parts", "path", "reason", "key")
_SEARCH_TITLE_WIDTH: Final = 50
_LEDGER_TITLE_WIDTH: Final = 40
_LINE_TITLE_WIDTH: Final = 60
"""Characters of a title in a search, in a ledger (whose rows have most columns), and in a line without columns."""
_REQUEST_WIDTH: Final = 200
"""Characters of a changed request in a difference; parameters may hold whole texts."""
_CONTROL_CHARACTERS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters except tab and newline, and those that change the direction of text."""
_MAX_PADDED_WIDTH: Final = 90
"""Characters that a column is padded to at most: one long cell must not push the columns of all rows apart."""


def printable(text: str) -> str:
    """Return stored text without the characters that could control a terminal."""
    return _CONTROL_CHARACTERS.sub("", text)


def one_line(text: str, width: int | None = None) -> str:
    """Return stored text on one line, cut to a width with an ellipsis."""
    line = " ".join(printable(text).split())
    return line if width is None or len(line) <= width else f"{line[: width - 1]}…"


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
            candidate.node.key,
        )
        for candidate in candidates
    ]


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
            entry.reason,
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
            one_line(entry.reason),
        )
        yield f"{entry.detail.value}: " + "; ".join(fact for fact in facts if fact)


def _format_parts(parts: Mapping[str, float]) -> str:
    """Return the parts of a score, without those that two decimals round to zero."""
    return " ".join(f"{name}={value:.2f}" for name, value in sorted(parts.items()) if round(value, 2))


def _format_path(path: Sequence[Step]) -> str:
    """Return the edges from the start to the node, each with its direction."""
    return " ".join(f"{step.edge_type} {'→' if step.direction == 'out' else '←'} {step.key}" for step in path)


def node_text(node: Node) -> str:
    """Return a node whole: its facts, then its summary and text."""
    return "\n".join(_node_lines(node))


def _node_lines(node: Node) -> Iterator[str]:
    yield one_line(node.title or node.key)
    facts = {
        "key": node.key,
        "id": node.id,
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


def format_origin(origin: Origin) -> str:
    """Return where a node came from: its file and first line, else its URL or commit."""
    line = f":{origin.first_line}" if origin.file and origin.first_line else ""
    return f"{origin.file}{line}" if origin.file else origin.url or origin.commit or ""


def difference_lines(difference: Difference) -> Iterator[str]:
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
