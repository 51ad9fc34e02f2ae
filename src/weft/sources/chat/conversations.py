"""Conversations with assistants: sessions, what was said in them, and what was decided; secrets are taken out."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from weft.model import Edge, Json, Node, Origin
from weft.ports import Problem, Unit
from weft.sources.chat.logs import USER, Session, Turn, sessions_of_json, sessions_of_lines
from weft.sources.files import MAX_TEXT, Naming, looks_binary, read_bytes, stamp_of
from weft.sources.walk_files import File
from weft.text import sentences
from weft.text.redact import Redacted, redact

_MAX_FILE: Final = 1_000_000_000
_MAX_LINE: Final = 32_000_000
_SNIFF: Final = 65_536
_TITLE: Final = 80
_TOLD_PROBLEMS: Final = 20
_LINE_SUFFIXES: Final = frozenset({".jsonl", ".ndjson"})
_LOG_LINE: Final = re.compile(rb'"(?:parentUuid|leafUuid)"\s*:|"sessionId"\s*:\s*"[^"]+"')
_SPOKEN_LINE: Final = re.compile(
    rb'"(?:role|from)"\s*:\s*"(?:user|human|assistant|system|gpt|ai)"[^{}]{0,2000}?"(?:content|value)"\s*:'
    rb'|"(?:content|value)"\s*:[^{}]{0,20000}?"(?:role|from)"\s*:\s*"(?:user|human|assistant|system|gpt|ai)"'
)
_EXPORT: Final = re.compile(rb'"mapping"\s*:\s*\{|"chat_messages"\s*:\s*\[')
_DECIDED: Final = re.compile(
    r"\b(?:(?:we|i)(?:['’]ve| have| all)? (?:decided|agreed|chose|settled on)"
    r"|(?:we|i)(?:['’]ll| will) (?:go|stick) with|let['’]?s (?:go|stick) with|we(?:['’]re| are) going with"
    r"|(?:final )?decision ?:|decided (?:to|on|against|that) |agreed ?:)",
    re.IGNORECASE,
)
_REASON: Final = re.compile(r"(?:because|since|reason|otherwise|the reason|that way)\b", re.IGNORECASE)
_LONGEST_DECISION: Final = 600


class Conversations:
    """Logs and exports of conversations among the files of one source, one unit a file."""

    suffixes = frozenset({".jsonl", ".ndjson", ".json"})

    def __init__(self, naming: Naming) -> None:
        self.naming = naming
        self._files: dict[str, File] = {}

    def takes(self, file: File) -> bool:
        """Whether the file begins like a log or an export of conversations."""
        try:
            with file.path.open("rb") as stream:
                return looks_like_conversations(stream.read(_SNIFF), file.path.suffix.lower())
        except OSError:
            return False

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """The (name, stamp) of every file."""
        self._files = {file.name: file for file in files}
        for file in files:
            yield file.name, stamp_of(file.path)

    def read(self, unit: str) -> Unit:
        """The sessions of one file with their messages and decisions."""
        file = self._files[unit]
        stamp = stamp_of(file.path)
        problems: list[Problem] = []
        if file.path.suffix.lower() in _LINE_SUFFIXES:
            sessions = sessions_of_lines(_lines(file, problems))
        else:
            export = _parsed(file, problems)
            if export is None:
                # What was stored of it stays until it can be read again.
                return Unit(unit, "", problems=tuple(problems))
            sessions = sessions_of_json(export)
        told = [_told(session, file, self.naming, problems) for session in sessions]
        nodes = {node.key: node for nodes, _ in told for node in nodes}
        edges = tuple(edge for _, drawn in told for edge in drawn)
        return Unit(unit, stamp, tuple(nodes.values()), edges, _counted(problems, unit))


def looks_like_conversations(beginning: bytes, suffix: str) -> bool:
    """Whether a file that begins so holds conversations and not records."""
    if suffix in _LINE_SUFFIXES:
        return bool(_LOG_LINE.search(beginning) or _SPOKEN_LINE.search(beginning))
    head = beginning.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    return head in (b"[", b"{") and bool(_EXPORT.search(beginning) or _SPOKEN_LINE.search(beginning[:4096]))


def _lines(file: File, problems: list[Problem]) -> Iterator[Mapping[str, Any]]:
    """The records of a JSONL file; a line that is none is skipped and counted."""
    with file.path.open("rb") as stream:
        if looks_binary(stream.read(8192)):
            problems.append(
                Problem(file.name, "The file is binary. Save it as UTF-8 text if it should be indexed.")
            )
            return
        stream.seek(0)
        number = 0
        while line := stream.readline(_MAX_LINE):
            number += 1
            if not line.endswith(b"\n") and len(line) >= _MAX_LINE:
                _skip_rest(stream.readline, number, file, problems)
                continue
            record = _record(line, f"{file.name}:{number}", problems)
            if isinstance(record, Mapping):
                yield record


def _skip_rest(readline: Any, number: int, file: File, problems: list[Problem]) -> None:
    while (rest := readline(_MAX_LINE)) and not rest.endswith(b"\n"):
        pass
    reason = f"The line has more than {_MAX_LINE:,} bytes and was skipped."
    problems.append(Problem(f"{file.name}:{number}", reason))


def _record(line: bytes, where: str, problems: list[Problem]) -> object:
    stripped = line.removeprefix(b"\xef\xbb\xbf").strip()
    if not stripped:
        return None
    try:
        return orjson.loads(stripped)
    except orjson.JSONDecodeError as error:
        reason = f"The line is not JSON ({error.msg}) and was skipped. It may be cut off; the rest is indexed."
        problems.append(Problem(where, reason))
        return None


def _parsed(file: File, problems: list[Problem]) -> object:
    content, problem = read_bytes(file, _MAX_FILE)
    if problem is not None:
        problems.append(problem)
        return None
    try:
        return orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        line = content.count(b"\n", 0, error.pos) + 1
        reason = f"The export is not JSON ({error.msg}, line {line}). It may be cut off; export it again."
        problems.append(Problem(f"{file.name}:{line}", reason))
        return None


def _counted(problems: Sequence[Problem], unit: str) -> tuple[Problem, ...]:
    """The first problems, and how many more there were."""
    if len(problems) <= _TOLD_PROBLEMS:
        return tuple(problems)
    more = Problem(unit, f"{len(problems) - _TOLD_PROBLEMS} more lines were skipped for such reasons.")
    return (*problems[:_TOLD_PROBLEMS], more)


def _told(session: Session, file: File, naming: Naming, problems: list[Problem]) -> tuple[list[Node], list[Edge]]:
    """A session as nodes, and the links between them."""
    key = f"{naming.source}:{file.name}" + (f"#{session.name}" if session.name else "")
    # Secrets go first: a title cut out of a text would show the beginning of one.
    said = [(turn, redact(turn.text)) for turn in session.turns if _fits(turn, file, problems)]
    nodes, edges = [_session_node(key, session, said, naming, Origin(naming.source, file.name))], []
    for number, (turn, words) in enumerate(said, start=1):
        message = _message_node(f"{key}@{number}", number, (turn, words), nodes[0], naming)
        edges.append(Edge(key, message.key, "contains", tenant=naming.tenant))
        if number > 1 and turn.role != USER:
            edges.append(Edge(message.key, f"{key}@{number - 1}", "answers", tenant=naming.tenant))
        decisions = list(_decisions(message))
        edges += [Edge(message.key, each.key, "contains", tenant=naming.tenant) for each in decisions]
        nodes += [message, *decisions]
    return (nodes, edges) if said else ([], [])


def _fits(turn: Turn, file: File, problems: list[Problem]) -> bool:
    if len(turn.text) <= MAX_TEXT:
        return True
    reason = f"A message has {len(turn.text):,} characters; at most {MAX_TEXT:,} are kept. It was skipped."
    problems.append(Problem(file.name, reason))
    return False


def _session_node(
    key: str, session: Session, said: Sequence[tuple[Turn, Redacted]], naming: Naming, origin: Origin
) -> Node:
    words = [told.text for turn, told in said if turn.role == USER] or [told.text for _, told in said]
    asked = words[0] if words else ""
    times = [turn.time for turn, _ in said if turn.time is not None]
    fields: dict[str, Json] = {**session.fields, "messages": len(said)}
    return Node(
        key=key,
        kind="session",
        tenant=naming.tenant,
        title=_short(redact(session.title).text or asked),
        summary=f"Asked: {_short(asked, 240)}",
        fields=fields,
        origin=origin,
        created=min(times, default=None),
        modified=max(times, default=None),
    )


def _message_node(key: str, number: int, said: tuple[Turn, Redacted], session: Node, naming: Naming) -> Node:
    turn, words = said
    fields: dict[str, Json] = {"role": turn.role}
    if words.found:
        fields["redacted"] = dict(sorted(Counter(words.found).items()))
    return Node(
        key=key,
        kind="message",
        tenant=naming.tenant,
        title=f"{turn.role.capitalize()}: {_short(words.text)}",
        text=words.text,
        language="markdown",
        fields=fields,
        origin=session.origin,
        sequence=number,
        created=turn.time,
        modified=turn.time,
    )


def _decisions(message: Node) -> Iterator[Node]:
    """What a message says was decided: the sentence, and the one after it where that gives the reason."""
    spans = sentences(message.text)
    found = 0
    for place, (start, end) in enumerate(spans):
        said = message.text[start:end]
        if not _DECIDED.search(said) or said.rstrip().endswith("?") or len(said) > _LONGEST_DECISION:
            continue
        after = message.text[slice(*spans[place + 1])] if place + 1 < len(spans) else ""
        found += 1
        yield replace(
            message,
            key=f"{message.key}/decision-{found}",
            kind="decision",
            title=_short(said.lstrip("-*# ")),
            text=f"{said} {after}" if _REASON.match(after) else said,
        )


def _short(text: str, limit: int = _TITLE) -> str:
    """The beginning of a text on one line, cut between words."""
    line = " ".join(text[: limit * 4].split())
    if len(line) <= limit:
        return line
    return line[:limit].rsplit(" ", 1)[0].rstrip(",;:.-") + "…"
