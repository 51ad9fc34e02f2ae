"""Kill processes at random moments of their work, again and again, and look for what is lost."""

import os
import random
import select
import shutil
import signal
import time
from pathlib import Path

from torture.workload import Ledger, check_backups, load_everything, make_files, run_work

_STEPS = 10_000
_LONGEST_SECONDS = 0.6


def run_kills(folder: Path, seed: int, until: float, most: int) -> dict[str, int]:
    """Return how many processes were killed, how many steps they acknowledged, and how much was lost."""
    chance, beside, store = random.Random(seed), folder / "beside", folder / ".weft"
    make_files(beside)
    load_everything()
    store.mkdir(parents=True)
    ledger, kills, acknowledged, losses = Ledger(), 0, 0, []
    while time.monotonic() < until and kills < most:
        lines = _work_until_killed(store, beside, seed + kills, chance.uniform(0.0, _LONGEST_SECONDS))
        kills += 1
        for line in lines:
            ledger.read(line)
        acknowledged += len([line for line in lines if not line.startswith("begin")])
        losses += ledger.check(store)
        losses += check_backups(beside)
        for left in (*beside.glob("backup-*"), *beside.glob("copy-*")):
            shutil.rmtree(left, ignore_errors=True)
    for loss in losses[:20]:
        print("  ", loss)
    return {"kills": kills, "acknowledged": acknowledged, "losses": len(losses)}


def _work_until_killed(store: Path, beside: Path, seed: int, seconds: float) -> list[str]:
    """Return what a process acknowledged before it was killed."""
    reading, writing = os.pipe()
    # Forked, because starting an interpreter would take longer than the work that is interrupted.
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            run_work(store, seed, _STEPS, lambda line: _tell(writing, line), beside)
        finally:
            os._exit(0)
    os.close(writing)
    received = bytearray()
    # From the first step on, so that the work is interrupted and not only the opening of the store.
    select.select([reading], [], [], 30)
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            part = os.read(reading, 65536)
            if not part:
                break
            received += part
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while part := os.read(reading, 65536):
        received += part
    os.close(reading)
    # The last line may be half; then its step was not acknowledged.
    return received.decode().split("\n")[:-1]


def _tell(writing: int, line: str) -> None:
    os.write(writing, f"{line}\n".encode())
