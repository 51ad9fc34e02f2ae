"""Digests of the engine's files, which never change once written: a file that differs is damaged."""

import mmap
import os
from pathlib import Path

import orjson
import xxhash

from weft.store.progress import Damaged

Intact = set[tuple[str, str]]
"""(name, digest) of what was found to be as it was written, so that it is not read through again."""


def record_digests(folder: Path, record: Path) -> None:
    """Write down the digests of all files in the folder; those already known are not read again."""
    known = _recorded(record)
    digests = {path.name: known.get(path.name) or _digest(path) for path in _lasting(folder)}
    draft = record.with_suffix(".draft")
    draft.write_bytes(orjson.dumps(digests))
    draft.replace(record)


def check_digests(folder: Path, record: Path, intact: Intact) -> None:
    """Raise Damaged when a file differs from what was recorded; files not recorded yet are taken as they are."""
    known = _recorded(record)
    for path in _lasting(folder):
        expected = known.get(path.name)
        if expected is None or (path.name, expected) in intact:
            continue
        try:
            found = _digest(path)
        except FileNotFoundError:
            # A writer has just merged it into another.
            continue
        if found != expected:
            raise Damaged(f"{path.name} differs from what was written")
        intact.add((path.name, expected))


def _lasting(folder: Path) -> list[Path]:
    """The files that are written once: their names begin with the id of a segment."""
    return sorted(path for path in folder.iterdir() if len(path.name.partition(".")[0]) == 32)


def _recorded(record: Path) -> dict[str, str]:
    try:
        known = orjson.loads(record.read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _digest(path: Path) -> str:
    digest = xxhash.xxh3_64()
    with path.open("rb") as file:
        # An empty file cannot be mapped. The others are not copied: every program that opens a store reads them.
        if os.fstat(file.fileno()).st_size:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                digest.update(content)
    return digest.hexdigest()
