"""Read the chats of coding agents that keep them in their own ways: opencode's folders and database, Cursor's."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import orjson

from weft.errors import SourceError
from weft.sources.chat.logs import ASSISTANT, USER, Session, add_opencode_message
from weft.sources.values import to_time_or_none

_CURSOR_ROLES: Final = {1: USER, 2: ASSISTANT}
_MAX_CHATS: Final = 20_000
"""Chats read of one database."""
_OPENCODE_TABLES: Final = frozenset({"message", "part"})
_OPENCODE_SESSIONS: Final = ("session", "session_v2")
"""The tables in which versions of opencode keep sessions; their messages are in the same ones."""
_SQLITE_SUFFIXES: Final = frozenset({".db", ".vscdb"})


def is_opencode_session(content: Mapping[str, Any]) -> bool:
    """Return whether a JSON object describes a session of opencode, whose messages are in folders beside it."""
    return str(content.get("id")).startswith("ses_") and "projectID" in content


def is_part_of_opencode(content: Mapping[str, Any]) -> bool:
    """Return whether a JSON object is one message of opencode, or a part of one."""
    return str(content.get("sessionID")).startswith("ses_") and "messages" not in content


def read_opencode_session(content: Mapping[str, Any], file: Path) -> Session:
    """Return the session that a file of opencode's storage describes, with its messages in the order of time."""
    session = Session(title=str(content.get("title") or ""))
    if content.get("parentID"):
        # An agent asked it of another one: nobody's words, and no rules.
        return session
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
    """Return a stamp of what belongs to a file and is kept beside it; empty for a file that is whole in itself.

    These are the messages of a session of opencode, and the log of a database, which it is written to first.
    """
    if file.suffix.lower() in _SQLITE_SUFFIXES:
        beside = file.with_name(f"{file.name}-wal")
    elif file.stem.startswith("ses_"):
        beside = _storage(file) / "message" / file.stem
    else:
        return ""
    try:
        found = beside.stat()
    except OSError:
        return ""
    return f"-{found.st_size}-{found.st_mtime_ns}"


def is_opencode_database(file: Path) -> bool:
    """Return whether a file is a database in which opencode keeps its sessions."""
    try:
        with _open_database(file) as database:
            tables = _list_tables(database)
    except sqlite3.Error:
        return False
    return tables >= _OPENCODE_TABLES and not tables.isdisjoint(_OPENCODE_SESSIONS)


def list_opencode_sessions(file: Path) -> frozenset[str]:
    """Return the ids of the sessions in a database of opencode; none if it cannot be read now."""
    try:
        with _open_database(file) as database:
            tables = [table for table in _OPENCODE_SESSIONS if table in _list_tables(database)]
            return frozenset(str(id) for table in tables for (id,) in database.execute(f"SELECT id FROM {table}"))
    except sqlite3.Error:
        return frozenset()


def read_opencode_database(file: Path) -> list[Session]:
    """Return the sessions in a database of opencode, each with its messages in the order of time."""
    try:
        with _open_database(file) as database:
            tables = [table for table in _OPENCODE_SESSIONS if table in _list_tables(database)]
            return [session for table in tables for session in _read_opencode_table(database, table)]
    except sqlite3.Error as error:
        raise SourceError(
            f"The database cannot be read now ({error}). Close opencode, and index again."
        ) from error


def _read_opencode_table(database: sqlite3.Connection, table: str) -> Iterator[Session]:
    """Yield the sessions of a table that a person held: those with a parent are the work of agents."""
    query = f"SELECT id, title, directory FROM {table} WHERE parent_id IS NULL ORDER BY id LIMIT ?"
    for id, title, folder in database.execute(query, (_MAX_CHATS,)).fetchall():
        session = Session(str(id), str(title or ""))
        if folder:
            session.fields["folder"] = str(folder)
        parts: dict[str, list[Mapping[str, Any]]] = {}
        of_session = "SELECT p.message_id, p.data FROM part p JOIN message m ON m.id = p.message_id"
        for message_id, data in database.execute(f"{of_session} WHERE m.session_id = ? ORDER BY p.id", (id,)):
            parts.setdefault(message_id, []).append(_parse(data))
        rows = database.execute("SELECT id, data FROM message WHERE session_id = ?", (id,)).fetchall()
        # The id of a row is no part of its data.
        messages = [{**_parse(data), "id": message_id} for message_id, data in rows]
        for message in sorted(messages, key=_created):
            add_opencode_message(session, message, parts.get(message["id"], []))
        if session.turns:
            yield session


@contextmanager
def _open_database(file: Path) -> Iterator[sqlite3.Connection]:
    """Open a database for reading alone: the program that it belongs to may be writing it."""
    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
        yield database


def _list_tables(database: sqlite3.Connection) -> frozenset[str]:
    return frozenset(name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))


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
        with _open_database(file) as database:
            return list(_read_composers(database)) if "cursorDiskKV" in _list_tables(database) else []
    except sqlite3.Error as error:
        raise SourceError(
            f"The database cannot be read now ({error}). Close the editor, and index again."
        ) from error


def _read_composers(database: sqlite3.Connection) -> Iterator[Session]:
    query = "SELECT key, value FROM cursorDiskKV WHERE key GLOB 'composerData:*' ORDER BY key LIMIT ?"
    for key, value in database.execute(query, (_MAX_CHATS,)):
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
