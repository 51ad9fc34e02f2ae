"""Read the turns of conversations out of logs in JSON; output of tools and system prompts are left out.

The kinds are the logs of Claude Code, Codex, Gemini and Antigravity, the exports of ChatGPT, Claude and opencode,
and lists of roles with content.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct, field

from weft.sources.files import clean
from weft.sources.values import to_time_or_none

USER: Final = "user"
ASSISTANT: Final = "assistant"
_ROLES: Final[Mapping[str, str]] = {
    "user": USER,
    "human": USER,
    "assistant": ASSISTANT,
    "ai": ASSISTANT,
    "gpt": ASSISTANT,
    "gemini": ASSISTANT,
    "model": ASSISTANT,
    "bot": ASSISTANT,
    "USER_INPUT": USER,
    "PLANNER_RESPONSE": ASSISTANT,
}
"""The speaker by the role that logs write; other roles (tools, functions, system prompts) are left out."""
_SPOKEN: Final = re.compile(r"(user|human|assistant|ai)\s*:\s", re.IGNORECASE)
"""The beginning of a text that was written down with its speaker."""
_CLIENT_MARKUP: Final = re.compile(
    r"<(system-reminder|local-command-[a-z]+|command-[a-z]+|bash-[a-z]+|ide_[a-z_]+|task-notification|user-memory-input"
    r"|environment_context|user_instructions|turn_aborted)>.*?</\1>|\[Request interrupted by user[^\]]*\]"
    r"|# AGENTS\.md instructions for [^\n]*\s*<INSTRUCTIONS>.*?</INSTRUCTIONS>",
    re.DOTALL,
)
"""Markup that the client of a coding assistant inserts into what its user wrote."""
_REQUEST: Final = re.compile(r"<USER_REQUEST>(.*?)</USER_REQUEST>", re.DOTALL)
"""The words of the person in what Antigravity sends to its model, with times, open files and settings around
them."""
_TEXT_TYPES: Final = frozenset({"text", "multimodal_text", "input_text", "output_text"})
"""The types of content and of its parts that are text."""
_TIME_NAMES: Final = ("timestamp", "created_at", "create_time", "time", "date", "ts")
"""The names under which logs write when a message was sent."""
_DAY_FORMS: Final = ("%B-%d-%Y", "%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%Y/%m/%d", "%m/%d/%Y")
"""Ways to write a day besides ISO 8601."""
_MAX_CHAIN_MESSAGES: Final = 100_000
"""Messages read of one conversation of ChatGPT; it ends a damaged export whose parents never end."""


class Turn(Struct, frozen=True):
    """The text of one side until the other side speaks."""

    role: str
    text: str
    time: datetime | None = None
    author: str = ""
    """The name of a person, where several talk with each other."""


class Session(Struct):
    """One conversation as far as it is read; `name` is empty where a file holds only one."""

    name: str = ""
    title: str = ""
    turns: list[Turn] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)

    def add(self, role: str, text: str, time: datetime | None, author: str = "") -> None:
        """Add a message; consecutive messages of the same speaker are one turn."""
        cleaned = clean(_CLIENT_MARKUP.sub("", text)).strip()
        if not cleaned:
            return
        if time is None and self.turns:
            # Logs that note a day only where it changes: a message was sent no earlier than the one before.
            time = self.turns[-1].time
        if self.turns and (self.turns[-1].role, self.turns[-1].author) == (role, author):
            before = self.turns[-1]
            # An assistant's answer comes in pieces between calls of tools; a reader sees one answer.
            self.turns[-1] = Turn(role, f"{before.text}\n\n{cleaned}", before.time, author)
        else:
            self.turns.append(Turn(role, cleaned, time, author))


def split_speaker(text: str) -> tuple[str, str]:
    """Return the speaker and the words of a turn that was written down as one text; no speaker for any other."""
    match = _SPOKEN.match(text)
    return (_ROLES[match[1].lower()], text[match.end() :].strip()) if match else ("", text)


def read_json_lines(lines: Iterable[Mapping[str, Any]]) -> list[Session]:
    """Return the conversations in the records of a JSONL file: a coding assistant's log, or roles with content."""
    sessions: dict[str, Session] = {}
    for number, line in enumerate(lines, start=1):
        if isinstance(line.get("messages"), list) or isinstance(line.get("conversations"), list):
            # Collections for training hold one whole conversation a line.
            sessions[f"{number}"] = _read_message_list(line, str(line.get("id") or number))
        else:
            _add_record(sessions, line)
    # A session alone in its file needs no name to be told from others, and has the key of the file.
    if len(sessions) == 1:
        next(iter(sessions.values())).name = ""
    return [session for session in sessions.values() if session.turns]


