"""Memories and experiences between two machines: written as lines, merged by git, and read again."""

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from bench.memory.merges import merge_files, random_edits, settle

from weft import Weft
from weft.errors import InvalidInput
from weft.interfaces.memory_actions import forget_memories
from weft.memory.exchange import export_records, import_records, join, read_lines, write_lines
from weft.memory.experience_store import find_experience, start_experience
from weft.memory.memory_store import find_memory, list_memories, remember, update_memory

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[tuple[Weft, Weft]]:
    with Weft.open(tmp_path / "one") as one, Weft.open(tmp_path / "two") as other:
        yield one, other


def carry(source: Weft, target: Weft) -> None:
    """Export from one machine and import on the other, as lines."""
    lines = write_lines(export_records(source.workshop()).values())
    import_records(target.workshop(), read_lines(lines))


def test_memories_and_experiences_travel_whole(machines: tuple[Weft, Weft]) -> None:
    one, other = machines
    memory = remember(one.workshop(), "Use tabs", now=NOW, category="preference", tags=["style"]).memory
    experience = start_experience(
        one.workshop(),
        domain="debugging",
        strategy="read-the-error",
        goal="Make it pass",
        hypothesis="The clock of the host is off",
        action="Set it right",
        prediction="It passes",
        now=NOW,
    )
    carry(one, other)
    assert find_memory(other.workshop(), memory.key) == memory
    assert find_experience(other.workshop(), experience.id) == experience
    lines = write_lines(export_records(other.workshop()).values())
    assert lines == write_lines(export_records(one.workshop()).values())
    assert lines.splitlines() == sorted(lines.splitlines())


def test_the_later_change_holds_on_both_machines(machines: tuple[Weft, Weft]) -> None:
    one, other = machines
    key = remember(one.workshop(), "Use tabs", now=NOW).memory.key
    carry(one, other)
    update_memory(one.workshop(), key, now=NOW + timedelta(days=1), text="Use tabs, always")
    update_memory(other.workshop(), key, now=NOW + timedelta(days=2), text="Use wide tabs")
    carry(one, other)
    carry(other, one)
    found = [find_memory(weft.workshop(), key) for weft in machines]
    assert [memory.text for memory in found] == ["Use wide tabs", "Use wide tabs"]
    for memory in found:
        assert {earlier.text for earlier in memory.history} == {"Use tabs", "Use tabs, always"}


def test_what_was_forgotten_stays_forgotten_though_another_machine_changed_it(machines: tuple[Weft, Weft]) -> None:
    one, other = machines
    key = remember(one.workshop(), "Use tabs", now=NOW).memory.key
    carry(one, other)
    forget_memories(one, [key], "default")
    update_memory(other.workshop(), key, now=NOW + timedelta(days=900), text="Use wide tabs")
    carry(other, one)
    assert list_memories(one.workshop()) == ()
    carry(one, other)
    assert list_memories(other.workshop()) == ()


def test_a_dry_run_changes_nothing(machines: tuple[Weft, Weft]) -> None:
    one, other = machines
    key = remember(one.workshop(), "Use tabs", now=NOW).memory.key
    result = import_records(other.workshop(), export_records(one.workshop()).values(), dry_run=True)
    assert result.written == (key,)
    assert list_memories(other.workshop()) == ()


def test_a_secret_in_an_export_edited_by_hand_is_not_stored(machines: tuple[Weft, Weft]) -> None:
    one, other = machines
    key = remember(one.workshop(), "The login is by hand", now=NOW).memory.key
    lines = write_lines(export_records(one.workshop()).values())
    import_records(other.workshop(), read_lines(lines.replace("by hand", "by ghp_" + "a1B2" * 9)))
    assert "ghp_" not in find_memory(other.workshop(), key).text


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("<<<<<<< HEAD", "malformed"),
        ('{"key": "memory:1"}', "updated"),
        ('{"key": "repo:src/a.py", "updated": "2026-03-01T00:00:00Z", "forgotten": true}', "no key of a memory"),
    ],
)
def test_a_line_that_is_no_record_is_named_and_nothing_is_imported(line: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=rf"Line 2 of the export is no record .*{why}"):
        read_lines(f"\n{line}\n")


def test_joining_is_the_same_in_every_order() -> None:
    random = Random(7)
    for _ in range(200):
        base = random_edits({}, random, 6)
        one, two, three = (random_edits(base, random, 4) for _ in range(3))
        for key in one.keys() & two.keys() & three.keys():
            a, b, c = one[key], two[key], three[key]
            assert join(a, b) == join(b, a)
            assert join(a, join(b, c)) == join(join(a, b), c)
            assert join(a, a) == a


def test_random_edits_of_two_machines_merge_without_conflict_or_resurrection(tmp_path: Path) -> None:
    if subprocess.run(["git", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("git is not installed")
    random = Random(11)
    for _ in range(20):
        base = random_edits({}, random, 12)
        ours, theirs = random_edits(base, random, 6), random_edits(base, random, 6)
        merged = merge_files(base, ours, theirs, tmp_path)
        assert "<<<<<<<" not in merged
        assert settle(merged) == settle(write_lines([*ours.values(), *theirs.values()]))
        assert all(settle(merged)[key].forgotten for side in (ours, theirs) for key in side if side[key].forgotten)
