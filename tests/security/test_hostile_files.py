"""Hostile files cost bounded time and memory, are led to nothing outside, and spoil nothing beside them."""

import multiprocessing
import os
import resource
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile_files import ARCHIVES, OTHERS, word

from weft import Weft
from weft.errors import InvalidInput, WeftError
from weft.model import Filter, View
from weft.pipeline.exact import find_exact

CPU_SECONDS = 60
"""Far more than any of these files takes; without bounds they take minutes to years."""
MEMORY_BYTES = 1_500_000_000
"""The memory that a process may take beside what it has: without bounds these files take many times as much."""


def index_within_bounds(folder: Path, answers: Any) -> None:
    """Index a folder in a process that is stopped when it takes too much; tell what was stored and refused."""
    held = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")
    resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS,) * 2)
    with Weft.open(folder.with_name("store"), embedder=None) as weft:
        report = weft.index(folder)
        stored = {node.key: node.text for node in weft.nodes(limit=1000)}
        answers.send((stored, [(problem.where, problem.reason) for problem in report.problems]))


def try_file(name: str, make: Callable[[], bytes], tmp_path: Path) -> tuple[dict[str, str], list[tuple[str, str]]]:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / name).write_bytes(make())
    (folder / "beside.md").write_text("# Beside\n\nThe lighthouse.", encoding="utf-8")
    context = multiprocessing.get_context("fork")
    answers, sender = context.Pipe(duplex=False)
    process = context.Process(target=index_within_bounds, args=(folder, sender))
    process.start()
    # With this end closed, the death of the process ends the wait.
    sender.close()
    found: tuple[dict[str, str], list[tuple[str, str]]] = answers.recv()
    process.join()
    return found


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_that_would_grow_without_bound_is_refused_by_name(name: str, tmp_path: Path) -> None:
    stored, problems = try_file(name, ARCHIVES[name], tmp_path)
    assert list(stored) == ["files:beside.md"]
    assert [where for where, _ in problems] == [name]


@pytest.mark.parametrize("name", OTHERS)
def test_a_hostile_file_is_read_or_refused_and_spoils_nothing_beside_it(name: str, tmp_path: Path) -> None:
    stored, problems = try_file(name, OTHERS[name], tmp_path)
    assert "files:beside.md" in stored
    assert all(where.startswith(name) for where, _ in problems)


def test_a_document_that_is_no_attack_is_read_as_before(tmp_path: Path) -> None:
    stored, problems = try_file(
        "good.docx", lambda: word("<w:p><w:r><w:t>The harbour opens at nine.</w:t></w:r></w:p>"), tmp_path
    )
    assert problems == []
    assert "The harbour opens at nine." in stored["files:good.docx"]


ADDRESSES = """# Links

![picture](http://169.254.169.254/latest/meta-data/iam/security-credentials/)
[file](file:///etc/passwd) <file:///etc/shadow> ![[../../../etc/passwd]] [[file:///etc/hosts]]
<img src="http://metadata.google.internal/computeMetadata/v1/"> <iframe src="file:///etc/passwd"></iframe>
{% include "/etc/passwd" %} .. include:: /etc/passwd
"""


@pytest.mark.parametrize(
    "name", ["links.md", "links.html", "links.rst", "links.txt", "links.ipynb", "links.canvas"]
)
def test_no_address_in_a_file_is_followed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError(f"A file made Weft connect: {arguments}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / name).write_text(ADDRESSES, encoding="utf-8")
    with Weft.open(tmp_path / "store", embedder=None) as weft:
        weft.index(tmp_path / "files")
        page = weft.context("links passwd credentials", floor=0.0).text
    assert "root:" not in page


@pytest.mark.parametrize(
    "address",
    [
        "http://169.254.169.254/latest/meta-data",
        "https://localhost/x",
        "ftp://x/y",
        "\\\\server\\share",
    ],
)
def test_an_address_is_no_source(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("An address was asked.")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with Weft.open(tmp_path / "store", embedder=None) as weft:
        with pytest.raises(WeftError):
            weft.index(address)
        assert weft.status().nodes == 0


@pytest.mark.parametrize("expression", ["/(a|aa)+$/", "/(a|aa|aaa)+$/", "/(aa|a)+b?$/"])
def test_a_regular_expression_that_would_run_for_ever_is_stopped(expression: str, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.md").write_text("a" * 200 + "!", encoding="utf-8")
    with Weft.open(tmp_path / "store", embedder=None) as weft:
        weft.index(tmp_path / "files")
        with weft.reading(View()) as reading, pytest.raises(InvalidInput, match="took more than"):
            find_exact(expression, Filter(), reading, max_seconds=0.05)
