"""Stories in a PostgreSQL store: told alike, and known up to a chapter without a trace of later ones."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from command_line import EXAMPLES, Cli

from manuscripts import CHAPTERS, long_manuscript, manuscript
from weft import Weft

NOW = datetime(2026, 3, 1, tzinfo=UTC)
QUESTIONS = ("Who is Margaret Vane?", "What happened at Harrow Lock?")
ASKED = {
    "novel": ("Who are Tamsin Roke's allies?", "What happened to Odo Farrant?", "What is wrong with the table?"),
    "long": ("Who is Orsolya Feld?", "What happened in Saltmere?", "How are Tib Marrow and Mrs. Stroud related?"),
}
CORRECTIONS = (
    ("rename", "Captain Lasse Quill", "Lasse Quill", "--chapter", "6"),
    ("merge", "Orsolya Feld", "Petra Lund", "--chapter", "20"),
    ("type", "Kettle Bridge", "faction"),
    ("hide", "Dunmarrow"),
)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """The generated book as a file."""
    path = tmp_path / "glass.txt"
    path.write_text(long_manuscript(), encoding="utf-8")
    return path


def told(
    cli: Cli, world: str, store: object, *options: str, as_of: Sequence[int | None] = (None, 2, 5)
) -> list[str]:
    """The narrative pages of a world, whole and as of some chapters, and its entities."""
    printed = []
    for chapter in as_of:
        until = () if chapter is None else ("--as-of", chapter)
        for question in ASKED[world]:
            done = cli("context", question, "--profile", "narrative", *options, *until, "--store", store)
            assert done.code == 0, done.err
            printed.append(done.out)
        printed.append(cli("entities", "list", *until, "--store", store).out)
    return printed


def indexed(cli: Cli, world: str, book: Path, store: object) -> None:
    at = EXAMPLES / "novel" if world == "novel" else book
    done = cli("index", at, "--store", store)
    assert done.code == 0, done.err


def copied(cli: Cli, world: str, book: Path, store: object) -> None:
    embedded = book.parent / "copied from"
    indexed(cli, world, book, embedded)
    assert cli("copy", "--from", embedded, "--to", store).code == 0


@pytest.mark.parametrize("world", ["novel", "long"])
@pytest.mark.parametrize("arrive", [indexed, copied])
def test_a_story_on_a_server_is_told_as_in_a_folder(
    cli: Cli, url: str, book: Path, tmp_path: Path, world: str, arrive: Callable[..., None]
) -> None:
    arrive(cli, world, book, url)
    indexed(cli, world, book, tmp_path / "embedded")
    assert told(cli, world, url) == told(cli, world, tmp_path / "embedded")
    timeline = ("--preset", "timeline", "--set", "max_entities=3")
    there, here = (told(cli, world, store, *timeline, as_of=(3,)) for store in (url, tmp_path / "embedded"))
    assert there == here


def test_corrections_made_on_a_server_hold_there_and_after_indexing_again(
    cli: Cli, url: str, book: Path, tmp_path: Path
) -> None:
    stores = (url, tmp_path / "embedded")
    for store in stores:
        indexed(cli, "long", book, store)
    before = told(cli, "long", url, as_of=(None,))
    for store in stores:
        for words in CORRECTIONS:
            done = cli("entities", *words, "--store", store)
            assert done.code == 0, done.err
    there, here = (told(cli, "long", store, as_of=(None, 22)) for store in stores)
    assert there == here
    assert there[: len(before)] != before
    listed = cli("entities", "list", "--store", url).out
    assert "Lasse Quill" in listed and "Dunmarrow" not in listed
    assert cli("entities", "corrections", "--store", url).out.count("\n") == 1 + len(CORRECTIONS)

    book.write_text(long_manuscript(changed=4), encoding="utf-8")
    for store in stores:
        indexed(cli, "long", book, store)
    again, embedded = (told(cli, "long", store, as_of=(None, 22)) for store in stores)
    assert again == embedded
    assert again != there
    assert "Dunmarrow" not in cli("entities", "list", "--store", url).out
    assert cli("entities", "undo", "4", "--store", url).code == 0
    assert "Dunmarrow" in cli("entities", "list", "--store", url).out


def test_corrections_come_with_a_copy(cli: Cli, url: str, book: Path, tmp_path: Path) -> None:
    indexed(cli, "long", book, tmp_path / "embedded")
    for words in CORRECTIONS:
        assert cli("entities", *words, "--store", tmp_path / "embedded").code == 0
    assert cli("copy", "--from", tmp_path / "embedded", "--to", url).code == 0
    indexed(cli, "long", book, url)
    assert told(cli, "long", url, as_of=(None, 21)) == told(cli, "long", tmp_path / "embedded", as_of=(None, 21))


# --- no spoilers -----------------------------------------------------------------------------------------------


def pages(weft: Weft, as_of: int | None = None) -> list[str]:
    return [
        weft.context(question, profile="narrative", max_tokens=1500, as_of=as_of, now=NOW).text
        for question in QUESTIONS
    ]


def opened(at: str | Path, folder: Path, chapters: int) -> Weft:
    """A store with the first chapters of the book."""
    folder.mkdir()
    book = folder / "novel.txt"
    book.write_text(manuscript(chapters), encoding="utf-8")
    weft = Weft.open(at, embedder=None)
    weft.index(book, reading="story")
    return weft


@pytest.mark.parametrize("chapter", [1, 3])
def test_a_view_of_a_store_on_a_server_is_the_book_that_ends_there(
    url: str, tmp_path: Path, chapter: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with (
        opened(url, tmp_path / "whole", len(CHAPTERS)) as whole,
        opened(tmp_path / "store", tmp_path / "begun", chapter) as begun,
    ):
        assert pages(whole, as_of=chapter) == pages(begun)
        assert pages(whole) != pages(begun)
