"""A memory stays true, whatever clocks, people and several machines do to it."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from weft import Weft
from weft.errors import InvalidInput
from weft.memory.exchange import export_records, import_records, read_lines, write_lines
from weft.memory.memory_store import list_memories, remember, search_memories

NOW = datetime(2026, 3, 1, 8, tzinfo=UTC)


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / "store") as opened:
        yield opened


def page(weft: Weft, question: str, now: datetime = NOW) -> str:
    return weft.context(question, max_tokens=800, now=now).text


@pytest.mark.parametrize("jump", [timedelta(days=-400), timedelta(days=4000)])
def test_a_clock_that_jumps_leaves_what_was_said_last_as_the_value(weft: Weft, jump: timedelta) -> None:
    context = weft.indexing_context()
    remember(context, "The deadline of Atlas is May 5", now=NOW)
    remember(context, "The deadline of Atlas is June 1", now=NOW + jump)
    remember(context, "The deadline of Atlas is July 9", now=NOW + timedelta(hours=1))
    (memory,) = list_memories(context)
    assert memory.text.endswith("July 9")
    assert all(
        first.until <= second.until for first, second in zip(memory.history, memory.history[1:], strict=False)
    )
    for now in (NOW, NOW + jump, NOW + timedelta(days=9000)):
        assert "July 9" in page(weft, "What is the deadline of Atlas?", now)


def test_a_value_that_changes_ten_times_a_day_has_one_value_and_a_short_history(weft: Weft) -> None:
    context = weft.indexing_context()
    for minute in range(30):
        remember(context, f"The owner of Atlas is Person{minute}", now=NOW + timedelta(minutes=48 * minute))
    (memory,) = list_memories(context)
    assert memory.text.endswith("Person29")
    assert [earlier.text[-2:] for earlier in memory.history[-2:]] == ["27", "28"]
    assert len(memory.history) == 20
    told = page(weft, "Who is the owner of Atlas?")
    assert re.findall(r"Person\d+", told).count("Person29") >= 1
    # Of all that it was, a page says only what it was before, and that it was.
    assert set(re.findall(r"Person\d+", told)) <= {"Person28", "Person29"}
    assert "was Person28 until 2026-03-02" in told


def test_memories_in_three_languages_are_found_in_theirs_and_merged_with_none_of_the_others(weft: Weft) -> None:
    context = weft.indexing_context()
    said = {
        "Wann laufen die Sicherungen?": "Die Sicherungen der Kasse laufen um vier Uhr morgens",
        "什么时候备份账本？": "账本每天凌晨四点备份",
        "When do backups run?": "Backups of the ledger run at four in the morning",
    }
    for text in said.values():
        done = remember(context, text, now=NOW)
        assert not done.merged
        assert not done.contradictions
        assert remember(context, f"{text}.", now=NOW + timedelta(hours=1)).merged
    for question, text in said.items():
        assert search_memories(context, question, limit=1)[0].text.startswith(text)
        assert text in page(weft, question)


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda text: text.replace('"category"', '"categor', 1), "Line 1"),
        (lambda text: text[: len(text) // 3], "Line"),
        (lambda text: text.replace("memory:", "docs:", 1), "no key of a memory"),
        (lambda text: text.replace('"updated":"2026', '"updated":"yesterday 2026', 1), "Line 1"),
        (lambda text: f"<<<<<<< HEAD\n{text}", "Line 1"),
    ],
)
def test_an_export_that_was_broken_by_hand_imports_nothing_and_names_the_line(
    weft: Weft, edit: object, complaint: str
) -> None:
    context = weft.indexing_context()
    remember(context, "The deadline of Atlas is May 5", now=NOW)
    remember(context, "Never use mocks in tests", now=NOW)
    before = export_records(context)
    edited = edit(write_lines(before.values()))  # type: ignore[operator]
    with pytest.raises(InvalidInput, match=complaint):
        import_records(context, read_lines(edited))
    assert export_records(context) == before


def test_an_export_whose_lines_were_sorted_doubled_and_spaced_by_hand_is_read_as_it_was(weft: Weft) -> None:
    context = weft.indexing_context()
    remember(context, "The deadline of Atlas is May 5", now=NOW)
    remember(context, "Never use mocks in tests", now=NOW)
    lines = write_lines(export_records(context).values()).splitlines()
    edited = "\n\n".join([*reversed(lines), *lines]) + "\r\n"
    assert import_records(context, read_lines(edited)).written == ()
    assert len(list_memories(context)) == 2


def test_a_rule_that_contradicts_one_of_wider_scope_holds_where_it_fits_and_the_other_elsewhere(
    weft: Weft, tmp_path: Path
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "main.go").write_text(
        "package main\n\n// Indent the tree of the menu.\nfunc Indent() {}\n"
    )
    weft.index(str(tmp_path / "code"))
    context = weft.indexing_context()
    remember(context, "Always indent with spaces", now=NOW)
    remember(context, "In Go, always indent with tabs", now=NOW + timedelta(days=1))
    assert {memory.text for memory in list_memories(context)} == {
        "Always indent with spaces",
        "In Go, always indent with tabs",
    }
    in_go = page(weft, "How do I indent the tree of the menu in main.go?")
    assert "In Go, always indent with tabs" in in_go
    elsewhere = page(weft, "Which style for the README?")
    assert "Always indent with spaces" in elsewhere
    assert "tabs" not in elsewhere
