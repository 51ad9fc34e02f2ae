"""An archive gives back the store as it was at every backup, and refuses whatever was changed in it."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from weft import Node, Weft
from weft.errors import InvalidInput, StoreBusy, StoreCorrupt, StoreError
from weft.store.sqlite.backup import make_backup
from weft.store.sqlite.backup_archive import (
    INCREMENT,
    add_to_archive,
    assemble,
    check_archive,
    list_archive,
    restore_at,
)
from weft.store.sqlite.salvage import is_damaged, salvage

START = datetime(2026, 5, 1, tzinfo=UTC)


def texts(store: Path) -> dict[str, str]:
    with Weft.open(store, embedder=None, create=False) as weft:
        assert weft.verify() == ()
        return {row.node.key: row.node.text for row in weft.store.iterate("default")}


def restore(archive: Path, target: Path, sequence: int | None) -> dict[str, str]:
    restore_at(archive, target, sequence=sequence, replace=False, now=START)
    return texts(target)


@pytest.fixture
def world(tmp_path: Path) -> tuple[Path, Path, dict[int, dict[str, str]]]:
    """A store, an archive with seven backups of it, and the texts that each holds, by its last write."""
    store, archive = tmp_path / "store", tmp_path / "archive"
    held: dict[int, dict[str, str]] = {}
    with Weft.open(store, embedder=None) as weft:
        for turn in range(7):
            words = f"turn {turn} " * (40 * turn + 1)
            weft.put([Node(f"put:{turn}-{number}", "note", text=words) for number in range(6)])
            weft.put(Node("put:same", "note", text=f"changed in turn {turn}"))
            if turn % 3 == 2:
                weft.delete(*(f"put:{turn - 1}-{number}" for number in range(6)))
            made = add_to_archive(store, archive, START + timedelta(hours=turn))
            held[made.sequence] = {row.node.key: row.node.text for row in weft.store.iterate("default")}
    return store, archive, held


def test_every_write_with_a_backup_comes_back_as_it_was(
    world: tuple[Path, Path, dict[int, dict[str, str]]], tmp_path: Path
) -> None:
    _, archive, held = world
    assert len(held) == 7
    for sequence, expected in held.items():
        assert restore(archive, tmp_path / f"at-{sequence}", sequence) == expected


def test_folders_may_have_signs_in_their_names_that_addresses_use(tmp_path: Path) -> None:
    store, archive = tmp_path / "what? 100% #1" / "store", tmp_path / "what? 100% #1" / "archive"
    with Weft.open(store, embedder=None) as weft:
        weft.put(Node("put:one", "note", text="one"))
        first = add_to_archive(store, archive, START)
        weft.put(Node("put:two", "note", text="two"))
        add_to_archive(store, archive, START + timedelta(hours=1))
    make_backup(store, tmp_path / "what?" / "backup", START)
    assert not is_damaged(store)
    assert salvage(store, tmp_path / "100%" / "saved").saved["nodes"] == 2
    assert restore(archive, tmp_path / "#1" / "restored", first.sequence) == {"put:one": "one"}


def test_a_write_between_two_backups_gives_the_one_before_it(
    world: tuple[Path, Path, dict[int, dict[str, str]]], tmp_path: Path
) -> None:
    _, archive, held = world
    first, second = sorted(held)[:2]
    assert second > first + 1
    assert restore(archive, tmp_path / "between", second - 1) == held[first]
    assert restore(archive, tmp_path / "newest", None) == held[max(held)]


def test_a_write_before_the_first_backup_is_refused_with_those_there_are(
    world: tuple[Path, Path, dict[int, dict[str, str]]], tmp_path: Path
) -> None:
    _, archive, held = world
    with pytest.raises(InvalidInput, match=f"There are: {min(held)},"):
        restore_at(archive, tmp_path / "none", sequence=0, replace=False, now=START)
    assert not (tmp_path / "none").exists()


def test_an_increment_holds_only_the_pages_that_changed(
    world: tuple[Path, Path, dict[int, dict[str, str]]],
) -> None:
    store, archive, _ = world
    before = list_archive(archive)
    assert [each.whole for each in before] == [True, *[False] * 6]
    unchanged = add_to_archive(store, archive, START + timedelta(days=1))
    assert unchanged.sequence == before[-1].sequence
    # The digests of pages, the manifest, and no page.
    assert unchanged.bytes < 20_000 < (store / "weft.sqlite").stat().st_size


def test_a_long_chain_begins_anew_so_that_older_backups_can_be_removed(
    tmp_path: Path,
) -> None:
    store, archive = tmp_path / "store", tmp_path / "archive"
    with Weft.open(store, embedder=None) as weft:
        for turn in range(5):
            weft.put(Node(f"put:{turn}", "note", text=str(turn)))
            add_to_archive(store, archive, START + timedelta(hours=turn), max_chain=2)
    held = list_archive(archive)
    assert [each.whole for each in held] == [True, False, False, True, False]
    for each in held[:3]:
        shutil.rmtree(archive / each.name)
    assert len(restore(archive, tmp_path / "restored", None)) == 5


def test_a_restored_store_goes_on_in_the_same_archive(
    world: tuple[Path, Path, dict[int, dict[str, str]]], tmp_path: Path
) -> None:
    _, archive, held = world
    restore(archive, tmp_path / "older", min(held))
    with Weft.open(tmp_path / "older", embedder=None) as weft:
        weft.put(Node("put:after", "note", text="after the restore"))
    add_to_archive(tmp_path / "older", archive, START + timedelta(days=2))
    assert restore(archive, tmp_path / "again", None)["put:after"] == "after the restore"


def test_another_store_is_refused(world: tuple[Path, Path, dict[int, dict[str, str]]], tmp_path: Path) -> None:
    _, archive, _ = world
    Weft.open(tmp_path / "other", embedder=None).close()
    with pytest.raises(InvalidInput, match="another store"):
        add_to_archive(tmp_path / "other", archive, START + timedelta(days=2))
    assert len(list_archive(archive)) == 7


def test_whatever_is_changed_in_any_file_is_noticed(
    world: tuple[Path, Path, dict[int, dict[str, str]]], tmp_path: Path
) -> None:
    _, archive, _ = world
    assert len(check_archive(archive)) == 7
    for file in sorted(file for file in archive.rglob("*") if file.is_file() and file.stat().st_size):
        content = file.read_bytes()
        middle = len(content) // 2
        # The newest manifest alone is vouched for by nobody: a byte of it can be changed in its text.
        if file.name == INCREMENT and file.parent.name == list_archive(archive)[-1].name:
            continue
        file.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        with pytest.raises((StoreCorrupt, InvalidInput)):
            restore_at(archive, tmp_path / "spoiled", sequence=None, replace=False, now=START)
        file.write_bytes(content)
    assert not (tmp_path / "spoiled").exists()


def test_a_manifest_does_not_lead_out_of_its_archive_nor_in_a_circle(
    world: tuple[Path, Path, dict[int, dict[str, str]]], tmp_path: Path
) -> None:
    _, archive, _ = world
    newest = archive / list_archive(archive)[-1].name / INCREMENT
    whole = json.loads(newest.read_bytes())
    for base in ("../elsewhere", "/etc", newest.parent.name):
        newest.write_text(json.dumps({**whole, "base": base, "base_digest": None}))
        with pytest.raises((StoreCorrupt, InvalidInput)):
            restore_at(archive, tmp_path / "led", sequence=None, replace=False, now=START)


def test_a_backup_that_was_interrupted_is_no_backup(
    world: tuple[Path, Path, dict[int, dict[str, str]]], tmp_path: Path
) -> None:
    store, archive, held = world
    unfinished = archive / ".unfinished-abc" / "increment"
    unfinished.mkdir(parents=True)
    (unfinished / INCREMENT).write_text("{}")
    (archive / ".assembling-abc").mkdir()
    assert len(list_archive(archive)) == 7
    told: list[int] = []
    add_to_archive(store, archive, START + timedelta(days=3), on_leftovers=told.append)
    assert told == [2], "what a killed process left is removed, and said"
    assert not [*archive.glob(".unfinished-*"), *archive.glob(".assembling-*")]
    assert restore(archive, tmp_path / "restored", None) == held[max(held)]


def test_a_backup_that_is_being_made_is_not_taken_for_one_that_was_interrupted(
    world: tuple[Path, Path, dict[int, dict[str, str]]],
) -> None:
    store, archive, _ = world
    with assemble(archive) as folder:
        with pytest.raises(StoreBusy, match="Wait for it"):
            add_to_archive(store, archive, START + timedelta(days=3), max_wait_seconds=0.0)
        assert folder.is_dir()


def test_backups_stay_in_order_when_the_clock_is_set_back(
    world: tuple[Path, Path, dict[int, dict[str, str]]], tmp_path: Path
) -> None:
    store, archive, held = world
    with Weft.open(store, embedder=None) as weft:
        weft.put(Node("put:late", "note", text="written while the clock was years behind"))
        added = add_to_archive(store, archive, START - timedelta(days=4000))
    assert list_archive(archive)[-1] == added
    assert "put:late" in restore(archive, tmp_path / "newest", None)
    assert restore(archive, tmp_path / "before", added.sequence - 1) == held[max(held)]


def test_an_archive_that_cannot_be_written_is_told_with_its_place(
    world: tuple[Path, Path, dict[int, dict[str, str]]], tmp_path: Path
) -> None:
    store, _, _ = world
    (tmp_path / "file").write_text("no folder")
    for target in (tmp_path / "file" / "archive", tmp_path / "file"):
        with pytest.raises(StoreError, match=r"file.* cannot be written or read"):
            add_to_archive(store, target, START)
    with pytest.raises(StoreError, match=r"backup cannot be written or read"):
        make_backup(store, tmp_path / "file" / "backup", START)
