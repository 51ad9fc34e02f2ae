"""Keep the contexts that were handed out: what is recorded of each, and the file that holds them."""

import json
import sqlite3
import threading
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import orjson
from msgspec import Struct
from msgspec.structs import asdict

from weft.errors import InvalidInput, StoreError
from weft.model import (
    Candidate,
    Context,
    Detail,
    Item,
    LedgerEntry,
    Node,
    NodeRef,
    PlacedSection,
    Received,
    Request,
    Shown,
    Step,
)

_SORTED: Final = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
"""Sorted keys, so that equal values have equal digests."""
_CONTENT_DETAILS: Final = (Detail.WHOLE, Detail.EXCERPT, Detail.SUMMARY)
"""The details that show content. A pointer only says that there is something: its node has not been received."""
FILE_NAME: Final = "contexts.sqlite"
KEPT_CONTEXTS: Final = 1000
"""Contexts of one owner that are kept, the newest ones; each holds its whole ledger. The owner is a session's name
before its first slash: a service puts its caller there, so that none can push out what others have."""
KEPT_SESSIONS: Final = 200
"""Sessions of one owner whose received nodes are kept, those used last; an older one begins anew on return."""
_LOCK_TIMEOUT_SECONDS: Final = 5.0
"""How long to wait for another process that writes; a write is short, so longer waits mean that it hangs."""
_RETRY_SECONDS: Final = 0.02  # until a file is prepared again that another process holds
_HELD_BY_OTHERS: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_SCHEMA_VERSION: Final = 3
"""Raise it with every change of the tables below."""
SAID: Final = "said"
"""The field with the day of a standing rule, which only its section prints: elsewhere the node is the same."""
_MIN_PREFIX_CHARACTERS: Final = 4
"""Characters of an id that are enough to ask for it: fewer would nearly always match several."""
_COMPRESSION_LEVEL: Final = 1
"""zlib's quickest level, because every kept answer waits for it."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS contexts (
    place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL,
    owner TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS contexts_by_owner ON contexts (owner, place);
CREATE TABLE IF NOT EXISTS sessions (place INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS received (
    session TEXT NOT NULL, tenant TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, spans TEXT,
    PRIMARY KEY (session, tenant, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claims (
    session TEXT NOT NULL, what TEXT NOT NULL, PRIMARY KEY (session, what)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claims_by_what ON claims (what);
"""
"""`place` counts up and never repeats, so that the largest is the newest even after deletions."""
_OWNER: Final = "substr(:session, 1, instr(:session, '/'))"
"""The owner of a session: its name up to the first slash and with it, or nothing."""


# --- ids and fingerprints --------------------------------------------------------------------------------------


def context_id(text_hash: str, request: Request) -> str:
    """Return the id of a context: the same text for the same request has the same id, whenever it is made."""
    # Only what differs from the defaults counts, so that a new field of requests leaves the ids of others alone.
    defaults = _default_request()
    given = {name: value for name, value in plain_request(request).items() if value != defaults.get(name)}
    return blake2b(f"{text_hash} {_digest(given)}".encode(), digest_size=8).hexdigest()


@cache
def _default_request() -> dict[str, Any]:
    # The page that requests got before stores chose one, so that the ids of old contexts stay.
    return plain_request(Request(profile="general"))


def fingerprint(node: Node) -> str:
    """Return a short hash of everything a page can say of a node; it changes when the node's content does."""
    # Without importance, dates and ids, which change though the text says the same.
    fields = {name: value for name, value in node.fields.items() if name != SAID}
    return _digest([node.kind, node.title, node.summary, node.text, fields, node.tags])[:16]


def plain_request(request: Request) -> dict[str, Any]:
    """Return a request as JSON values; candidates brought by the caller are named, not copied."""
    plain: dict[str, Any] = {
        name: value for name, value in asdict(request).items() if name not in ("candidates", "received")
    }
    if request.candidates is not None:
        plain["candidates"] = [(*each.node.ref, each.score) for each in request.candidates]
    if request.received is not None:
        plain["session"] = request.received.session
    decoded: dict[str, Any] = json.loads(_encode(plain))
    return decoded


def _digest(value: object) -> str:
    return blake2b(_encode(value), digest_size=16).hexdigest()


