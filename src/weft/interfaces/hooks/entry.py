"""The program `weft-hook`: read an event from stdin, write the answer to stdout, and always exit with 0."""

import gc
import os
import sys
import threading
from collections.abc import Sequence
from typing import Final, NoReturn

from weft.interfaces.hooks.events import format_answer, read_event, read_settings

_DEADLINE_SECONDS: Final = {"SessionStart": 3.0, "UserPromptSubmit": 3.0, "PreCompact": 3.0}
"""How long the user waits at most for an event that delays the session."""
_TOOL_DEADLINE_SECONDS: Final = 10.0
"""How long the events of a tool may take: only a test or build causes work, and running it took longer."""
_READ_DEADLINE_SECONDS: Final = 2.0
"""How long the client may take to send its event; it has it ready when it starts the hook."""


class Watchdog:
    """A timer that ends the process at its deadline, unless the answer is already being written."""

    def __init__(self) -> None:
        self._exit_lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def set_deadline(self, seconds: float) -> None:
        """Exit without an answer in so many seconds from now. Replaces an earlier deadline."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(seconds, self.exit)
        self._timer.daemon = True
        self._timer.start()

    def exit(self, answer: bytes = b"") -> NoReturn:
        """Write the answer, if any, and end the process at once."""
        # Never released: of the timer and the main thread, the second waits here until the first ends the process.
        self._exit_lock.acquire()
        try:
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()
        finally:
            # The session must never see an error of ours, nor wait for what Python does at a regular exit.
            os._exit(0)


def main() -> NoReturn:
    """Answer the event on stdin and exit."""
    # A process that lives for a moment makes too little garbage to collect.
    gc.disable()
    watchdog = Watchdog()
    watchdog.set_deadline(_READ_DEADLINE_SECONDS)
    watchdog.exit(_make_answer(sys.argv[1:], watchdog))


def _make_answer(arguments: Sequence[str], watchdog: Watchdog) -> bytes:
    """Return the answer as the client reads it; empty after an error, whose traceback only `--debug` prints."""
    debug = "--debug" in arguments
    try:
        arguments = [word for word in arguments if word != "--debug"]
        settings = read_settings(arguments)
        payload = sys.stdin.buffer.read()
        event = read_event(payload, settings.client)
        # The deadline starts anew here, because reading the event had one of its own.
        default = _DEADLINE_SECONDS.get(event.name, _TOOL_DEADLINE_SECONDS)
        watchdog.set_deadline(default if settings.deadline is None else settings.deadline)
        if not event.is_relevant:
            return b""
        # The client may have started the hook in another folder than that of its session.
        os.chdir(event.folder or ".")
        # Loaded only now: most events are shell commands that need none of it.
        from weft.interfaces.hooks.local_socket import ASKED_EVENTS, ask_server

        answer = ask_server(settings.store, arguments, payload) if event.name in ASKED_EVENTS else None
        if answer is not None:
            return answer
        from weft.interfaces.hooks.answers import make_text

        return format_answer(event, make_text(event, settings))
    except BaseException:  # noqa: BLE001  (a hook that fails would disturb the session that it should help)
        if debug:
            import traceback

            traceback.print_exc()
        return b""
