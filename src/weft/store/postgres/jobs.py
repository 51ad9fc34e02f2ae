"""Queue jobs in the store itself: each is run by one worker at a time and tried again when it fails.

A worker holds an advisory lock of the server on the job it runs. A job that is marked as running while its lock is
free was left by a worker that died, and is taken up where it stopped. All times are the server's, so that the
clocks of workers may differ.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from msgspec import Struct

from weft.errors import InvalidInput
from weft.store.postgres.connection import ALL_TENANTS, Connection, connect, fetch_rows, translate_errors
from weft.store.postgres.store import PostgresStore

_MAX_ATTEMPTS: Final = 5
"""With the pauses between them the attempts outlast an outage of five minutes."""
_MAX_PAUSE_SECONDS: Final = 600
"""The longest pause between two attempts; the pause is four to the power of the attempts so far."""
_MAX_ERROR_LENGTH: Final = 2000
"""Characters of an error that are stored and listed; servers append whole statements to theirs."""
ADVISORY_LOCK_CLASS: Final = 0x4A4F4253
"""The letters JOBS: keeps the locks on jobs apart from the write lock."""
_DIED: Final = f"Every worker that took it up died or was stopped, {_MAX_ATTEMPTS} times."
# The fields of Job, in their order.
_COLUMNS: Final = (
    "id, kind, tenant, detail, state, attempts, error, done, total, place, created, due, started, finished"
)


class Job(Struct, frozen=True):
    """A job; its state is `waiting`, `running`, `done`, or `failed` for good.

    `place` is the last id that its work has reached.
    """

    id: int
    kind: str
    tenant: str
    detail: str
    state: str
    attempts: int
    error: str
    done: int
    total: int | None
    place: int
    created: datetime
    due: datetime
    started: datetime | None
    finished: datetime | None


class JobQueue:
    """The queue of one store."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def add(self, kind: str, tenant: str, detail: str = "") -> Job:
        """Add a job to the queue, or return the same one that is waiting already."""

        def add(connection: Connection) -> Job:
            values = (kind, tenant, detail)
            waiting = f"SELECT {_COLUMNS} FROM jobs WHERE kind = %s AND tenant = %s AND detail = %s"
            # A job that runs may have read its source already, so only a waiting one is the same.
            rows = fetch_rows(connection, f"{waiting} AND state = 'waiting'", values)
            if not rows:
                insert = "INSERT INTO jobs (kind, tenant, detail) VALUES (%s, %s, %s)"
                rows = fetch_rows(connection, f"{insert} RETURNING {_COLUMNS}", values)
            return Job(*rows[0])

        return self._store.transact(add)

    def list_jobs(self) -> tuple[Job, ...]:
        """Return all jobs, the latest first."""
        with self._store.snapshot_of_all_tenants() as snapshot:
            return tuple(Job(*row) for row in snapshot.rows(f"SELECT {_COLUMNS} FROM jobs ORDER BY id DESC"))

    def retry(self, number: int) -> Job:
        """Let a failed job be tried again now, and return it."""
        rows = self._store.transact(
            lambda connection: fetch_rows(
                connection,
                "UPDATE jobs SET state = 'waiting', attempts = 0, due = now() WHERE id = %s AND state = 'failed'"
                f" RETURNING {_COLUMNS}",
                (number,),
            )
        )
        if not rows:
            raise InvalidInput(f"No failed job has the number {number}. `weft jobs list` shows them.")
        return Job(*rows[0])

    @contextmanager
    def take_next(self) -> Iterator["RunningJob | None"]:
        """Yield the next job that is due and free, locked for the block, or None when there is none."""
        address = self._store.address
        # A connection of its own: closing it, or dying, frees the lock on the job.
        with translate_errors(address), connect(address) as connection:
            connection.execute(f"SELECT set_config('weft.tenants', '{ALL_TENANTS}', false)")
            job = _take_next(connection)
            yield None if job is None else RunningJob(connection, job)


class RunningJob:
    """A job that this worker runs and holds the lock of."""

    def __init__(self, connection: Connection, job: Job) -> None:
        self._connection, self.job = connection, job

    def report_progress(self, done: int, total: int | None, place: int | None = None) -> None:
        """Record how far the work has come."""
        self._connection.execute(
            "UPDATE jobs SET done = %s, total = %s, place = coalesce(%s, place) WHERE id = %s",
            (done, total, place, self.job.id),
        )

    def finish(self) -> Job:
        """Mark the job as done and return it."""
        return self._update("state = 'done', finished = now(), error = ''")

    def fail(self, error: Exception) -> Job:
        """Record the error and return the job: it waits, longer each time, or has failed for good."""
        return self._update(
            "error = %s, state = CASE WHEN attempts >= %s THEN 'failed' ELSE 'waiting' END,"
            f" due = now() + interval '1 second' * least({_MAX_PAUSE_SECONDS}, power(4, attempts))",
            str(error)[:_MAX_ERROR_LENGTH],
            _MAX_ATTEMPTS,
        )

    def _update(self, change: str, *values: object) -> Job:
        update = f"UPDATE jobs SET {change} WHERE id = %s RETURNING {_COLUMNS}"
        return Job(*fetch_rows(self._connection, update, (*values, self.job.id))[0])


def _take_next(connection: Connection) -> Job | None:
    """Lock and return the next job that is due; a job that used up its attempts is marked as failed on the way."""
    rows = fetch_rows(
        connection, "SELECT id FROM jobs WHERE state IN ('waiting', 'running') AND due <= now() ORDER BY due, id"
    )
    for (number,) in rows:
        if not fetch_rows(connection, "SELECT pg_try_advisory_lock(%s, %s)", (ADVISORY_LOCK_CLASS, number))[0][0]:
            continue
        # Another worker may have run the job between the two statements: its state is checked again.
        updated = fetch_rows(
            connection,
            "UPDATE jobs SET state = 'running', attempts = attempts + 1, started = now() WHERE id = %s"
            f" AND state IN ('waiting', 'running') AND due <= now() RETURNING {_COLUMNS}",
            (number,),
        )
        if updated:
            job = Job(*updated[0])
            if job.attempts <= _MAX_ATTEMPTS:
                return job
            # Attempts that end with an error are counted by `fail`; the workers of this job died without one.
            connection.execute("UPDATE jobs SET state = 'failed', error = %s WHERE id = %s", (_DIED, number))
        connection.execute("SELECT pg_advisory_unlock(%s, %s)", (ADVISORY_LOCK_CLASS, number))
    return None
