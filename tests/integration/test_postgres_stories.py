"""Stories in a PostgreSQL store: told alike, and known up to a chapter without a trace of later ones."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from manuscripts import CHAPTERS, manuscript
from postgres_server import drop_schema
from weft import Weft

NOW = datetime(2026, 3, 1, tzinfo=UTC)
QUESTIONS = ("Who is Margaret Vane?", "What happened at Harrow Lock?")


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


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    yield f"{postgres_url}&schema=stories"
    drop_schema(postgres_url, "stories")


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
