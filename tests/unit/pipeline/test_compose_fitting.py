"""Fitting a page whose counter counts otherwise than the store: the page shrinks, it never vanishes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from weft import Node, Weft

BOUND = "cl100k_bound"
"""The counter of hooks, which counts a little more than the stored counts say."""
QUESTION = "which directories does the reloader watch?"
RARE = (
    *("environment", "variable", "restarts", "directories", "configuration", "synchronisation", "acknowledgement"),
    *("circumstances", "extraordinary", "photographs", "neighbourhood", "manufacturers"),
)


def text(number: int) -> str:
    return " ".join(
        f"Reloader {number} watches {RARE[(line + number) % 12]} and "
        f"{RARE[(5 * line + number) % 12]} {line} of the "
        "harbour."
        for line in range(9)
    )


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    path: Path = tmp_path_factory.mktemp("fitting")
    with Weft.open(path / ".weft") as opened:
        opened.put(
            [Node(f"n:{number}", "note", title=f"Reload {number}", text=text(number)) for number in range(8)]
        )
        yield opened


@pytest.mark.parametrize("first", range(200, 900, 100))
def test_no_budget_in_between_leaves_the_page_empty(weft: Weft, first: int) -> None:
    profile = weft.profile("general")
    # As hooks ask: without a title, which would give way before the items do.
    sections = tuple(replace(section, pointers=0) for section in profile.sections)
    bare = replace(profile, sections=sections, frame=replace(profile.frame, title="", notes=False))
    for budget in range(first, first + 100):
        context = weft.context(QUESTION, max_tokens=budget, token_model=BOUND, profile=bare)
        assert 0 < context.tokens <= budget
