"""Merge the exports of two machines at random, as git does, and count conflicts and resurrections.

python -m bench.memory.merges [--merges 1000] [--seed 1]

Each merge starts from a common export; both machines add, change and forget records, and `git merge-file --union`
joins the two files. A conflict is a marker in the merged file or a line that cannot be read; a resurrection is a
record that one machine had forgotten and the merged file holds.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Final

from weft.memory import Memory
from weft.memory.exchange import Record, merge_records, read_lines, write_lines
from weft.memory.memories import Earlier

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_STEP: Final = timedelta(minutes=1)
_HOURS: Final = 1_000
"""The hours over which changes are spread; few, so that some fall on the same moment."""


def random_edits(base: Mapping[str, Record], random: Random, edits: int) -> dict[str, Record]:
    """Return the records after one machine has added, changed and forgotten some."""
    records = dict(base)
    for _ in range(edits):
        when = START + timedelta(hours=random.randrange(_HOURS))
        living = sorted(key for key, record in records.items() if not record.forgotten)
        choice = random.random()
        if living and choice < 0.3:
            key = random.choice(living)
            records[key] = Record(key, max(when, records[key].updated + _STEP), forgotten=True)
            continue
        key = random.choice(living) if living and choice < 0.6 else f"memory:{random.randrange(16**12):012x}"
        # A machine that changes a record has seen its last change.
        when = max(when, records[key].updated + _STEP) if key in records else when
        text = f"The limit of queue {random.randrange(50)} is {random.randrange(1000)}"
        before = records[key].memory if key in records else None
        history = (*before.history, Earlier(before.text, when)) if before else ()
        records[key] = Record(key, when, memory=Memory(key, text, "fact", 0.5, START, when, history=history))
    return records


def merge_files(
    base: Mapping[str, Record], ours: Mapping[str, Record], theirs: Mapping[str, Record], folder: Path
) -> str:
    """Return the text that git makes of two versions of an export."""
    files = []
    for name, records in (("ours", ours), ("base", base), ("theirs", theirs)):
        file = folder / f"{name}.jsonl"
        file.write_text(write_lines(records.values()), encoding="utf-8")
        files.append(str(file))
    done = subprocess.run(["git", "merge-file", "--union", "-p", *files], capture_output=True, check=True)
    return done.stdout.decode()


def settle(text: str) -> dict[str, Record]:
    """Return the records of a merged file, one for each key."""
    return merge_records(read_lines(text))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--merges", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    random = Random(asked.seed)
    conflicts = resurrections = lost = 0
    with tempfile.TemporaryDirectory() as name:
        for _ in range(asked.merges):
            base = random_edits({}, random, 20)
            ours, theirs = random_edits(base, random, 10), random_edits(base, random, 10)
            merged = merge_files(base, ours, theirs, Path(name))
            conflicts += "<<<<<<<" in merged
            settled = settle(merged)
            forgotten = {key for side in (ours, theirs) for key in side if side[key].forgotten}
            resurrections += any(key in settled and not settled[key].forgotten for key in forgotten)
            lost += bool((ours.keys() | theirs.keys()) - settled.keys())
    print(
        f"{asked.merges:,} merges: {conflicts} conflicts, {resurrections} resurrections, {lost} with a lost record"
    )


if __name__ == "__main__":
    main()
