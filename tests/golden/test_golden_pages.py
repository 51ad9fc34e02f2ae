"""The pages of every profile over the example worlds, byte for byte."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from golden_worlds import GOLDEN, NOW, PAGES, open_world, page_of

from weft import Weft


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Weft]]:
    """Every world that a golden page needs, by name."""
    folder: Path = tmp_path_factory.mktemp("golden")
    opened = {world: open_world(folder, world) for world in sorted({each.world for each in GOLDEN.values()})}
    yield opened
    for weft in opened.values():
        weft.close()


@pytest.mark.parametrize("name", GOLDEN)
def test_the_page_is_the_one_that_was_read_and_approved(
    name: str, worlds: dict[str, Weft], request: pytest.FixtureRequest
) -> None:
    context = worlds[GOLDEN[name].world].assemble(GOLDEN[name].request(), NOW)
    if request.config.getoption("--update-golden"):
        page_of(name).write_bytes(context.text.encode())
    assert context.text.encode() == page_of(name).read_bytes()
    assert context.tokens <= GOLDEN[name].max_tokens


def test_no_page_is_kept_that_nothing_prints() -> None:
    assert {path.name for path in PAGES.iterdir()} == {page_of(name).name for name in GOLDEN}
