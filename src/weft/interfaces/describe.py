"""What faces print besides pages, as plain lines: tables, ledgers, nodes, search results and differences."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from weft.history import Difference
from weft.model import Candidate, LedgerEntry, Node, Origin, Step

if TYPE_CHECKING:
    from weft.memory import Experience


SEARCH_COLUMNS: Final = ("score", "kind", "title", "key")
LEDGER_COLUMNS: Final = ("section", "title", "detail", "tokens", "score", "parts", "path", "reason", "key")
_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_WIDEST: Final = 90


def printable(text: str) -> str:
    """Stored text without the characters that could steer a terminal."""
    return _UNSEEN.sub("", text)


def one_line(text: str, width: int | None = None) -> str:
    """Stored text on one line, cut to a width."""
    line = " ".join(printable(text).split())
    return line if width is None or len(line) <= width else f"{line[: width - 1]}…"


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Rows under their column names, aligned with spaces."""
    cells = [[one_line(str(cell)) for cell in row] for row in rows]
    widths = [min(_WIDEST, max(map(len, column))) for column in zip(columns, *cells, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (columns, *cells)
    ]


def relevance(candidate: Candidate) -> float:
    """What a search knows of a candidate; the score proper comes from a profile."""
    return candidate.parts.get("relevance", 0.0)


def search_rows(candidates: Sequence[Candidate]) -> list[tuple[str, ...]]:
    """What a search lists of each result."""
    return [
        (f"{relevance(each):.3f}", each.node.kind, one_line(each.node.title, 50), each.node.key)
        for each in candidates
    ]


def ledger_rows(entries: Sequence[LedgerEntry]) -> list[tuple[object, ...]]:
    """What became of each candidate, and why."""
    return [_ledger_row(entry) for entry in entries]


def _ledger_row(entry: LedgerEntry) -> tuple[object, ...]:
    return (
        entry.section,
        one_line(entry.title or entry.key, 40),
        entry.detail.value,
        entry.tokens or "",
        f"{entry.score:.3f}",
        _parts(entry.parts),
        _path(entry.path),
        entry.reason,
        entry.key,
    )


def ledger_lines(entries: Sequence[LedgerEntry]) -> Iterator[str]:
    """What became of each candidate, one on a line without padding, for readers who pay by the token."""
    for entry in entries:
        facts = (
            f"{one_line(entry.title or entry.key, 60)} [{one_line(entry.key)}]",
            f"score {entry.score:.3f} {_parts(entry.parts)}".rstrip(),
            one_line(_path(entry.path)),
            one_line(entry.reason),
        )
        yield f"{entry.detail.value}: " + "; ".join(fact for fact in facts if fact)


def _parts(parts: Mapping[str, float]) -> str:
    """The signals that show in two decimals."""
    return " ".join(f"{name}={value:.2f}" for name, value in sorted(parts.items()) if round(value, 2))


def _path(path: Sequence[Step]) -> str:
    """The edges from the start to the node, each with its direction."""
    return " ".join(f"{step.edge_type} {'→' if step.direction == 'out' else '←'} {step.key}" for step in path)


def node_text(node: Node) -> str:
    """A node whole: its facts, then its summary and text."""
    return "\n".join(_node_lines(node))


def _node_lines(node: Node) -> Iterator[str]:
    yield one_line(node.title or node.key)
    facts = {
        "key": node.key,
        "id": node.id,
        "kind": node.kind,
        "tenant": node.tenant,
        "from": place_of(node.origin),
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
    # A summary that is only the beginning of the text says nothing more.
    said = one_line(node.text).startswith(one_line(node.summary).rstrip("…"))
    for part in ("" if said else node.summary, node.text):
        if part.strip():
            yield f"\n{printable(part).rstrip()}"


def place_of(origin: Origin) -> str:
    """Where a node came from, in one word: a file with its lines, an address or a commit."""
    lines = f":{origin.first_line}" if origin.file and origin.first_line else ""
    return f"{origin.file}{lines}" if origin.file else origin.url or origin.commit or ""


def difference_lines(difference: Difference) -> Iterator[str]:
    """A difference for reading: what was asked differently, each change with its reason, and a count."""
    yield f"{difference.before} → {difference.after}"
    for each in difference.asked:
        yield f"asked differently: {one_line(each, 200)}"
    for change in difference.changes:
        yield f"{change.what:8}  {one_line(change.title or change.key, 60)}  [{one_line(change.key)}]"
        yield f"          {one_line(change.why)}"
    yield f"{len(difference.changes)} changed, {difference.unchanged} as before"


def experience_lines(experience: "Experience") -> Iterator[str]:
    """An experience for reading: where it stands, the last attempt, its outcome, then the attempts before."""
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
        "started": _minute(experience.started),
        "resolved": _minute(experience.resolved) if experience.resolved else "",
    }
    yield from (f"  {name}: {one_line(value)}" for name, value in facts.items() if value.strip())
    for number, each in enumerate(experience.before, start=1):
        tried = f"{each.hypothesis} → {each.action} → {each.prediction}"
        yield f"  attempt {number} ({each.strategy}, {_minute(each.at)}): {one_line(tried)}"


def _minute(moment: datetime) -> str:
    """A moment as people note it down, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
