"""Flip bits in every file and cut files off: answers stay true or the trouble is told."""

import random
import shutil
import time
from pathlib import Path

from torture.workload import Ledger, make_files, run_work
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
