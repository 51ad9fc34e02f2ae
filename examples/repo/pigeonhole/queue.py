"""Put jobs in, take each out once, try again later."""

import json
import sqlite3
from dataclasses import dataclass

from pigeonhole.limits import Limit, try_spend
from pigeonhole.migrations import migrate
from pigeonhole.retry import exhausted, pause

LEASE = 60.0
LARGEST_BODY = 65_536

_TAKE = """
UPDATE jobs SET leased_until = :until, attempts = attempts + 1
WHERE number = (
    SELECT number FROM jobs
    WHERE due <= :now AND leased_until <= :now AND error IS NULL
    ORDER BY due, number LIMIT 1
)
RETURNING number, name, body, attempts
"""
_COUNTS = """
SELECT
    count(*) FILTER (WHERE error IS NULL AND due <= :now AND leased_until <= :now),
    count(*) FILTER (WHERE error IS NULL AND leased_until > :now),
    count(*) FILTER (WHERE error IS NULL AND due > :now AND leased_until <= :now),
    count(*) FILTER (WHERE error IS NOT NULL)
FROM jobs
"""


class BodyTooLarge(ValueError):
    """The body of a job should point to what it is about, not contain it."""


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
        migrate(self._connection)

    def put(self, name: str, body: object, due: float = 0.0) -> int:
        """Add a job and return its number."""
        row = self._connection.execute(
            "INSERT INTO jobs (name, body, due) VALUES (?, ?, ?) RETURNING number", (name, _pack(body), due)
        ).fetchone()
        return int(row[0])

    def put_once(self, key: str, name: str, body: object, due: float = 0.0) -> bool:
        """Add a job unless one with this key was added before; say whether it was added."""
        packed = _pack(body)
        self._connection.execute("BEGIN IMMEDIATE")
        added = self._connection.execute(
            "INSERT INTO keys (key) VALUES (?) ON CONFLICT DO NOTHING", (key,)
        ).rowcount
        if added:
            self._connection.execute("INSERT INTO jobs (name, body, due) VALUES (?, ?, ?)", (name, packed, due))
        self._connection.execute("COMMIT")
        return added == 1

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

    def put_off(self, job: Job, seconds: float, now: float) -> None:
        """Give a job back untried, because its kind has run often enough; the attempt does not count."""
        self._connection.execute(
            "UPDATE jobs SET leased_until = 0, due = ?, attempts = attempts - 1 WHERE number = ?",
            (now + seconds, job.number),
        )

    def spend(self, name: str, limit: Limit, now: float) -> float:
        """Spend a token of this kind of job; the seconds to wait for one, or 0."""
        return try_spend(self._connection, name, limit, now)

    def revive(self, number: int) -> None:
        """Give a job that was set aside another series of attempts."""
        self._connection.execute("UPDATE jobs SET error = NULL, attempts = 0, due = 0 WHERE number = ?", (number,))

    def done(self, number: int) -> None:
        """Remove a finished job."""
        self._connection.execute("DELETE FROM jobs WHERE number = ?", (number,))

    def set_aside(self, limit: int = 100) -> list[tuple[int, str, str]]:
        """Number, name and last error of the jobs that failed too often, the oldest first."""
        rows = self._connection.execute(
            "SELECT number, name, error FROM jobs WHERE error IS NOT NULL ORDER BY number LIMIT ?", (limit,)
        )
        return [(int(number), str(name), str(error)) for number, name, error in rows]

    def counts(self, now: float) -> dict[str, int]:
        """How many jobs are due, under lease, waiting for their time, and set aside."""
        row = self._connection.execute(_COUNTS, {"now": now}).fetchone()
        return dict(zip(("due", "leased", "later", "set aside"), row, strict=True))

    def oldest_due(self) -> float | None:
        """Since when the job that has waited longest has been due; None where none waits."""
        row = self._connection.execute("SELECT min(due) FROM jobs WHERE error IS NULL").fetchone()
        return None if row[0] is None else float(row[0])


def _pack(body: object) -> str:
    packed = json.dumps(body)
    if len(packed) > LARGEST_BODY:
        raise BodyTooLarge(
            f"The body has {len(packed):,} characters, at most {LARGEST_BODY:,} are kept in the file."
        )
    return packed
