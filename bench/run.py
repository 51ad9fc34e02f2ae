"""Builds worlds, indexes and asks them in processes of their own, and prints what it measured as tables."""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.measures import folder_bytes
from bench.world import WORLDS, World, world

ROOT = Path(__file__).parents[1]
OUT = Path(__file__).parent / "out"
COLD_RUNS = 7
PEERS = ("tantivy", "numpy", "simsimd", "tiktoken")
PARTS = ("read", "prepare", "wait", "store", "link", "link-write", "index", "rest")


def measure(sizes: Sequence[int], given: argparse.Namespace) -> dict[str, Any]:
    """Measure everything, by size, with where and when."""
    found: dict[str, Any] = {"machine": _machine(), "questions": given.questions, "budget": given.budget}
    found["sizes"] = {str(size): _one(world(size, given.data), given) for size in sizes}
    found["cold_seconds"] = _cold(given.embedder)
    if given.install:
        found["install_megabytes"] = _installed()
    return found


def _machine() -> dict[str, str | float]:
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count() or 0,
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else 0,
        **{name: version(name) for name in PEERS},
    }


def _one(made: World, given: argparse.Namespace) -> dict[str, Any]:
    store = made.folder.parent / f"store-{given.embedder}"
    kept = store.with_suffix(".json")
    if given.again or not kept.exists():
        measured = _run("bench.indexing", made.folder, store, "--embedder", given.embedder)
        kept.write_text(json.dumps(measured), encoding="utf-8")
    options = ["--count", given.questions, "--budget", given.budget, "--embedder", given.embedder]
    asked = _run("bench.asking", store, made.folder, made.questions, *options)
    return {"index": json.loads(kept.read_text("utf-8")), "ask": asked}


def _run(module: str, *arguments: object) -> Any:
    """Return what a process of its own prints, so that one does not warm or fill the memory of another."""
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        env=_environment(),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


def _environment() -> dict[str, str]:
    # As after an installation: what was compiled once is not compiled again.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def _cold(embedder: str) -> dict[str, float]:
    """Return wall time of the first `weft context` of a process, on a small store."""
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "records"
        small.mkdir()
        lines = (world(10_000).folder / "part-0000.jsonl").read_text("utf-8").splitlines()[:200]
        (small / "small.jsonl").write_text("\n".join(lines), encoding="utf-8")
        store = Path(folder) / "store"
        _run("bench.indexing", small, store, "--embedder", embedder)
        for _ in range(COLD_RUNS):
            started = time.perf_counter()
            command = [
                sys.executable,
                "-m",
                "weft",
                "context",
                "what depends on the module",
                "--store",
                str(store),
            ]
            subprocess.run(command, env=_environment(), cwd=folder, stdout=subprocess.DEVNULL, check=True)
            taken.append(time.perf_counter() - started)
    return {"best": min(taken), "median": statistics.median(taken)}


def _installed() -> float:
    """Return the size of a fresh environment with Weft alone."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        pip = [sys.executable, "-m", "pip", "--python", folder, "install", "--quiet", str(ROOT)]
        subprocess.run(pip, check=True)
        return folder_bytes(Path(folder)) / 1e6


def tables(found: Mapping[str, Any]) -> str:
    """Return the measures as markdown tables."""
    sizes = list(found["sizes"])
    rows = [["", *(f"{int(size):,} nodes" for size in sizes), "growth"]]
    for label, path, digits in _lines(found["sizes"][sizes[0]]):
        values = [_at(found["sizes"][size], path) for size in sizes]
        growth = f"x{values[-1] / values[-2]:.1f}" if len(values) > 1 and values[-2] else ""
        rows.append([label, *(f"{value:,.{digits}f}" for value in values), growth])
    cold = found["cold_seconds"]
    result = [
        ", ".join(f"{name} {value}" for name, value in found["machine"].items()),
        _table(rows),
        f"Cold `weft context` on 200 nodes: best {cold['best']:.2f} s, median {cold['median']:.2f} s.",
    ]
    if "install_megabytes" in found:
        result.append(f"Install: {found['install_megabytes']:.0f} MB.")
    return "\n\n".join(result)


def _lines(first: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...], int]]:
    """Return the rows of the table: a label, the path of the value, and its digits."""
    percentiles = ("p50", "p95", "p99")
    return [
        ("index, nodes/s", ("index", "nodes_per_second"), 0),
        ("index, nodes/s of processor time", ("index", "nodes_per_cpu_second"), 0),
        *((f"index, {part}, s", ("index", "split", part), 1) for part in PARTS if part in first["index"]["split"]),
        ("links", ("index", "links"), 0),
        ("store file, MB", ("index", "store_megabytes"), 0),
        ("derived files, MB", ("index", "derived_megabytes"), 0),
        ("peak memory of indexing, MB", ("index", "peak_megabytes"), 0),
        *((f"context {each}, ms", ("ask", "context", each), 1) for each in percentiles),
        ("context p50, ms of processor time", ("ask", "context_cpu", "p50"), 1),
        *((f"stage {stage} p50, ms", ("ask", "stages", stage, "p50"), 2) for stage in first["ask"]["stages"]),
        ("budget filled", ("ask", "fill"), 3),
        ("lexical search p50, ms", ("ask", "lexical", "p50"), 2),
        ("lexical index top 10 p50, ms", ("ask", "engine", "p50"), 2),
        ("bare tantivy top 10 p50, ms", ("ask", "tantivy", "p50"), 2),
        ("hybrid search p50, ms", ("ask", "hybrid", "p50"), 2),
        ("recall@10 of the semantic search", ("ask", "recall"), 3),
        ("peak memory of asking, mapped files included, MB", ("ask", "peak_megabytes"), 0),
        ("memory of asking without mapped files, MB", ("ask", "own_megabytes"), 0),
        ("memory of one assembly, MB", ("ask", "assembly_megabytes"), 1),
    ]


def _at(measured: Mapping[str, Any], path: Sequence[str]) -> float:
    value: Any = measured
    for name in path:
        value = value[name]
    return float(value)


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    lines = ["| " + " | ".join(_cells(row, widths)) + " |" for row in rows]
    lines.insert(
        1, "|" + "|".join("-" * (width + 1) + (":" if index else "-") for index, width in enumerate(widths)) + "|"
    )
    return "\n".join(lines)


def _cells(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        cell.rjust(width) if index else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]


def main() -> None:
    """Measure, print the tables and keep the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--sizes", default="10000,100000", help="numbers of nodes, smallest first")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--budget", type=int, default=4000)
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--data", type=Path, help="a folder whose corpus.jsonl files add their text to the worlds")
    parser.add_argument("--again", action="store_true", help="index even where an earlier run's store is there")
    parser.add_argument(
        "--install", action="store_true", help="also install into a fresh environment and weigh it"
    )
    given = parser.parse_args()
    WORLDS.mkdir(exist_ok=True)
    found = measure([int(size) for size in given.sizes.split(",")], given)
    OUT.mkdir(exist_ok=True)
    (OUT / f"{datetime.now(UTC):%Y%m%d-%H%M%S}.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    print(tables(found))


if __name__ == "__main__":
    main()
