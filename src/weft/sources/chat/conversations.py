"""Read conversations with assistants as nodes: sessions, messages and decisions, with secrets redacted."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson
from msgspec.structs import replace

from weft.errors import SourceError
from weft.model import Edge, Json, Node, Origin
from weft.ports import Problem, Unit
from weft.sources.chat.agents import (
    is_opencode_database,
    is_opencode_session,
    is_part_of_opencode,
    read_cursor_database,
    read_opencode_database,
    read_opencode_session,
    stamp_of_messages,
)
from weft.sources.chat.copies import find_copies
from weft.sources.chat.logs import USER, Session, Turn, read_json_export, read_json_lines
from weft.sources.chat.people import looks_like_slack, read_mailbox, read_slack_day
from weft.sources.chat.summaries import shorten, summarise_days
from weft.sources.files import (
    BINARY_SNIFF_BYTES,
    MAX_TEXT_CHARACTERS,
    SourceSettings,
    binary_problem,
    file_stamp,
    looks_binary,
    read_bytes,
)
from weft.sources.walk_files import File
from weft.text import split_sentences
from weft.text.redact import Redacted, redact
from weft.text.statements import Form, describe, describe_rule, find_statements

RULE: Final = "rule"
"""The kind of nodes that hold a standing rule which somebody stated in a conversation."""
_MAX_FILE_BYTES: Final = 1_000_000_000
"""The largest JSON export, which is parsed in memory as a whole and takes several times its size there."""
_MAX_LINE_BYTES: Final = 32_000_000
"""The longest line of a log that is parsed: lines with pictures in them are long, and hold little text."""
_SNIFF_BYTES: Final = 65_536
"""How much of a file is searched for the marks of a conversation; the first messages may be long."""
_JSON_ROLE_SNIFF_BYTES: Final = 4096
"""The same for roles in a JSON file: further down, any file may hold an example of a conversation."""
_TITLE_CHARACTERS: Final = 80
"""How much of a message its title shows."""
_MAX_PROBLEMS: Final = 20
"""Problems reported of one file; the rest is counted, for a damaged log may have thousands."""
_MAX_DECISION_CHARACTERS: Final = 600
"""A longer sentence is pasted text or a table, not a decision."""
_READER_VERSION: Final = "4"
"""Part of the stamp of a file; to be changed whenever the same file would give other nodes."""
_LINE_SUFFIXES: Final = frozenset({".jsonl", ".ndjson"})
_CURSOR_SUFFIX: Final = ".vscdb"
_OPENCODE_SUFFIX: Final = ".db"
_MAIL_SUFFIX: Final = ".mbox"
_NO_CONVERSATION: Final = "no conversation of its own"
_FILE_READERS: Final[Mapping[str, Callable[[Path], list[Session]]]] = {
    _MAIL_SUFFIX: read_mailbox,
    _CURSOR_SUFFIX: read_cursor_database,
    _OPENCODE_SUFFIX: read_opencode_database,
}
_SLACK_SNIFF_RECORDS: Final = 3
"""Records of a list by which a day of a Slack export is told."""
_LOG_MARK: Final = re.compile(
    rb'"(?:parentUuid|leafUuid)"\s*:|"sessionId"\s*:\s*"[^"]+"'
    rb'|"type"\s*:\s*"(?:session_meta|response_item|USER_INPUT|PLANNER_RESPONSE)"'
)
_ROLE_AND_CONTENT: Final = re.compile(
    rb'"(?:role|from)"\s*:\s*"(?:user|human|assistant|system|gpt|ai|model)"[^{}]{0,2000}?"(?:content|value|parts)"\s*:'
    rb'|"(?:content|value|parts)"\s*:[^{}]{0,20000}?"(?:role|from)"\s*:\s*"(?:user|human|assistant|system|gpt|ai|model)"'
)
_EXPORT_MARK: Final = re.compile(
    rb'"mapping"\s*:\s*\{|"chat_messages"\s*:\s*\[|"projectHash"\s*:\s*"|"(?:id|sessionID)"\s*:\s*"ses_\w'
)
_DECISION: Final = re.compile(
    r"\b(?:(?:we|i)(?:['’]ve| have| all)? (?:decided|agreed|chose|settled on)"
    r"|(?:we|i)(?:['’]ll| will) (?:go|stick) with|let['’]?s (?:go|stick) with|we(?:['’]re| are) going with"
    r"|(?:final )?decision ?:|decided (?:to|on|against|that) |agreed ?:)",
    re.IGNORECASE,
)
_REASON: Final = re.compile(r"(?:because|since|reason|otherwise|the reason|that way)\b", re.IGNORECASE)


class Conversations:
    """The logs and exports of conversations in one source, one unit a file."""

    suffixes = frozenset({".jsonl", ".ndjson", ".json", _MAIL_SUFFIX, _CURSOR_SUFFIX, _OPENCODE_SUFFIX})

    def __init__(self, settings: SourceSettings) -> None:
        self.settings = settings
        self._files: dict[str, File] = {}
        self._copies: Mapping[str, str] = {}

    def takes(self, file: File) -> bool:
        """Take a file that begins like a log or an export of conversations."""
        try:
            suffix = file.path.suffix.lower()
            with file.path.open("rb") as stream:
                if not looks_like_conversations(stream.read(_SNIFF_BYTES), suffix):
                    return False
            # Of the databases only opencode's are read, which only their tables show.
            return suffix != _OPENCODE_SUFFIX or is_opencode_database(file.path)
        except OSError:
            return False

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """List the (name, stamp) of every file."""
        self._files = {file.name: file for file in files}
        self._copies = find_copies(files)
        for file in files:
            yield file.name, self._stamp(file)

    def _stamp(self, file: File) -> str:
        original = self._copies.get(file.name)
        # A copy is read as soon as what it was copied from is gone or goes on otherwise.
        mark = f"-copy of {original}" if original else ""
        return f"{file_stamp(file.path)}{stamp_of_messages(file.path)}-{_READER_VERSION}{mark}"

    def read(self, unit: str) -> Unit:
        """Read the sessions of one file with their messages and decisions."""
        file = self._files[unit]
        stamp = self._stamp(file)
        if unit in self._copies:
            return Unit(unit, stamp, skipped=f"a copy of {self._copies[unit]}")
        problems: list[Problem] = []
        sessions = _read_sessions(file, problems)
        if sessions is None:
            # An empty stamp keeps what is stored of the file until it can be read again.
            return Unit(unit, "", problems=tuple(problems))
        read = [_session_nodes(session, file, self.settings, problems) for session in sessions]
        # An export may hold a conversation twice; of two nodes with one key the later is kept.
        nodes = {node.key: node for session_nodes, _ in read for node in session_nodes}
        edges = tuple(edge for _, session_edges in read for edge in session_edges)
        problems_found = _limit_problems(problems, unit)
        if not (nodes or problems):
            return Unit(unit, stamp, skipped=_NO_CONVERSATION)
        return Unit(unit, stamp, tuple(nodes.values()), edges, problems_found)


def _read_sessions(file: File, problems: list[Problem]) -> list[Session] | None:
    """Return the conversations in a file, or None, with a problem, if it cannot be read now."""
    suffix = file.path.suffix.lower()
    if suffix in _LINE_SUFFIXES:
        return read_json_lines(_read_records(file, problems))
    if suffix not in _FILE_READERS:
        export = _parse_file(file, problems)
        return None if export is None else _read_export(export, file)
    try:
        return _FILE_READERS[suffix](file.path)
    except (SourceError, OSError) as error:
        problems.append(Problem(file.name, str(error)))
        return None


def _read_export(export: object, file: File) -> list[Session]:
    """Return the conversations in the JSON of a file, which may be one of several that belong together."""
    if isinstance(export, Mapping) and is_opencode_session(export):
        return [read_opencode_session(export, file.path)]
    if isinstance(export, Mapping) and is_part_of_opencode(export):
        return []
    if isinstance(export, list) and looks_like_slack(orjson.dumps(export[:_SLACK_SNIFF_RECORDS])):
        return [read_slack_day(export, file.path)]
    return read_json_export(export)


def looks_like_conversations(beginning: bytes, suffix: str) -> bool:
    """Return whether a file with this beginning and suffix holds conversations rather than records."""
    if suffix == _MAIL_SUFFIX:
        return beginning.startswith(b"From ")
    if suffix in (_CURSOR_SUFFIX, _OPENCODE_SUFFIX):
        return beginning.startswith(b"SQLite format 3")
    if suffix in _LINE_SUFFIXES:
        return bool(_LOG_MARK.search(beginning) or _ROLE_AND_CONTENT.search(beginning))
    head = beginning.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    return head in (b"[", b"{") and bool(
        _EXPORT_MARK.search(beginning)
        or _ROLE_AND_CONTENT.search(beginning[:_JSON_ROLE_SNIFF_BYTES])
        or looks_like_slack(beginning[:_JSON_ROLE_SNIFF_BYTES])
    )


def _read_records(file: File, problems: list[Problem]) -> Iterator[Mapping[str, Any]]:
    """Iterate over the records of a JSONL file; a line that is none is skipped and reported."""
    with file.path.open("rb") as stream:
        # Judged by its beginning and read line by line: logs of coding assistants grow to gigabytes.
        if looks_binary(stream.read(BINARY_SNIFF_BYTES)):
            problems.append(binary_problem(file.name))
            return
        stream.seek(0)
        number = 0
        while line := stream.readline(_MAX_LINE_BYTES):
            number += 1
            if not line.endswith(b"\n") and len(line) >= _MAX_LINE_BYTES:
                # The rest of the line is read in pieces and dropped, so that the next line begins where it should.
                while (rest := stream.readline(_MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
                    pass
                reason = f"The line has more than {_MAX_LINE_BYTES:,} bytes and was skipped."
                problems.append(Problem(f"{file.name}:{number}", reason))
                continue
            is_whole = line.endswith(b"\n")
            # A last line without an end is being written now, and is read with the next ones.
            record = _parse_line(line, f"{file.name}:{number}", problems if is_whole else [])
            if isinstance(record, Mapping):
                yield record


def _parse_line(line: bytes, where: str, problems: list[Problem]) -> object:
    stripped = line.removeprefix(b"\xef\xbb\xbf").strip()
    if not stripped:
        return None
    try:
        return orjson.loads(stripped)
    except orjson.JSONDecodeError as error:
        reason = f"The line is not JSON ({error.msg}) and was skipped. It may be cut off; the rest is indexed."
        problems.append(Problem(where, reason))
        return None


def _parse_file(file: File, problems: list[Problem]) -> object:
    content, problem = read_bytes(file, _MAX_FILE_BYTES)
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


def _limit_problems(problems: Sequence[Problem], unit: str) -> tuple[Problem, ...]:
    """Return the first problems, and one that says how many more there were."""
    if len(problems) <= _MAX_PROBLEMS:
        return tuple(problems)
    more = Problem(unit, f"{len(problems) - _MAX_PROBLEMS} more lines were skipped for such reasons.")
    return (*problems[:_MAX_PROBLEMS], more)


def _session_nodes(
    session: Session, file: File, settings: SourceSettings, problems: list[Problem]
) -> tuple[list[Node], list[Edge]]:
    """Return the nodes of a session, its messages and decisions, and the edges between them."""
    key = f"{settings.source}:{file.name}" + (f"#{session.name}" if session.name else "")
    # Secrets are redacted first: a title cut out of a text could end in the middle of one and show its beginning.
    turns = [
        (turn, redact(turn.text, prose=True)) for turn in session.turns if _is_short_enough(turn, file, problems)
    ]
    nodes, edges = [_session_node(key, session, turns, settings, Origin(settings.source, file.name))], []
    for number, (turn, redacted) in enumerate(turns, start=1):
        message = _message_node(
            f"{key}@{number}", number, (turn, redacted), nodes[0], bool(session.title), settings
        )
        edges.append(Edge(key, message.key, "contains", tenant=settings.tenant))
        # Turns alternate, so the turn before an assistant's is the question that it answers.
        if number > 1 and turn.role != USER:
            edges.append(Edge(message.key, f"{key}@{number - 1}", "answers", tenant=settings.tenant))
        # What people say to each other is no rule for an assistant.
        may_rule = turn.role == USER and not turn.author
        rule = describe_rule(message.text) if may_rule else {}
        if rule:
            # A message that is nothing but a rule is the rule: a node of its own would say it twice.
            message = replace(message, fields={**message.fields, **rule})
        stated = [
            *_find_decisions(message, may_rule),
            *(_find_rules(message) if may_rule and not rule else ()),
        ]
        edges += [Edge(message.key, part.key, "contains", tenant=settings.tenant) for part in stated]
        nodes += [message, *stated]
    for summary in summarise_days(nodes):
        edges.append(Edge(key, summary.key, "contains", tenant=settings.tenant))
        nodes.append(summary)
    return (nodes, edges) if turns else ([], [])


def _is_short_enough(turn: Turn, file: File, problems: list[Problem]) -> bool:
    if len(turn.text) <= MAX_TEXT_CHARACTERS:
        return True
    reason = (
        f"A message has {len(turn.text):,} characters; at most {MAX_TEXT_CHARACTERS:,} are kept. It was skipped."
    )
    problems.append(Problem(file.name, reason))
    return False


def _session_node(
    key: str, session: Session, turns: Sequence[tuple[Turn, Redacted]], settings: SourceSettings, origin: Origin
) -> Node:
    times = [turn.time for turn, _ in turns if turn.time is not None]
    fields: dict[str, Json] = {**session.fields, "messages": len(turns)}
    return Node(
        key=key,
        kind="session",
        tenant=settings.tenant,
        # Not what was asked first: that is a message of its own, and would be found twice.
        title=shorten(redact(session.title).text, _TITLE_CHARACTERS) or f"Conversation in {origin.file}",
        summary=_count_messages(turns),
        fields=fields,
        origin=origin,
        created=min(times, default=None),
        modified=max(times, default=None),
    )


def _count_messages(turns: Sequence[tuple[Turn, Redacted]]) -> str:
    days = [f"{turn.time:%Y-%m-%d}" for turn, _ in turns if turn.time is not None]
    span = f", {min(days)}" + (f" to {max(days)}" if max(days) > min(days) else "") if days else ""
    return f"{len(turns)} messages{span}"


def _message_node(
    key: str,
    number: int,
    turn_and_text: tuple[Turn, Redacted],
    session: Node,
    is_named: bool,
    settings: SourceSettings,
) -> Node:
    turn, redacted = turn_and_text
    fields: dict[str, Json] = {"role": turn.role}
    if turn.author:
        fields["author"] = turn.author
    if is_named:
        fields["session"] = session.title
    if redacted.kinds:
        fields["redacted"] = dict(sorted(Counter(redacted.kinds).items()))
    return Node(
        key=key,
        kind="message",
        tenant=settings.tenant,
        title=f"{turn.author or turn.role.capitalize()}: {shorten(redacted.text, _TITLE_CHARACTERS)}",
        text=redacted.text,
        language="markdown",
        fields=fields,
        origin=session.origin,
        sequence=number,
        created=turn.time,
        modified=turn.time,
    )


def _find_decisions(message: Node, may_rule: bool) -> Iterator[Node]:
    """Iterate over the decisions in a message: the sentence, and the one after it if that gives the reason.

    Those that a person took (`may_rule`) stand until another one takes their place.
    """
    spans = split_sentences(message.text)
    count = 0
    for index, (start, end) in enumerate(spans):
        sentence = message.text[start:end]
        # "Have we decided to …?" decides nothing.
        is_question = sentence.rstrip().endswith("?")
        if not _DECISION.search(sentence) or is_question or len(sentence) > _MAX_DECISION_CHARACTERS:
            continue
        # Reasons often follow in a sentence of their own, without which the decision says little later.
        after = message.text[slice(*spans[index + 1])] if index + 1 < len(spans) else ""
        count += 1
        stands = may_rule and any(each.form is Form.DECISION for each in find_statements(sentence))
        yield replace(
            message,
            key=f"{message.key}/decision-{count}",
            fields={**message.fields, **(describe(sentence, Form.DECISION) if stands else {})},
            kind="decision",
            title=shorten(sentence.lstrip("-*# "), _TITLE_CHARACTERS),
            text=f"{sentence} {after}" if _REASON.match(after) else sentence,
        )


def _find_rules(message: Node) -> Iterator[Node]:
    """Iterate over the instructions, preferences and facts about a person in what the person wrote."""
    rules = [statement for statement in find_statements(message.text) if statement.form is not Form.DECISION]
    for count, statement in enumerate(rules, start=1):
        yield replace(
            message,
            key=f"{message.key}/rule-{count}",
            kind=RULE,
            title=shorten(statement.text, _TITLE_CHARACTERS),
            text=statement.text,
            fields={**message.fields, **describe(statement.text, statement.form)},
        )
