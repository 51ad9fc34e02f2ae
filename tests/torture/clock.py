"""Move the clock of a service while it is used, by seconds or years, forth and back: nothing may come of it.

A real `weft serve` runs with `recorder.c` loaded, which adds the seconds in a file to what the clock says.
Requests must be answered as ever; in the end every acknowledged write must be there, every key, and every backup.
"""

import asyncio
import json
import math
import mmap
import random
import shutil
import struct
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from torture.native import build_recorder
from torture.overload import Connections, Tally, Traffic, ask_in_turn
from torture.served import make_keys, make_store, serving
from weft import Weft
from weft.interfaces.keys import Grant, KeyRing, Scope
from weft.store.sqlite.backup_archive import add_to_archive, restore_at

_TENANTS = 4
_CALLERS = 6
_LONGEST_SECONDS = 20 * 366 * 24 * 3600
_BETWEEN_JUMPS_SECONDS = 0.3
_ARCHIVED_EVERY = 5
"""Jumps after which a backup is added to an archive; its name is a moment that may lie before the last."""
_SECONDS = struct.Struct("=q")
_DONE = 200


def run_clock_jumps(folder: Path, seed: int, until: float, most: int) -> dict[str, int]:
    """Return how often the clock was moved, how many requests came meanwhile, and what went wrong."""
    library = build_recorder(folder)
    if library is None:
        print("   no C compiler: moving the clock is left out")
        return {"jumps": 0, "losses": 0}
    store, clock = folder / ".weft", folder / "clock"
    tenants = make_store(store, _TENANTS)
    made = make_keys(store, [Grant(tenant, (tenant,), (Scope.READ, Scope.WRITE)) for tenant in tenants])
    clock.write_bytes(_SECONDS.pack(0))
    settings = {"LD_PRELOAD": str(library), "TORTURE_CLOCK": str(clock)}
    jumping = _Jumping(store, folder / "archive", made[0][1], random.Random(seed))
    with (
        serving(store, "--workers", "2", "--deadline", "8", settings=settings) as server,
        clock.open("r+b") as file,
    ):
        connections, traffic = Connections(server.port), Traffic([secret for _, secret in made], seed)
        with mmap.mmap(file.fileno(), _SECONDS.size) as moved:
            tally = asyncio.run(jumping.run(connections, traffic, moved, until, most))
    wrong = [*tally.wrong, *jumping.wrong, *jumping.check()]
    known = {key.id for key in KeyRing(store).all_keys()}
    wrong += [f"lost: key {key}" for key, _ in made if key not in known]
    for what, count in Counter(wrong).most_common(20):
        print(f"   {what} ({count} times)")
    return {"jumps": jumping.jumps, "requests": sum(tally.statuses.values()), "losses": len(wrong)}


class _Jumping:
    """A clock that is moved, and what was acknowledged meanwhile."""

    def __init__(self, store: Path, archive: Path, secret: str, chance: random.Random) -> None:
        self.jumps, self.wrong = 0, list[str]()
        self._store, self._archive, self._secret, self._chance = store, archive, secret, chance
        self._stored: dict[str, str] = {}
        self._archived: list[int] = []

    async def run(
        self, connections: Connections, traffic: Traffic, moved: mmap.mmap, until: float, most: int
    ) -> Tally:
        """Move the clock until the time is over, while callers ask and write; return what callers got."""
        # How late answers are is for the part overload to say.
        unhurried = Tally(most_seconds=math.inf)
        # The first answers of each process load models and files.
        await ask_in_turn(connections, traffic, _CALLERS, 1.0)
        asking = asyncio.create_task(
            ask_in_turn(connections, traffic, _CALLERS, max(until - time.monotonic(), 2.0), unhurried)
        )
        while not asking.done() and self.jumps < most:
            self.jumps += 1
            seconds = self._chance.choice((-1, 1)) * int(_LONGEST_SECONDS ** self._chance.random())
            moved[:] = _SECONDS.pack(seconds)
            await self._write(connections)
            if self.jumps % _ARCHIVED_EVERY == 0:
                now = datetime.now(UTC) + timedelta(seconds=seconds)
                self._archived.append(add_to_archive(self._store, self._archive, now).sequence)
            await asyncio.sleep(_BETWEEN_JUMPS_SECONDS)
        moved[:] = _SECONDS.pack(0)
        tally = await asking
        connections.close()
        return tally

    async def _write(self, connections: Connections) -> None:
        key, text = f"clock:{self.jumps}", f"Written after jump {self.jumps} of the clock."
        node = {"tenant_id": "t0", "key": key, "node_type": "faq", "title": key, "content": {"text": text}}
        body = json.dumps({"nodes": [node]}).encode()
        head = f"PUT /api/nodes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self._secret}\r\n"
        rest = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        status, _ = await connections.ask(f"{head}{rest}".encode() + body)
        if status == _DONE:
            self._stored[key] = text

    def check(self) -> list[str]:
        """Return what is lost: of the store, and of the moments that the archive can bring back."""
        with Weft.open(self._store) as weft:
            wrong = [f"verify: {problem}" for problem in weft.verify()]
            there = {node.key: node.text for node in weft.nodes(tenants="t0", limit=10_000)}
        wrong += [f"lost: {key}" for key, text in self._stored.items() if text not in there.get(key, "")]
        if not self._stored:
            wrong.append("no write was acknowledged")
        for number, sequence in enumerate(self._archived):
            place = self._store.with_name(f"restored{number}")
            restored, _ = restore_at(self._archive, place, sequence=sequence, replace=False, now=datetime.now(UTC))
            if restored.sequence != sequence:
                wrong.append(f"the archive gives write {restored.sequence} for write {sequence}")
            shutil.rmtree(place)
        return wrong