def _add_record(sessions: dict[str, Session], line: Mapping[str, Any]) -> None:
    """Add one record of a log to its session, or to the one before it where it names none."""
    line = _unwrap_codex(line)
    name = str(line.get("sessionId") or line.get("session_id") or line.get("conversation_id") or "")
    if not name and sessions:
        name = next(reversed(sessions))
    session = sessions.setdefault(name, Session(name))
    title = (
        line.get("summary") if line.get("type") == "summary" else line.get("customTitle") or line.get("aiTitle")
    )
    if isinstance(title, str):
        session.title = session.title or title
    # The first value counts: a session belongs to the folder in which it was begun.
    for field_name, known_as in (("cwd", "folder"), ("gitBranch", "branch")):
        if isinstance(line.get(field_name), str) and line[field_name]:
            session.fields.setdefault(known_as, line[field_name])
    # Work of sub-agents, messages of the client itself and summaries of what was said before.
    if not any(line.get(hidden) for hidden in ("isSidechain", "isMeta", "isCompactSummary")):
        _add_message(session, line)


def _unwrap_codex(line: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record of Codex, which wraps what was said in a payload, as other logs write it."""
    payload = line.get("payload")
    if not isinstance(payload, Mapping):
        return line
    if line.get("type") == "session_meta":
        git = payload.get("git")
        branch = git.get("branch") if isinstance(git, Mapping) else None
        return {"cwd": payload.get("cwd"), "gitBranch": branch}
    # Events repeat what the items of the conversation say.
    is_message = line.get("type") == "response_item" and payload.get("type") == "message"
    return {**payload, "timestamp": line.get("timestamp")} if is_message else {}


def add_opencode_message(session: Session, message: Mapping[str, Any], parts: Sequence[object]) -> None:
    """Add a message of opencode, whose text is in parts; those that the client added are left out."""
    own = [
        part for part in parts if isinstance(part, Mapping) and not (part.get("synthetic") or part.get("ignored"))
    ]
    time = message.get("time")
    created = time.get("created") if isinstance(time, Mapping) else time
    role = _ROLES.get(str(message.get("role")))
    if role is not None:
        session.add(role, _join_text_parts(own), to_time_or_none(created))


def _add_message(session: Session, line: Mapping[str, Any]) -> None:
    """Add the message in a record, if a person or an assistant wrote it."""
    info, parts = line.get("info"), line.get("parts")
    if isinstance(info, Mapping) and isinstance(parts, Sequence):
        add_opencode_message(session, info, parts)
        return
    inner = line.get("message")
    message: Mapping[str, Any] = inner if isinstance(inner, Mapping) else line
    role = _ROLES.get(str(message.get("role") or message.get("from") or message.get("sender") or line.get("type")))
    content = next((message[name] for name in ("content", "value", "text", "parts") if message.get(name)), inner)
    # Antigravity notes what it tells the model by itself as input, too.
    if role is not None and line.get("source") != "SYSTEM":
        text = _join_text_parts(content)
        session.add(role, "\n\n".join(_REQUEST.findall(text)) or text, _read_time(line))


def _read_time(line: Mapping[str, Any]) -> datetime | None:
    """Return when a message was written; the day alone may be spelled out, as in `March-03-2024`."""
    value = next((line[name] for name in _TIME_NAMES if line.get(name)), None)
    time = to_time_or_none(value)
    if time is not None or not isinstance(value, str):
        return time
    for form in _DAY_FORMS:
        with suppress(ValueError):
            return datetime.strptime(value.strip(), form).replace(tzinfo=UTC)
    return None


def _read_message_list(record: Mapping[str, Any], name: str) -> Session:
    """Return the conversation in a record with a list of `messages` or `conversations`."""
    info = record.get("info")
    titles = (record.get("title"), record.get("summary"), info.get("title") if isinstance(info, Mapping) else None)
    session = Session(name, next(filter(None, map(_to_title, titles)), ""))
    listed = record.get("messages") if isinstance(record.get("messages"), list) else record.get("conversations")
    for message in listed if isinstance(listed, list) else ():
        if isinstance(message, Mapping):
            _add_message(session, message)
    return session


def _join_text_parts(content: object) -> str:
    """Return the text in a message's content, which is a text or a list of parts, some of them text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    parts = [
        part if isinstance(part, str) else part.get("text")
        for part in content
        if isinstance(part, str) or (isinstance(part, Mapping) and part.get("type", "text") in _TEXT_TYPES)
    ]
    return "\n\n".join(part for part in parts if isinstance(part, str) and part.strip())


