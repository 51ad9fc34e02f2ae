"""`weft forget --prove`: after it no file of the store's folder holds a word of what was forgotten."""

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from weft import Weft
from weft.errors import InvalidInput
from weft.interfaces.erase import erase
from weft.interfaces.memory_actions import forget_memories
from weft.interfaces.tenants import export_tenant
from weft.memory import UsageLog
from weft.memory.exchange import (
    ExportKind,
    export_records,
    import_records,
    note_export,
    read_lines,
    write_export,
)
from weft.memory.experience_store import list_experiences, start_experience, update_experience
from weft.memory.memory_store import list_memories, remember, update_memory
from weft.model import DEFAULT_TENANT

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SECRET = "The zanzibar flamingo paints the vault door every Tuesday at noon"
OLDER = "The peregrine walrus waters the tulips on the balcony"


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / "store") as opened:
        for number in range(30):
            remember(opened.indexing_context(), f"Service {number} is written in language {number}", now=NOW)
        yield opened


def files_with(folder: Path, *words: str) -> list[str]:
    return [
        file.name
        for file in sorted(folder.rglob("*"))
        if file.is_file() and any(word.encode() in file.read_bytes().lower() for word in words)
    ]


def test_no_byte_of_a_memory_or_of_its_history_is_left_in_any_file(weft: Weft) -> None:
    context = weft.indexing_context()
    key = remember(context, OLDER, now=NOW).memory.key
    update_memory(context, key, now=NOW + timedelta(days=1), text=SECRET)
    weft.context("zanzibar flamingo vault", session="one", keep=True)
    weft.context(SECRET, keep=True)
    UsageLog(weft.folder).record_uses([(DEFAULT_TENANT, key)], NOW)
    assert files_with(weft.folder, "zanzibar", "walrus")

    receipt = erase(weft, key, now=NOW, tenant=DEFAULT_TENANT)

    assert receipt.proven, receipt
    assert files_with(weft.folder, "zanzibar", "walrus", "flamingo", "tulips") == []
    assert not any("zanzibar" in record.asked for record in weft.recent())
    assert UsageLog(weft.folder).read_uses([(DEFAULT_TENANT, key)]) == {}
    assert len(list_memories(context)) == 30
    assert weft.verify() == ()


def test_the_receipt_names_every_place_and_holds_no_word_of_the_text(weft: Weft) -> None:
    key = remember(weft.indexing_context(), SECRET, now=NOW).memory.key
    receipt = erase(weft, key, now=NOW, tenant=DEFAULT_TENANT)
    assert [place.name for place in receipt.places] == [
        "store, index and vectors",
        "kept contexts and sessions",
        "exports",
        "usage log",
        "mark for exports",
        "files of the folder",
    ]
    assert receipt.places[-1].looked_at >= len(list(weft.folder.glob("*.sqlite")))
    assert "flamingo" not in repr(receipt)


def test_evidence_of_a_contradiction_does_not_outlive_the_memory(weft: Weft) -> None:
    context = weft.indexing_context()
    kept = remember(context, "The deploy of the shop runs nightly on walruses", now=NOW).memory.key
    done = remember(context, "The deploy of the shop runs nightly on flamingos", now=NOW + timedelta(days=1))
    assert [found.other for found in done.contradictions] == [kept]
    assert erase(weft, done.memory.key, now=NOW, tenant=DEFAULT_TENANT).proven
    assert files_with(weft.folder, "flamingo") == []
    assert files_with(weft.folder, "walruses")


def test_the_subject_and_values_of_a_memory_go_with_it(weft: Weft) -> None:
    context = weft.indexing_context()
    key = remember(context, "The deadline of Flamingo is May 5", now=NOW).memory.key
    done = remember(context, "The deadline of Flamingo is June 17", now=NOW + timedelta(days=1))
    assert done.memory.key == key and done.superseded
    assert erase(weft, key, now=NOW, tenant=DEFAULT_TENANT).proven
    assert files_with(weft.folder, "flamingo", "may 5", "june 17") == []


def test_an_experience_goes_with_all_its_attempts(weft: Weft) -> None:
    context = weft.indexing_context()
    begun = start_experience(
        context,
        domain="debugging",
        strategy="read-the-error",
        goal="Teach the zanzibar flamingo to paint",
        hypothesis="The walrus hides the brushes at night",
        action="Lock the cupboard of the brushes",
        prediction="The painting is done by noon",
        now=NOW,
    )
    update_experience(context, begun.id, now=NOW, hypothesis="The tulips distract the painter")
    assert erase(weft, begun.key, now=NOW, tenant=DEFAULT_TENANT).proven
    assert list_experiences(context) == ()
    assert files_with(weft.folder, "flamingo", "walrus", "tulips", "cupboard") == []


