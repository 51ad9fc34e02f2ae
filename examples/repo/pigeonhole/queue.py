"""Put jobs in, take each out once, try again later."""

import json
import sqlite3
from dataclasses import dataclass

from pigeonhole.retry import exhausted, pause

LEASE = 60.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    due REAL NOT NULL DEFAULT 0,
    leased_until REAL NOT NULL DEFAULT 0,
    error TEXT
)
"""
_TAKE = """
UPDATE jobs SET leased_until = :until, attempts = attempts + 1
WHERE number = (
    SELECT number FROM jobs
    WHERE due <= :now AND leased_until <= :now AND error IS NULL
    ORDER BY due, number LIMIT 1
)
RETURNING number, name, body, attempts
"""


@dataclass(frozen=True)
class Job:
    """A job under lease."""

    number: int
    name: str
    body: object
    attempt: int


class Queue:
    """Jobs in one SQLite file that several processes may share."""

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=30)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute(_SCHEMA)

    def put(self, name: str, body: object, due: float = 0.0) -> int:
        """Add a job and return its number."""
        row = self._connection.execute(
            "INSERT INTO jobs (name, body, due) VALUES (?, ?, ?) RETURNING number", (name, json.dumps(body), due)
        ).fetchone()
        return int(row[0])

    def take(self, now: float) -> Job | None:
        """The job that has been due the longest, under lease, or None."""
        self._connection.execute("BEGIN IMMEDIATE")
        row = self._connection.execute(_TAKE, {"now": now, "until": now + LEASE}).fetchone()
        self._connection.execute("COMMIT")
        return Job(row[0], row[1], json.loads(row[2]), row[3]) if row else None

    def renew(self, job: Job, now: float) -> bool:
        """Extend the lease; False when somebody else has taken the job meanwhile."""
        changed = self._connection.execute(
            "UPDATE jobs SET leased_until = ? WHERE number = ? AND attempts = ?",
            (now + LEASE, job.number, job.attempt),
        )
        return changed.rowcount == 1

    def fail(self, job: Job, reason: str, now: float) -> None:
        """Schedule the next attempt, or set the job aside when there were enough."""
        error = reason if exhausted(job.attempt) else None
        self._connection.execute(
            "UPDATE jobs SET leased_until = 0, due = ?, error = ? WHERE number = ?",
            (now + pause(job.attempt, job.number), error, job.number),
        )

    def revive(self, number: int) -> None:
        """Give a job that was set aside another series of attempts."""
        self._connection.execute("UPDATE jobs SET error = NULL, attempts = 0, due = 0 WHERE number = ?", (number,))

    def done(self, number: int) -> None:
        """Remove a finished job."""
        self._connection.execute("DELETE FROM jobs WHERE number = ?", (number,))
