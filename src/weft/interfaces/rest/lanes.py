"""The lanes in which requests are worked on: how many at once, how many may wait, and for how long.

A lane of its own keeps heavy questions and large writes from delaying light ones. Whatever would wait beyond the
bounds of its lane is refused at once with 503 and a time to try again.
"""

import asyncio
from collections import Counter
from enum import StrEnum
from typing import Any, Final

import orjson
from msgspec import Struct

from weft.interfaces.keys import Scope
from weft.interfaces.rest.problems import Problem
from weft.runtime.deadline import Deadline

_HEAVY_BODY_BYTES: Final = 64 << 10
"""Bytes of a question from which it is heavy: a question with its filters takes a few hundred."""
_BULK_BODY_BYTES: Final = 1 << 20
"""Bytes of a write from which it is worked on alone: as Python values it takes ten times the memory."""
_HEAVY_TURNS: Final = 10_000
"""Characters of the conversation before a question from which it is heavy: they are embedded turn by turn."""
_HEAVY_CANDIDATES: Final = 50
"""Candidates from which a question is heavy: each is compared with the others."""
_HEAVY_PATHS: Final = frozenset({"/explore/growth", "/explore/why", "/explore/judge"})
"""Views of the explorer that make ten pages and more for one answer."""
_HEAVY_TOPICS: Final = 4
_HEAVY_DEPTH: Final = 5
_HEAVY_LIMIT: Final = 200
_HEAVY_BUDGET: Final = 50_000
"""Topics, steps, context nodes and tokens of a page from which a question is heavy: several times the usual."""


class LaneName(StrEnum):
    """The kinds of work that do not delay each other."""

    LIGHT = "light"
    HEAVY = "heavy"
    WRITE = "write"
    BULK = "bulk"
    ADMIN = "admin"
    PUBLIC = "public"


class LaneSize(Struct, frozen=True):
    """The bounds of a lane: requests worked on at once, requests that wait, and seconds they wait at most."""

    at_once: int
    waiting: int
    wait_seconds: float


# Light requests are many and mostly wait for their turn to compute; the others are few and long. Together they are
# at most as many as there are threads.
SIZES: Final = {
    LaneName.LIGHT: LaneSize(32, 256, 5.0),
    LaneName.HEAVY: LaneSize(1, 8, 20.0),
    # A store in a file takes one write at a time: more of them at once would wait for each other where nothing
    # bounds it, and be acknowledged long after their deadline.
    LaneName.WRITE: LaneSize(1, 16, 5.0),
    LaneName.BULK: LaneSize(1, 8, 30.0),
    LaneName.ADMIN: LaneSize(2, 16, 10.0),
    # What needs no key, so that nobody without one can keep the threads from those who have one.
    LaneName.PUBLIC: LaneSize(4, 64, 5.0),
}
SIZES_ON_SERVER: Final = {**SIZES, LaneName.WRITE: LaneSize(4, 64, 20.0)}
"""The lanes over a store on a server, which takes several writes at once."""
_THREADS_BESIDE: Final = 8
"""Threads for what takes no place in a lane: whether a remembered answer is still true is seen in microseconds."""
THREADS: Final = sum(size.at_once for size in SIZES_ON_SERVER.values()) + _THREADS_BESIDE
"""Threads that work: one for each request that is let in, and some beside."""


class _Waiting(Struct):
    """One request that waits, whose it is, and what tells it that its turn has come."""

    caller: str
    turn: asyncio.Future[None]


