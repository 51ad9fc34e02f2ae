"""`weft serve` as a program: several processes over one store."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from command_line import Cli

from weft.interfaces.client import WeftClient

SOURCES = Path(__file__).parents[2] / "src"
ASKED = 12


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[str]:
    """Where `weft serve` answers while it runs in a folder."""
    words = [sys.executable, "-m", "weft", "serve", "--port", "0", *options]
    around = {**os.environ, "PYTHONPATH": str(SOURCES)}
    with subprocess.Popen(words, cwd=folder, env=around, stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        told = next(found for line in started.stderr if (found := re.search(r"http://\S+", line)))
        yield told[0]
        started.terminate()


@pytest.fixture
def address(world: Path) -> Iterator[str]:
    """Where two processes serve the example worlds."""
    with serving(world.parent, "--workers", "2") as place:
        yield place


def test_a_service_starts_on_a_new_store_and_takes_its_first_nodes(tmp_path: Path) -> None:
    node = {"tenant_id": "support", "key": "zebra", "node_type": "faq", "title": "Zebra stable"}
    with serving(tmp_path, "--store", "new", "--workers", "1") as place, WeftClient(place) as client:
        client.put_nodes([node])
        assert client.context("zebra", ["support"]).entry_points[0].title == "Zebra stable"
    assert (tmp_path / "new" / "weft.sqlite").exists()


def test_any_process_finds_what_another_wrote_and_tells_the_figures_of_all(address: str) -> None:
    node = {"tenant_id": "support", "key": "zebra", "node_type": "faq", "title": "Zebra stable"}
    with WeftClient(address) as client:
        client.put_nodes([node])
    for _ in range(ASKED):
        # A connection stays with the process that took it, so each question comes over its own.
        with WeftClient(address) as client:
            assert client.context("zebra", ["support"]).entry_points[0].title == "Zebra stable"
    told = httpx.get(f"{address}/metrics").text
    line = 'weft_request_seconds_count{method="POST",route="/api/context"}'
    assert f"{line} {float(ASKED)}" in told


@pytest.mark.parametrize("workers", [1, 2])
def test_a_store_that_cannot_be_opened_is_told_and_no_address(cli: Cli, tmp_path: Path, workers: int) -> None:
    store = tmp_path / "broken"
    store.mkdir()
    (store / "weft.sqlite").write_bytes(b"no database at all, and long enough to be told from one" * 9)
    done = cli("serve", "--store", store, "--port", "0", "--workers", workers)
    assert done.code != 0
    assert "weft.sqlite" in done.err
    assert "http://" not in done.err
