"""Share batches of work with a second process, where there is much to do and a second core to do it.

The other process is this interpreter with a program of four lines: unlike a forked one it shares no locks, and
unlike a spawned one it does not run the caller's script again. Batches go in and results come out pickled, in
order. This process never waits for the other while there is a batch that the other has not begun: it works on that
one itself.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import IO, Any, Final, Generic, Self, TypeVar

from msgspec import Struct

Item = TypeVar("Item")
Result = TypeVar("Result")
Worker = Callable[[Sequence[Item]], Result]

_LOOKAHEAD_BATCHES: Final = 3
"""Batches that callers submit before they wait for the first: two for the other process and one for this one,
while one is written. Each takes some ten megabytes."""
_BATCHES_IN_CHILD: Final = 2
"""Batches that the other process has at a time: one in work, and one to go on with. With more, this process could
take fewer back when it has nothing else to do."""
ITEMS_BEFORE_START: Final = 1_500
"""Items that are done here before another process is started: fewer are done before it would have loaded."""

_PROGRAM: Final = """
import sys
sys.path.insert(0, sys.argv[1])
from weft.indexing.worker import serve
serve(sys.stdin.buffer, sys.stdout.buffer)
"""


class WorkerJob(Struct, Generic[Item, Result], frozen=True):
    """The work to be done: a module's function that makes a worker, and its arguments. Both are pickled."""

    make_worker: Callable[..., Worker[Item, Result]]
    arguments: tuple[object, ...]


class _Task(Struct, Generic[Item, Result]):
    """A batch, and its result once it is known."""

    batch: Sequence[Item]
    is_done: bool = False
    result: Result | None = None


def run_in_worker(
    make_worker: Callable[..., Worker[Item, Result]],
    arguments: tuple[object, ...],
    batches: Iterable[Sequence[Item]],
) -> Iterator[tuple[Sequence[Item], Result]]:
    """Work through the batches here and in a worker process; yield each batch with its result, in order."""
    with WorkerProcess(WorkerJob(make_worker, arguments)) as worker:
        yield from worker.map(batches)


