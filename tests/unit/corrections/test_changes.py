"""Corrections by hand: each changes the page as its preview says, survives a new reading, and can be undone."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from manuscripts import manuscript
from weft import Edge, Node, Weft
from weft.api.reader import Reader
from weft.corrections.changes import Proposal, apply_change, list_changes, preview_change, undo_change
from weft.corrections.pages import PageChange, saved_profiles
from weft.errors import InvalidInput, UnknownName
from weft.indexing.edits import read_edits
from weft.interfaces.erase import erase
from weft.memory.memory_store import list_memories, remember
from weft.model import Request, View
from weft.store.trial import open_trial

NOW = datetime(2026, 3, 1, tzinfo=UTC)
LUNCH = Request("When is lunch served in the hall?", profile="general", floor=0.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    kitchen = tmp_path / "kitchen"
    kitchen.mkdir()
    (kitchen / "times.md").write_text("# Lunch times\n\nLunch is served at noon in the yellow hall.\n")
    (kitchen / "old.md").write_text("# Old lunch rules\n\nLunch was once served at eleven in the green hall.\n")
    return kitchen


@pytest.fixture
def weft(tmp_path: Path, folder: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft", embedder=None) as opened:
        opened.index(folder)
        opened.put(
            Node("attic:1", "rumour", title="Lunch rumour", text="Lunch in the hall is served late, some say.")
        )
        opened.put([], [Edge("kitchen:old.md", "attic:1", "cites", evidence="said so")])
        yield opened


def page(weft: Weft, request: Request = LUNCH) -> str:
    return weft.assemble(request, NOW).text


PROPOSALS: dict[str, tuple[Proposal, str, str]] = {
    "forget": (Proposal("forget", key="kitchen:old.md"), "green hall", ""),
    "edit": (
        Proposal("edit", key="kitchen:old.md", parts={"text": "Lunch was served in the blue hall."}),
        "green hall",
        "blue hall",
    ),
    "tag": (Proposal("tag", key="kitchen:old.md", tags=("#history", "history ")), "", ""),
}


@pytest.mark.parametrize("name", PROPOSALS)
def test_a_preview_says_what_applying_does_and_undo_restores_every_byte(weft: Weft, name: str) -> None:
    proposal, gone, new = PROPOSALS[name]
    before, stored = page(weft), weft.show("kitchen:old.md")[0]
    preview = preview_change(weft, proposal, LUNCH, NOW)
    assert page(weft) == before == preview.before.text
    assert list_changes(weft, ["default"]) == ()
    undo = apply_change(weft, proposal, LUNCH, NOW)
    assert page(weft) == preview.after.text
    assert (gone in page(weft)) is (not gone)
    assert new in page(weft)
    assert [each.undo for each in list_changes(weft, ["default"])] == [undo]
    undo_change(weft, undo)
    assert page(weft) == before
    restored = weft.show("kitchen:old.md")[0]
    assert (restored.text, restored.tags, restored.origin) == (stored.text, stored.tags, stored.origin)
    # Its links are as they were.
    assert [edge.type for node, edge in weft.related("kitchen:old.md") if node.key == "attic:1"] == ["cites"]
    assert weft.verify() == ()


def test_tags_are_cleaned_and_found(weft: Weft) -> None:
    apply_change(weft, PROPOSALS["tag"][0], LUNCH, NOW)
    assert weft.show("kitchen:old.md")[0].tags == ("history",)


def test_corrections_hold_when_the_source_is_read_again(weft: Weft, folder: Path) -> None:
    apply_change(weft, Proposal("forget", key="kitchen:old.md"), LUNCH, NOW)
    apply_change(weft, Proposal("tag", key="kitchen:times.md", tags=("daily",)), LUNCH, NOW)
    for file in ("old.md", "times.md"):
        path = folder / file
        path.write_text(path.read_text() + "\nPears are served too.\n")
    weft.index(folder)
    assert weft.show("kitchen:old.md") == ()
    (times,) = weft.show("kitchen:times.md")
    assert times.tags == ("daily",)
    assert "Pears" in times.text


def test_corrections_hold_when_a_question_reads_a_changed_file(weft: Weft, folder: Path) -> None:
    apply_change(weft, Proposal("forget", key="kitchen:old.md"), LUNCH, NOW)
    (folder / "old.md").write_text("# Old lunch rules\n\nLunch was once served at ten in the green hall.\n")
    assert "green hall" not in page(weft)


def test_an_edit_gives_way_to_a_source_that_says_something_new(weft: Weft, folder: Path) -> None:
    apply_change(weft, PROPOSALS["edit"][0], LUNCH, NOW)
    (folder / "old.md").write_text("# Old lunch rules\n\nLunch was once served at nine in the red hall.\n")
    weft.index(folder)
    assert "red hall" in page(weft)
    assert "blue hall" not in page(weft)


def test_what_was_forgotten_comes_back_as_its_file_is_now(weft: Weft, folder: Path) -> None:
    undo = apply_change(weft, Proposal("forget", key="kitchen:old.md"), LUNCH, NOW)
    (folder / "old.md").write_text("# Old lunch rules\n\nLunch was once served at ten in the white hall.\n")
    weft.index(folder)
    undo_change(weft, undo)
    weft.index(folder)
    assert "white hall" in page(weft)


def test_edits_of_one_node_are_undone_from_the_last_on(weft: Weft) -> None:
    first = apply_change(weft, PROPOSALS["edit"][0], LUNCH, NOW)
    second = apply_change(weft, PROPOSALS["tag"][0], LUNCH, NOW)
    with pytest.raises(InvalidInput, match="later edit"):
        undo_change(weft, first)
    undo_change(weft, second)
    undo_change(weft, first)
    assert read_edits(weft.store, "default") == {}


def written_files(weft: Weft) -> dict[str, int]:
    """The files beside the store with the time of their last change, but for those that asking writes."""
    files = [file for file in weft.folder.rglob("*") if file.is_file() and not file.name.startswith("weft.sqlite")]
    return {file.name: file.stat().st_mtime_ns for file in files if file.parent.name != "trees"}


def test_a_preview_writes_nothing_and_others_never_see_it(weft: Weft, tmp_path: Path) -> None:
    remember(weft.indexing_context(), "Lunch in the hall is never late.", now=NOW)
    before, sequence = page(weft), weft.store.last_sequence()
    kept = written_files(weft)
    with open_trial(weft.store, weft.reader.index, tmp_path / "trial") as opened:
        tried = Weft(Reader(opened, None, weft.folders, weft.contexts))
        apply_change(tried, PROPOSALS["edit"][0], LUNCH, NOW)
        assert "blue hall" in page(tried)
        # Somebody else asks in that moment, from this process and from another.
        assert page(weft) == before
        with Weft.open(tmp_path / ".weft", embedder=None, read_only=True) as other:
            assert page(other) == before
    for proposal, _, _ in PROPOSALS.values():
        preview_change(weft, proposal, LUNCH, NOW)
    assert page(weft) == before
    assert weft.store.last_sequence() == sequence
    assert written_files(weft) == kept


def test_a_memory_is_superseded_with_its_history_and_undone(weft: Weft) -> None:
    context = weft.indexing_context()
    key = remember(context, "The cook wants orders before ten.", now=NOW).memory.key
    undo = apply_change(
        weft, Proposal("supersede", key=key, text="The cook wants orders before nine."), LUNCH, NOW
    )
    (memory,) = list_memories(context)
    assert memory.text == "The cook wants orders before nine."
    assert [old.text for old in memory.history] == ["The cook wants orders before ten."]
    undo_change(weft, undo)
    (memory,) = list_memories(context)
    assert (memory.text, memory.history) == ("The cook wants orders before ten.", ())
    with pytest.raises(InvalidInput, match="no memory"):
        apply_change(weft, Proposal("supersede", key="kitchen:old.md", text="x"), LUNCH, NOW)


def test_entities_are_merged_and_parted_again(tmp_path: Path) -> None:
    book = tmp_path / "novel.txt"
    book.write_text(manuscript(), encoding="utf-8")
    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        weft.index(book, reading="story")
        from weft.overview.cast import list_entities

        before = [listing.node.title for listing in list_entities(weft)]
        people = [listing.node.title for listing in list_entities(weft, kinds=("character",))][:2]
        asked = Request(people[0], profile="general", floor=0.0)
        preview = preview_change(weft, Proposal("merge", names=tuple(people)), asked, NOW)
        assert [listing.node.title for listing in list_entities(weft)] == before
        undo = apply_change(weft, Proposal("merge", names=tuple(people)), LUNCH, NOW)
        assert page(weft, asked) == preview.after.text != preview.before.text
        assert len(list_entities(weft)) < len(before)
        undo_change(weft, undo)
        assert [listing.node.title for listing in list_entities(weft)] == before
        with pytest.raises(InvalidInput, match="two names"):
            apply_change(weft, Proposal("merge", names=("Mira",)), LUNCH, NOW)


# --- kinds of pages --------------------------------------------------------------------------------------------


def own(**change: Any) -> Proposal:
    return Proposal("page", name="mine", page=PageChange(**change))


def test_a_hidden_source_is_gone_from_pages_of_the_own_profile_only(weft: Weft) -> None:
    preview = preview_change(weft, own(hide_sources=("attic",)), LUNCH, NOW)
    assert "some say" in preview.before.text
    assert "some say" not in preview.after.text
    assert 'hidden_sources = ["attic"]' in preview.toml
    assert saved_profiles(weft) == ()
    undo = apply_change(weft, own(hide_sources=("attic",)), LUNCH, NOW)
    mine = Request(LUNCH.question, profile="mine", floor=0.0)
    assert page(weft, mine) == preview.after.text
    assert "some say" in page(weft)
    undo_change(weft, undo)
    with pytest.raises(UnknownName):
        page(weft, mine)


def test_a_source_that_is_indexed_after_another_was_hidden_is_shown(weft: Weft, tmp_path: Path) -> None:
    apply_change(weft, own(hide_sources=("attic",)), LUNCH, NOW)
    cellar = tmp_path / "cellar"
    cellar.mkdir()
    (cellar / "new.md").write_text("# New lunch rules\n\nLunch is served in the violet hall from Monday on.\n")
    weft.index(cellar)
    shown = page(weft, Request(LUNCH.question, profile="mine", floor=0.0))
    assert "violet hall" in shown
    assert "some say" not in shown


def test_hiding_a_second_source_keeps_the_first_hidden(weft: Weft) -> None:
    apply_change(weft, own(hide_sources=("attic",)), LUNCH, NOW)
    weft.put(Node("cellar:1", "note", title="Cellar lunch", text="Lunch in the hall is served cold, they say."))
    mine = Request(LUNCH.question, profile="mine", floor=0.0)
    preview = preview_change(weft, own(hide_sources=("cellar",)), mine, NOW)
    assert 'hidden_sources = ["attic", "cellar"]' in preview.toml
    assert "they say" in preview.before.text
    assert "they say" not in preview.after.text
    assert "some say" not in preview.after.text


def test_a_kind_is_raised_above_the_others_and_twice_raises_it_further(weft: Weft) -> None:
    preview = preview_change(weft, own(kinds={"rumour": 3.0}), LUNCH, NOW)
    assert preview.after.ledger[0].kind == "rumour"
    assert preview.before.ledger[0].kind != "rumour"
    apply_change(weft, own(kinds={"rumour": 3.0}), LUNCH, NOW)
    again = Request(LUNCH.question, profile="mine", floor=0.0)
    assert "rumour = 9" in preview_change(weft, own(kinds={"rumour": 3.0}), again, NOW).toml


@pytest.mark.parametrize(
    ("proposal", "said"),
    [
        (own(hide_sources=("cellar",)), "cellar"),
        (own(hide_sources=("attic", "kitchen")), "every source"),
        (own(kinds={"note": 99.0}), "99"),
        (Proposal("page", name="general"), "built-in"),
        (Proposal("edit", key="kitchen:old.md", parts={"kind": "x"}), "kind"),
        (Proposal("edit", key="kitchen:old.md"), "Nothing"),
        (Proposal("forget", key="kitchen:none.md"), "none.md"),
        (Proposal("burn", key="kitchen:old.md"), "burn"),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(weft: Weft, proposal: Proposal, said: str) -> None:
    before = page(weft)
    with pytest.raises((InvalidInput, UnknownName), match=said):
        preview_change(weft, proposal, LUNCH, NOW)
    with pytest.raises((InvalidInput, UnknownName), match=said):
        apply_change(weft, proposal, LUNCH, NOW)
    assert page(weft) == before
    assert list_changes(weft, ["default"]) == ()


def test_proven_forgetting_leaves_no_edit_with_the_old_words(weft: Weft) -> None:
    context = weft.indexing_context()
    key = remember(context, "The vault's combination is written under the third shelf.", now=NOW).memory.key
    apply_change(weft, Proposal("tag", key=key, tags=("vault",)), LUNCH, NOW)
    assert erase(weft, key, now=NOW, tenant="default").proven
    assert read_edits(weft.store, "default") == {}


def test_a_tenant_sees_its_own_corrections_only(weft: Weft) -> None:
    weft.put(Node("x:1", "note", "other", "Other", text="Other text."))
    apply_change(weft, Proposal("forget", tenant="other", key="x:1"), Request("x", view=View(("other",))), NOW)
    assert list_changes(weft, ["default"]) == ()
    assert len(list_changes(weft, ["other"])) == 1
