"""Stories in a store: entities and ties beside the chapters, kept current, corrected, known up to a chapter."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manuscripts import CHAPTERS, manuscript
from weft import Node, Weft
from weft.corrections.entities import apply_correction, undo_correction
from weft.errors import InvalidInput
from weft.indexing.stories import read_corrections
from weft.indexing.views import Views
from weft.model import Context, View
from weft.overview.cast import list_entities
from weft.store import SqliteStore
from weft.tokens import counter_for

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def book(folder: Path, text: str, name: str = "novel.txt") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def indexed(folder: Path, text: str, reading: str = "story") -> Weft:
    weft = Weft.open(folder / "store", embedder=None)
    weft.index(book(folder, text), reading=reading)
    return weft


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with indexed(tmp_path, manuscript(), "") as opened:
        yield opened


def titles(weft: Weft, as_of: int | None = None) -> set[str]:
    return {each.node.title for each in list_entities(weft, as_of=as_of)}


def only(weft: Weft, name: str) -> Node:
    (node,) = weft.show(name)
    return node


def relations(weft: Weft, name: str) -> set[tuple[str, str]]:
    return {(edge.type, node.title) for node, edge in weft.related(name)}


def page(weft: Weft, question: str, as_of: int | None = None) -> Context:
    return weft.context(question, profile="narrative", max_tokens=1500, as_of=as_of, now=NOW)


def test_a_novel_becomes_a_story_graph(weft: Weft) -> None:
    margaret = only(weft, "Meg")
    assert (margaret.title, margaret.kind, margaret.sequence) == ("Margaret Vane", "character", 1)
    assert margaret.summary.startswith("Margaret Vane was the new postmistress of Thornby")
    assert margaret.fields["mentions"] == 12
    assert {("parent", "Ruth Pennick"), ("speaks_with", "Captain Rourke")} <= relations(weft, "Josiah Pennick")


def test_an_entity_cites_the_lines_that_define_it(weft: Weft) -> None:
    margaret = only(weft, "Meg")
    first, last = margaret.origin.first_line, margaret.origin.last_line
    assert first is not None and last is not None
    shown = " ".join(manuscript().split("\n")[first - 1 : last])
    assert " ".join(margaret.text.split()) in " ".join(shown.split())


def test_every_mention_leads_from_the_text_to_the_entity(weft: Weft) -> None:
    found = [(node, edge) for node, edge in weft.related("Ruth Pennick") if edge.type == "mentions"]
    assert [node.title for node, _ in found] == ["Chapter 4: The Lantern House"]
    assert all(edge.target.endswith(":entity/ruth-pennick") for _, edge in found)


def test_an_unchanged_book_is_not_told_again(weft: Weft, tmp_path: Path) -> None:
    assert weft.index(tmp_path / "novel.txt").entities == 0


def test_a_book_told_by_another_version_keeps_none_of_the_edges_of_the_first(
    weft: Weft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted((node.key, edge.type) for node, edge in weft.related("Ruth Pennick"))
    monkeypatch.setattr("weft.indexing.stories.STORY_VERSION", "another")
    assert weft.index(tmp_path / "novel.txt").entities > 0
    assert weft.store.edge_makers("story:novel@") == (("story:novel@another", "default"),)
    assert sorted((node.key, edge.type) for node, edge in weft.related("Ruth Pennick")) == before


def test_what_files_are_read_as_is_remembered(tmp_path: Path) -> None:
    with indexed(tmp_path, "Once there was a king called Aldo.", "story") as weft:
        weft.index(tmp_path / "novel.txt")
        assert weft.status().by_kind["chapter"] == 1
        weft.index(tmp_path / "novel.txt", reading="auto")
        assert "chapter" not in weft.status().by_kind
        weft.index(tmp_path / "novel.txt")
        assert "chapter" not in weft.status().by_kind


def test_a_changed_chapter_changes_the_story(weft: Weft, tmp_path: Path) -> None:
    text = manuscript().replace("Ruth", "Judith")
    assert weft.index(book(tmp_path, text)).entities > 0
    assert "Judith Pennick" in titles(weft)
    assert "Ruth Pennick" not in titles(weft)


def test_nothing_is_left_of_a_book_that_is_removed(weft: Weft) -> None:
    weft.remove_source("novel")
    status = weft.status()
    assert (status.nodes, status.edges) == (0, 0)
    assert weft.verify() == ()


def test_notes_come_before_what_is_found(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    book(vault / "Chapters", f"---\nkind: chapter\nchapter: 1\n---\n{CHAPTERS[0]}", "01.md")
    book(
        vault / "Characters",
        '---\nkind: character\nknown_from: 1\naliases: [the ferryman]\nenemies: ["[[Captain Rourke]]"]\n---\nOld.',
        "Josiah Pennick.md",
    )
    book(vault / "Characters", "---\nkind: character\n---\nLost at sea. [[Nobody]]", "Captain Rourke.md")
    with Weft.open(tmp_path / "store", embedder=None) as weft:
        weft.index(vault)
        assert [node.key for node in weft.show("Josiah Pennick")] == ["vault:Characters/Josiah Pennick.md"]
        assert ("enemy", "Captain Rourke") in relations(weft, "Josiah Pennick")
        assert "Margaret Vane" in titles(weft)


def vault_of_hollins(folder: Path, last: str = "Sanna laughed with Robb.") -> Path:
    """Two with notes, whom the chapters call by parts of their names; one of them only in the second."""
    chapters = (
        '"Up," said Robb to the dog. In the yard Robb sang of rain.',
        f'Robb called. {last} "No," said Sanna.',
    )
    for number, text in enumerate(chapters, start=1):
        book(folder / "Chapters", f"---\nkind: chapter\nchapter: {number}\n---\n{text}", f"0{number}.md")
    for name in ("Robb Hollin", "Sanna Hollin"):
        book(folder / "Characters", "---\nkind: character\nsequence: 0\n---\nOf the cold keep.", f"{name}.md")
    return folder


def aliases(weft: Weft, as_of: int | None = None) -> dict[str, set[str]]:
    listed = list_entities(weft, kinds=("character",), as_of=as_of)
    return {each.node.title: {alias.text for alias in each.node.aliases} for each in listed}


def test_who_has_a_note_is_known_by_what_the_prose_calls_him(tmp_path: Path) -> None:
    with Weft.open(tmp_path / "store", embedder=None) as weft:
        weft.index(vault_of_hollins(tmp_path / "vault"))
        assert aliases(weft) == {"Robb Hollin": {"Robb"}, "Sanna Hollin": {"Sanna"}}
        result = page(weft, "Who is Sanna?").page.sections[0].groups[0]
    assert result.subject.node.title == "Sanna Hollin"
    quoted = [item.candidate.node.text for part in result.parts for item in part.items]
    assert any("Sanna laughed" in text for text in quoted)


def test_a_name_that_the_prose_no_longer_uses_is_nobodys(tmp_path: Path) -> None:
    with Weft.open(tmp_path / "store", embedder=None) as weft:
        weft.index(vault_of_hollins(tmp_path / "vault"))
        book(tmp_path / "vault" / "Chapters", "---\nkind: chapter\nchapter: 2\n---\nRobb called.", "02.md")
        weft.index(tmp_path / "vault")
        assert aliases(weft) == {"Robb Hollin": {"Robb"}, "Sanna Hollin": set()}
        assert weft.show("Sanna") == ()


def test_what_prose_calls_somebody_later_is_not_known_as_of_a_chapter(tmp_path: Path) -> None:
    with Weft.open(tmp_path / "store", embedder=None) as weft:
        weft.index(vault_of_hollins(tmp_path / "vault"))
        assert aliases(weft, as_of=0) == {"Robb Hollin": set(), "Sanna Hollin": set()}
        assert aliases(weft, as_of=1) == {"Robb Hollin": {"Robb"}, "Sanna Hollin": set()}
        assert aliases(weft, as_of=2) == aliases(weft)


def test_stories_are_told_the_same_step_by_step_as_at_once(tmp_path: Path) -> None:
    with Weft.open(tmp_path / "slow", embedder=None) as slow, Weft.open(tmp_path / "once", embedder=None) as once:
        slow.index(vault_of_hollins(tmp_path / "vault", last="Nobody laughed."))
        for weft in (slow, once):
            weft.index(vault_of_hollins(tmp_path / "vault"))
        assert aliases(slow) == aliases(once)
        assert page(slow, "Sanna and Robb").text == page(once, "Sanna and Robb").text


# --- corrections -----------------------------------------------------------------------------------------


def test_corrections_survive_indexing_again(weft: Weft, tmp_path: Path) -> None:
    apply_correction(weft, "merge", ["Will Vane", "Tom Sallow"])
    apply_correction(weft, "rename", ["Dr. Ashe"], value="Lavinia Ashe")
    apply_correction(weft, "type", ["Edgar"], value="object")
    apply_correction(weft, "hide", ["Aldersea"])
    weft.index(book(tmp_path, manuscript() + "\nNobody said more.\n"))
    assert only(weft, "Tom Sallow").title == "Will Vane"
    assert only(weft, "Dr. Ashe").title == "Lavinia Ashe"
    assert only(weft, "Edgar").kind == "object"
    assert "Aldersea" not in titles(weft)
    assert weft.verify() == ()


def test_a_correction_holds_from_the_chapter_in_which_all_its_names_are_known(weft: Weft) -> None:
    assert apply_correction(weft, "merge", ["Will Vane", "Tom Sallow"]).chapter == 3
    assert only(weft, "Tom Sallow").title == "Will Vane"
    assert "Tom Sallow" not in {node.title for node in weft.show("Tom Sallow", as_of=4)}
    apply_correction(weft, "rename", ["Captain Rourke"], value="The Traitor", chapter=4)
    assert "Captain Rourke" in titles(weft, as_of=3)
    assert "The Traitor" in titles(weft, as_of=4)


def test_a_correction_can_be_taken_back(weft: Weft) -> None:
    apply_correction(weft, "hide", ["Edgar"])
    undo_correction(weft, 1)
    assert "Edgar" in titles(weft)
    assert not read_corrections(weft.store, "default")


@pytest.mark.parametrize(
    ("action", "names", "value", "told"),
    [
        ("hide", ["Josiah Pennik"], "", "Did you mean 'Josiah Pennick'"),
        ("type", ["Edgar"], "skeleton", "Valid: character, event, faction, location, object"),
        ("rename", ["Edgar"], " ", "new name is empty"),
    ],
)
def test_a_correction_that_makes_no_sense_is_refused(
    weft: Weft, action: str, names: list[str], value: str, told: str
) -> None:
    with pytest.raises(InvalidInput, match=told):
        apply_correction(weft, action, names, value=value)
    assert not read_corrections(weft.store, "default")


# --- no spoilers -----------------------------------------------------------------------------------------

SENTENCES = st.sampled_from(
    [
        '"No," said Orla Finch. "Never," answered Bram.',
        "Miss Finch was the daughter of Captain Teague, who lived in Dunmore.",
        "Then Orla met Mr. Finch and Mrs. Finch at the Old Mill.",
        "Bram Teague had married Ruth Finch.",
        "It rained in Dunmore. Nobody came to the mill, and the river rose.",
        "Eddie told Edward Finch that Teague was the Duke of Dunmore.",
    ]
)
BOOKS = st.lists(st.lists(SENTENCES, min_size=1, max_size=5).map("\n\n".join), min_size=2, max_size=5)


@pytest.mark.parametrize("chapter", [1, 2, 3, 4])
def test_the_page_as_of_a_chapter_is_that_of_a_book_that_ends_there(
    weft: Weft, tmp_path: Path, chapter: int
) -> None:
    with indexed(tmp_path / "short", manuscript(chapter)) as short:
        for question in ("Who is Will Vane?", "Captain Rourke", "What happened at Harrow Lock?"):
            assert page(weft, question, chapter).text == page(short, question).text
        assert titles(weft, as_of=chapter) == titles(short)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=BOOKS, data=st.data())
def test_no_later_chapter_changes_a_page(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], data: st.DataObject
) -> None:
    chapter = data.draw(st.integers(min_value=1, max_value=len(texts)))
    parts = [f"CHAPTER {number}\n\n{text}\n\n{text}\n" for number, text in enumerate(texts, start=1)]
    folder = tmp_path_factory.mktemp("books")
    whole, short = (
        indexed(folder / "whole", "\n".join(parts)),
        indexed(folder / "short", "\n".join(parts[:chapter])),
    )
    with whole, short:
        for question in ("Who is Orla Finch?", "What happened to Teague in Dunmore?"):
            assert page(whole, question, chapter).text == page(short, question).text


def test_a_view_is_made_once_and_made_anew_when_the_store_changes(weft: Weft, tmp_path: Path) -> None:
    views = tmp_path / "store" / "derived" / "views"
    page(weft, "Who is Will Vane?", 2)
    first = {each.name for each in views.iterdir()}
    page(weft, "Who is Josiah?", 2)
    assert {each.name for each in views.iterdir()} == first
    weft.index(book(tmp_path, manuscript().replace("neatly", "badly")))
    assert "badly" in page(weft, "How does Will write?", 2).text
    assert len(list(views.iterdir())) == len(first) + 1


def test_a_view_that_was_made_serves_the_next_program_too(
    weft: Weft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = page(weft, "Who is Will Vane?", 2).text

    def made_again(**_: object) -> str:
        raise AssertionError("the view is made a second time")

    monkeypatch.setattr("weft.indexing.views.mkdtemp", made_again)
    with Weft.open(tmp_path / "store", embedder=None) as later:
        assert page(later, "Who is Will Vane?", 2).text == result
    with pytest.raises(AssertionError, match="second time"):
        page(weft, "Who is Will Vane?", 3)


def test_notes_without_a_place_in_the_story_are_left_out_as_of_a_chapter(weft: Weft, tmp_path: Path) -> None:
    weft.index(book(tmp_path, "Will Vane is alive in Aldersea, and the twist is that Ruth knows.", "plan.md"))
    assert "the twist is" in page(weft, "Is Will Vane alive?").text
    assert "the twist is" not in page(weft, "Is Will Vane alive?", 4).text


def test_a_store_that_takes_no_writes_answers_as_of_a_chapter_too(weft: Weft, tmp_path: Path) -> None:
    expected = page(weft, "Who is Will Vane?", 2).text
    with Weft.open(tmp_path / "store", embedder=None, read_only=True) as reader:
        assert page(reader, "Who is Will Vane?", 2).text == expected


def test_only_a_few_views_are_kept(weft: Weft, tmp_path: Path) -> None:
    count, _ = counter_for("cl100k_base")
    views = Views(weft.store, tmp_path / "views", None, count, max_on_disk=2)
    for chapter in (1, 2, 3, 4):
        with views.at(View(as_of=chapter)) as (store, _):
            assert store.verify() == ()
    views.close()
    assert len(list((tmp_path / "views").iterdir())) == 2


def test_a_view_is_a_sound_store(weft: Weft, tmp_path: Path) -> None:
    page(weft, "Who is Will Vane?", 3)
    (place,) = (tmp_path / "store" / "derived" / "views").iterdir()
    store = SqliteStore.open(place, create=False)
    assert store.verify() == ()
    store.close()


# --- the chapters of the example, without its notes ----------------------------------------------------------


@pytest.fixture(scope="module")
def chapters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    with Weft.open(tmp_path_factory.mktemp("chapters") / "store") as opened:
        opened.index(Path(__file__).parents[3] / "examples" / "novel" / "Chapters", reading="story")
        yield opened


def test_names_in_links_without_a_note_are_read_whole(chapters: Weft) -> None:
    found = {each.node.title: each.node.kind for each in list_entities(chapters)}
    assert found["Tide Office"] == found["Lantern Company"] == "faction"
    assert found["Drowned Stair"] == found["Pellwick"] == "location"
    assert "Office" not in found


def test_a_question_without_a_name_tells_of_those_whom_its_passages_name(chapters: Weft) -> None:
    page = chapters.context("Who wears a drowned man's boots?", profile="narrative").page
    result = [group.subject.node.title for section in page.sections for group in section.groups]
    assert result[0] == "Tamsin Roke", "a place that only has a word of the question comes later"
    assert {"Isaura Bell", "Odo Farrant"} <= set(result)


def test_beside_the_hero_stand_those_who_share_his_scenes_before_one_who_is_defined_by_his_name(
    tmp_path: Path,
) -> None:
    company = ("Brita", "Sigrun", "Torvald", "Ingmar", "Astrid", "Leif", "Ragna", "Olaf")
    daily = [
        f'Halvard mended the {what} at noon. With {name} he did it. "Hold it," said Halvard, and {name} held it.'
        for name in company
        for what in ("gate", "oar", "roof")
    ]
    once = (
        "Halvard and Halvard's dog passed Quist. Quist knew Halvard's step, Halvard's lamp and Halvard's debts. "
        '"Good evening," said Quist. Nobody answered Quist.'
    )
    text = "\n\n".join(f"Chapter {at}\n\n{told}" for at, told in enumerate([*daily, once], start=1))
    with indexed(tmp_path, text) as opened:
        subjects = [group.subject.node.title for group in page(opened, "Who is Halvard?").page.sections[0].groups]
    assert subjects[0] == "Halvard"
    assert set(subjects[1:]) < set(company)


_ISLAND = "\n".join(
    f'CHAPTER {number}\n\nMargaret Stone rowed to the island. "Row," said Margaret. {more}\n'
    for number, more in enumerate(("She met Ruth Quill.", '"Who are you?" asked Ruth Quill.'), start=1)
)


def test_two_novels_in_one_folder_are_two_stories(tmp_path: Path) -> None:
    book(tmp_path / "shelf", manuscript(), "ferry.txt")
    book(tmp_path / "shelf", _ISLAND * 2, "island.txt")
    with Weft.open(tmp_path / "store", embedder=None) as weft:
        weft.index(tmp_path / "shelf")
        people = {each.node.key: each.node for each in list_entities(weft, kinds=("character",))}
        assert people["shelf:entity/ferry/margaret-vane"].fields["book"] == "ferry"
        assert people["shelf:entity/island/margaret-stone"].fields["book"] == "island"
        for found in people.values():
            ties = [edge for _, edge in weft.related(found.key)]
            (own,) = {key.split("/")[1] for edge in ties for key in (edge.source, edge.target) if "entity" in key}
            assert own == found.fields["book"]


def test_a_point_holds_for_each_book_by_its_own_chapters(tmp_path: Path) -> None:
    book(tmp_path / "shelf", manuscript(), "ferry.txt")
    book(tmp_path / "shelf", _ISLAND, "island.txt")
    with Weft.open(tmp_path / "store", embedder=None) as weft:
        weft.index(tmp_path / "shelf")
        assert {"Margaret Vane", "Margaret Stone", "Ruth Quill"} <= titles(weft, as_of=1)
        assert "Silas Rourke" not in titles(weft, as_of=2)
        with pytest.raises(InvalidInput, match="longest of 2 books has chapters up to 4"):
            page(weft, "Who is Ruth Quill?", as_of=5)


def test_a_book_that_is_taken_from_the_folder_takes_its_people_along(tmp_path: Path) -> None:
    book(tmp_path / "shelf", manuscript(), "ferry.txt")
    island = book(tmp_path / "shelf", _ISLAND, "island.txt")
    with Weft.open(tmp_path / "store", embedder=None) as weft:
        weft.index(tmp_path / "shelf")
        island.unlink()
        weft.index(tmp_path / "shelf")
        assert "Margaret Stone" not in titles(weft)
        assert "shelf:entity/margaret-vane" in {each.node.key for each in list_entities(weft)}
