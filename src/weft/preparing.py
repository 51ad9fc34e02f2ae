"""Nodes prepared in another process while this one writes, where there is much to do and a second core to do it.

The other process is this interpreter with a program of four lines: unlike a forked one it shares no locks, and
unlike a spawned one it does not run the caller's script again. Batches go in and come out pickled, in order.
"""

import copyreg
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import fields
from io import BytesIO
from operator import attrgetter
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import IO, Any, BinaryIO, Final, Self

from weft.model import Alias, Node, Origin, Passage
from weft.ports import Embedder, PreparedNode, PreparedPassage, TokenCounter
from weft.prepare import prepare

Placed = Sequence[tuple[Node, str]]
"""Nodes, each with its unit."""
Prepared = Callable[[], tuple[PreparedNode, ...]]
"""Asked for once, when the batch is to be written."""

_AHEAD: Final = 3
_ALONE: Final = 1_500
"""Fewer nodes are prepared here before another process would have started."""

_PROGRAM: Final = """
import sys
sys.path.insert(0, sys.argv[1])
from weft.preparing import work
work(sys.stdin.buffer, sys.stdout.buffer)
"""


class Preparing:
    """Prepares batches in the order given."""

    def __init__(self, embed: Embedder | None, count: TokenCounter) -> None:
        self._embed, self._count = embed, count
        self._seen = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._refused = len(os.sched_getaffinity(0)) < 2 if hasattr(os, "sched_getaffinity") else False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    @property
    def ahead(self) -> int:
        """How many batches to give before the first is asked for: none while all is done here."""
        return 0 if self._process is None else _AHEAD

    def submit(self, nodes: Placed) -> Prepared:
        """Give a batch; call what is returned to have it prepared."""
        self._seen += len(nodes)
        if self._seen > _ALONE and not self._refused and self._process is None:
            self._process = _started(self._embed, self._count)
            self._refused = self._process is None
        process = self._process
        answers = process.stdout if process is not None else None
        if process is None or answers is None or not nodes or not _sent(process, _packed(nodes)):
            return lambda: prepare(nodes, self._embed, self._count)
        return lambda: self._received(answers, nodes)

    def _received(self, answers: IO[bytes], nodes: Placed) -> tuple[PreparedNode, ...]:
        """The next batch of the other process; should it have died, this one does the work."""
        try:
            derived = pickle.load(answers)
        except (EOFError, OSError, pickle.UnpicklingError):
            return prepare(nodes, self._embed, self._count)
        return tuple(PreparedNode(node, *parts) for (node, _), parts in zip(nodes, derived, strict=True))


def _started(embed: Embedder | None, count: TokenCounter) -> "subprocess.Popen[bytes] | None":
    """Another process that knows the embedder and the counter; None where these cannot be handed over."""
    try:
        tools = pickle.dumps((embed, count))
    except (TypeError, AttributeError, pickle.PicklingError):
        return None
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(Path(__file__).parents[1])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    return process if _sent(process, tools) else None


def _sent(process: "subprocess.Popen[bytes]", packed: bytes) -> bool:
    """Hand something over; whether the other process still takes it."""
    if process.stdin is None:
        return False
    try:
        process.stdin.write(packed)
        process.stdin.flush()
    except OSError:
        return False
    return True


def _by_fields(kind: type) -> Callable[[object], tuple[object, ...]]:
    """How to pickle a frozen class with slots: by its fields in order, several times faster than by default."""
    values = attrgetter(*(field.name for field in fields(kind)))
    return lambda each: (kind, values(each))


_REDUCED: Final[dict[type, Any]] = {
    kind: _by_fields(kind) for kind in (Node, Origin, Alias, Passage, PreparedPassage)
}
_DERIVED: Final = attrgetter(*(field.name for field in fields(PreparedNode) if field.name != "node"))
"""What is derived from a node; the node itself need not travel back."""


def _packed(batch: object) -> bytes:
    packed = BytesIO()
    pickler = pickle.Pickler(packed)
    pickler.dispatch_table = copyreg.dispatch_table | _REDUCED
    pickler.dump(batch)
    return packed.getvalue()


def work(given: BinaryIO, answers: BinaryIO) -> None:
    """Prepare each batch that comes in until no more do."""
    embed, count = pickle.load(given)
    batches: SimpleQueue[Placed | None] = SimpleQueue()
    # What comes in is taken at once, so that nobody who gives a batch waits until the one before is taken away.
    threading.Thread(target=_take, args=(given, batches), daemon=True).start()
    while (nodes := batches.get()) is not None:
        # An error ends this process, and the other side meets it again when it does the work itself.
        answers.write(_packed([_DERIVED(each) for each in prepare(nodes, embed, count)]))
        answers.flush()


def _take(given: BinaryIO, batches: "SimpleQueue[Placed | None]") -> None:
    with suppress(EOFError):
        while True:
            batches.put(pickle.load(given))
    batches.put(None)
