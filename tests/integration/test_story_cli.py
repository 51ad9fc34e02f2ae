"""A novel on the command line: indexed, listed, corrected, and asked as of a chapter."""

import json
from pathlib import Path

import pytest
from command_line import Cli

from manuscripts import manuscript
from rest_service import make_service


@pytest.fixture
def novel(tmp_path: Path, cli: Cli) -> list[str]:
    """The options that name a store with the novel in it."""
    file = tmp_path / "novel.txt"
    file.write_text(manuscript(), encoding="utf-8")
    store = ["--store", str(tmp_path / "story")]
    done = cli("index", str(file), *store)
    assert done.code == 0
    assert "entities found in the story." in done.out
    return store


def listed(cli: Cli, *options: str) -> dict[str, dict[str, object]]:
    return {each["title"]: each for each in json.loads(cli("entities", "list", "--json", *options).out)}


def test_entities_are_listed_most_mentioned_first(cli: Cli, novel: list[str]) -> None:
    found = listed(cli, *novel)
    texts = [int(str(each["texts"])) for each in found.values()]
    assert texts == sorted(texts, reverse=True)
    assert found["Thornby"]["kind"] == "location"
    assert "Margaret Vane" in cli("entities", "list", *novel).out


def test_a_story_without_names_is_said_to_have_none(cli: Cli, tmp_path: Path) -> None:
    file, store = tmp_path / "rain.txt", ["--store", str(tmp_path / "rain")]
    file.write_text("Chapter 1\n\nthe rain fell, and nobody came.\n\nChapter 2\n\nit rained on.\n")
    assert cli("index", str(file), "--as", "story", *store).code == 0
    assert "no entity was found in it" in cli("entities", "list", *store).err


def test_a_name_that_comes_later_is_told_as_one_that_never_comes(cli: Cli, novel: list[str]) -> None:
    later = cli("context", "Who is Sallow?", "--as-of", "2", *novel)
    never = cli("context", "Who is Voldemort?", "--as-of", "2", *novel)
    assert "Up to chapter 2 nothing mentions Sallow." in later.out + later.err
    assert "Up to chapter 2 nothing mentions Voldemort." in never.out + never.err
    whole = cli("context", "Who is Voldemort?", *novel)
    assert "Nothing here mentions Voldemort." in whole.out + whole.err


def test_as_of_a_chapter_later_names_are_unknown(cli: Cli, novel: list[str]) -> None:
    assert "Tom Sallow" in listed(cli, *novel)
    assert "Tom Sallow" not in listed(cli, "--as-of", "2", *novel)
    page = cli("context", "Who is Will Vane?", "--profile", "narrative", "--as-of", "2", *novel)
    assert page.code == 0
    assert "Sallow" not in page.out and "Will Vane" in page.out


def test_the_service_knows_no_more_than_the_chapter(cli: Cli, novel: list[str]) -> None:
    service = make_service(Path(novel[1]))
    asked = {"profile": "narrative", "format": "markdown", "as_of": 2}
    answer = service.ask("Who is Will Vane?", "default", **asked)
    assert "Will Vane" in json.dumps(answer)
    assert "Sallow" not in json.dumps(answer)


def test_a_correction_is_made_listed_and_taken_back(cli: Cli, novel: list[str]) -> None:
    assert cli("entities", "merge", "Will Vane", "Tom Sallow", *novel).out == (
        "From chapter 3 on: Will Vane is also Tom Sallow.\n"
    )
    typed = json.loads(cli("entities", "type", "Edgar", "object", "--json", *novel).out)
    assert (typed["action"], typed["names"], typed["value"]) == ("type", ["Edgar"], "object")
    assert cli("entities", "rename", "Dr. Ashe", "Lavinia Ashe", "--chapter", "2", *novel).code == 0
    assert cli("entities", "hide", "Aldersea", *novel).code == 0
    found = listed(cli, *novel)
    assert {"Tom Sallow", "Dr. Ashe", "Aldersea"}.isdisjoint(found)
    assert found["Edgar"]["kind"] == "object"
    assert "Edgar is an object" in cli("entities", "corrections", *novel).out
    assert cli("entities", "undo", "4", *novel).out == "Undone: Aldersea is no entity.\n"
    assert "Aldersea" in listed(cli, *novel)


