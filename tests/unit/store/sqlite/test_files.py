"""How the embedded store meets files that are new, old, foreign, broken or not writable, and how it repairs."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import weft
from weft.errors import StoreCorrupt, StoreError, StoreReadOnly, StoreTooNew
from weft.model import Edge, EdgeSet, Filter, Node, Passage, View
from weft.ports import Changes, PreparedNode, PreparedPassage
from weft.store.sqlite.schema import MIGRATIONS, SCHEMA_VERSION
from weft.store.sqlite.store import FILE_NAME, SqliteStore


def _node(key: str, terms: bytes = b"\x01\x00\x00\x00") -> PreparedNode:
    passage = PreparedPassage(Passage(0, 0, 1, 1, 1), terms, b"\x01" * (len(terms) // 4), len(terms) // 4)
    return PreparedNode(Node(key, "note", title=key.upper(), tags=("t",)), f"hash of {key}", (passage,), 1, b"")


def _filled(folder: Path) -> SqliteStore:
    store = SqliteStore.open(folder)
    edges = EdgeSet("m@1", "default", (Edge("s:a", "s:b", "x"), Edge("s:b", "s:c", "x")))
    store.write(Changes(upserts=tuple(_node(f"s:{name}") for name in "abc"), edges=(edges,)))
    return store


def _damage(folder: Path, *statements: str) -> None:
    connection = sqlite3.connect(folder / FILE_NAME)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_new_store_records_its_migrations_and_writes_ahead(tmp_path: Path) -> None:
    SqliteStore.open(tmp_path).close()
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    applied = connection.execute("SELECT number, name FROM migrations ORDER BY number").fetchall()
    assert applied == [(number, name) for number, (name, _) in enumerate(MIGRATIONS, start=1)]
    connection.close()


def test_what_was_written_is_there_after_opening_again(tmp_path: Path) -> None:
    _filled(tmp_path).close()
    store = SqliteStore.open(tmp_path, create=False)
    with store.snapshot(View()) as snapshot:
        assert len(snapshot.find(["s:a", "s:b", "s:c"])) == 3
    store.close()


def test_a_missing_store_is_not_made_when_that_is_not_wanted(tmp_path: Path) -> None:
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(StoreError, match="weft index"):
            SqliteStore.open(tmp_path / "none", **options)
    assert not (tmp_path / "none").exists()


def test_a_store_of_a_newer_version_is_refused_with_both_versions(tmp_path: Path) -> None:
    SqliteStore.open(tmp_path).close()
    _damage(tmp_path, "PRAGMA user_version = 999")
    with pytest.raises(StoreTooNew, match=rf"999.*{SCHEMA_VERSION}"):
        SqliteStore.open(tmp_path)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    content = b"this is not a database, but somebody's notes " * 200
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(StoreCorrupt, match="move it away"):
        SqliteStore.open(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes() == content


def test_somebody_elses_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    _damage(tmp_path, "CREATE TABLE theirs (x)")
    before = (tmp_path / FILE_NAME).read_bytes()
    with pytest.raises(StoreCorrupt, match="not a Weft store"):
        SqliteStore.open(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes() == before


def test_a_damaged_page_is_told_in_our_own_words(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path)
    store.write(Changes(upserts=tuple(_node(f"s:{number}") for number in range(2000))))
    store.close()
    file = tmp_path / FILE_NAME
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(StoreCorrupt, match="Restore a backup"):
        _read_everything(SqliteStore.open(tmp_path))


def _read_everything(store: SqliteStore) -> None:
    try:
        with store.snapshot(View()) as snapshot:
            snapshot.nodes(snapshot.matching_ids(Filter()).tolist())
    finally:
        store.close()


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = _filled(tmp_path)
    store.close()
    with pytest.raises(StoreError, match="closed"), store.snapshot(View()):
        pass


def test_a_store_opened_for_reading_reads_and_refuses_to_write(tmp_path: Path) -> None:
    writer = _filled(tmp_path)
    reader = SqliteStore.open(tmp_path, read_only=True)
    with reader.snapshot(View()) as snapshot:
        assert len(snapshot.find(["s:a"])) == 1
    with pytest.raises(StoreReadOnly, match="--store"):
        reader.write(Changes(upserts=(_node("s:d"),)))
    writer.write(Changes(upserts=(_node("s:d"),)))
    with reader.snapshot(View()) as snapshot:
        assert len(snapshot.find(["s:d"])) == 1
    reader.close()
    writer.close()


_READ_AS_GUEST = """
import os
import sys
from pathlib import Path
from weft.errors import StoreReadOnly
from weft.model import View
from weft.ports import Changes
from weft.store.sqlite.store import SqliteStore
if os.geteuid() == 0:
    os.setuid(65534)  # permissions do not bind the superuser
