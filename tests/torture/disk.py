"""Let the disk be full, broken or read-only from every single call on: what is refused is not stored, the rest is.

A process works with `recorder.c` loaded, which lets the first write fail, then in another store the second, and so
on until the work makes no more of them; the same with what syncs, and with what opens files for writing or changes
names. Then the disk is sound again, and the same process must be able to go on.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from torture.native import ALL, CHANGE, SYNC, WRITE, build_recorder, fail_calls, fail_nothing
from torture.workload import Ledger, load_everything, make_files, run_work
from weft.errors import WeftError

_KINDS = {"full": WRITE, "failing_syncs": SYNC, "read_only": CHANGE}
_STEPS_BEFORE, _STEPS_DURING, _STEPS_AFTER = 6, 8, 4


def run_disk_faults(folder: Path, seed: int, until: float, most: int) -> dict[str, int]:
    """Return how often each kind of call failed, and what was lost, half-written or not told."""
    library = build_recorder(folder)
    if library is None:
        print("   no C compiler: failing disks are left out")
        return {"faults": 0, "losses": 0}
    around = {
        **os.environ,
        "LD_PRELOAD": str(library),
        "TORTURE_ROOT": str(folder),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    words = [str(folder), str(seed), str(max(until - time.monotonic(), 1.0)), str(most)]
    done = subprocess.run(
        [sys.executable, "-m", "torture.disk", *words], env=around, check=True, stdout=subprocess.PIPE, text=True
    )
    *told, figures = done.stdout.splitlines()
    for line in told[:20]:
        print("  ", line)
    return json.loads(figures)  # type: ignore[no-any-return]


def _main(folder: Path, seed: int, seconds: float, most: int) -> None:
    until, faults, losses = time.monotonic() + seconds, dict.fromkeys(_KINDS, 0), 0
    beside, sound = folder / "beside", folder / "sound"
    load_everything()
    make_files(beside)
    before: list[str] = []
    sound.mkdir()
    run_work(sound, seed, _STEPS_BEFORE, before.append, beside)
    # The kinds in turn, so that a short run has tried each of them.
    tried = {kind: _try_every_call(kind, sound, beside, before, folder / "stores", seed) for kind in _KINDS}
    while tried and time.monotonic() < until and sum(faults.values()) < most:
        for kind in tuple(tried):
            wrong = next(tried[kind], None)
            if wrong is None:
                del tried[kind]
                continue
            faults[kind] += 1
            losses += len(wrong)
            for each in wrong:
                print(f"{kind} {faults[kind]}: {each}")
    print(json.dumps({**faults, "kinds_at_every_call": len(_KINDS) - len(tried), "losses": losses}))


def _try_every_call(
    kind: str, sound: Path, beside: Path, before: list[str], stores: Path, seed: int
) -> Iterator[list[str]]:
    """Let the first call of a kind fail, then the second, and so on; yield what is wrong after each."""
    chance = random.Random(seed)
    for number in count():
        store = stores / f"{kind}{number}"
        shutil.copytree(sound, store)
        ledger = Ledger()
        for line in before:
            ledger.read(line)
        wrong = _work(store, beside, seed + 1, _STEPS_DURING, ledger, (kind, number, chance.choice((1, 3, ALL))))
        calls = fail_nothing()
        wrong += _work(store, beside, seed + 2, _STEPS_AFTER, ledger, None)
        try:
            wrong += ledger.check(store)
        except WeftError as error:
            wrong.append(f"does not open: {error}")
        shutil.rmtree(store)
        yield wrong
        if calls <= number:
            return


def _work(
    store: Path, beside: Path, seed: int, steps: int, ledger: Ledger, failing: tuple[str, int, int] | None
) -> list[str]:
    """Work on a store whose disk fails, or is sound again; return what was told wrongly."""
    if failing:
        kind, after, times = failing
        fail_calls(_KINDS[kind], after, times)
    try:
        run_work(store, seed, steps, ledger.read, beside)
    except WeftError as error:
        if failing is None:
            return [f"refused although the disk is sound again: {error}"]
        ledger.refuse()
    except Exception as error:  # noqa: BLE001  (an error that is not ours tells nobody what to do)
        return [f"{type(error).__name__}: {error}"]
    return []


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
