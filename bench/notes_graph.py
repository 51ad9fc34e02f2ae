"""How fast a page about notes is: depth 2 over a Tana export, as it is and many times over, warm and as a command.

python -m bench.notes_graph EXPORT.json [--copies 28]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any

from weft import Weft

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROUNDS = 200
COMMANDS = 7
PREFIX = "c{}-"
"""Return the prefix of the ids of one copy."""


def main() -> None:
    """Print one line for the export and, with copies, one for the larger world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("export", type=Path)
    parser.add_argument(
        "--copies", type=int, default=1, help="how many times over the larger world holds the export"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        notes = measure(given.export, Path(folder) / "one")
        if given.copies > 1:
            larger = Path(folder) / "larger.json"
            larger.write_text(json.dumps(multiplied(json.loads(given.export.read_bytes()), given.copies)))
            middle = PREFIX.format(given.copies // 2)
            measure(larger, Path(folder) / "many", [(middle + name, title) for name, title in notes])


def multiplied(export: Mapping[str, Any], copies: int) -> dict[str, Any]:
    """Return an export that holds every document several times, under ids of its own."""
    names = {doc["id"] for doc in export["docs"]}
    docs = [doc for number in range(copies) for doc in _copied(export["docs"], names, PREFIX.format(number))]
    return {**export, "docs": docs}


def _copied(docs: list[dict[str, Any]], names: set[str], prefix: str) -> list[dict[str, Any]]:
    def moved(name: str) -> str:
        return prefix + name if name in names else name

    copies = []
    for doc in docs:
        props = {
            key: moved(value) if key in ("_ownerId", "_metaNodeId") else value
            for key, value in doc["props"].items()
        }
        children = [moved(child) for child in doc.get("children") or ()]
        copies.append({**doc, "id": moved(doc["id"]), "props": props, "children": children})
    return copies


def measure(export: Path, store: Path, given: list[tuple[str, str]] | None = None) -> list[tuple[str, str]]:
    """Index an export, ask about its notes warm and as a command, print what it took; the notes asked about."""
    with Weft.open(store) as weft:
        begun = perf_counter()
        written = weft.index(export, source="notes").written
        print(f"{written:,} notes indexed in {perf_counter() - begun:.1f} s")
        notes = given or asked(weft)
        print(f"  warm, from a node: {warm(weft, [{'start': (f'notes:{name}',)} for name, _ in notes])}")
        print(f"  warm, from a question: {warm(weft, [{'question': title} for _, title in notes])}")
    print(f"  cold, the whole command: {cold(store, notes[0][1])}")
    return notes


def asked(weft: Weft) -> list[tuple[str, str]]:
    """Return notes to ask about, by id and title, the same in every run."""
    found = [
        each.node for word in ("chapter", "agenda", "monster") for each in weft.search(word, limit=40).candidates
    ]
    Random(7).shuffle(found)
    return [(node.key.partition(":")[2], node.title) for node in found]


def warm(weft: Weft, options: list[dict[str, Any]]) -> str:
    """Return milliseconds of one assembly in a process that has asked before."""
    took, worked = [], []
    for index in range(ROUNDS + 20):
        begun, working = perf_counter(), process_time()
        weft.context(profile="notes", depth=2, now=NOW, **options[index % len(options)])
        took.append((perf_counter() - begun) * 1000)
        worked.append((process_time() - working) * 1000)
    cuts = quantiles(took[20:], n=100)
    beside = f"of this process's own work p50 {median(worked[20:]):.1f} ms"
    return f"p50 {median(took[20:]):.1f} ms, p95 {cuts[94]:.1f} ms, p99 {cuts[98]:.1f} ms; {beside}"


def cold(store: Path, question: str) -> str:
    """Return seconds of the whole command, program start included."""
    command = [sys.executable, "-m", "weft", "context", question, "--profile", "notes", "--depth", "2"]
    around = {**os.environ, "WEFT_STORE": str(store)}
    took = []
    for _ in range(COMMANDS):
        begun = perf_counter()
        subprocess.run(command, env=around, check=True, capture_output=True)
        took.append(perf_counter() - begun)
    return f"median {median(took):.2f} s, worst {max(took):.2f} s"


if __name__ == "__main__":
    main()