def test_a_name_is_split_off_and_dropped_and_both_are_taken_back(cli: Cli, novel: list[str]) -> None:
    before = listed(cli, *novel)
    done = cli("entities", "split", "Josiah Pennick", "Josiah", *novel)
    assert "Josiah Pennick is not Josiah, who is somebody else" in done.out
    assert "Josiah" in listed(cli, *novel)
    assert cli("entities", "drop-alias", "Josiah Pennick", "Pennick", *novel).code == 0
    assert "'Pennick'" not in str(listed(cli, *novel)["Josiah Pennick"]["aliases"])
    assert cli("entities", "undo", "2", *novel).code == 0
    assert json.loads(cli("entities", "undo", "1", "--json", *novel).out)["action"] == "split"
    assert listed(cli, *novel) == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("hide", "Pennick"), "'Pennick' is another name of Josiah Pennick"),
        (("split", "Josiah Pennick", "Edgar"), "'Edgar' is no other name of Josiah Pennick"),
        (("drop-alias", "Josiah Pennick", "Josiah Pennick"), "is shown as 'Josiah Pennick'"),
        (("hide", "Nobody At All"), "No entity of default is called"),
        (("type", "Edgar", "skeleton"), "Unknown type of entity 'skeleton'"),
        (("undo", "7"), "There is no correction 7"),
        (("list", "--type", "person"), "Valid: character, event"),
    ],
)
def test_what_cannot_be_done_is_said(cli: Cli, novel: list[str], arguments: tuple[str, ...], told: str) -> None:
    done = cli("entities", *arguments, *novel)
    assert done.code == 2
    assert told in done.err


