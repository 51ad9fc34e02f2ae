"""What people and assistants said to each other, out of four kinds of logs; what tools said is left out."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Final

from weft.frozen import dataclass
from weft.sources.files import clean
from weft.sources.values import Unusable, time_of

USER: Final = "user"
ASSISTANT: Final = "assistant"
_ROLES: Final[Mapping[str, str]] = {
    "user": USER,
    "human": USER,
    "assistant": ASSISTANT,
    "ai": ASSISTANT,
    "gpt": ASSISTANT,
    "model": ASSISTANT,
    "bot": ASSISTANT,
}
"""Who speaks, by the names that logs use; tools, functions and system prompts do not."""
_NOISE: Final = re.compile(
    r"<(system-reminder|local-command-[a-z]+|command-[a-z]+|bash-[a-z]+|ide_[a-z_]+|task-notification|user-memory-input)>"
    r".*?</\1>|\[Request interrupted by user[^\]]*\]",
    re.DOTALL,
)
"""What a coding assistant's client writes into the words of its user."""
_SPOKEN: Final = frozenset({"text", "multimodal_text", "input_text", "output_text"})
_LONGEST_CHAIN: Final = 100_000


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said at a time."""

    role: str
    text: str
    time: datetime | None = None


@dataclass(slots=True)
class Session:
    """One conversation, as far as it is read; `name` is empty where a file holds only one."""

    name: str = ""
    title: str = ""
    turns: list[Turn] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)

    def say(self, role: str, text: str, time: datetime | None) -> None:
        """Add what was said; what the same side said just before belongs to the same turn."""
        said = clean(_NOISE.sub("", text)).strip()
        if not said:
            return
        if self.turns and self.turns[-1].role == role:
            before = self.turns[-1]
            self.turns[-1] = Turn(role, f"{before.text}\n\n{said}", before.time)
        else:
            self.turns.append(Turn(role, said, time))


def sessions_of_lines(lines: Iterable[Mapping[str, Any]]) -> list[Session]:
    """The conversations in the records of a JSONL file: a coding assistant's log, or roles with their content."""
    sessions: dict[str, Session] = {}
    for number, line in enumerate(lines, start=1):
        if isinstance(line.get("messages"), list) or isinstance(line.get("conversations"), list):
            # One whole conversation a line, as collections for training are written.
            sessions[f"{number}"] = _whole(line, str(line.get("id") or number))
        else:
            _add_line(sessions, line)
    if len(sessions) == 1:
        next(iter(sessions.values())).name = ""
    return [session for session in sessions.values() if session.turns]


def _add_line(sessions: dict[str, Session], line: Mapping[str, Any]) -> None:
    name = str(line.get("sessionId") or line.get("session_id") or line.get("conversation_id") or "")
    if not name and sessions:
        name = next(reversed(sessions))
    session = sessions.setdefault(name, Session(name))
    title = (
        line.get("summary") if line.get("type") == "summary" else line.get("customTitle") or line.get("aiTitle")
    )
    if isinstance(title, str):
        session.title = session.title or title
    for field_name, known_as in (("cwd", "folder"), ("gitBranch", "branch")):
        if isinstance(line.get(field_name), str) and line[field_name]:
            session.fields.setdefault(known_as, line[field_name])
    if not any(line.get(hidden) for hidden in ("isSidechain", "isMeta", "isCompactSummary")):
        _say(session, line)


def _say(session: Session, line: Mapping[str, Any]) -> None:
    """What one record says, if a person or an assistant speaks in it."""
    inner = line.get("message")
    message: Mapping[str, Any] = inner if isinstance(inner, Mapping) else line
    role = _ROLES.get(str(message.get("role") or message.get("from") or message.get("sender") or line.get("type")))
    content = next((message[name] for name in ("content", "value", "text") if message.get(name)), inner)
    if role is not None:
        time = line.get("timestamp") or line.get("created_at") or line.get("create_time") or line.get("time")
        session.say(role, _spoken(content), _moment(time))