def _encode(value: object) -> bytes:
    try:
        return orjson.dumps(value, default=_plain_value, option=_SORTED)
    except TypeError:
        # Text that is no valid Unicode, such as half of a surrogate pair, which the slower encoder escapes.
        return json.dumps(value, default=_plain_value, sort_keys=True).encode("ascii")


def _plain_value(value: object) -> object:
    """Return a plain form of what JSON has none for: mappings of other types, our own records, times."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Struct):
        return asdict(value)
    return repr(value)


# --- what a page showed ----------------------------------------------------------------------------------------


def read_shown(context: Context) -> dict[NodeRef, Shown]:
    """Return what the page shows of each node, by tenant and key."""
    shown: dict[NodeRef, Shown] = {}
    for item in printed_items(context.page.sections):
        if item.detail in _CONTENT_DETAILS:
            node = item.candidate.node
            spans = None if item.detail is Detail.WHOLE else item.spans
            shown[node.ref] = join_shown(shown.get(node.ref), Shown(fingerprint(node), spans))
    return shown


def printed_items(sections: Iterable[PlacedSection]) -> Iterator[Item]:
    """Yield every item of some sections and of the groups within them, in printed order."""
    for section in sections:
        yield from section.items
        for group in section.groups:
            yield from printed_items(group.parts)


def join_shown(before: Shown | None, now: Shown) -> Shown:
    """Return both together; what was shown of content that has changed since counts no more."""
    if before is None or before.fingerprint != now.fingerprint:
        return now
    if before.spans is None or now.spans is None:
        return Shown(now.fingerprint)
    return Shown(now.fingerprint, tuple(sorted({*before.spans, *now.spans})))


def is_received(received: Received | None, candidate: Candidate) -> bool:
    """Return whether a session has what this candidate would show: unchanged, and whole or its needed part."""
    if received is None:
        return False
    shown = received.nodes.get(candidate.node.ref)
    if shown is None or shown.fingerprint != fingerprint(candidate.node):
        return False
    if shown.spans is None or not candidate.spans:
        return True
    # The best span is what the page would show first; other spans are further detail.
    first, last = candidate.spans[0]
    return any(start < last and first < end for start, end in shown.spans)


# --- records ---------------------------------------------------------------------------------------------------


class Record(Struct, frozen=True):
    """One kept context; `fingerprints` are those of the printed nodes, by tenant and key."""

    id: str
    made: str
    hash: str
    tokens: int
    max_tokens: int | None
    token_model: str
    request: Mapping[str, Any]
    notes: tuple[str, ...]
    ledger: tuple[LedgerEntry, ...]
    fingerprints: Mapping[NodeRef, str]
    manifest: tuple[Mapping[str, Any], ...] = ()

    @property
    def asked(self) -> str:
        """The question, the names it started from, or the topics."""
        question = self.request.get("question") or ", ".join(self.request.get("start", ()))
        topics = [topic["question"] or ", ".join(topic["start"]) for topic in self.request.get("topics", ())]
        return str(question or " / ".join(topics))

    @property
    def session(self) -> str:
        """The name of the session that it was handed to; empty for none."""
        return str(self.request.get("session") or "")

    @property
    def tenants(self) -> frozenset[str]:
        """The tenants that were read for it."""
        return frozenset(self.request.get("view", {}).get("tenants", ()))


def make_record(context: Context, request: Request, made: datetime) -> Record:
    """Return the record of a context, to be kept."""
    nodes = [item.candidate.node for item in printed_items(context.page.sections)]
    return Record(
        id=context.id,
        made=made.isoformat(timespec="seconds"),
        hash=context.hash,
        tokens=context.tokens,
        max_tokens=context.max_tokens,
        token_model=context.token_model,
        request=plain_request(request),
        notes=context.notes,
        ledger=context.ledger,
        # Content is not kept, only its fingerprint: enough to say later that it changed.
        fingerprints={node.ref: fingerprint(node) for node in nodes},
        manifest=tuple(orjson.loads(orjson.dumps(context.manifest, default=asdict))),
    )


def to_bytes(record: Record) -> bytes:
    """Return a record as JSON."""
    plain = asdict(record)
    # JSON has no tuples as keys.
    plain["fingerprints"] = [[*ref, value] for ref, value in sorted(record.fingerprints.items())]
    return orjson.dumps(plain, default=_plain_value)


def from_bytes(stored: bytes) -> Record:
    """Return the record that `to_bytes` wrote."""
    plain = orjson.loads(stored)
    plain["fingerprints"] = {(tenant, key): value for tenant, key, value in plain["fingerprints"]}
    plain["ledger"] = tuple(_read_entry(entry) for entry in plain["ledger"])
    plain["notes"], plain["manifest"] = tuple(plain["notes"]), tuple(plain["manifest"])
    return Record(**plain)


def read_bodies(rows: Iterable[tuple[bytes]]) -> tuple[Record, ...]:
    """Return the records whose bodies were read from the file."""
    return tuple(from_bytes(zlib.decompress(body)) for (body,) in rows)


def _read_entry(stored: dict[str, Any]) -> LedgerEntry:
    path = tuple(Step(**step) for step in stored["path"])
    return LedgerEntry(**{**stored, "path": path, "detail": Detail(stored["detail"])})


# --- the file of contexts ----------------------------------------------------------------------------------


class History:
    """The contexts handed out from one store, newest kept, and the nodes that each named session received."""

    def __init__(
        self, folder: Path, *, max_contexts: int = KEPT_CONTEXTS, max_sessions: int = KEPT_SESSIONS
    ) -> None:
        self.file = folder / FILE_NAME
        self.max_contexts = max_contexts
        self.max_sessions = max_sessions
        self._writer: sqlite3.Connection | None = None
        # One writing connection for all threads, because SQLite lets only one of them write anyway.
        self._guard = threading.Lock()

    def keep(self, record: Record, session: str | None, shown: Mapping[NodeRef, Shown]) -> None:
        """Store a context, and what it showed to its session; the oldest ones make room."""
        with self.writing() as connection:
            _put_context(connection, record, session or "", self.max_contexts)
            # In the same transaction: a context that is kept was also shown.
            if session is not None:
                touch_session(connection, session, self.max_sessions)
                _put_shown(connection, session, shown)

    def find(self, name: str) -> Record:
        """Return the kept context with this id, or with an id that begins like this."""
        # Whatever begins with the name sorts before the name followed by the last of all characters.
        bounds = (name, f"{name}\U0010ffff")
        query = "SELECT id, body FROM contexts WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 3"
        rows = self.read(query, bounds) if len(name) >= _MIN_PREFIX_CHARACTERS else []
        if len(rows) > 1:
            ids = ", ".join(id for id, _ in rows)
            raise InvalidInput(f"Several kept contexts begin with {name!r}: {ids}. Give more of the id.")
        if not rows:
            latest = ", ".join(record.id for record in self.recent(5)) or "(none)"
            raise InvalidInput(
                f"No kept context has the id {name!r}. The latest are: {latest}. `weft history` lists them; the "
                f"{self.max_contexts:,} newest are kept."
            )
        return from_bytes(zlib.decompress(rows[0][1]))

    def find_readable(self, id: str, tenants: Collection[str]) -> Record | None:
        """Return the kept context with this whole id if it was made of these tenants alone."""
        found = read_bodies(self.read("SELECT body FROM contexts WHERE id = ?", (id,)))
        return found[0] if found and found[0].tenants <= {*tenants} else None

    def recent(self, limit: int) -> tuple[Record, ...]:
        """Return the contexts handed out last, newest first."""
        return read_bodies(self.read("SELECT body FROM contexts ORDER BY place DESC LIMIT ?", (limit,)))

    def received(self, session: str) -> Received:
        """Return the nodes that a session received so far: none for a name that was never used."""
        rows = self.read("SELECT tenant, key, fingerprint, spans FROM received WHERE session = ?", (session,))
        return Received(session, {(row[0], row[1]): Shown(row[2], _read_spans(row[3])) for row in rows})

    def close(self) -> None:
        """Close the file."""
        with self._guard:
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    def read(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        """Return the rows of a query; none where nothing was ever kept."""
        if not self.file.is_file():
            return []
        with _explain_errors(self.file):
            # Read-only and by URI, so that asking never makes a file or takes a lock for writing.
            address = f"{self.file.resolve().as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, uri=True, timeout=_LOCK_TIMEOUT_SECONDS)) as connection:
                # A file without a version has no tables yet: another process is just making it.
                if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
                    return []
                return connection.execute(statement, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give the block a connection inside one transaction."""
        with self._guard, _explain_errors(self.file):
            if self._writer is None:
                self._writer = _open(self.file)
            # Immediate: a transaction that begins with reading could fail when it comes to write.
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            finally:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")