def test_words_that_another_memory_says_too_are_named_and_not_proven_gone(weft: Weft) -> None:
    context = weft.indexing_context()
    key = remember(context, "The flamingo paints the door", now=NOW).memory.key
    longer = (
        f"Yesterday somebody told me a long story about Zanzibar and its zoo: {'The flamingo paints the door'}"
    )
    other = remember(context, longer, now=NOW).memory.key
    receipt = erase(weft, key, now=NOW, tenant=DEFAULT_TENANT)
    assert not receipt.proven
    assert receipt.still_said_by == (other,)


def run_export(weft: Weft, file: Path, kind: ExportKind) -> None:
    """Write an export as the commands do."""
    indexing = weft.indexing_context()
    if kind is ExportKind.MEMORIES:
        write_export(file, export_records(indexing).values())
    else:
        file.write_bytes(b"".join(export_tenant(weft, DEFAULT_TENANT)))
    note_export(indexing, file, kind, DEFAULT_TENANT)


def test_it_goes_from_the_exports_that_were_written_and_leaves_its_mark(weft: Weft, tmp_path: Path) -> None:
    key = remember(weft.indexing_context(), SECRET, now=NOW).memory.key
    file, removed = tmp_path / "memories.jsonl", tmp_path / "old.jsonl"
    for each in (file, removed):
        run_export(weft, each, ExportKind.MEMORIES)
    removed.unlink()
    before = file.read_text().splitlines()
    receipt = erase(weft, key, now=NOW, tenant=DEFAULT_TENANT)
    assert receipt.proven, receipt
    assert "zanzibar" not in file.read_text()
    after = read_lines(file.read_text())
    assert len(after) == len(before)
    assert [record.key for record in after if record.forgotten] == [key]
    (place,) = [place for place in receipt.places if place.name == "exports"]
    assert (place.done, place.looked_at, place.left) == ("put a mark in its place in 1 of them", 1, 0)


def test_an_export_that_cannot_be_mended_is_named_with_its_lines_and_the_command(
    weft: Weft, tmp_path: Path
) -> None:
    key = remember(weft.indexing_context(), SECRET, now=NOW).memory.key
    edited, whole = tmp_path / "my memories.jsonl", tmp_path / "tenant.jsonl"
    run_export(weft, edited, ExportKind.MEMORIES)
    run_export(weft, whole, ExportKind.TENANT)
    edited.write_text(f"<<<<<<< HEAD\n{edited.read_text()}")
    number = next(n for n, line in enumerate(edited.read_text().splitlines(), 1) if "zanzibar" in line)
    receipt = erase(weft, key, now=NOW, tenant=DEFAULT_TENANT)
    assert not receipt.proven
    assert f"{edited} still holds it, on line {number}. Run: sed -i '{number}d' '{edited}'" in receipt.notes
    assert any(note.endswith(f"Run: rm {whole} && weft tenants export default {whole}") for note in receipt.notes)
    assert "zanzibar" not in str(receipt)
    subprocess.run(["sed", "-i", f"{number}d", str(edited)], check=True)
    assert "zanzibar" not in edited.read_text()


def test_an_import_does_not_bring_it_back(weft: Weft) -> None:
    context = weft.indexing_context()
    key = remember(context, SECRET, now=NOW).memory.key
    before = export_records(context)
    erase(weft, key, now=NOW, tenant=DEFAULT_TENANT)
    assert import_records(context, before.values()).written == ()
    assert export_records(context)[key].forgotten


def test_what_was_forgotten_before_is_written_out_of_the_files_but_not_called_proven(weft: Weft) -> None:
    key = remember(weft.indexing_context(), SECRET, now=NOW).memory.key
    forget_memories(weft, [key], DEFAULT_TENANT)
    receipt = erase(weft, key, now=NOW, tenant=DEFAULT_TENANT)
    assert not receipt.proven
    assert files_with(weft.folder, "flamingo") == []


def test_an_unknown_key_is_refused_and_nothing_is_removed(weft: Weft) -> None:
    with pytest.raises(InvalidInput, match="memory:nothing"):
        erase(weft, "memory:nothing", now=NOW, tenant=DEFAULT_TENANT)
    assert len(list_memories(weft.indexing_context())) == 30
