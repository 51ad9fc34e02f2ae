"""Kill processes at random moments of their work, again and again, and look for what is lost."""

import os
import random
import select
import signal
import time
from collections import Counter
from pathlib import Path

from torture.workload import OPERATIONS, Ledger, check_beside, load_everything, make_files, run_work

_STEPS = 10_000
_FIRST_GUESS_SECONDS = 0.3
_LONGEST_SHARE = 1.2
"""How long an operation takes until one was seen to its end, and how far into that time the latest kills come: the
next operation is sometimes killed instead."""
_SILENCE_SECONDS = 60.0


def run_kills(folder: Path, seed: int, until: float, most: int) -> dict[str, int]:
    """Return how many processes were killed in which operation, what they acknowledged, and how much was lost."""
    chance, beside, store = random.Random(seed), folder / "beside", folder / ".weft"
    make_files(beside)
    load_everything()
    store.mkdir(parents=True)
    ledger, kills, acknowledged, losses = Ledger(), 0, 0, []
    killed_in, seconds_of = Counter[str](), dict.fromkeys(OPERATIONS, _FIRST_GUESS_SECONDS)
    while time.monotonic() < until and kills < most:
        favourite = tuple(OPERATIONS)[kills % len(OPERATIONS)]
        lines = _work_until_killed(store, beside, seed + kills, favourite, chance, seconds_of)
        kills += 1
        for line in lines:
            ledger.read(line)
        acknowledged += len([line for line in lines if line.startswith("done")])
        killed_in[ledger.under_way or "between"] += 1
        losses += [f"{loss} (killed in {ledger.under_way})" for loss in ledger.check(store)]
        losses += check_beside(beside)
    for loss in losses[:20]:
        print("  ", loss)
    print("   killed in:", ", ".join(f"{what} {count}" for what, count in killed_in.most_common()))
    return {"kills": kills, "acknowledged": acknowledged, "losses": len(losses)}


def _work_until_killed(
    store: Path, beside: Path, seed: int, favourite: str, chance: random.Random, seconds_of: dict[str, float]
) -> list[str]:
    """Return what a process acknowledged before it was killed, at a random moment of its first favourite step."""
    reading, writing = os.pipe()
    # Forked, because starting an interpreter would take longer than the work that is interrupted.
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            run_work(store, seed, _STEPS, lambda line: _tell(writing, line), beside, favourite)
        finally:
            os._exit(0)
    os.close(writing)
    received = _read_until_killing_time(reading, favourite, chance, seconds_of)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while part := os.read(reading, 65536):
        received += part
    os.close(reading)
    # The last line may be half; then its step was not acknowledged.
    return received.decode().split("\n")[:-1]


def _read_until_killing_time(
    reading: int, favourite: str, chance: random.Random, seconds_of: dict[str, float]
) -> bytearray:
    """Read what a process says until it is some way into its favourite step; learn how long steps take."""
    received, seen, begun = bytearray(), 0, ("", 0.0)
    ends = time.monotonic() + _SILENCE_SECONDS
    while (left := ends - time.monotonic()) > 0 and select.select([reading], [], [], left)[0]:
        part = os.read(reading, 65536)
        if not part:
            break
        received += part
        lines = received.decode().split("\n")[:-1]
        for what, *more in (line.split() for line in lines[seen:]):
            now = time.monotonic()
            if what == "begin":
                begun = (more[2], now)
                if more[2] == favourite and ends > now + _SILENCE_SECONDS / 2:
                    ends = now + chance.uniform(0.0, _LONGEST_SHARE) * seconds_of[favourite]
            elif what == "done" and begun[0] == favourite:
                seconds_of[favourite] = (seconds_of[favourite] + now - begun[1]) / 2
        seen = len(lines)
    return received


def _tell(writing: int, line: str) -> None:
    os.write(writing, f"{line}\n".encode())
