"""`weft-hook`: an event on stdin, an answer on stdout, exit code 0 whatever happens."""

import gc
import os
import sys
import threading
from collections.abc import Sequence
from typing import Final, NoReturn

from weft.interfaces.hooks.events import Event, Settings, answer_of, read_event, read_settings

_DEADLINES: Final = {"SessionStart": 3.0, "UserPromptSubmit": 3.0}
_DEADLINE: Final = 10.0
"""Seconds for the events of a tool: only a test or build makes any work, and that took longer itself."""
_READING: Final = 2.0
"""Seconds within which the client must have handed over its event."""


class Watchdog:
    """Ends the process when its time is up, unless its answer is already on its way."""

    def __init__(self) -> None:
        self._leaving = threading.Lock()
        self._timer: threading.Timer | None = None

    def within(self, seconds: float) -> None:
        """Leave without a word in so many seconds from now, instead of when was said before."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(seconds, self.leave)
        self._timer.daemon = True
        self._timer.start()

    def leave(self, answer: bytes = b"") -> NoReturn:
        """End the process at once, with this answer or none; whoever comes second waits for that end."""
        self._leaving.acquire()
        try:
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()
        finally:
            # The session must never see an error of ours, nor wait for what Python does on its way out.
            os._exit(0)


def main() -> NoReturn:
    """Answer the event on stdin and leave."""
    # A process that lives a moment makes no garbage worth looking for.
    gc.disable()
    watchdog = Watchdog()
    watchdog.within(_READING)
    watchdog.leave(_answered(sys.argv[1:], watchdog))


def _answered(arguments: Sequence[str], watchdog: Watchdog) -> bytes:
    """The answer as the client reads it; an error is no answer, and its trace is told only to who asks for it."""
    debug = "--debug" in arguments
    try:
        settings = read_settings([each for each in arguments if each != "--debug"])
        event = read_event(sys.stdin.buffer.read())
        watchdog.within(_seconds(event, settings))
        return answer_of(event, _text(event, settings))
    except BaseException:  # noqa: BLE001  (a hook that fails would disturb the session that it should help)
        if debug:
            import traceback

            traceback.print_exc()
        return b""


def _seconds(event: Event, settings: Settings) -> float:
    return _DEADLINES.get(event.name, _DEADLINE) if settings.deadline is None else settings.deadline


def _text(event: Event, settings: Settings) -> str:
    """What the model is to read; what an event needs is loaded only when it has something to say."""
    if not event.concerns_us:
        return ""
    from weft.interfaces.hooks.answers import text_for

    return text_for(event, settings)
