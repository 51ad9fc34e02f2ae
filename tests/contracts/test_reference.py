"""The pages of docs/reference/ say what the code says, wholly and now."""

import inspect
import re

import pytest
from scripts.reference.error_messages import cell_free, error_classes, raised
from scripts.reference.pages import PAGES
from scripts.reference.settings import variables_read

from doc_blocks import ROOT
from weft import Weft


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_is_what_the_code_gives_now(name: str) -> None:
    written = (ROOT / "docs" / "reference" / name).read_text("utf-8")
    assert written == PAGES[name](), f"run `python -m scripts.reference`: docs/reference/{name} is old"


def test_every_page_of_the_folder_is_made_from_the_code() -> None:
    assert {path.name for path in (ROOT / "docs" / "reference").iterdir()} == set(PAGES)


def test_every_public_member_of_weft_is_there_with_its_docstring() -> None:
    text = PAGES["python.md"]()
    for name, member in inspect.getmembers(Weft):
        if not name.startswith("_"):
            assert f"### Weft.{name}\n" in text, name
            assert (inspect.getdoc(member) or "").splitlines()[0] in text, name


def test_every_error_is_there_with_what_to_do() -> None:
    text = PAGES["errors.md"]()
    for name in error_classes():
        section = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert "**What to do.**" in section
    assert [each for each in raised() if cell_free(each.message) not in text] == []


def test_every_variable_that_is_read_is_described() -> None:
    text = PAGES["settings.md"]()
    assert {"WEFT_STORE", "WEFT_EMBEDDER"} <= variables_read()
    assert variables_read() <= set(re.findall(r"^\| `([A-Z_]+)`", text, re.M))
