"""How long the first moments take: `import weft`, `weft --help`, and a cold `weft context`.

python bench/startup.py [--runs 15]

Each is a new process. Wall time is what somebody waits for, and means something on a quiet machine only; processor
time is what the start costs on any. The best of the runs is the one that others disturbed least.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMITS_MS = {"import weft": 100, "weft --help": 200, "weft context": 400}
"""The limit of each on two quiet cores, in milliseconds."""
COMMANDS = {
    "import weft": ["-c", "import weft"],
    "weft --help": ["-m", "weft", "--help"],
    "weft context": ["-m", "weft", "context", "Why does the worker say database is locked?"],
}


def measure(arguments: list[str], folder: str, around: dict[str, str]) -> tuple[float, float]:
    """Return the wall and processor time of one run, in milliseconds."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=folder, env=around, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall * 1000, used * 1000


def main() -> None:
    """Print a table of the best and the median of the runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15, help="runs of each; the first, unmeasured, warms the disk")
    runs = parser.parse_args().runs
    # As after an installation, whatever this environment says: what was compiled once is not compiled again.
    around = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory(prefix="weft-startup-") as folder, tempfile.TemporaryDirectory() as compiled:
        around |= {"PYTHONPATH": str(ROOT / "src"), "PYTHONPYCACHEPREFIX": compiled}
        index = [sys.executable, "-m", "weft", "index", str(ROOT / "examples" / "repo")]
        subprocess.run(index, cwd=folder, env=around, stdout=subprocess.DEVNULL, check=True)
        print(f"{'':16}{'limit':>8}{'best':>8}{'median':>8}{'processor':>11}   ms, {runs} runs")
        for name, arguments in {"python alone": ["-c", ""], **COMMANDS}.items():
            measure(arguments, folder, around)
            walls, used = zip(*(measure(arguments, folder, around) for _ in range(runs)), strict=True)
            limit = LIMITS_MS.get(name, "")
            print(f"{name:16}{limit!s:>8}{min(walls):8.0f}{statistics.median(walls):8.0f}{min(used):11.0f}")


if __name__ == "__main__":
    main()
