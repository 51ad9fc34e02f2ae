"""Several `weft serve` programs on one PostgreSQL store behave as one."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from command_line import EXAMPLES, Cli

from postgres_server import drop_schema
from weft.interfaces.client import WeftClient

SOURCES = Path(__file__).parents[2] / "src"


@contextmanager
def serving(url: str, folder: Path) -> Iterator[str]:
    """The address of a program of two processes that serves the store."""
    folder.mkdir()
    words = [sys.executable, "-m", "weft", "serve", "--store", url, "--port", "0", "--workers", "2"]
    around = {**os.environ, "PYTHONPATH": str(SOURCES), "XDG_DATA_HOME": str(folder)}
    with subprocess.Popen(words, cwd=folder, env=around, stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr is not None
        result = next(found for line in program.stderr if (found := re.search(r"http://\S+", line)))
        yield result[0]
        program.terminate()


@pytest.fixture
def addresses(cli: Cli, postgres_url: str, tmp_path: Path) -> Iterator[list[str]]:
    """Where two such programs serve the help desk."""
    url = f"{postgres_url}&schema=serving"
    assert cli("index", EXAMPLES / "helpdesk", "--store", url).code == 0
    with ExitStack() as stack:
        yield [stack.enter_context(serving(url, tmp_path / name)) for name in ("one", "two")]
    drop_schema(postgres_url, "serving")


def titles(address: str) -> list[str]:
    # A connection stays with the process that took it, so each question comes over its own.
    with WeftClient(address) as client:
        return [entry.title for entry in client.context("zephyr clause", ["support"]).entry_points]


def test_what_one_program_acknowledged_every_process_of_the_other_answers_with(addresses: list[str]) -> None:
    for number in range(4):
        writer, reader = addresses[number % 2], addresses[1 - number % 2]
        assert f"Zephyr clause {number}" not in titles(reader), "the answer before is kept by data version"
        node = {"tenant_id": "support", "key": f"zephyr{number}", "node_type": "faq"}
        with WeftClient(writer) as client:
            client.put_nodes([{**node, "title": f"Zephyr clause {number}"}])
        for _ in range(3):
            assert f"Zephyr clause {number}" in titles(reader)
            assert f"Zephyr clause {number}" in titles(writer)
