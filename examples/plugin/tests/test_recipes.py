"""The format keeps what indexing relies on, as Weft's own suite states it."""

from pathlib import Path

import pytest

from weft.sources import open_source as open_folder
from weft.testing.source_suite import *  # noqa: F403
from weft.testing.source_suite import OpenSource


@pytest.fixture
def open_source(tmp_path: Path) -> OpenSource:
    recipes = tmp_path / "recipes"
    recipes.mkdir()
    (recipes / "rye.recipe").write_text("Rye bread\nMix flour and water.\nBake it.\n", "utf-8")
    return lambda: open_folder(str(recipes))


def test_a_recipe_is_one_node_with_its_title(open_source: OpenSource) -> None:
    source = open_source()
    ((name, _),) = source.units()
    (node,) = source.read(name).nodes
    assert (node.kind, node.title) == ("recipe", "Rye bread")
