"""Looking through all memories: what is found, what applying changes, and that undoing restores it exactly."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from weft import Weft
from weft.errors import InvalidInput
from weft.interfaces.erase import erase
from weft.memory.audit import UNDO_FILE, Action, Problem, apply_findings, find_problems, undo_audit
from weft.memory.exchange import export_records, import_records, read_forgotten
from weft.memory.memories import memory_node, new_memory
from weft.memory.memory_store import list_memories, remember, update_memory
from weft.model import DEFAULT_TENANT

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TEXTS = (
    "ok",
    "Use tabs for indentation in the parser",
    "Use tabs for indentation in the parser!",
    "The deadline of Atlas is May 5",
    "The deadline of Atlas is June 1",
    "Retry 3 times on a timeout of the broker",
    "Retry 5 times on a timeout of the broker",
    "I'm vegetarian",
)


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / "store") as opened:
        # Written directly, as an import does: remembering would have merged them.
        for day, text in enumerate(TEXTS):
            memory = new_memory(text, None, None, (), DEFAULT_TENANT, NOW + timedelta(days=day))
            opened.put([memory_node(memory)])
        yield opened


def test_each_problem_is_found_with_its_reason_and_nothing_is_changed(weft: Weft) -> None:
    context = weft.indexing_context()
    before, sequence = export_records(context), weft.store.last_sequence()
    found = find_problems(context)
    assert [(finding.text, finding.problem, finding.action) for finding in found] == [
        (TEXTS[0], Problem.JUNK, Action.REMOVE),
        (TEXTS[2], Problem.DUPLICATE, Action.MERGE),
        (TEXTS[4], Problem.CONTRADICTORY, Action.MERGE),
        (TEXTS[6], Problem.CONTRADICTORY, Action.DECIDE),
    ]
    assert all(finding.why for finding in found)
    assert (export_records(context), weft.store.last_sequence()) == (before, sequence)
    assert not (weft.folder / UNDO_FILE).exists()


def test_applying_changes_only_what_can_be_decided(weft: Weft) -> None:
    context = weft.indexing_context()
    apply_findings(context, weft.folder, now=NOW)
    texts = {memory.text for memory in list_memories(context)}
    assert texts == {TEXTS[2], TEXTS[4], TEXTS[5], TEXTS[6], TEXTS[7]}
    (atlas,) = (memory for memory in list_memories(context) if memory.text == TEXTS[4])
    assert atlas.history[0].text == TEXTS[3]
    assert [finding.action for finding in find_problems(context)] == [Action.DECIDE]


def test_undoing_restores_every_memory_exactly(weft: Weft) -> None:
    context = weft.indexing_context()
    before = export_records(context)
    apply_findings(context, weft.folder, now=NOW)
    assert export_records(context) != before
    undo_audit(context, weft.folder)
    assert export_records(context) == before
    with pytest.raises(InvalidInput, match="no audit to undo"):
        undo_audit(context, weft.folder)


def test_a_value_that_changed_and_changed_back_keeps_the_newest_and_every_one_before(tmp_path: Path) -> None:
    with Weft.open(tmp_path / "store") as weft:
        values = ("May 5", "June 1", "May 5")
        for day, value in enumerate(values):
            text = f"The deadline of Atlas is {value}"
            memory = new_memory(text, None, None, (), DEFAULT_TENANT, NOW + timedelta(days=day))
            weft.put([memory_node(memory)])
        context = weft.indexing_context()
        apply_findings(context, weft.folder, now=NOW)
        (kept,) = list_memories(context)
    assert kept.text.endswith("May 5")
    assert [earlier.text.rpartition(" is ")[2] for earlier in kept.history] == ["May 5", "June 1"]
    assert kept.updated == NOW + timedelta(days=2)


def test_memories_that_are_alike_only_through_a_third_become_one(tmp_path: Path) -> None:
    words = "the cache of the parser keeps every token that the lexer made for a file of the store"
    longer = f"{words} again"
    longest = f"{longer} later"
    with Weft.open(tmp_path / "store") as weft:
        for day, text in enumerate((longest, words, longer)):
            memory = new_memory(text, None, None, (), DEFAULT_TENANT, NOW + timedelta(days=day))
            weft.put([memory_node(memory)])
        context = weft.indexing_context()
        apply_findings(context, weft.folder, now=NOW)
        (kept,) = list_memories(context)
        assert not find_problems(context)
    assert kept.text == longer


def test_a_name_that_only_the_older_words_had_makes_the_merged_memory_not_stale(tmp_path: Path) -> None:
    (tmp_path / "tabs.py").write_text("def tabs():\n    return 1\n")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(str(tmp_path))
        context = weft.indexing_context()
        remember(context, "The linter of Atlas is `tabs`", now=NOW)
        text = "The linter of Atlas is ruff"
        memory = new_memory(text, None, None, (), DEFAULT_TENANT, NOW + timedelta(days=1))
        weft.put([memory_node(memory)])
        (tmp_path / "tabs.py").unlink()
        weft.index(str(tmp_path))
        apply_findings(context, weft.folder, now=NOW)
        (kept,) = list_memories(context)
        assert (kept.text, kept.names, find_problems(context)) == (text, (), ())


def test_removed_junk_stays_removed_after_an_import_and_undoing_brings_it_back(weft: Weft) -> None:
    context = weft.indexing_context()
    other_machine = list(export_records(context).values())
    apply_findings(context, weft.folder, now=NOW)
    import_records(context, other_machine)
    assert "ok" not in {memory.text for memory in list_memories(context)}
    undo_audit(context, weft.folder)
    assert "ok" in {memory.text for memory in list_memories(context)}
    assert not read_forgotten(context, DEFAULT_TENANT)


def test_undoing_does_not_overwrite_what_was_changed_since(weft: Weft) -> None:
    context = weft.indexing_context()
    apply_findings(context, weft.folder, now=NOW)
    (atlas,) = (memory for memory in list_memories(context) if memory.text == TEXTS[4])
    update_memory(context, atlas.key, now=NOW + timedelta(days=30), text="The deadline of Atlas is July 9")
    before = export_records(context)
    with pytest.raises(InvalidInput, match=atlas.key):
        undo_audit(context, weft.folder)
    assert export_records(context) == before


def test_forgetting_with_proof_reaches_what_is_kept_for_undoing(weft: Weft) -> None:
    context = weft.indexing_context()
    apply_findings(context, weft.folder, now=NOW)
    (tabs,) = (memory for memory in list_memories(context) if memory.text == TEXTS[2])
    receipt = erase(weft, tabs.key, now=NOW, tenant=DEFAULT_TENANT)
    held = [f.name for f in weft.folder.rglob("*") if f.is_file() and b"Use tabs for" in f.read_bytes()]
    assert receipt.proven, (held, receipt.notes, receipt.places)
    assert not (weft.folder / UNDO_FILE).exists()
