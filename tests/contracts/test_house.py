"""The source stays as easy to read as decision 13 says: the sizes of its parts, and the way of a question."""

import ast
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "src" / "weft").rglob("*.py"))
MAX_LINES = 450
MAX_FUNCTION_LINES = 60
MEDIAN_LINES = (120, 220)
MAX_CROSSED_FILES = 60


def lines_of(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def test_no_module_is_longer_than_a_reader_wants() -> None:
    assert [str(path.relative_to(ROOT)) for path in MODULES if lines_of(path) > MAX_LINES] == []


def test_the_median_module_is_read_in_a_few_minutes() -> None:
    least, most = MEDIAN_LINES
    assert least <= statistics.median(lines_of(path) for path in MODULES) <= most


def test_no_function_is_longer_than_a_screen() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES
    ]
    assert long == []


@pytest.fixture(scope="module")
def traced() -> str:
    """The picture of one question's way, made in a process of its own, in which nothing was loaded before."""
    command = [sys.executable, str(ROOT / "scripts" / "trace_question.py")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_question_crosses_few_files(traced: str) -> None:
    crossed = int(traced.split(" files", maxsplit=1)[0].rsplit(" ", 1)[1])
    assert crossed <= MAX_CROSSED_FILES


def test_the_picture_in_the_architecture_page_is_the_way_that_a_question_takes(traced: str) -> None:
    assert traced in (ROOT / "ARCHITECTURE.md").read_text("utf-8"), "run scripts/trace_question.py --write"
