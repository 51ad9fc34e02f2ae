"""Bring a file of an older version up to date, one numbered step at a time."""

import sqlite3

STEPS = (
    """
    CREATE TABLE IF NOT EXISTS jobs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        body TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        due REAL NOT NULL DEFAULT 0,
        leased_until REAL NOT NULL DEFAULT 0,
        error TEXT
    )
    """,
    "CREATE TABLE keys (key TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE buckets (name TEXT PRIMARY KEY, tokens REAL NOT NULL, filled REAL NOT NULL) WITHOUT ROWID",
)


class NewerFile(RuntimeError):
    """The file was written by a newer pigeonhole, and this one does not touch it."""


def migrate(connection: sqlite3.Connection) -> int:
    """Run the steps that the file lacks, and return how many there were."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(STEPS):
        raise NewerFile(f"The file is of version {version}, this pigeonhole knows {len(STEPS)}. Upgrade it.")
    if version == len(STEPS):
        return 0
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have been faster between the look and the lock.
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    for step in STEPS[version:]:
        connection.execute(step)
    connection.execute(f"PRAGMA user_version = {len(STEPS)}")
    connection.execute("COMMIT")
    return len(STEPS) - int(version)
