"""Read the chats of coding agents that keep them in their own ways: opencode's folders, Cursor's database."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import orjson

from weft.errors import SourceError
from weft.sources.chat.logs import ASSISTANT, USER, Session, add_opencode_message
from weft.sources.values import to_time_or_none

_CURSOR_ROLES: Final = {1: USER, 2: ASSISTANT}
_MAX_COMPOSERS: Final = 20_000
"""Chats read of one database of Cursor."""


def is_opencode_session(content: Mapping[str, Any]) -> bool:
    """Say whether a JSON object describes a session of opencode, whose messages are in folders beside it."""
    return str(content.get("id")).startswith("ses_") and "projectID" in content


def is_part_of_opencode(content: Mapping[str, Any]) -> bool:
    """Say whether a JSON object is one message of opencode, or a part of one."""
    return str(content.get("sessionID")).startswith("ses_") and "messages" not in content


def read_opencode_session(content: Mapping[str, Any], file: Path) -> Session:
    """Return the session that a file of opencode's storage describes, with its messages in the order of time."""
    session = Session(title=str(content.get("title") or ""))
    if isinstance(content.get("directory"), str):
        session.fields["folder"] = content["directory"]
    storage = _storage(file)
    for message in sorted(_read_folder(storage / "message" / str(content["id"])), key=_created):
        parts = sorted(
            _read_folder(storage / "part" / str(message.get("id"))), key=lambda part: str(part.get("id"))
        )
        add_opencode_message(session, message, list(parts))
    return session


def stamp_of_messages(file: Path) -> str:
    """Return a stamp of the messages of a session of opencode; empty for any other file."""
    folder = _storage(file) / "message" / file.stem
    try:
        return f"-{folder.stat().st_mtime_ns}" if file.stem.startswith("ses_") else ""
    except OSError:
        return ""


def _storage(file: Path) -> Path:
    """Return the folder that holds the sessions, messages and parts, from `session/<project>/<session>.json`."""
    return file.parent.parent.parent


def _created(message: Mapping[str, Any]) -> tuple[float, str]:
    time = message.get("time")
    created = time.get("created") if isinstance(time, Mapping) else None
    return (float(created) if isinstance(created, int | float) else 0.0, str(message.get("id")))


def _read_folder(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a folder; one that is being written now is read the next time."""
    for file in sorted(folder.glob("*.json")):
        try:
            content = orjson.loads(file.read_bytes())
        except (OSError, orjson.JSONDecodeError):
            continue
        if isinstance(content, Mapping):
            yield content


def read_cursor_database(file: Path) -> list[Session]:
    """Return the chats in a database of Cursor (`state.vscdb`); one without chats has none."""
    try:
        # Opened for reading alone: the editor may be writing it.
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            return list(_read_composers(database)) if "cursorDiskKV" in tables else []
    except sqlite3.Error as error:
        raise SourceError(
            f"The database cannot be read now ({error}). Close the editor, and index again."
        ) from error


def _read_composers(database: sqlite3.Connection) -> Iterator[Session]:
    query = "SELECT key, value FROM cursorDiskKV WHERE key GLOB 'composerData:*' ORDER BY key LIMIT ?"
    for key, value in database.execute(query, (_MAX_COMPOSERS,)):
        composer, name = _parse(value), str(key).partition(":")[2]
        session = Session(name, str(composer.get("name") or ""))
        begun = to_time_or_none(composer.get("createdAt"))
        for bubble in _bubbles(composer, name, database):
            role, text = _CURSOR_ROLES.get(bubble.get("type", 0)), bubble.get("text")
            if role is not None and isinstance(text, str):
                # Most bubbles have no time of their own: all that is known is when the chat was begun.
                session.add(role, text, to_time_or_none(bubble.get("createdAt")) or begun)
        if session.turns:
            yield session


def _bubbles(composer: Mapping[str, Any], name: str, database: sqlite3.Connection) -> Iterator[Mapping[str, Any]]:
    """Yield the messages of a chat in their order: older versions keep them inside, newer ones apart."""
    inside = composer.get("conversation")
    if isinstance(inside, list) and inside:
        yield from (bubble for bubble in inside if isinstance(bubble, Mapping))
        return
    headers = composer.get("fullConversationHeadersOnly")
    for header in headers if isinstance(headers, list) else ():
        if isinstance(header, Mapping):
            key = f"bubbleId:{name}:{header.get('bubbleId')}"
            row = database.execute("SELECT value FROM cursorDiskKV WHERE key = ?", (key,)).fetchone()
            if row is not None:
                yield _parse(row[0])


def _parse(value: object) -> Mapping[str, Any]:
    try:
        content = orjson.loads(value) if isinstance(value, str | bytes) else None
    except orjson.JSONDecodeError:
        return {}
    return content if isinstance(content, Mapping) else {}
