"""Where a store is followed, every single write between two backups can be restored."""

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from weft import Node, Weft
from weft.errors import StoreError
from weft.store.sqlite.backup_archive import check_archive, list_archive, restore_at
from weft.store.sqlite.backup_log import Follower
from weft.store.sqlite.backup_records import log_of

START = datetime(2026, 5, 1, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


def texts(weft: Weft) -> dict[str, str]:
    return {row.node.key: row.node.text for row in weft.store.iterate("default")}


def restored(archive: Path, target: Path, sequence: int | None) -> dict[str, str]:
    restore_at(archive, target, sequence=sequence, replace=False, now=START)
    with Weft.open(target, embedder=None, create=False) as weft:
        assert weft.verify() == ()
        return texts(weft)


def write(weft: Weft, turn: int, held: dict[int, dict[str, str]]) -> None:
    """Write something, delete something now and then, and note what is there after it."""
    weft.put(
        [Node(f"put:{turn}-{number}", "note", text=f"turn {turn} " * (30 * number + 1)) for number in range(3)]
    )
    held[weft.store.last_sequence()] = texts(weft)
    if turn % 3 == 2:
        weft.delete(f"put:{turn - 1}-0")
        held[weft.store.last_sequence()] = texts(weft)


def test_every_write_between_two_backups_comes_back(tmp_path: Path) -> None:
    store, archive, held = tmp_path / "store", tmp_path / "archive", dict[int, dict[str, str]]()
    with Weft.open(store, embedder=None) as weft:
        write(weft, 0, held)
        with Follower(store, archive, Clock()) as follower:
            follower.poll()
            for turn in range(1, 9):
                write(weft, turn, held)
                # Not after each: several transactions come at once too.
                if turn % 2:
                    assert follower.poll() > 0
            follower.poll()
    assert len(list_archive(archive)) == 1
    for sequence, expected in held.items():
        assert restored(archive, tmp_path / f"at-{sequence}", sequence) == expected
    assert restored(archive, tmp_path / "newest", None) == held[max(held)]
    check_archive(archive)


def test_nothing_is_missed_while_the_log_is_moved_into_the_database_and_begun_again(tmp_path: Path) -> None:
    store, archive, held = tmp_path / "store", tmp_path / "archive", dict[int, dict[str, str]]()
    with Weft.open(store, embedder=None) as weft:
        write(weft, 0, held)
        with Follower(store, archive, Clock()) as follower:
            for turn in range(1, 13):
                write(weft, turn, held)
                # What SQLite does by itself now and then, and what another program may ask of it.
                for mode in ("PASSIVE", "RESTART", "TRUNCATE"):
                    other = sqlite3.connect(store / "weft.sqlite", timeout=0)
                    other.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
                    other.close()
                if turn % 3 == 0:
                    follower.poll()
    assert len(list_archive(archive)) == 1
    for sequence in sorted(held):
        assert restored(archive, tmp_path / f"at-{sequence}", sequence) == held[sequence]


def test_a_log_that_grew_is_moved_into_the_database_without_missing_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.store.sqlite.backup_log._MOST_LOG_BYTES", 100_000)
    store, archive, held = tmp_path / "store", tmp_path / "archive", dict[int, dict[str, str]]()
    sizes = []
    with Weft.open(store, embedder=None) as weft:
        write(weft, 0, held)
        with Follower(store, archive, Clock()) as follower:
            for turn in range(1, 21):
                write(weft, turn, held)
                follower.poll()
                sizes.append((store / "weft.sqlite-wal").stat().st_size)
    assert max(sizes) < 800_000
    assert len(list_archive(archive)) == 1
    for sequence in sorted(held):
        assert restored(archive, tmp_path / f"at-{sequence}", sequence) == held[sequence]


def test_half_a_record_at_the_end_is_passed_over_and_a_changed_one_ends_the_log(tmp_path: Path) -> None:
    store, archive, held = tmp_path / "store", tmp_path / "archive", dict[int, dict[str, str]]()
    with Weft.open(store, embedder=None) as weft, Follower(store, archive, Clock()) as follower:
        for turn in range(6):
            write(weft, turn, held)
            follower.poll()
    log = log_of(archive, list_archive(archive)[0].name)
    whole = log.read_bytes()
    log.write_bytes(whole[:-100])
    assert restored(archive, tmp_path / "cut", None) == held[sorted(held)[-2]]
    middle = bytearray(whole)
    middle[len(whole) // 2] ^= 1
    log.write_bytes(middle)
    assert restored(archive, tmp_path / "changed", None) in list(held.values())[:-1]


def test_following_goes_on_with_the_next_backup(tmp_path: Path) -> None:
    store, archive, held = tmp_path / "store", tmp_path / "archive", dict[int, dict[str, str]]()
    clock = Clock()
    with Weft.open(store, embedder=None) as weft:
        for turn in range(3):
            with Follower(store, archive, clock) as follower:
                follower.poll()
                write(weft, 2 * turn, held)
                write(weft, 2 * turn + 1, held)
                follower.poll()
    assert len(list_archive(archive)) == 3
    for sequence, expected in held.items():
        assert restored(archive, tmp_path / f"at-{sequence}", sequence) == expected


def test_a_folder_without_a_store_cannot_be_followed(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no store"), Follower(tmp_path, tmp_path / "archive", Clock()):
        raise AssertionError
