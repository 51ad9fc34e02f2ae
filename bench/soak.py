"""The memory of the service over an hour of mixed traffic at a modest rate.

    python -m bench.soak --nodes 100000 --rate 20 --seconds 3600

Questions that never repeat, remembered ones, searches, listings, writes, pages of sessions and heavy questions
come at a rate, whatever becomes of those before. First a fuller load brings the caches to their bounds; what the
memory grows by from then on is the figure. Memory is what the processes hold for themselves (anonymous, resident).
"""

import argparse
import asyncio
import json
import random
import sys
import time
from pathlib import Path

from bench.service import build, make_heavy, make_key, memory, start

# The connections and the tallies are those of the torture.
sys.path.append(str(Path(__file__).parents[1] / "tests"))

SHARES = {"new": 60, "again": 12, "search": 8, "list": 4, "write": 8, "session": 6, "heavy": 2}
"""The kinds of requests and how many of a hundred they are."""
SESSIONS = 2_000
"""Sessions that are gone through: more than a key may keep, so that old ones have to go."""
WRITTEN_KEYS = 500
"""Nodes that are written again and again, so that the store itself does not grow."""
LOOK_SECONDS = 300.0
_WARM_PART_SECONDS = 5.0


class Traffic:
    """Requests of many callers about the world of the bench."""

    def __init__(self, bodies: list[dict[str, object]], key: dict[str, str]) -> None:
        self._bodies, self._key, self._chance, self._number = bodies, key, random.Random(13), 0

    def next(self) -> tuple[str, bytes]:
        """Return the kind of the next request, and the request itself."""
        self._number += 1
        kind = self._chance.choices(tuple(SHARES), tuple(SHARES.values()))[0]
        body, tenant = self._chance.choice(self._bodies), f"t{self._chance.randrange(20)}"
        asked = {**body, "tenant_ids": [tenant], "query": f"{body['query']} {self._number}"}
        method, path = "POST", "/api/context"
        match kind:
            case "again":
                asked = dict(self._bodies[self._number % 200])
            case "search":
                path = "/api/search"
                del asked["max_tokens"]
            case "list":
                method, path = "GET", f"/api/nodes?tenant_id={tenant}&limit=20"
            case "write":
                method, path = "PUT", "/api/nodes"
                text = f"{body['query']} This was written as number {self._number}."
                node = {"tenant_id": tenant, "key": f"soak:{self._number % WRITTEN_KEYS}", "node_type": "faq"}
                asked = {"nodes": [{**node, "title": "Soak", "content": {"text": text}}]}
            case "session":
                asked |= {"format": "plain", "session": f"soak-{self._number % SESSIONS}"}
            case "heavy":
                asked = json.loads(make_heavy(asked, self._number))
        content = b"" if method == "GET" else json.dumps(asked).encode()
        head = "".join(f"{name}: {value}\r\n" for name, value in self._key.items())
        return kind, (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{head}Content-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        ).encode() + content


async def soak(port: int, pid: int, traffic: Traffic, rate: float, warm_answers: int, seconds: float) -> float:
    """Put the load on and print what is held every few minutes; return the share by which the memory grew."""
    from torture.overload import Connections, Tally, ask_at_rate, ask_in_turn

    connections, warm = Connections(port), Tally()
    # Counted in answers: what the processes keep fills with these, however long they take.
    while warm.accepted < warm_answers:
        await ask_in_turn(connections, traffic, 16, _WARM_PART_SECONDS, warm)  # type: ignore[arg-type]
    first = memory(pid)
    print(f"warmed up with {warm.accepted:,} answers: {first / 1e6:.0f} MB", flush=True)
    started, held, answered, wrong = time.monotonic(), first, 0, warm.wrong
    while (passed := time.monotonic() - started) < seconds:
        part = min(LOOK_SECONDS, seconds - passed)
        tally = await ask_at_rate(connections, traffic, rate, part, lambda: None)  # type: ignore[arg-type]
        held, answered, wrong = memory(pid), answered + tally.accepted, [*wrong, *tally.wrong]
        print(
            f"after {(time.monotonic() - started) / 60:.0f} min, {answered:,} answers, {tally.shed} refused: "
            f"{held / 1e6:.0f} MB ({held / first - 1:+.1%})",
            flush=True,
        )
    connections.close()
    for each in wrong[:10]:
        print(f"   wrong: {each}")
    return held / first - 1


def main() -> None:
    """Build the store if need be, serve it, put the load on and print."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--nodes", type=int, default=100_000)
    asked.add_argument("--store", type=Path, default=Path(__file__).parent / "out" / "service" / ".weft")
    asked.add_argument("--rate", type=float, default=20.0, help="requests a second")
    asked.add_argument("--warm-answers", type=int, default=10_000, help="answers before memory is looked at")
    asked.add_argument("--seconds", type=float, default=3600.0)
    asked.add_argument("--workers", type=int, default=2)
    asked.add_argument("--port", type=int, default=8732)
    given = asked.parse_args()
    bodies = build(given.nodes, 20, given.store)
    traffic = Traffic(bodies, make_key(given.store))
    server = start(given.store, given.port, given.workers)
    try:
        grown = asyncio.run(soak(given.port, server.pid, traffic, given.rate, given.warm_answers, given.seconds))
        print(f"memory grew by {grown:+.1%}")
    finally:
        server.terminate()
        server.wait(60)


if __name__ == "__main__":
    main()