def _whole(record: Mapping[str, Any], name: str) -> Session:
    session = Session(name, _titled(record.get("title")))
    listed = record.get("messages") if isinstance(record.get("messages"), list) else record.get("conversations")
    for message in listed if isinstance(listed, list) else ():
        if isinstance(message, Mapping):
            _say(session, message)
    return session


def _spoken(content: object) -> str:
    """The words in a message's content, which may be a text or a list of parts of which some are words."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    parts = [
        part if isinstance(part, str) else part.get("text")
        for part in content
        if isinstance(part, str) or (isinstance(part, Mapping) and part.get("type", "text") in _SPOKEN)
    ]
    return "\n\n".join(part for part in parts if isinstance(part, str) and part.strip())


def sessions_of_json(content: object) -> list[Session]:
    """The conversations in a JSON file: an export of ChatGPT or Claude, or lists of roles with their content."""
    if isinstance(content, Mapping) and isinstance(content.get("conversations"), list):
        content = content["conversations"]
    records = content if isinstance(content, list) else [content]
    held = [record for record in records if isinstance(record, Mapping)]
    if held and all("role" in record or "from" in record for record in held):
        return [session for session in [_whole({"messages": held}, "")] if session.turns]
    sessions = [_exported(record, number) for number, record in enumerate(held, start=1)]
    if not isinstance(content, list) and len(sessions) == 1:
        sessions[0].name = ""
    return [session for session in sessions if session.turns]


def _exported(record: Mapping[str, Any], number: int) -> Session:
    name = str(record.get("conversation_id") or record.get("id") or record.get("uuid") or number)
    if isinstance(record.get("mapping"), Mapping):
        session = Session(name, _titled(record.get("title")))
        for message in _chain(record["mapping"], record.get("current_node")):
            _say_exported(session, message)
        return session
    if isinstance(record.get("chat_messages"), list):
        session = Session(name, _titled(record.get("name")))
        for message in record["chat_messages"]:
            if isinstance(message, Mapping):
                _say(session, message)
        return session
    return _whole(record, name)


def _chain(mapping: Mapping[str, Any], current: object) -> Iterator[Mapping[str, Any]]:
    """The messages of ChatGPT from the first to the current one; other branches were given up."""
    place = current if isinstance(current, str) and current in mapping else _latest(mapping)
    chain: dict[str, Mapping[str, Any]] = {}
    while isinstance(place, str) and place not in chain and len(chain) < _LONGEST_CHAIN:
        entry = mapping.get(place)
        if not isinstance(entry, Mapping):
            break
        chain[place] = entry
        place = entry.get("parent")
    for entry in reversed(chain.values()):
        if isinstance(entry.get("message"), Mapping):
            yield entry["message"]


def _latest(mapping: Mapping[str, Any]) -> str | None:
    """The last entry without children, where an export does not say which is current."""
    leaves = [name for name, entry in mapping.items() if isinstance(entry, Mapping) and not entry.get("children")]
    return leaves[-1] if leaves else None


def _say_exported(session: Session, message: Mapping[str, Any]) -> None:
    author, content = message.get("author"), message.get("content")
    metadata = message.get("metadata")
    hidden = isinstance(metadata, Mapping) and metadata.get("is_visually_hidden_from_conversation")
    role = _ROLES.get(str(author.get("role"))) if isinstance(author, Mapping) else None
    if role is None or hidden or message.get("recipient", "all") != "all" or not isinstance(content, Mapping):
        return
    if content.get("content_type") in _SPOKEN:
        session.say(role, _spoken(content.get("parts")), _moment(message.get("create_time")))


def _titled(value: object) -> str:
    return " ".join(clean(value).split()) if isinstance(value, str) else ""


def _moment(value: object) -> datetime | None:
    try:
        return time_of(value) if value is not None else None
    except Unusable:
        return None
