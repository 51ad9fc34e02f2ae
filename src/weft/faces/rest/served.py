"""The store that is served: opened again when it comes back, its answers remembered until its tenants change."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final

from weft.errors import StoreError
from weft.faces.keys import KeyRing
from weft.faces.library import Weft
from weft.faces.rest.metrics import Metrics
from weft.frozen import dataclass
from weft.store.sqlite import FILE_NAME

# Reading lets go of the interpreter at every row, so more who compute at once mostly pass it around: with four, a
# question took nearly twice the processor time. Who waits for a server meanwhile leaves it to others.
_AT_ONCE: Final = 2
_AT_ONCE_ON_SERVER: Final = 8
_MOST_ANSWERS: Final = 1000
_MOST_BYTES: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Serving:
    """What is served and how."""

    store: Path
    read_only: bool = False
    figures: str = ""
    on_server: bool = False


class Answers:
    """The least recently used answers go first; the key holds the version of every tenant that was read."""

    def __init__(self) -> None:
        self._kept: OrderedDict[object, bytes] = OrderedDict()
        self._bytes = 0
        self._guard = threading.Lock()

    def get(self, key: object) -> bytes | None:
        """The answer kept under a key."""
        with self._guard:
            answer = self._kept.get(key)
            if answer is not None:
                self._kept.move_to_end(key)
            return answer

    def keep(self, key: object, answer: bytes) -> None:
        """Keep an answer, and let go of old ones."""
        with self._guard:
            self._bytes += len(answer) - len(self._kept.pop(key, b""))
            self._kept[key] = answer
            while len(self._kept) > _MOST_ANSWERS or self._bytes > _MOST_BYTES:
                self._bytes -= len(self._kept.popitem(last=False)[1])


class Served:
    """One store behind the service, with its keys, its remembered answers and its figures."""

    def __init__(self, serving: Serving, opener: Callable[[], Weft]) -> None:
        self.serving = serving
        self.keys = KeyRing(serving.store)
        self.metrics = Metrics(serving.figures)
        self.answers = Answers()
        self.turns = threading.BoundedSemaphore(_AT_ONCE_ON_SERVER if serving.on_server else _AT_ONCE)
        """Taken by whoever computes an answer, so that writing never waits for those."""
        self._opener = opener
        self._file = serving.store / FILE_NAME
        self._guard = threading.Lock()
        self._weft: Weft | None = None
        self._opened: tuple[int, int] | None = None

    def weft(self) -> Weft:
        """The open store; raises StoreError while its file is gone, and opens it again when it is back."""
        if self.serving.on_server:
            # Its connections are replaced by the store itself.
            return self._weft or self._open((0, 0))
        try:
            state = self._file.stat()
        except OSError as error:
            self.close()
            raise StoreError(
                f"The store in {self.serving.store} is gone ({error.strerror}). Put it back; it is opened again "
                "by itself."
            ) from error
        place = (state.st_dev, state.st_ino)
        if place == self._opened and self._weft is not None:
            return self._weft
        return self._open(place)

    def _open(self, place: tuple[int, int]) -> Weft:
        with self._guard:
            if place != self._opened or self._weft is None:
                old, self._weft = self._weft, None
                if old is not None:
                    old.close()
                self._weft = self._opener()
                self._opened = place
            return self._weft

    def close(self) -> None:
        """Let go of the store's files."""
        with self._guard:
            old, self._weft, self._opened = self._weft, None, None
        if old is not None:
            old.close()
