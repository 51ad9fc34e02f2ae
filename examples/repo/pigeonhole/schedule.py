"""Jobs that come back: every so many seconds, once for all workers."""

from collections.abc import Iterable
from dataclasses import dataclass

from pigeonhole.queue import Queue


@dataclass(frozen=True)
class Recurring:
    """A job that is put once in every period, counted from 1970 in UTC."""

    name: str
    period: float
    body: object = None

    def slot(self, now: float) -> int:
        """The number of the period that `now` lies in."""
        return int(now // self.period)


def put_due(queue: Queue, jobs: Iterable[Recurring], now: float) -> list[str]:
    """Put the jobs of the current period that nobody has put yet, and return their names.

    Periods that were missed are not made up for: after a weekend of silence one report is sent, not three.
    """
    put = []
    for job in jobs:
        slot = job.slot(now)
        if queue.put_once(f"{job.name}/{slot}", job.name, job.body, due=slot * job.period):
            put.append(job.name)
    return put
