"""Uses of memories and turns of hooks are counted in one file, whichever of them comes first."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from weft.history.usage import HookCounts, MemoryUsage, UsageLog

NOW = datetime(2026, 5, 1, tzinfo=UTC)
MEMORY = ("default", "memory:a")


def test_memories_have_no_uses_where_only_hooks_were_counted(tmp_path: Path) -> None:
    log = UsageLog(tmp_path)
    log.record_turn(HookCounts(1, 0, 3, 1), NOW)
    log.record_turn(HookCounts(0, 2, 0, 1), NOW)
    assert log.read_uses([MEMORY]) == {}
    log.forget([MEMORY])
    assert log.read_turns() == HookCounts(1, 2, 3, 2)


def test_a_file_of_an_older_version_that_has_one_table_is_read_and_gets_the_other(tmp_path: Path) -> None:
    log = UsageLog(tmp_path)
    with closing(sqlite3.connect(log.file)) as connection, connection:
        connection.execute("CREATE TABLE used (tenant TEXT, key TEXT, times INTEGER, last TEXT)")
        connection.execute("INSERT INTO used VALUES (?, ?, 2, ?)", (*MEMORY, NOW.isoformat()))
    assert log.read_turns() == HookCounts()
    assert log.read_uses([MEMORY]) == {MEMORY: MemoryUsage(2, NOW)}
    log.record_turn(HookCounts(spoke=1), NOW)
    assert log.read_turns() == HookCounts(spoke=1)
