"""Copy a queue while workers use it."""

import sqlite3
from contextlib import closing
from pathlib import Path

PAGES_A_STEP = 256


class BadCopy(RuntimeError):
    """The copy cannot be read; the old one was kept."""


def copy(source: Path, target: Path) -> None:
    """Copy the file of a queue; the copy replaces an older one only when it has been checked."""
    fresh = target.with_suffix(".new")
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(fresh)) as new:
        old.backup(new, pages=PAGES_A_STEP)
        (found,) = new.execute("PRAGMA quick_check").fetchone()
    if found != "ok":
        fresh.unlink()
        raise BadCopy(f"{source}: {found}")
    fresh.replace(target)