class WorkerProcess(Generic[Item, Result]):
    """Works on batches here and, after `start_after` items, in another process, whichever is free."""

    def __init__(self, job: WorkerJob[Item, Result], *, start_after: int = ITEMS_BEFORE_START) -> None:
        self._job = job
        self._start_after = start_after
        self._submitted_items = 0
        self._child: _ChildProcess | None = None
        # Containers and batch systems often grant fewer cores than the machine has, so the affinity counts.
        self._is_alone = len(os.sched_getaffinity(0)) < 2 if hasattr(os, "sched_getaffinity") else False
        self._waiting: deque[_Task[Item, Result]] = deque()
        self._in_child: deque[_Task[Item, Result]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child is not None:
            self._child.stop()

    @property
    def lookahead(self) -> int:
        """The number of batches to submit before the first result is asked for: none while all is done here."""
        return 0 if self._child is None else _LOOKAHEAD_BATCHES

    def map(self, batches: Iterable[Sequence[Item]]) -> Iterator[tuple[Sequence[Item], Result]]:
        """Yield every batch with its result, in order; meanwhile the batches after it are worked on."""
        waiting: deque[tuple[Sequence[Item], Callable[[], Result]]] = deque()
        for batch in batches:
            waiting.append((batch, self.submit(batch)))
            if len(waiting) > self.lookahead:
                first, result = waiting.popleft()
                yield first, result()
        yield from ((batch, result()) for batch, result in waiting)

    def submit(self, batch: Sequence[Item]) -> Callable[[], Result]:
        """Submit a batch; call the returned function, once, to wait for its result."""
        self._submitted_items += len(batch)
        if self._submitted_items > self._start_after and not self._is_alone and self._child is None:
            self._child = _start_child(self._job)
            self._is_alone = self._child is None
        if self._is_alone or self._child is None or not batch:
            return lambda: self._work_here(batch)
        task = _Task[Item, Result](batch)
        self._waiting.append(task)
        self._send_waiting(self._child)
        return lambda: self._wait_for(task)

    @cached_property
    def _work_here(self) -> Worker[Item, Result]:
        return self._job.make_worker(*self._job.arguments)

    def _send_waiting(self, child: "_ChildProcess") -> None:
        while self._waiting and len(self._in_child) < _BATCHES_IN_CHILD:
            task = self._waiting.popleft()
            self._in_child.append(task)
            child.send(task.batch)

    def _wait_for(self, task: _Task[Item, Result]) -> Result:
        """Return the result of a task, working on other batches as long as the other process has no result."""
        while not task.is_done:
            if self._child is None:
                return self._work_here(task.batch)
            if self._waiting and not self._child.has_result:
                # The last batch is the one that the other process would come to last.
                own = self._waiting.pop()
                own.result, own.is_done = self._work_here(own.batch), True
            else:
                self._receive(self._child)
        result: Result = task.result  # type: ignore[assignment]
        return result

    def _receive(self, child: "_ChildProcess") -> None:
        """Take the next result; if the other process has died, all work is done here from now on."""
        try:
            result = child.receive()
        except EOFError:
            child.stop()
            self._child, self._is_alone = None, True
            return
        task = self._in_child.popleft()
        task.result, task.is_done = result, True
        self._send_waiting(child)


class _ChildProcess:
    """The other process, with queues of what is sent to it and of what it returned.

    Both go through threads, because a pipe holds little and neither process should wait for the other to read it.
    """

    def __init__(
        self, process: "subprocess.Popen[bytes]", stdin: IO[bytes], stdout: IO[bytes], pickled_job: bytes
    ) -> None:
        self._process = process
        self._batches: SimpleQueue[Any] = SimpleQueue()
        self._results: SimpleQueue[Any] = SimpleQueue()
        threading.Thread(target=_write_queue, args=(stdin, pickled_job, self._batches), daemon=True).start()
        threading.Thread(target=_read_into_queue, args=(stdout, self._results), daemon=True).start()

    def send(self, batch: object) -> None:
        """Send a batch, without waiting until it is read."""
        self._batches.put(batch)

    @property
    def has_result(self) -> bool:
        """Whether a result, or the end of all results, can be received without waiting."""
        return not self._results.empty()

    def receive(self) -> Any:
        """Wait for the next result; raise EOFError when no more will come."""
        result = self._results.get()
        if result is None:
            raise EOFError
        return result

    def stop(self) -> None:
        """Kill the process, whatever it is doing, and let the writing thread end."""
        # Not asked to stop, because it would finish its batch first, whose result nobody wants any more.
        self._process.kill()
        self._process.wait()
        self._batches.put(None)


def _start_child(job: WorkerJob[Any, Any]) -> _ChildProcess | None:
    """Start another process for the job; return None where the job cannot be pickled or no process be started."""
    try:
        pickled_job = pickle.dumps(job)
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(Path(__file__).parents[2])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Ctrl-C is meant for this process, which then stops the other one itself.
            start_new_session=True,
        )
    except (OSError, TypeError, AttributeError, pickle.PicklingError):
        return None
    if process.stdin is None or process.stdout is None:
        return None
    return _ChildProcess(process, process.stdin, process.stdout, pickled_job)


def serve(stdin: IO[bytes], stdout: IO[bytes]) -> None:
    """Return the result of each batch that comes in until no more do: the main function of the other process."""
    job: WorkerJob[Any, Any] = pickle.load(stdin)
    worker = job.make_worker(*job.arguments)
    batches: SimpleQueue[Any] = SimpleQueue()
    # Batches are read at once, so that the sender does not wait until the one before is done.
    threading.Thread(target=_read_into_queue, args=(stdin, batches), daemon=True).start()
    while (batch := batches.get()) is not None:
        # An error ends this process, and the sender meets it again when it does the work itself.
        pickle.dump(worker(batch), stdout)
        stdout.flush()


def _write_queue(pipe: IO[bytes], first: bytes, values: "SimpleQueue[Any]") -> None:
    """Write the first bytes and then each queued value, pickled, until the queue gives None."""
    with suppress(OSError), pipe:
        pipe.write(first)
        while (value := values.get()) is not None:
            pickle.dump(value, pipe)
            pipe.flush()


def _read_into_queue(pipe: IO[bytes], values: "SimpleQueue[Any]") -> None:
    """Queue each pickled value that the pipe holds, and None at its end."""
    with suppress(EOFError, OSError, pickle.UnpicklingError), pipe:
        while True:
            values.put(pickle.load(pipe))
    values.put(None)
