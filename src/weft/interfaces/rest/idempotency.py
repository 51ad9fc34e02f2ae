"""Requests with an Idempotency-Key: sent again after a lost answer, they are answered again and not done again.

The answers are kept beside the store for a day, so that every process of the service knows them.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final

from msgspec import Struct

from weft.errors import StoreError
from weft.interfaces.rest.problems import Problem
from weft.interfaces.tenants import KEPT_ANSWERS

HEADER: Final = b"idempotency-key"
_KEPT_SECONDS: Final = 24 * 3600.0
"""Seconds for which an answer is kept: callers that were cut off try again within minutes."""
_UNFINISHED_SECONDS: Final = 120.0
"""Seconds after which a request without an answer may be tried again: its process has died."""
_MOST_OF_A_CALLER: Final = 10_000
"""Answers that are kept for one caller, the newest."""
_LARGEST_ANSWER: Final = 256 << 10
"""Bytes of an answer that is kept; a larger one is only remembered as done."""
_MOST_BYTES_OF_A_CALLER: Final = 32 << 20
"""Bytes of the answers that are kept for one caller; of older ones it is only remembered that they were given."""
_LONGEST_KEY: Final = 255
_LOCK_SECONDS: Final = 5.0
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS requests (
    caller TEXT NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, begun REAL NOT NULL,
    status INTEGER, headers TEXT, body BLOB, PRIMARY KEY (caller, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS requests_begun ON requests (begun);
"""


class KeptAnswer(Struct, frozen=True):
    """An answer as it was given the first time."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


class KeptAnswers:
    """The answers to requests with an Idempotency-Key, of all processes of a service."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._file, self._clock = folder / KEPT_ANSWERS, clock

    def begin(self, caller: str, key: str, digest: bytes) -> KeptAnswer | None:
        """Return the kept answer, or None if the request is to be done now; it is noted as begun.

        Refuses a key that was used for another request, and one whose first request is still under way.
        """
        now = self._clock()
        with self._writing() as connection:
            connection.execute("DELETE FROM requests WHERE begun < ?", (now - _KEPT_SECONDS,))
            row = connection.execute(
                "SELECT digest, begun, status, headers, body FROM requests WHERE caller = ? AND key = ?",
                (caller, key),
            ).fetchone()
            if row is not None and row[0] != digest:
                raise Problem(422, "This Idempotency-Key was used for another request. Use a new one.")
            if row is not None and row[2] is not None and row[4] is None:
                raise Problem(
                    409,
                    f"The request with this Idempotency-Key was done with status {row[2]}, and is not done again. "
                    "Its answer is not kept, because it is large, old or a secret. Read what is there now.",
                )
            if row is not None and row[2] is not None:
                return KeptAnswer(row[2], _headers_from(row[3]), row[4])
            if row is not None and row[1] > now - _UNFINISHED_SECONDS:
                raise Problem(409, "The first request with this Idempotency-Key is under way. Try again soon.")
            connection.execute(
                "INSERT OR REPLACE INTO requests (caller, key, digest, begun) VALUES (?, ?, ?, ?)",
                (caller, key, digest, now),
            )
            self._make_room(connection, caller)
        return None

    def finish(self, caller: str, key: str, answer: KeptAnswer | None, *, is_secret: bool = False) -> None:
        """Keep the answer; None forgets the request, so that it may be tried again.

        Of an answer that is secret or large it is only kept that it was given.
        """
        place = (caller, key)
        with self._writing() as connection:
            if answer is None:
                connection.execute("DELETE FROM requests WHERE caller = ? AND key = ?", place)
                return
            headers = "\n".join(
                f"{name.decode('latin-1')}: {value.decode('latin-1')}" for name, value in answer.headers
            )
            body = None if is_secret or len(answer.body) > _LARGEST_ANSWER else answer.body
            connection.execute(
                "UPDATE requests SET status = ?, headers = ?, body = ? WHERE caller = ? AND key = ?",
                (answer.status, headers, body, *place),
            )
            self._drop_bodies(connection, caller)

    @staticmethod
    def _drop_bodies(connection: sqlite3.Connection, caller: str) -> None:
        """Drop the oldest answers of a caller beyond its bytes; that they were given is kept."""
        connection.execute(
            "UPDATE requests SET body = NULL WHERE caller = :caller AND status IS NOT NULL AND key IN ("
            "SELECT key FROM (SELECT key, sum(length(body)) OVER (ORDER BY begun DESC, key) AS held"
            " FROM requests WHERE caller = :caller) WHERE held > :most)",
            {"caller": caller, "most": _MOST_BYTES_OF_A_CALLER},
        )

    @staticmethod
    def _make_room(connection: sqlite3.Connection, caller: str) -> None:
        (count,) = connection.execute("SELECT count(*) FROM requests WHERE caller = ?", (caller,)).fetchone()
        if count > _MOST_OF_A_CALLER:
            connection.execute(
                "DELETE FROM requests WHERE caller = :caller AND begun <= (SELECT begun FROM requests"
                " WHERE caller = :caller ORDER BY begun DESC LIMIT 1 OFFSET :most)",
                {"caller": caller, "most": _MOST_OF_A_CALLER},
            )

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = sqlite3.connect(self._file, timeout=_LOCK_SECONDS, isolation_level=None)
            try:
                connection.executescript(_TABLES)
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise StoreError(
                f"{self._file} cannot be used ({error}). Send the request without Idempotency-Key, or delete the "
                "file: it only holds the answers of a day."
            ) from error


def read_key(headers: list[tuple[bytes, bytes]]) -> str | None:
    """Return the Idempotency-Key of a request; refuse one that cannot be one."""
    given = [value for name, value in headers if name == HEADER]
    if not given:
        return None
    key = given[0].decode("latin-1").strip()
    if len(given) > 1 or not key or len(key) > _LONGEST_KEY or not key.isprintable():
        raise Problem(400, f"Idempotency-Key is one text of 1 to {_LONGEST_KEY} printable characters.")
    return key


def digest(method: str, path: str, query: bytes, body: bytes) -> bytes:
    """Return what tells one request from another."""
    hashed = blake2b(digest_size=16)
    for part in (method.encode(), path.encode("utf-8", "replace"), query, body):
        hashed.update(len(part).to_bytes(8, "big") + part)
    return hashed.digest()


def _headers_from(written: str) -> tuple[tuple[bytes, bytes], ...]:
    pairs = [line.partition(": ") for line in written.split("\n") if line]
    return tuple((name.encode("latin-1"), value.encode("latin-1")) for name, _, value in pairs)
