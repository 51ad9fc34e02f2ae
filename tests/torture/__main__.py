"""Run every kind of torture for a while and print what was done and what was lost: `make torture`.

python -m torture --seconds 60            a short run of everything
python -m torture --kills 1000 --power-losses 500 --seconds 7200 --only kills,power
"""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from torture.clock import run_clock_jumps
from torture.damage import run_damage
from torture.disk import run_disk_faults
from torture.forgeries import run_forgeries
from torture.kills import run_kills
from torture.leaks import run_leaks
from torture.overload import run_overload
from torture.power import run_power_losses
from torture.together import run_together

PARTS = {
    "kills": run_kills,
    "power": run_power_losses,
    "damage": run_damage,
    "disk": run_disk_faults,
    "clock": run_clock_jumps,
    "overload": run_overload,
    "leaks": run_leaks,
    "together": run_together,
    "forgeries": run_forgeries,
}


def main() -> int:
    """Run the parts one after the other, each for its share of the time; return 1 if anything was lost."""
    reader = argparse.ArgumentParser(description="Interrupt, starve and damage a store, and count what is lost.")
    reader.add_argument("--seconds", type=float, default=90.0, help="for all parts together")
    reader.add_argument("--most", type=int, default=1_000_000, help="interruptions of each part at most")
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    given = reader.parse_args()
    parts, lost = given.only.split(","), 0
    for name in parts:
        # In memory where there is such a folder: what a disk holds is simulated, and syncing only takes time.
        place = "/dev/shm" if Path("/dev/shm").is_dir() else None
        folder = Path(tempfile.mkdtemp(prefix=f"weft-torture-{name}-", dir=place))
        started = time.monotonic()
        figures = PARTS[name](folder, given.seed, started + given.seconds / len(parts), given.most)
        shutil.rmtree(folder, ignore_errors=True)
        lost += figures["losses"]
        told = ", ".join(f"{what.replace('_', ' ')}: {count:,}" for what, count in figures.items())
        print(f"{name}: {told} ({time.monotonic() - started:.0f} s, seed {given.seed})", flush=True)
    print(f"lost or half-written in all: {lost}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
