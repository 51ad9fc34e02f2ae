"""Read conversations with assistants as nodes: sessions, messages and decisions, with secrets redacted."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from weft.errors import SourceError
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
from weft.sources.chat.logs import Session, read_json_export, read_json_lines
from weft.sources.chat.people import looks_like_slack, read_mailbox, read_slack_day
from weft.sources.files import (
    BINARY_SNIFF_BYTES,
    SourceSettings,
    binary_problem,
    file_stamp,
    looks_binary,
    read_bytes,
)
from weft.sources.walk_files import File

_MAX_FILE_BYTES: Final = 1_000_000_000
"""The largest JSON export, which is parsed in memory as a whole and takes several times its size there."""
_MAX_LINE_BYTES: Final = 32_000_000
"""The longest line of a log that is parsed: lines with pictures in them are long, and hold little text."""
_SNIFF_BYTES: Final = 65_536
"""How much of a file is searched for the marks of a conversation; the first messages may be long."""
_JSON_ROLE_SNIFF_BYTES: Final = 4096
"""The same for roles in a JSON file: further down, any file may hold an example of a conversation."""
_MAX_PROBLEMS: Final = 20
"""Problems reported of one file; the rest is counted, for a damaged log may have thousands."""
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
        # Most folders hold no conversation, and what reads statements takes long to load.
        from weft.sources.chat.session_nodes import session_nodes

        problems: list[Problem] = []
        sessions = _read_sessions(file, problems)
        if sessions is None:
            # An empty stamp keeps what is stored of the file until it can be read again.
            return Unit(unit, "", problems=tuple(problems))
        read = [session_nodes(session, file, self.settings, problems) for session in sessions]
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
