"""Take jobs and run their handlers until told to stop."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pigeonhole.journal import Journal, Line
from pigeonhole.limits import Limit
from pigeonhole.queue import Job, Queue

IDLE_PAUSE = 0.5

Handler = Callable[[object, Callable[[], None]], None]
"""Takes the body of a job, and a function to call at half time so that the lease is renewed."""

_log = logging.getLogger(__name__)


class LeaseLost(Exception):
    """Somebody else has taken the job meanwhile: stop without writing a result."""


@dataclass
class Worker:
    """One process that works on one queue, one job at a time."""

    queue: Queue
    handlers: Mapping[str, Handler]
    clock: Callable[[], float]
    pause: Callable[[float], None]
    limits: Mapping[str, Limit] = field(default_factory=dict)
    journal: Journal | None = None
    stopping: bool = False

    def step(self) -> bool:
        """Run the next job that is due, and say whether there was one."""
        job = self.queue.take(self.clock())
        if job is None:
            return False
        handler = self.handlers.get(job.name)
        if handler is None:
            self.queue.fail(job, f"no handler is called {job.name!r}", self.clock())
            return True
        wait = self._wait_for_limit(job)
        if wait:
            self.queue.put_off(job, wait, self.clock())
            return True
        began = self.clock()
        outcome = self._run(handler, job)
        if self.journal is not None:
            self.journal.add(Line(job.number, job.name, job.attempt, self.clock() - began, outcome))
        return True

    def _run(self, handler: Handler, job: Job) -> str:
        """Run the handler, write down how it ended, and name that."""
        try:
            handler(job.body, lambda: self._renew(job))
        except LeaseLost:
            _log.warning("job %s was taken by somebody else", job.number)
            return "lost"
        except Exception as error:
            _log.exception("job %s failed", job.number)
            self.queue.fail(job, f"{type(error).__name__}: {error}", self.clock())
            return "failed"
        self.queue.done(job.number)
        return "done"

    def _wait_for_limit(self, job: Job) -> float:
        """The seconds until a job of this kind may run; 0 where nothing limits it."""
        limit = self.limits.get(job.name)
        return 0.0 if limit is None else self.queue.spend(job.name, limit, self.clock())

    def run(self) -> None:
        """Work until `stop` is called; rest a little whenever nothing is due."""
        while not self.stopping:
            if not self.step():
                self.pause(IDLE_PAUSE)

    def stop(self) -> None:
        """Finish the job at hand and take no other. Safe to call from a signal handler."""
        self.stopping = True

    def _renew(self, job: Job) -> None:
        if not self.queue.renew(job, self.clock()):
            raise LeaseLost