class Lane:
    """One lane of one process; callers take turns in it, and who waits with most requests makes room."""

    def __init__(self, name: LaneName, size: LaneSize) -> None:
        self._name, self._size, self._free = name, size, size.at_once
        self._waiting: list[_Waiting] = []
        self._last = ""

    async def enter(self, deadline: Deadline, caller: str = "") -> None:
        """Wait for a place; refuse a request that would wait too long, or has no place to wait."""
        if self._free:
            self._free -= 1
            return
        if len(self._waiting) >= self._size.waiting:
            self._make_room(caller)
        own = _Waiting(caller, asyncio.get_running_loop().create_future())
        self._waiting.append(own)
        try:
            await asyncio.wait_for(own.turn, min(self._size.wait_seconds, deadline.remaining()))
        except (TimeoutError, asyncio.CancelledError) as ended:
            if own in self._waiting:
                self._waiting.remove(own)
            elif not own.turn.cancelled() and own.turn.exception() is None:
                # The turn came at the very moment in which the wait was given up, and goes to the next.
                self.leave()
            if isinstance(ended, TimeoutError):
                raise self._refusal("is busy") from None
            raise

    def _make_room(self, caller: str) -> None:
        """Refuse the last request of the caller who waits with most; that may be the one who comes."""
        held = Counter(each.caller for each in self._patient())
        most, count = max(held.items(), key=lambda each: each[1], default=("", 0))
        if held[caller] + 1 >= count:
            raise self._refusal("is full")
        last = next(each for each in reversed(self._patient()) if each.caller == most)
        self._waiting.remove(last)
        last.turn.set_exception(self._refusal("is full"))

    def _patient(self) -> list[_Waiting]:
        """Return the requests that wait, without those whose time is just over, which leave by themselves."""
        return [each for each in self._waiting if not each.turn.done()]

    def leave(self) -> None:
        """Give the place to the next request, of another caller than the last one where there is one."""
        waiting = self._patient()
        if not waiting:
            self._free += 1
            return
        following = next((each for each in waiting if each.caller != self._last), waiting[0])
        self._waiting.remove(following)
        self._last = following.caller
        following.turn.set_result(None)

    def _refusal(self, how: str) -> Problem:
        return Problem(503, f"The lane for {self._name} requests {how}. Try again in a moment, or ask for less.")


class Lanes:
    """The lanes of one process."""

    def __init__(self, on_server: bool = False) -> None:
        self._sizes = SIZES_ON_SERVER if on_server else SIZES
        self._lanes: dict[LaneName, Lane] = {}

    def get(self, name: LaneName) -> Lane:
        """Return a lane; it is made when it is first used, because it belongs to the running event loop."""
        if name not in self._lanes:
            self._lanes[name] = Lane(name, self._sizes[name])
        return self._lanes[name]


def choose_lane(path: str, scope: Scope | None, body: bytes) -> LaneName:
    """Return the lane of a request, by its route and by what its body will cost."""
    if scope is Scope.ADMIN:
        return LaneName.ADMIN
    if scope in (Scope.WRITE, Scope.MEMORY):
        return LaneName.BULK if len(body) > _BULK_BODY_BYTES else LaneName.WRITE
    if path in _HEAVY_PATHS or (path == "/api/context" and _is_heavy(body)):
        return LaneName.HEAVY
    return LaneName.LIGHT


def _is_heavy(body: bytes) -> bool:
    """Return whether a question will cost many times what others do."""
    if len(body) > _HEAVY_BODY_BYTES:
        return True
    try:
        asked = orjson.loads(body)
    except ValueError:
        return False
    if not isinstance(asked, dict):
        return False
    turns = asked.get("history")
    return (
        (isinstance(turns, list) and sum(len(turn) for turn in turns if isinstance(turn, str)) > _HEAVY_TURNS)
        or _length(asked.get("candidates")) > _HEAVY_CANDIDATES
        or _length(asked.get("topics")) > _HEAVY_TOPICS
        or _number(asked.get("max_depth")) > _HEAVY_DEPTH
        or _number(asked.get("context_limit")) > _HEAVY_LIMIT
        or _number(asked.get("max_tokens")) > _HEAVY_BUDGET
        # A view as of a chapter may have to be made first, which is indexing.
        or asked.get("as_of") is not None
    )


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0