def test_a_store_without_a_story_says_how_to_get_one(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Text.", encoding="utf-8")
    store = ["--store", str(tmp_path / "plain")]
    assert cli("index", str(tmp_path / "a.txt"), *store).code == 0
    assert "weft index BOOK --as story" in cli("entities", "list", *store).err


def test_a_story_without_one_type_says_so(cli: Cli, novel: list[str]) -> None:
    assert "no event was found in it" in cli("entities", "list", "--type", "event", *novel).err


def test_files_cannot_be_read_as_anything_else(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Text.", encoding="utf-8")
    assert "Allowed: story, notes, auto" in cli("index", str(tmp_path / "a.txt"), "--as", "novel").err


def test_indexing_says_which_chapters_it_understood_and_beyond_the_last_is_an_error(
    cli: Cli, novel: list[str]
) -> None:
    listing = cli("story", "chapters", *novel)
    assert "4 chapters" in listing.out
    done = cli("context", "Who is Will Vane?", "--as-of", "9", *novel)
    assert done.code == 2
    assert "There is no chapter 9: the story has chapters up to 4" in done.err


def test_chapters_in_doubt_refuse_a_point_until_they_are_accepted(cli: Cli, tmp_path: Path) -> None:
    file, store = tmp_path / "tale.txt", ["--store", str(tmp_path / "doubt")]
    file.write_text('"Well," said Ann Lee. It rained. Ann Lee came, and Ann Lee went.\n\n' * 40)
    done = cli("index", str(file), "--as", "story", *store)
    assert "in doubt" in done.err
    refused = cli("entities", "list", "--as-of", "1", *store)
    assert refused.code == 2 and "weft story chapters --accept tale" in refused.err
    assert cli("story", "chapters", "--accept", "tale", *store).code == 0
    assert cli("entities", "list", "--as-of", "1", *store).code == 0
    assert cli("story", "chapters", "--accept", "nobody", *store).code == 2


LIVES = """Chapter 1

"Good day," said Ann Holt.

"Good day," said Bram Vane. Ann Holt had blue eyes. She smiled. Bram Vane was the brother of Clara Vane.

"Come in," said Clara Vane. She sat down. Ann Holt came in.

Chapter 2

Ann Holt was engaged to Bram Vane. Clara Vane sang. Then Clara Vane died.

"Alas," said Ann Holt.

Chapter 3

Ann Holt and Bram Vane were married in the spring.

"What a day," said Clara Vane.

"The sun shines," said Clara Vane. Bram Vane looked into Ann Holt's green eyes.
"""


@pytest.fixture
def lives(tmp_path: Path, cli: Cli) -> list[str]:
    """The options that name a store with a story of births, deaths and mistakes."""
    file = tmp_path / "lives.txt"
    file.write_text(LIVES, encoding="utf-8")
    store = ["--store", str(tmp_path / "lives")]
    assert cli("index", str(file), "--as", "story", *store).code == 0
    return store


def test_a_timeline_is_in_the_order_of_the_book_and_ends_with_the_chapter(cli: Cli, lives: list[str]) -> None:
    told = json.loads(cli("story", "timeline", "--json", *lives).out)
    assert [(each["chapter"], each["text"]) for each in told] == [
        (2, "Ann Holt is engaged to Bram Vane"),
        (2, "Clara Vane dies"),
        (3, "Ann Holt marries Bram Vane"),
    ]
    assert "lives.txt:" in told[0]["place"]
    so_far = cli("story", "timeline", "--as-of", "2", *lives).out
    assert "engaged" in so_far and "marries" not in so_far
    assert "Bram Vane appears" in cli("story", "timeline", "Bram Vane", *lives).out


def test_what_is_known_of_somebody_has_the_chapter_it_is_known_from(cli: Cli, lives: list[str]) -> None:
    early = json.loads(cli("story", "known", "Clara Vane", "--as-of", "1", "--json", *lives).out)
    assert (early["known_from"], early["state"]) == (1, "")
    assert [(each["text"], each["known_from"]) for each in early["ties"]] == [("sibling Bram Vane", 1)]
    late = json.loads(cli("story", "known", "Ann Holt", "--json", *lives).out)
    assert ("spouse Bram Vane", 3) in [(each["text"], each["known_from"]) for each in late["ties"]]
    assert "dead since chapter 2" in cli("story", "known", "Clara Vane", *lives).out


def test_nobody_is_known_whom_the_book_does_not_hold_yet(cli: Cli, lives: list[str]) -> None:
    done = cli("story", "known", "Tom Sallow", "--as-of", "2", *lives)
    assert done.code != 0
    assert "no person or thing called 'Tom Sallow'" in done.err and "up to chapter 2" in done.err
    assert "There is no chapter 9" in cli("story", "timeline", "--as-of", "9", *lives).err


def test_the_check_names_both_places_of_what_cannot_be(cli: Cli, lives: list[str]) -> None:
    found = json.loads(cli("story", "check", "--json", *lives).out)
    assert [(each["kind"], each["first"]["known_from"], each["second"]["known_from"]) for each in found] == [
        ("dead", 2, 3),
        ("eyes", 1, 3),
    ]
    assert "Clara Vane dies, and speaks later" in cli("story", "check", *lives).out


def test_a_story_without_contradictions_has_none(cli: Cli, novel: list[str]) -> None:
    assert "No contradiction was found" in cli("story", "check", *novel).err


def test_a_quotation_remembered_badly_is_attributed_with_its_chapter(cli: Cli, tmp_path: Path) -> None:
    file, store = tmp_path / "mill.txt", ["--store", str(tmp_path / "mill")]
    text = LIVES.replace(
        "Then Clara Vane died.",
        'Then Clara Vane died.\n\n"The miller keeps his silver under the broken wheel," said Bram Vane.',
    )
    file.write_text(text, encoding="utf-8")
    assert cli("index", str(file), "--as", "story", *store).code == 0
    asked = cli("context", 'Who said "the miller hides silver under that broken wheel"?', *store)
    assert "is said by Bram Vane (chapter 2)" in asked.out + asked.err
    unasked = cli("context", "Where does the miller keep his silver?", *store)
    assert "is said by" not in unasked.out + unasked.err


def test_a_codex_is_drafted_accepted_and_rejected_and_overwrites_nothing(
    cli: Cli, lives: list[str], tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    drafts = vault / "codex-drafts"
    assert cli("story", "codex", str(vault), "--least", "1", *lives).code == 0
    names = {file.stem for file in drafts.iterdir()}
    assert {"Ann Holt", "Bram Vane", "Clara Vane"} <= names
    ann = (drafts / "Ann Holt.md").read_text(encoding="utf-8")
    assert "becomes: character" in ann and 'spouse: ["[[Bram Vane]]"]' in ann and "chapter 3" in ann

    (drafts / "Ann Holt.md").write_text(ann + "She hates rain.\n", encoding="utf-8")
    assert "was edited" in cli("story", "codex", str(vault), "--reject", "Ann Holt", *lives).err
    assert cli("story", "codex", str(vault), "--accept", "Ann Holt", *lives).code == 0
    accepted = (vault / "Characters" / "Ann Holt.md").read_text(encoding="utf-8")
    assert "kind: character" in accepted and "She hates rain." in accepted

    assert cli("story", "codex", str(vault), "--reject", "Clara Vane", *lives).code == 0
    again = json.loads(cli("story", "codex", str(vault), "--least", "1", "--json", *lives).out)
    assert again["written"] == [] and again["rejected"] == ["Clara Vane"]
    assert {"Ann Holt", "Bram Vane"} <= set(again["kept"])
    assert "She hates rain." in (vault / "Characters" / "Ann Holt.md").read_text(encoding="utf-8")

    assert cli("story", "codex", str(vault), "--restore", "Clara Vane", *lives).code == 0
    once_more = json.loads(cli("story", "codex", str(vault), "--least", "1", "--json", *lives).out)
    assert once_more["written"] == [str(drafts / "Clara Vane.md")]


def test_an_accepted_draft_never_replaces_a_note(cli: Cli, lives: list[str], tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    cli("story", "codex", str(vault), "--least", "1", *lives)
    (vault / "Characters").mkdir()
    (vault / "Characters" / "Bram Vane.md").write_text("Mine.\n", encoding="utf-8")
    assert "is not written over" in cli("story", "codex", str(vault), "--accept", "Bram Vane", *lives).err
    assert (vault / "Characters" / "Bram Vane.md").read_text(encoding="utf-8") == "Mine.\n"
    assert "There is no draft" in cli("story", "codex", str(vault), "--accept", "Nobody", *lives).err


def chapters(cli: Cli, store: list[str]) -> list[str]:
    (book,) = json.loads(cli("story", "chapters", "--json", *store).out)
    return [chapter["title"] for chapter in book["chapters"]]


def test_chapters_are_corrected_and_the_correction_taken_back(cli: Cli, tmp_path: Path) -> None:
    file, store = tmp_path / "book.txt", ["--store", str(tmp_path / "book")]
    prose = '"Good day," said Ann Holt. "It rains," said Bram Vane. They sat by the fire till it was late.\n\n'
    file.write_text(
        f"Chapter 1\n\n{prose}The Storm Comes\n\n{prose}Chapter 2\n\n{prose}Chapter 3\n\n{prose}", encoding="utf-8"
    )
    cli("index", str(file), "--as", "story", *store)
    assert chapters(cli, store) == ["Chapter 1", "Chapter 2", "Chapter 3"]

    assert cli("story", "chapters", "--begin", "book", "The Storm Comes", *store).code == 0
    assert cli("story", "chapters", "--no-begin", "book", "Chapter 3", *store).code == 0
    cli("index", str(file), *store)
    assert chapters(cli, store) == ["Chapter 1", "The Storm Comes", "Chapter 2"]
    # The word that it is a story does not undo what was said of its chapters.
    cli("index", str(file), "--as", "story", *store)
    assert chapters(cli, store) == ["Chapter 1", "The Storm Comes", "Chapter 2"]

    assert "-Chapter 3" in cli("story", "chapters", "--undo", "book", *store).err
    cli("index", str(file), *store)
    assert chapters(cli, store) == ["Chapter 1", "The Storm Comes", "Chapter 2", "Chapter 3"]
    cli("story", "chapters", "--undo", "book", *store)
    cli("index", str(file), *store)
    assert chapters(cli, store) == ["Chapter 1", "Chapter 2", "Chapter 3"]


def test_a_chapter_that_is_not_there_cannot_be_corrected(cli: Cli, novel: list[str]) -> None:
    assert "No line of novel is 'Nowhere'" in cli("story", "chapters", "--begin", "novel", "Nowhere", *novel).err
    refused = cli("story", "chapters", "--no-begin", "novel", "Nowhere", *novel).err
    assert "No chapter of novel is called 'Nowhere'" in refused
    assert "No chapter of 'novel' was corrected" in cli("story", "chapters", "--undo", "novel", *novel).err
    assert "Unknown story" in cli("story", "chapters", "--begin", "other", "Line", *novel).err


# --- several books in one folder ---------------------------------------------------------------------------


@pytest.fixture
def two_books(cli: Cli, tmp_path: Path) -> list[str]:
    """The options that name a store with two novels, in each of which there is an Ann."""
    folder, store = tmp_path / "shelf", ["--store", str(tmp_path / "shelf-store")]
    folder.mkdir()
    talk = '"Good day," said Ann {0}. "It rains," said {1}. They sat by the fire. Ann {0} laughed. {1} rose.\n\n'
    holt = ["\n\n".join((f"Chapter {number}", talk.format("Holt", "Bram Vane"))) for number in (1, 2, 3)]
    reed = ["\n\n".join((f"Chapter {number}", talk.format("Reed", "Colin Drew"))) for number in (1, 2)]
    late = "Chapter 3: The Ball\n\nAnn Reed married Colin Drew. " + talk.format("Reed", "Colin Drew")
    (folder / "garden.txt").write_text("\n".join(holt), encoding="utf-8")
    (folder / "island.txt").write_text("\n".join((*reed, late)), encoding="utf-8")
    assert cli("index", str(folder), *store).code == 0
    return store


def test_two_novels_in_a_folder_have_each_their_own_chapters_and_cast(cli: Cli, two_books: list[str]) -> None:
    books = json.loads(cli("story", "chapters", "--json", *two_books).out)
    assert {each["book"]: len(each["chapters"]) for each in books} == {"garden": 3, "island": 3}
    found = listed(cli, *two_books)
    assert {"Ann Holt", "Ann Reed", "Bram Vane", "Colin Drew"} <= found.keys()
    assert "Ann Reed" not in str(found["Ann Holt"])


def test_a_page_tells_which_of_two_novels_an_item_is_from(cli: Cli, two_books: list[str]) -> None:
    page = cli("context", "Who is Colin Drew?", *two_books).out
    assert "### Colin Drew\n*island.txt:3 · Chapter 1*" in page
    narrative = cli("context", "Who is Colin Drew?", "--profile", "narrative", *two_books).out
    told = narrative.partition("### Colin Drew")[2].partition("###")[0]
    assert "- (island, " in told and "(garden, " not in told


def test_each_of_two_novels_ends_with_its_own_chapter(cli: Cli, two_books: list[str]) -> None:
    assert "marries Colin Drew" in cli("story", "timeline", *two_books).out
    assert "marries" not in cli("story", "timeline", "--as-of", "2", *two_books).out
    assert "Ann Holt" in listed(cli, "--as-of", "2", *two_books)


def test_a_chapter_of_the_second_novel_is_corrected(cli: Cli, two_books: list[str]) -> None:
    assert cli("story", "chapters", "--no-begin", "shelf", "Chapter 3: The Ball", *two_books).code == 0
