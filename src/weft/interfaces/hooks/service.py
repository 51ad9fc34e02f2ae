"""Answer the hooks of a store from a server that has it open, on a socket of the user's own (`local_socket`)."""

import json
import logging
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from weft import config
from weft.errors import WeftError
from weft.interfaces.hooks.local_socket import ASKED_EVENTS, LISTENING, SUFFIX, is_private, socket_prefix

if TYPE_CHECKING:
    from weft.api import Weft

_MAX_REQUEST_BYTES: Final = 8_000_000
"""Bytes of an event: prompts with pasted files are large, but not larger than this."""
_READ_SECONDS: Final = 2.0
"""How long a hook may take to send its event; it has it ready when it connects."""
_WAITING: Final = 16
"""Hooks that may wait for a thread at once."""
_PIECE_BYTES: Final = 65_536
_CREDENTIALS: Final = struct.Struct("3i")
"""The process, the user and the group at the other end of a socket, as Linux tells them."""


@contextmanager
def answer_hooks(
    open_store: Callable[[], "Weft"], find_folder: Callable[[], Path], delay_seconds: float = 0.0
) -> Iterator[None]:
    """Answer hooks for the block, from the store that `open_store` returns, whose folder `find_folder` finds.

    It begins in a thread after `delay_seconds`, so that a server is not slower to start. Where the system has no
    such sockets, or the folder for them is not the user's own, hooks answer by themselves.
    """
    if not hasattr(socket, "AF_UNIX"):
        yield
        return
    service = HookService(open_store, find_folder)
    timer = threading.Timer(delay_seconds, service.run)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        service.close()


class HookService:
    """A socket on which hooks of one store are answered, each in a thread of its own."""

    def __init__(self, open_store: Callable[[], "Weft"], find_folder: Callable[[], Path]) -> None:
        self._open_store = open_store
        self._find_folder = find_folder
        self.path = Path()
        self._listener: socket.socket | None = None
        self._guard = threading.Lock()
        self._is_closed = False

    def run(self) -> None:
        """Listen and answer until the service is closed."""
        # Where there is no store yet, there is nothing to answer from.
        with suppress(OSError, WeftError):
            listener = self._listen()
            while listener is not None:
                connection, _ = listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def close(self) -> None:
        """Stop listening and remove the socket."""
        with self._guard:
            self._is_closed = True
            if self._listener is not None:
                # Closing alone does not wake the thread that waits in accept.
                with suppress(OSError):
                    self._listener.shutdown(socket.SHUT_RDWR)
                self._listener.close()
                self.path.unlink(missing_ok=True)

    def _listen(self) -> socket.socket | None:
        prefix = socket_prefix(self._find_folder())
        self.path = config.runtime_folder() / f"{prefix}{os.getpid()}{SUFFIX}"
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._guard:
            # The folder may have been made by somebody else, who could then take the socket away.
            if self._is_closed or not is_private(self.path.parent):
                return None
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            # Made under another name, so that nobody finds it before it is the owner's and answers.
            made = self.path.with_suffix(".new")
            made.unlink(missing_ok=True)
            listener.bind(str(made))
            made.chmod(0o600)
            listener.listen(_WAITING)
            made.replace(self.path)
            self._listener = listener
            return listener

    def _serve(self, connection: socket.socket) -> None:
        """Answer one hook; if that fails, the connection ends without an answer, and the hook makes it itself."""
        # A hook that was killed is gone from the socket, which is no failure of the server.
        with connection, suppress(OSError):
            if not _is_own(connection):
                return
            connection.settimeout(_READ_SECONDS)
            connection.sendall(LISTENING)
            request = _receive(connection)
            answer = self._try_to_answer(request) if request else None
            if answer is not None:
                connection.sendall(b"%d\n%b" % (len(answer), answer))

    def _try_to_answer(self, request: bytes) -> bytes | None:
        try:
            return self._answer(request)
        except Exception:
            # On stderr, as everything that a server logs; the hook must not wait for a thread that has died.
            logging.getLogger(__name__).exception("A hook could not be answered from the server")
            return None

    def _answer(self, request: bytes) -> bytes | None:
        # Loaded by the first hook that asks, like everything behind it.
        from weft.interfaces.hooks.answers import answer_event
        from weft.interfaces.hooks.events import format_answer, read_event, read_settings

        asked = json.loads(request)
        settings = read_settings(asked["arguments"])
        event = read_event(asked["payload"].encode("utf-8"), settings.client)
        if event.name not in ASKED_EVENTS:
            return None
        return format_answer(event, answer_event(self._open_store(), event, settings))


def _receive(connection: socket.socket) -> bytes:
    """Return what the other end sends until it has no more; nothing if it is too much."""
    received = bytearray()
    while piece := connection.recv(_PIECE_BYTES):
        received += piece
        if len(received) > _MAX_REQUEST_BYTES:
            return b""
    return bytes(received)


def _is_own(connection: socket.socket) -> bool:
    """Return whether the process at the other end is this user's, where the system tells."""
    option = getattr(socket, "SO_PEERCRED", None)
    # Elsewhere the folder's permissions are the only guard.
    if option is None:
        return True
    found = connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size)
    return bool(_CREDENTIALS.unpack(found)[1] == os.getuid())
