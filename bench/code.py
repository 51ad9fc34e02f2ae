"""How fast repositories are read: lines a minute with and without embeddings, memory, a second run, and pages.

python -m bench.code [--packages django,sqlalchemy,numpy,flask,requests,pytest] [--again]

The sources come from the package index as sdists, numpy's Python part as a wheel, and stay in bench/worlds/code/.
Wall time is what a reader waits for; processor time, children included, is what the work costs and what a busy
machine leaves comparable.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median, quantiles
from threading import Event, Thread
from time import perf_counter, process_time
from typing import Any, Self

ROOT = Path(__file__).parents[1]
WORLDS = ROOT / "bench" / "worlds" / "code"
PACKAGES = "django,sqlalchemy,numpy,flask,requests,pytest"
BUILT = frozenset({"numpy"})
"""Packages whose sdist cannot be had without building it; the wheel holds their Python part."""
QUESTIONS = (
    "where are migrations applied",
    "how is a queryset turned into SQL",
    "what happens when a form is invalid",
    "where is the session cookie set",
    "how does the admin check permissions",
    "which middleware handles csrf tokens",
    "how are templates cached",
    "where is the connection to the database closed",
    "how is a url pattern matched",
    "what does prefetch_related do",
)
ROUNDS = 5


def main() -> None:
    """Fetch, index twice with each embedder, ask, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", default=PACKAGES)
    parser.add_argument("--again", action="store_true", help="index anew where an earlier run left a store")
    parser.add_argument("--measure", nargs=3, metavar=("FOLDER", "STORE", "EMBEDDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measured(*given.measure)))
        return
    print(
        "| repository | embedder | lines | nodes | lines/min | of processor | again, s | MB | page p50/p95, ms |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for package in given.packages.split(","):
        folder = fetched(package)
        lines = lines_of_code(folder)
        for embedder in ("none", "static"):
            store = WORLDS / f"{package}-{embedder}.weft"
            if given.again:
                shutil.rmtree(store, ignore_errors=True)
            first, again = alone(folder, store, embedder), alone(folder, store, embedder)
            print(_row(package, embedder, lines, first, again), flush=True)


def _row(package: str, embedder: str, lines: int, first: dict[str, Any], again: dict[str, Any]) -> str:
    speed, of_processor = (f"{60 * lines / first[each]:,.0f}" for each in ("seconds", "processor"))
    if not first["written"]:
        speed = of_processor = "stored before"
    rerun = f"{again['seconds']:.1f} ({again['processor']:.1f} of processor)"
    asked = f"{again['p50']:.1f}/{again['p95']:.1f}"
    peak = max(first["peak"], again["peak"])
    return (
        f"| {package} | {embedder} | {lines:,} | {again['nodes']:,} | {speed} | {of_processor} | {rerun} | "
        f"{peak:.0f} | {asked} |"
    )


def fetched(package: str) -> Path:
    """Return the unpacked sdist of a package, or its wheel, downloaded if it is not there."""
    folder = WORLDS / package
    if not folder.is_dir():
        folder.mkdir(parents=True)
        kind = "--only-binary" if package in BUILT else "--no-binary"
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", kind, ":all:"]
        subprocess.run([*pip, "--dest", str(folder), package], check=True)
        (archive,) = folder.iterdir()
        shutil.unpack_archive(archive, folder / package, "zip" if archive.suffix == ".whl" else "gztar")
        archive.unlink()
    return next(each for each in sorted(folder.iterdir()) if each.is_dir())


def lines_of_code(folder: Path) -> int:
    """Return the lines of all files that the code source takes."""
    from weft.sources.code import Code

    files = (file for file in sorted(folder.rglob("*")) if file.suffix in Code.suffixes and file.is_file())
    return sum(file.read_bytes().count(b"\n") for file in files)


def alone(folder: Path, store: Path, embedder: str) -> dict[str, Any]:
    """Measure in a process of its own."""
    around = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "bench.code", "--measure", str(folder), str(store), embedder]
    done = subprocess.run(command, capture_output=True, check=True, text=True, env=around, cwd=ROOT)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def measured(folder: str, store: str, embedder: str) -> dict[str, Any]:
    """Index a folder into a store, then ask it."""
    from weft import Weft

    with Weft.open(store, embedder=None if embedder == "none" else embedder) as weft:
        began, used = perf_counter(), _processor()
        with Resident() as resident:
            report = weft.index(folder, source="code")
        seconds, processor = perf_counter() - began, _processor() - used
        for question in QUESTIONS:
            weft.context(question)
        taken = [_asked(weft, question) for _ in range(ROUNDS) for question in QUESTIONS]
        nodes = weft.status().nodes
    return {
        "seconds": seconds,
        "processor": processor,
        "peak": resident.peak / 1e6,
        "written": report.written,
        "nodes": nodes,
        "p50": median(taken),
        "p95": quantiles(taken, n=20)[-1],
    }


class Resident:
    """The most memory resident at one time, of this process and its children together.

    A child that has not become a program of its own yet still has our memory, which is counted once.
    """

    def __init__(self) -> None:
        self.peak = 0
        self._done = Event()
        self._watching = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watching.join()

    def _watch(self) -> None:
        page, own = os.sysconf("SC_PAGE_SIZE"), os.getpid()
        program = _program(own)
        while not self._done.wait(0.05):
            with suppress(OSError):
                children = Path(f"/proc/{own}/task/{own}/children").read_text().split()
                counted = [own, *(child for child in children if _program(child) != program)]
                pages = [Path(f"/proc/{each}/statm").read_text().split()[1] for each in counted]
                self.peak = max(self.peak, page * sum(map(int, pages)))


def _program(process: int | str) -> bytes:
    return Path(f"/proc/{process}/cmdline").read_bytes()


def _asked(weft: Any, question: str) -> float:
    """Return milliseconds of processor time for one page."""
    began = process_time()
    weft.context(question)
    return (process_time() - began) * 1000


def _processor() -> float:
    own, children = getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