store = SqliteStore.open(Path(sys.argv[1]))
with store.snapshot(View()) as snapshot:
    assert len(snapshot.find(["s:a", "s:b", "s:c"])) == 3
try:
    store.write(Changes())
except StoreReadOnly:
    sys.stdout.write("read only")
"""


def test_a_store_on_a_disk_that_takes_no_writes_can_still_be_read(open_folder: Path) -> None:
    _filled(open_folder / "store").close()
    (open_folder / "store" / FILE_NAME).chmod(0o444)
    (open_folder / "store").chmod(0o555)
    package = str(Path(weft.__file__).parent.parent)
    answer = subprocess.run(
        [sys.executable, "-c", _READ_AS_GUEST, str(open_folder / "store")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([package, *sys.path])},
    )
    assert answer.stdout == "read only", answer.stderr


def test_a_sound_store_has_nothing_to_report(tmp_path: Path) -> None:
    store = _filled(tmp_path)
    assert store.verify() == ()
    store.close()


@pytest.mark.parametrize(
    ("damage", "reported"),
    [
        ("UPDATE term_statistics SET frequency = frequency + 1", "statistics"),
        ("UPDATE tenant_statistics SET total_length = 0", "statistics"),
        ("UPDATE adjacency SET degree = degree + 1 WHERE node_id = 1", "neighbours"),
        ("DELETE FROM adjacency", "neighbours"),
    ],
)
def test_damage_to_what_is_derived_is_reported_and_repaired(tmp_path: Path, damage: str, reported: str) -> None:
    store = _filled(tmp_path)
    _damage(tmp_path, damage)
    assert [line.partition(":")[0] for line in store.verify()] == [reported]
    store.rebuild_derived()
    assert store.verify() == ()
    store.close()


def test_rebuilding_what_is_derived_changes_no_answer(tmp_path: Path) -> None:
    store = _filled(tmp_path)
    before = _answers(store)
    _damage(tmp_path, "DELETE FROM facets", "DELETE FROM names", "DELETE FROM adjacency")
    assert _answers(store) != before
    store.rebuild_derived()
    assert _answers(store) == before
    store.close()


def _answers(store: SqliteStore) -> tuple[object, ...]:
    with store.snapshot(View()) as snapshot:
        near = snapshot.adjacency([1, 2, 3], 10)
        arrays = [column.tolist() for column in (near.owner, near.neighbour, near.tag, near.weight, near.outward)]
        found = snapshot.find(["S:A", "S:B", "S:C"])
        return (
            arrays,
            near.degree,
            found,
            snapshot.matching_ids(Filter(tags=("t",))).tolist(),
            snapshot.statistics([1]),
        )


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="Only Linux lists what a process has mapped.")
def test_no_reader_maps_the_store_which_would_count_as_its_memory(tmp_path: Path) -> None:
    # Closed, so that the file holds everything and not the log beside it.
    _filled(tmp_path).close()
    store = SqliteStore.open(tmp_path)
    with store.snapshot(View(("default",))) as snapshot:
        assert snapshot.find(["s:a"])
        mapped = Path("/proc/self/maps").read_text("utf-8")
    store.close()
    assert str(tmp_path / FILE_NAME) not in mapped.replace(f"{FILE_NAME}-shm", "")
