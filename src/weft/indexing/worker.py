"""Work done in another process beside this one, where there is much to do and a second core to do it.

The other process is this interpreter with a program of four lines: unlike a forked one it shares no locks, and
unlike a spawned one it does not run the caller's script again. Batches go in and answers come out pickled, in
order. Nobody waits for the other process while there is a batch that it has not begun: that one is done here.
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

from weft.frozen import dataclass

Each = TypeVar("Each")
Answer = TypeVar("Answer")
Worker = Callable[[Sequence[Each]], Answer]
_Pipes = tuple[IO[bytes], IO[bytes]]

_AHEAD: Final = 4
_AT_ONCE: Final = 2
"""So many batches the other process has: one in hand, and one to go on with."""
_ALONE: Final = 1_500
"""Fewer things are done here before another process would have started."""

_PROGRAM: Final = """
import sys
sys.path.insert(0, sys.argv[1])
from weft.indexing.worker import serve
serve(sys.stdin.buffer, sys.stdout.buffer)
"""


@dataclass(slots=True)
class _Task(Generic[Each, Answer]):
    """A batch, and its answer once it is known."""

    batch: Sequence[Each]
    done: bool = False
    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class Trade(Generic[Each, Answer]):
    """What is to be done: a function of a module that takes the tools and returns a worker."""

    learn: Callable[..., Worker[Each, Answer]]
    tools: tuple[object, ...]


class Beside(Generic[Each, Answer]):
    """Batches in, answers out, worked out here or in another process, whichever is free."""

    def __init__(self, trade: Trade[Each, Answer]) -> None:
        self._trade = trade
        self._seen = 0
        self._other: _Other | None = None
        self._alone = len(os.sched_getaffinity(0)) < 2 if hasattr(os, "sched_getaffinity") else False
        self._waiting: deque[_Task[Each, Answer]] = deque()
        self._given: deque[_Task[Each, Answer]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._other is not None:
            self._other.end()

    @property
    def ahead(self) -> int:
        """How many batches to give before the first answer is asked for: none while all is done here."""
        return 0 if self._other is None else _AHEAD

    def each(self, batches: Iterable[Sequence[Each]]) -> Iterator[tuple[Sequence[Each], Answer]]:
        """Every batch with its answer, in order; while one is looked at, those after it are worked on."""
        waiting: deque[tuple[Sequence[Each], Callable[[], Answer]]] = deque()
        for batch in batches:
            waiting.append((batch, self.submit(batch)))
            if len(waiting) > self.ahead:
                given, answer = waiting.popleft()
                yield given, answer()
        yield from ((given, answer()) for given, answer in waiting)

    def submit(self, batch: Sequence[Each]) -> Callable[[], Answer]:
        """Give a batch; call what is returned, once, to have its answer."""
        self._seen += len(batch)
        if self._seen > _ALONE and not self._alone and self._other is None:
            self._other = _started(self._trade)
            self._alone = self._other is None
        if self._alone or self._other is None or not batch:
            return lambda: self._here(batch)
        task = _Task[Each, Answer](batch)
        self._waiting.append(task)
        self._hand_over(self._other)
        return lambda: self._answer(task)

    @cached_property
    def _here(self) -> Worker[Each, Answer]:
        return self._trade.learn(*self._trade.tools)

    def _hand_over(self, other: "_Other") -> None:
        while self._waiting and len(self._given) < _AT_ONCE:
            task = self._waiting.popleft()
            self._given.append(task)
            other.give(task.batch)

    def _answer(self, task: _Task[Each, Answer]) -> Answer:
        while not task.done:
            if self._other is None:
                return self._here(task.batch)
            if self._waiting and not self._other.answered:
                # The batch that the other process would come to last.
                own = self._waiting.pop()
                own.answer, own.done = self._here(own.batch), True
            else:
                self._receive(self._other)
        answer: Answer = task.answer  # type: ignore[assignment]
        return answer

    def _receive(self, other: "_Other") -> None:
        """Take the next answer; should the other process have died, all is done here from now on."""
        try:
            answer = other.answer()
        except EOFError:
            other.end()
            self._other, self._alone = None, True
            return
        task = self._given.popleft()
        task.answer, task.done = answer, True
        self._hand_over(other)


def run_in_worker(
    learn: Callable[..., Worker[Each, Answer]], tools: tuple[object, ...], batches: Iterable[Sequence[Each]]
) -> Iterator[tuple[Sequence[Each], Answer]]:
    """Work through the batches here and in a worker process; yield each batch with its answer, in order."""
    with Beside(Trade(learn, tools)) as beside:
        yield from beside.each(batches)


class _Other:
    """The other process: what is given to it, and what it has answered.

    Both go through threads, because a pipe holds little and neither process should wait for the other to read it.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", pipes: "_Pipes", trade: bytes) -> None:
        self._process = process
        self._things: SimpleQueue[Any] = SimpleQueue()
        self._answers: SimpleQueue[Any] = SimpleQueue()
        threading.Thread(target=_give, args=(pipes[0], trade, self._things), daemon=True).start()
        threading.Thread(target=_take, args=(pipes[1], self._answers), daemon=True).start()

    def give(self, thing: object) -> None:
        """Hand something over, without waiting until it is taken."""
        self._things.put(thing)

    @property
    def answered(self) -> bool:
        """Whether an answer, or the end of all answers, is there to be taken."""
        return not self._answers.empty()

    def answer(self) -> Any:
        """The next answer, waited for; raises EOFError when no more will come."""
        answer = self._answers.get()
        if answer is None:
            raise EOFError
        return answer

    def end(self) -> None:
        """Let go of the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self._things.put(None)


def _started(trade: Trade[Any, Any]) -> _Other | None:
    """Another process that knows the trade; None where it cannot be handed over."""
    try:
        known = pickle.dumps(trade)
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(Path(__file__).parents[2])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, TypeError, AttributeError, pickle.PicklingError):
        return None
    if process.stdin is None or process.stdout is None:
        return None
    return _Other(process, (process.stdin, process.stdout), known)


def serve(given: IO[bytes], answers: IO[bytes]) -> None:
    """Answer each batch that comes in until no more do."""
    trade: Trade[Any, Any] = pickle.load(given)
    worker = trade.learn(*trade.tools)
    batches: SimpleQueue[Any] = SimpleQueue()
    # What comes in is taken at once, so that nobody who gives a batch waits until the one before is taken away.
    threading.Thread(target=_take, args=(given, batches), daemon=True).start()
    while (batch := batches.get()) is not None:
        # An error ends this process, and the other side meets it again when it does the work itself.
        pickle.dump(worker(batch), answers)
        answers.flush()


def _give(pipe: IO[bytes], first: bytes, things: "SimpleQueue[Any]") -> None:
    with suppress(OSError), pipe:
        pipe.write(first)
        while (thing := things.get()) is not None:
            pickle.dump(thing, pipe)
            pipe.flush()


def _take(pipe: IO[bytes], things: "SimpleQueue[Any]") -> None:
    with suppress(EOFError, OSError, pickle.UnpicklingError), pipe:
        while True:
            things.put(pickle.load(pipe))
    things.put(None)