def read_json_export(content: object) -> list[Session]:
    """Return the conversations in a JSON file: an export of ChatGPT or Claude, or lists of roles with content."""
    if isinstance(content, Mapping) and isinstance(content.get("conversations"), list):
        content = content["conversations"]
    records = content if isinstance(content, list) else [content]
    mappings = [record for record in records if isinstance(record, Mapping)]
    # The file is one bare list of messages, not a list of conversations.
    if mappings and all("role" in record or "from" in record for record in mappings):
        return [session for session in [_read_message_list({"messages": mappings}, "")] if session.turns]
    sessions = [_read_exported(record, number) for number, record in enumerate(mappings, start=1)]
    if not isinstance(content, list) and len(sessions) == 1:
        sessions[0].name = ""
    return [session for session in sessions if session.turns]


def _read_exported(record: Mapping[str, Any], number: int) -> Session:
    """Return one exported conversation: ChatGPT writes a `mapping`, Claude `chat_messages`, others a list."""
    name = str(record.get("conversation_id") or record.get("id") or record.get("uuid") or number)
    if isinstance(record.get("mapping"), Mapping):
        session = Session(name, _to_title(record.get("title")))
        for message in _current_branch(record["mapping"], record.get("current_node")):
            _add_chatgpt_message(session, message)
        return session
    if isinstance(record.get("chat_messages"), list):
        session = Session(name, _to_title(record.get("name")))
        for message in record["chat_messages"]:
            if isinstance(message, Mapping):
                _add_message(session, message)
        return session
    return _read_message_list(record, name)


def _current_branch(mapping: Mapping[str, Any], current: object) -> Iterator[Mapping[str, Any]]:
    """Iterate over the messages of ChatGPT from the first to the current one; other branches were given up."""
    entry_id = current if isinstance(current, str) and current in mapping else _last_leaf(mapping)
    chain: dict[str, Mapping[str, Any]] = {}
    # From the last message upwards, since a message has one parent and perhaps several answers.
    while isinstance(entry_id, str) and entry_id not in chain and len(chain) < _MAX_CHAIN_MESSAGES:
        entry = mapping.get(entry_id)
        if not isinstance(entry, Mapping):
            break
        chain[entry_id] = entry
        entry_id = entry.get("parent")
    for entry in reversed(chain.values()):
        if isinstance(entry.get("message"), Mapping):
            yield entry["message"]


def _last_leaf(mapping: Mapping[str, Any]) -> str | None:
    """Return the last entry without children, for exports that do not name the current one."""
    leaves = [name for name, entry in mapping.items() if isinstance(entry, Mapping) and not entry.get("children")]
    return leaves[-1] if leaves else None


def _add_chatgpt_message(session: Session, message: Mapping[str, Any]) -> None:
    """Add a message of ChatGPT unless it is hidden, addressed to a tool, or not text."""
    author, content = message.get("author"), message.get("content")
    metadata = message.get("metadata")
    is_hidden = isinstance(metadata, Mapping) and metadata.get("is_visually_hidden_from_conversation")
    role = _ROLES.get(str(author.get("role"))) if isinstance(author, Mapping) else None
    if role is None or is_hidden or message.get("recipient", "all") != "all" or not isinstance(content, Mapping):
        return
    if content.get("content_type") in _TEXT_TYPES:
        session.add(role, _join_text_parts(content.get("parts")), to_time_or_none(message.get("create_time")))


def _to_title(value: object) -> str:
    return " ".join(clean(value).split()) if isinstance(value, str) else ""
