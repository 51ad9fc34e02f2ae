"""The store that a service has open, its cached answers, and what it counts and keeps beside them."""

import threading
from collections import Counter as Counted
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from weft.api import Weft
from weft.errors import StoreError
from weft.interfaces.audit import AuditLog
from weft.interfaces.ids import PublicIds
from weft.interfaces.keys import KeyRing
from weft.interfaces.rest.addresses import Exposure
from weft.interfaces.rest.idempotency import KeptAnswers
from weft.interfaces.rest.logs import make_log
from weft.interfaces.rest.metrics import Metrics
from weft.interfaces.rest.problems import Problem
from weft.interfaces.rest.quotas import Quotas
from weft.interfaces.rest.threads import GivingWay
from weft.model import View
from weft.profiles import profile_files_state
from weft.runtime import deadline
from weft.store.sqlite.store import FILE_NAME

# Reading lets go of the interpreter at every row, so more threads that compute at once mostly pass it around: with
# four, a question took nearly twice the processor time. Threads that wait for a server leave it to the others.
_AT_ONCE: Final = 2
_AT_ONCE_ON_SERVER: Final = 8
_MAX_ANSWERS: Final = 1000
_MAX_ANSWER_BYTES: Final = 16 << 20
"""Bounds on the answers that each process keeps: how many, and how many bytes of memory they take together."""


class Serving(Struct, frozen=True):
    """The settings of a service."""

    store: Path
    read_only: bool = False
    figures: str = ""
    on_server: bool = False
    exposure: Exposure = Exposure()
    answer_seconds: float = 30.0
    """Seconds that an answer may take, waiting included."""
    access_log: str = ""
    processes: int = 1
    """Processes that serve this store together, each of which gives a key its share of its limits."""
    explorer_writes: bool = False
    """Whether the explorer may change the store for those who may write."""


class KnownState(Struct, frozen=True):
    """The state that an answer was computed from; the answer stays true until one of these changes."""

    tenants: tuple[str, ...]
    versions: tuple[tuple[str, int], ...]
    """The last write to each of the tenants."""
    profiles: tuple[tuple[str, int, int], ...]
    """The profile files and when they were written."""


class Remembered(Struct, frozen=True):
    """An answer that is kept, and what it was computed from."""

    state: KnownState
    content: bytes
    tokens: int = 0


class AnswerCache:
    """Answers by what was asked, the least recently used dropped first.

    Each answer counts for the caller it was computed for, and who holds most makes room: no caller can push out
    the answers of the others.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[object, tuple[str, Remembered]] = OrderedDict()
        self._held: Counted[str] = Counted()
        self._guard = threading.Lock()

    def get(self, key: object) -> Remembered | None:
        """Return the answer kept under a key."""
        with self._guard:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][1]

    def keep(self, key: object, answer: Remembered, owner: str = "") -> None:
        """Keep an answer, and drop the oldest ones of those who hold most beyond the bounds."""
        with self._guard:
            self._drop(key)
            self._kept[key] = (owner, answer)
            self._held[owner] += len(answer.content)
            while len(self._kept) > _MAX_ANSWERS or self._held.total() > _MAX_ANSWER_BYTES:
                largest = max(self._held, key=lambda name: (self._held[name], name))
                self._drop(next(kept for kept, (holder, _) in self._kept.items() if holder == largest))

    def _drop(self, key: object) -> None:
        if key in self._kept:
            owner, answer = self._kept.pop(key)
            self._held[owner] -= len(answer.content)
            if self._held[owner] <= 0:
                del self._held[owner]


class Served:
    """One store behind the service, with its keys, its remembered answers and its figures."""

    def __init__(self, serving: Serving, opener: Callable[[], Weft]) -> None:
        self.serving = serving
        self.keys = KeyRing(serving.store)
        self.metrics = Metrics(serving.figures)
        self.answers = AnswerCache()
        self.log = make_log()
        self.audit = AuditLog(serving.store)
        self.quotas = Quotas(serving.processes)
        self.kept_answers = KeptAnswers(serving.store)
        self.heavy = GivingWay()
        self._turns = threading.BoundedSemaphore(_AT_ONCE_ON_SERVER if serving.on_server else _AT_ONCE)
        self._opener = opener
        self._file = serving.store / FILE_NAME
        self._guard = threading.Lock()
        self._weft: Weft | None = None
        self._opened: tuple[int, int] | None = None
        self._ids: tuple[Weft, PublicIds] | None = None

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold one of the few turns to compute for the block; writing takes none, and never waits for answers."""
        limit = deadline.current()
        if not self._turns.acquire(timeout=None if limit is None else limit.remaining()):
            raise Problem(503, "No turn to compute came in time. Try again in a moment.")
        try:
            yield
        finally:
            self._turns.release()

    def weft(self) -> Weft:
        """Return the open store; raises StoreError while its file is gone, and opens it again when it is back."""
        if self.serving.on_server:
            # A store on a server replaces broken connections itself, and has no file that could be exchanged.
            return self._weft or self._open((0, 0))
        try:
            state = self._file.stat()
        except OSError as error:
            self.close()
            raise StoreError(
                f"The store in {self.serving.store} is gone ({error.strerror}). Put it back; it is opened again "
                "by itself."
            ) from error
        # Another inode under the same name is another store: it was replaced while we had the old one open.
        file_id = (state.st_dev, state.st_ino)
        if file_id == self._opened and self._weft is not None:
            return self._weft
        return self._open(file_id)

    def _open(self, file_id: tuple[int, int]) -> Weft:
        with self._guard:
            # Another thread may have opened it while this one waited.
            if file_id != self._opened or self._weft is None:
                old, self._weft = self._weft, None
                if old is not None:
                    old.close()
                self._weft = self._opener()
                self._opened = file_id
            return self._weft

    def known_state(self, tenants: tuple[str, ...]) -> KnownState:
        """Return what an answer about these tenants would be computed from now."""
        weft = self.weft()
        return KnownState(tenants, weft.store.tenant_versions(View(tenants)), profile_files_state(weft.folders))

    def is_true(self, answer: Remembered) -> bool:
        """Whether nothing has changed of what an answer was computed from."""
        return self.known_state(answer.state.tenants) == answer.state

    def ids(self) -> PublicIds:
        """Return the ids of the open store as callers see them."""
        weft, known = self.weft(), self._ids
        if known is None or known[0] is not weft:
            with weft.store.snapshot(View(())) as snapshot:
                known = self._ids = (weft, PublicIds(snapshot.identity))
        return known[1]

    def close(self) -> None:
        """Close the store."""
        with self._guard:
            old, self._weft, self._opened = self._weft, None, None
        if old is not None:
            old.close()