@contextmanager
def _explain_errors(file: Path) -> Iterator[None]:
    """Turn SQLite's errors inside the block into ours, with what to do next."""
    try:
        yield
    except (sqlite3.Error, zlib.error) as error:
        raise StoreError(
            f"The kept contexts in {file} cannot be used ({error}). Nothing else depends on that file: check its "
            "permissions, or delete it to begin anew."
        ) from error


def _open(file: Path) -> sqlite3.Connection:
    seconds = _LOCK_TIMEOUT_SECONDS
    connection = sqlite3.connect(file, timeout=seconds, isolation_level=None, check_same_thread=False)
    deadline = time.monotonic() + seconds
    while True:
        try:
            _prepare(connection)
            return connection
        except sqlite3.Error as error:
            # Some statements do not wait for another process that prepares a new file.
            is_held = getattr(error, "sqlite_errorcode", 0) & 0xFF in _HELD_BY_OTHERS
            if not is_held or time.monotonic() > deadline:
                connection.close()
                raise
            time.sleep(_RETRY_SECONDS)


def _prepare(connection: sqlite3.Connection) -> None:
    """Let readers and a writer work at the same time, and make the tables or upgrade them."""
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > _SCHEMA_VERSION:
        raise sqlite3.DatabaseError(f"it was written by a newer Weft, version {version}")
    if version == _SCHEMA_VERSION:
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        # Only an older file lacks this column.
        columns = {name for _, name, *_ in connection.execute("PRAGMA table_info(contexts)")} or {"owner"}
        if "owner" not in columns:
            connection.execute("ALTER TABLE contexts ADD COLUMN owner TEXT NOT NULL DEFAULT ''")
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")


