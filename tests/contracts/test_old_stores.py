"""A store that version 0.1.0 wrote opens, answers with the bytes that 0.1.0 printed, and takes writes.

`tests/fixtures/store_0_1_0` holds such a store of the example worlds, and the pages that 0.1.0 printed from it.
When a page is meant to change, run `pytest --update-golden` and read the difference.
"""

import gzip
import json
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from weft import Node, Weft
from weft.embed.static import static_embedder

FIXTURE = Path(__file__).parents[1] / "fixtures" / "store_0_1_0"
PRINTED = json.loads((FIXTURE / "pages.json").read_text("utf-8"))
NOW = datetime.fromisoformat(PRINTED["now"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / ".weft"
    folder.mkdir()
    (folder / "weft.sqlite").write_bytes(gzip.decompress((FIXTURE / "weft.sqlite.gz").read_bytes()))
    return folder


@pytest.fixture
def weft(folder: Path) -> Iterator[Weft]:
    with Weft.open(folder) as opened:
        yield opened


def page_of(weft: Weft, asked: dict[str, Any]) -> Any:
    return weft.context(
        asked["question"],
        profile=asked["profile"],
        format=asked["format"],
        tenants=asked["tenants"],
        parameters=asked.get("parameters"),
        max_tokens=PRINTED["max_tokens"],
        now=NOW,
    )


def test_an_old_store_answers_with_the_same_bytes(weft: Weft, request: pytest.FixtureRequest) -> None:
    pages = [page_of(weft, asked) for asked in PRINTED["pages"]]
    if request.config.getoption("--update-golden"):
        for asked, page in zip(PRINTED["pages"], pages, strict=True):
            asked |= {"id": page.id, "text": page.text}
        (FIXTURE / "pages.json").write_text(json.dumps(PRINTED, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert [page.text for page in pages] == [asked["text"] for asked in PRINTED["pages"]]
    assert [page.id for page in pages] == [asked["id"] for asked in PRINTED["pages"]]


def test_an_old_store_is_sound_and_takes_writes(weft: Weft) -> None:
    assert weft.verify() == ()
    weft.put(Node(key="new:lamp", kind="note", title="Harbour lamp", text="The harbour lamp burns whale oil."))
    assert "whale oil" in weft.context("harbour lamp", now=NOW).text
    weft.repair()
    assert weft.verify() == ()


def test_an_old_store_of_an_earlier_model_answers_and_is_embedded_by_the_first_write(folder: Path) -> None:
    with sqlite3.connect(folder / "weft.sqlite") as connection:
        connection.execute("UPDATE meta SET value = '[\"weft-static-0\",256]' WHERE name = 'embedder'")
    with Weft.open(folder) as weft:
        pages = [page_of(weft, asked) for asked in PRINTED["pages"]]
        assert all(page.text for page in pages)
        assert all(any("`weft reembed`" in note for note in page.notes) for page in pages)
        weft.put(Node(key="new:lamp", kind="note", title="Harbour lamp", text="The harbour lamp burns whale oil."))
        assert weft.status().embedder == static_embedder().name
        assert weft.status().vectors == weft.status().passages
        assert not any("embed" in note for asked in PRINTED["pages"] for note in page_of(weft, asked).notes)
        assert weft.verify() == ()
