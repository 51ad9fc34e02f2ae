"""Weft reads its own repository and finds its way in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Weft

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    with Weft.open(tmp_path_factory.mktemp("own") / ".weft") as opened:
        for folder in ("src", "docs", "tests/unit"):
            opened.index(ROOT / folder, source=folder.replace("/", "-"))
        yield opened


@pytest.mark.parametrize("profile", ["general", "workspace"])
def test_the_place_that_enforces_the_budget_comes_first(weft: Weft, profile: str) -> None:
    page = weft.context("Where is the budget enforced?", profile=profile)
    first = next(entry for entry in page.manifest if entry.origin is not None and entry.verbatim)
    assert first.origin is not None
    assert first.origin.file == "weft/pipeline/fit.py"
    quoted = page.text.split("\n")[first.first_line - 1]
    written = (ROOT / "src" / "weft" / "pipeline" / "fit.py").read_text("utf-8").split("\n")
    assert first.source_first_line is not None
    assert quoted == written[first.source_first_line - 1]


def test_callers_and_tests_of_a_function_are_its_neighbours(weft: Weft) -> None:
    page = weft.context(start=["weft/pipeline/fit.py#fit"], profile="workspace", max_tokens=8000)
    found = {step.edge_type for entry in page.ledger for step in entry.path}
    assert {"calls", "contains"} <= found
