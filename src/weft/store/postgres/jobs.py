"""Work that waits in the store itself: taken by one worker at a time, tried again when it fails, seen by all.

Whoever runs a job holds a lock of the server on it. A job that is marked as running while nobody holds its lock
was left by a worker that died, and is taken up where it stopped. All times are the server's, so that the clocks of
workers may differ.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from weft.errors import InvalidInput
from weft.frozen import dataclass
from weft.store.postgres.connection import EVERYTHING, Link, connect, explained, rows_of
from weft.store.postgres.store import PostgresStore

MOST_ATTEMPTS: Final = 5
_LOCKS: Final = 0x4A4F4253  # "JOBS": the class of the locks on jobs
_DIED: Final = f"Every worker that took it up died or was stopped, {MOST_ATTEMPTS} times."
_COLUMNS: Final = (
    "id, kind, tenant, detail, state, attempts, error, done, total, place, created, due, started, finished"
)


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work: `waiting`, `running`, `done`, or `failed` for good; `place` is how far it has come."""

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


class Jobs:
    """The queue of one store."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def add(self, kind: str, tenant: str, detail: str = "") -> Job:
        """Put work into the queue; the same work that is waiting already is not put there twice."""

        def added(link: Link) -> Job:
            same = (kind, tenant, detail)
            waiting = f"SELECT {_COLUMNS} FROM jobs WHERE kind = %s AND tenant = %s AND detail = %s"
            rows = rows_of(link, f"{waiting} AND state = 'waiting'", same)
            if not rows:
                insert = "INSERT INTO jobs (kind, tenant, detail) VALUES (%s, %s, %s)"
                rows = rows_of(link, f"{insert} RETURNING {_COLUMNS}", same)
            return Job(*rows[0])

        return self._store.transact(added)

    def listed(self) -> tuple[Job, ...]:
        """All jobs, the latest first."""
        with self._store.everything() as snapshot:
            return tuple(Job(*row) for row in snapshot.rows(f"SELECT {_COLUMNS} FROM jobs ORDER BY id DESC"))

    def retry(self, number: int) -> Job:
        """Let a failed job be tried again now."""
        rows = self._store.transact(
            lambda link: rows_of(
                link,
                "UPDATE jobs SET state = 'waiting', attempts = 0, due = now() WHERE id = %s AND state = 'failed'"
                f" RETURNING {_COLUMNS}",
                (number,),
            )
        )
        if not rows:
            raise InvalidInput(f"No failed job has the number {number}. `weft jobs list` shows them.")
        return Job(*rows[0])

    @contextmanager
    def taken(self) -> Iterator["Taken | None"]:
        """The next job that is due and nobody else runs, held for the block; None when there is none."""
        address = self._store.address
        with explained(address), connect(address) as link:
            link.execute(f"SELECT set_config('weft.tenants', '{EVERYTHING}', false)")
            job = _take(link)
            yield None if job is None else Taken(link, job)


class Taken:
    """A job in the hands of this worker."""

    def __init__(self, link: Link, job: Job) -> None:
        self._link, self.job = link, job

    def tell(self, done: int, total: int | None, place: int | None = None) -> None:
        """Write down how far the work has come."""
        self._link.execute(
            "UPDATE jobs SET done = %s, total = %s, place = coalesce(%s, place) WHERE id = %s",
            (done, total, place, self.job.id),
        )

    def finish(self) -> Job:
        """The work is done."""
        return self._written("state = 'done', finished = now(), error = ''")

    def fail(self, error: Exception) -> Job:
        """The work did not succeed: it waits, longer each time, or is given up after some attempts."""
        return self._written(
            "error = %s, state = CASE WHEN attempts >= %s THEN 'failed' ELSE 'waiting' END,"
            " due = now() + interval '1 second' * least(600, power(4, attempts))",
            str(error)[:2000],
            MOST_ATTEMPTS,
        )

    def _written(self, change: str, *values: object) -> Job:
        """The job after a change to it."""
        update = f"UPDATE jobs SET {change} WHERE id = %s RETURNING {_COLUMNS}"
        return Job(*rows_of(self._link, update, (*values, self.job.id))[0])


def _take(link: Link) -> Job | None:
    rows = rows_of(
        link, "SELECT id FROM jobs WHERE state IN ('waiting', 'running') AND due <= now() ORDER BY due, id"
    )
    for (number,) in rows:
        if not rows_of(link, "SELECT pg_try_advisory_lock(%s, %s)", (_LOCKS, number))[0][0]:
            continue
        taken = rows_of(
            link,
            "UPDATE jobs SET state = 'running', attempts = attempts + 1, started = now() WHERE id = %s"
            f" AND state IN ('waiting', 'running') AND due <= now() RETURNING {_COLUMNS}",
            (number,),
        )
        if taken and Job(*taken[0]).attempts <= MOST_ATTEMPTS:
            return Job(*taken[0])
        if taken:
            link.execute("UPDATE jobs SET state = 'failed', error = %s WHERE id = %s", (_DIED, number))
        link.execute("SELECT pg_advisory_unlock(%s, %s)", (_LOCKS, number))
    return None
