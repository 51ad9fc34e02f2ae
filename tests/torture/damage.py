"""Flip bits in every file, cut files off, and fill the disk: answers stay true or the trouble is told."""

import os
import random
import resource
import shutil
import time
from pathlib import Path

from torture.workload import Ledger, load_everything, make_files, run_work
from weft import Weft
from weft.errors import WeftError

TENANT = "torture"


def run_damage(folder: Path, seed: int, until: float, most: int) -> dict[str, int]:
    """Return how many files were damaged, and how often that was neither noticed nor without effect."""
    chance, faults, losses = random.Random(seed), 0, []
    home = folder / "sound"
    make_files(home / "beside")
    (home / ".weft").mkdir()
    ledger = Ledger()
    run_work(home / ".weft", seed, 80, ledger.read, home / "beside")
    question = "w1v1x1 w2 node"
    with Weft.open(home / ".weft", embedder=None) as weft:
        sound = weft.context(question, tenants=(TENANT, "files")).text
    while time.monotonic() < until and faults < most:
        faults += 1
        spoilt = folder / "spoilt"
        shutil.rmtree(spoilt, ignore_errors=True)
        shutil.copytree(home / ".weft", spoilt)
        file = chance.choice(sorted(each for each in spoilt.rglob("*") if each.is_file() and each.stat().st_size))
        _damage(file, chance)
        try:
            with Weft.open(spoilt, embedder=None) as weft:
                page = weft.context(question, tenants=(TENANT, "files")).text
                if page != sound and not weft.verify():
                    losses.append(f"another answer after damage to {file.relative_to(spoilt)}")
        except WeftError:
            continue
        except Exception as error:  # noqa: BLE001  (an error that is not ours tells nobody what to do)
            losses.append(f"{type(error).__name__} after damage to {file.relative_to(spoilt)}: {error}")
    for loss in losses[:20]:
        print("  ", loss)
    return {"damaged_files": faults, "losses": len(losses)}


def _damage(file: Path, chance: random.Random) -> None:
    content = bytearray(file.read_bytes())
    if chance.random() < 0.3:
        del content[chance.randrange(len(content)) :]
    else:
        for _ in range(chance.choice((1, 1, 8))):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)


def run_full_disks(folder: Path, seed: int, until: float, most: int) -> dict[str, int]:
    """Return how often files could not grow, and how much was lost by that."""
    chance, faults, losses = random.Random(seed), 0, []
    load_everything()
    while time.monotonic() < until and faults < most:
        home = folder / f"full{faults}"
        faults += 1
        make_files(home / "beside")
        (home / ".weft").mkdir()
        lines = _work_on_full_disk(home, seed + faults, chance.randrange(20_000, 3_000_000))
        ledger = Ledger()
        for line in lines:
            ledger.read(line)
        try:
            losses += ledger.check(home / ".weft")
        except WeftError as error:
            # A store that could not even be made holds nothing that was acknowledged.
            losses += [f"does not open: {error}"] if ledger.nodes or ledger.keys else []
        shutil.rmtree(home)
    for loss in losses[:20]:
        print("  ", loss)
    return {"full_disks": faults, "losses": len(losses)}


def _work_on_full_disk(home: Path, seed: int, most_bytes: int) -> list[str]:
    """Return what was acknowledged by a process whose files cannot grow beyond a size."""
    told = home / "told"
    child = os.fork()
    if child == 0:
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        out = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for attempt in range(4):
            # Work goes on after a refusal, as a service would.
            try:
                run_work(
                    home / ".weft",
                    seed * 10 + attempt,
                    20,
                    lambda line: os.write(out, f"{line}\n".encode()) and None,
                    home / "beside",
                )
            except (WeftError, OSError):
                # What was refused must not be there, or only as a step that was not acknowledged.
                continue
        os._exit(0)
    os.waitpid(child, 0)
    return told.read_text(encoding="utf-8").splitlines() if told.exists() else []
