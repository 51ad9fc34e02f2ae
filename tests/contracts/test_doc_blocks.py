"""Every command and every block of code in the documents runs, or says why it does not."""

import os
import re
from pathlib import Path

import pytest

from doc_blocks import LEFT_ALONE, ROOT, RUN, Reader, find_blocks, follow, is_printed, steps

DOCUMENTS = sorted(
    path
    for folder, pattern in (("docs", "**/*.md"), (".", "*.md"), ("examples", "*.md"), ("bench", "**/*.md"))
    for path in (ROOT / folder).glob(pattern)
    if "reference" not in path.parts
)
WITH_BLOCKS = [
    path for path in DOCUMENTS if {block.kind for block in find_blocks(path.read_text("utf-8"))} & {*RUN}
]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", WITH_BLOCKS, ids=name_of)
def test_the_blocks_of_a_page_run_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    """With DOCS_UPDATE=1 the page is rewritten with what was printed."""
    text, update = path.read_text("utf-8"), bool(os.environ.get("DOCS_UPDATE"))
    reader = Reader(tmp_path / "folder")
    try:
        written = follow(text, name_of(path), reader, update)
    finally:
        reader.close()
    if update and written != text:
        path.write_text(written, encoding="utf-8")


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_block_has_a_kind_that_is_known(path: Path) -> None:
    for block in find_blocks(path.read_text("utf-8")):
        assert block.kind in (*RUN, *LEFT_ALONE), f"{name_of(path)}:{block.line}: {block.kind!r}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_no_command_hides_in_a_block_that_is_not_run(path: Path) -> None:
    """Commands stand in `console`, `sh` or `bash`: indented lines and blocks without a kind are not tried."""
    text = path.read_text("utf-8")
    hidden = [
        f"{name_of(path)}:{block.line}"
        for block in find_blocks(text)
        if block.kind in LEFT_ALONE and re.search(r"^(\$ )?(weft|pip|uv|uvx|pipx|make|python) ", block.body, re.M)
    ]
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    hidden += re.findall(r"^    (?:\$ )?(?:weft|pip|uvx?|pipx|make|python) .*$", outside, re.M)
    assert hidden == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_a_block_that_is_not_run_says_why(path: Path) -> None:
    for block in find_blocks(path.read_text("utf-8")):
        assert block.mark != "not run" or len(block.said.split()) >= 3, f"{name_of(path)}:{block.line}"


def test_the_way_blocks_are_read_is_as_described() -> None:
    text = "<!-- not run: needs a server -->\n```sh\nx\n```\n\n```console\n$ echo a \\\n  b\na b\n$ true\n```\n"
    first, second = find_blocks(text)
    assert (first.mark, first.said, first.kind) == ("not run", "needs a server", "sh")
    assert steps(second.body) == [("echo a \\\n  b", "a b\n"), ("true", "")]
    assert is_printed("one\n…\nlast\n", "one\ntwo\nthree\nlast\n")
    assert not is_printed("one\nlast\n", "one\ntwo\nlast\n")


def test_a_page_that_promises_another_output_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="prints something else"):
        follow("```console\n$ echo one\ntwo\n```\n", "page", Reader(tmp_path / "folder"))
    with pytest.raises(AssertionError, match="page:"):
        follow("```sh\nfalse\n```\n", "page", Reader(tmp_path / "folder"))
    with pytest.raises(ZeroDivisionError):
        follow("```python\n1 / 0\n```\n", "page", Reader(tmp_path / "folder"))