def _put_context(connection: sqlite3.Connection, record: Record, session: str, max_contexts: int) -> None:
    # Deleted first, so that a context which is handed out again becomes the newest.
    connection.execute("DELETE FROM contexts WHERE id = ?", (record.id,))
    values = {"id": record.id, "body": zlib.compress(to_bytes(record), _COMPRESSION_LEVEL), "session": session}
    connection.execute(f"INSERT INTO contexts (id, body, owner) VALUES (:id, :body, {_OWNER})", values)
    own = f"owner = {_OWNER}"
    oldest = f"SELECT place FROM contexts WHERE {own} ORDER BY place DESC LIMIT 1 OFFSET {max_contexts:d}"
    connection.execute(f"DELETE FROM contexts WHERE {own} AND place <= ({oldest})", values)


def touch_session(connection: sqlite3.Connection, session: str, max_sessions: int) -> None:
    """Make a session the one that was used last; the oldest ones make room."""
    connection.execute("DELETE FROM sessions WHERE name = ?", (session,))
    connection.execute("INSERT INTO sessions (name) VALUES (?)", (session,))
    own = f"substr(name, 1, instr(name, '/')) = {_OWNER}"
    oldest = f"SELECT place FROM sessions WHERE {own} ORDER BY place DESC LIMIT 1 OFFSET {max_sessions:d}"
    connection.execute(f"DELETE FROM sessions WHERE {own} AND place <= ({oldest})", {"session": session})
    for table in ("received", "claims"):
        connection.execute(f"DELETE FROM {table} WHERE session NOT IN (SELECT name FROM sessions)")


def _put_shown(connection: sqlite3.Connection, session: str, shown: Mapping[NodeRef, Shown]) -> None:
    """Add what a page showed to what its session received before."""
    for (tenant, key), now in sorted(shown.items()):
        row_key = (session, tenant, key)
        row = connection.execute(
            "SELECT fingerprint, spans FROM received WHERE session = ? AND tenant = ? AND key = ?", row_key
        ).fetchone()
        both = join_shown(None if row is None else Shown(row[0], _read_spans(row[1])), now)
        spans = None if both.spans is None else orjson.dumps(both.spans).decode()
        connection.execute(
            "INSERT OR REPLACE INTO received VALUES (?, ?, ?, ?, ?)", (*row_key, both.fingerprint, spans)
        )


def _read_spans(stored: str | None) -> tuple[tuple[int, int], ...] | None:
    return None if stored is None else tuple((start, end) for start, end in orjson.loads(stored))
