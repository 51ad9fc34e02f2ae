"""Run the fuzzers for some time, and print how many inputs each took and what it found.

    python -m fuzz --seconds 120          all targets, in turn
    python -m fuzz --only read.md print   some of them
    python -m fuzz --guided --seconds 600 guided by coverage, with atheris

An input that breaks a promise is made as small as possible and printed; keep it in test_fuzz_targets.py.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzz.targets import TARGETS

ROUND = 100
"""Inputs between two looks at the clock."""


def run_target(name: str, seconds: float, first_seed: int) -> tuple[int, str]:
    """Try inputs for some time; return how many there were, and the first failure as text."""
    strategy, check = TARGETS[name]
    tried, number, ends = 0, first_seed, time.monotonic() + seconds

    def counted(value: object) -> None:
        nonlocal tried
        tried += 1
        check(value)

    options = settings(
        max_examples=ROUND,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    while time.monotonic() < ends:
        try:
            seed(number)(options(given(strategy)(counted)))()
        except Exception:  # noqa: BLE001  (whatever is raised is a find)
            return tried, traceback.format_exc()
        number += 1
    return tried, ""


def run_guided(name: str, seconds: float, first_seed: int) -> tuple[int, str]:
    """Try inputs guided by coverage, in a process of its own, which a find ends."""
    words = [sys.executable, "-m", "fuzz.guided", name, "--seconds", str(max(int(seconds), 1))]
    # In a folder of its own: an input that fails is written to the working folder.
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join(str(Path(place).resolve()) for place in sys.path)
        done = subprocess.run(
            [*words, "--seed", str(first_seed)],
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            check=False,
        )
    counted = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    return int(counted[1]) if counted else 0, "" if done.returncode == 0 else done.stderr[-3000:]


def main() -> int:
    """Run the targets that are asked for; return how many found something."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="time for all targets together")
    parser.add_argument("--only", nargs="*", choices=sorted(TARGETS), help="some targets")
    parser.add_argument("--seed", type=int, default=1, help="another seed tries other inputs")
    parser.add_argument("--guided", action="store_true", help="let atheris follow the coverage of each target")
    given_options = parser.parse_args()
    names = given_options.only or list(TARGETS)
    found, run = 0, run_guided if given_options.guided else run_target
    for name in names:
        tried, failure = run(name, given_options.seconds / len(names), given_options.seed)
        print(f"{name}: {tried} inputs, {'1 find' if failure else 'nothing found'}", flush=True)
        if failure:
            found += 1
            print(failure, flush=True)
    return min(found, 100)


if __name__ == "__main__":
    sys.exit(main())
