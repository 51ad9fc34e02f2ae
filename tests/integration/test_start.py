"""The modules that a cold question and a cold hook load: a library that creeps in costs every start."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from manuscripts import manuscript
from weft import Node, Weft

SOURCES = Path(__file__).parents[2] / "src"
NOTES = 600
"""More than are compared without the search engine."""

FOR_A_PAGE = {
    "Stemmer", "msgspec", "numpy", "orjson", "platformdirs", "simsimd", "tantivy", "typing_extensions", "xxhash",
}  # fmt: skip
"""The libraries that make a page."""
FOR_A_COMMAND = {"annotated_doc", "shellingham", "typer"}
"""The libraries that read the command line; a hook has none to read."""
HEAVY_PARTS_OF_NUMPY = {"numpy.fft", "numpy.ma", "numpy.polynomial", "numpy.random", "numpy.testing"}

LIST = """
import atexit, os, runpy, sys
leave = os._exit
def tell():
    print("loaded:", *sorted(sys.modules), file=sys.stderr, flush=True)
def tell_and_leave(code):
    tell()
    leave(code)
atexit.register(tell)
# A hook ends so, without waiting for anything.
os._exit = tell_and_leave
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of enough notes for the search engine."""
    folder = tmp_path_factory.mktemp("start") / ".weft"
    texts = [f"The keeper of lamp {number} writes down its oil in the book of stores." for number in range(NOTES)]
    with Weft.open(folder) as weft:
        weft.put(
            [Node(f"n:{number}", "note", title=f"Lamp {number}", text=text) for number, text in enumerate(texts)]
        )
    return folder


def loaded(store: Path, *words: str, given: str = "") -> tuple[str, set[str]]:
    """Return what a new process prints, and the modules it has loaded at its end."""
    around = {**os.environ, "PYTHONPATH": str(SOURCES)}
    command = [sys.executable, "-c", LIST, *words, "--store", str(store)]
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, check=True, env=around, cwd=store.parent
    )
    line = next(line for line in done.stderr.splitlines() if line.startswith("loaded:"))
    return done.stdout, set(line.split()[1:])


def libraries(modules: set[str]) -> set[str]:
    """Return the packages among the modules that are neither Python's nor ours nor made by a compiler."""
    names = {name.partition(".")[0] for name in modules}
    files = {name for name in names if not name.startswith("_") and name != "cython_runtime"}
    return files - set(sys.stdlib_module_names) - {"weft"}


def test_a_cold_question_loads_these_libraries_and_no_other(store: Path) -> None:
    page, modules = loaded(store, "weft", "context", "where is the oil of lamp 7 written down")
    assert "Lamp 7" in page
    assert libraries(modules) <= FOR_A_PAGE | FOR_A_COMMAND
    assert not modules & (HEAVY_PARTS_OF_NUMPY | {"rich", "asyncio", "pydantic"})


def test_a_cold_hook_loads_neither_the_command_line_nor_the_heavy_parts_of_numpy(store: Path) -> None:
    prompt = {"session_id": "s", "cwd": str(store.parent), "hook_event_name": "UserPromptSubmit"}
    given = json.dumps({**prompt, "prompt": "where is the oil of lamp 7 written down"})
    answer, modules = loaded(store, "weft.interfaces.hooks", given=given)
    assert "Lamp 7" in answer
    assert libraries(modules) <= FOR_A_PAGE
    assert not modules & (HEAVY_PARTS_OF_NUMPY | {"rich", "asyncio", "pydantic"})


@pytest.mark.parametrize(
    ("file", "text", "reads_stories"),
    [("clock.py", "def tick():\n    return 'wound'\n", False), ("novel.txt", manuscript(), True)],
)
def test_what_reads_stories_is_loaded_only_where_there_is_one(
    tmp_path: Path, file: str, text: str, reads_stories: bool
) -> None:
    path = tmp_path / "home" / file
    path.parent.mkdir()
    path.write_text(text)
    loaded(tmp_path / "store", "weft", "index", str(path.parent))
    path.write_text(text + "\n# Mara wound the clock again.\n")
    _, modules = loaded(tmp_path / "store", "weft", "index", str(path.parent))
    assert "weft.indexing.ingest" in modules
    assert ("weft.story.extract" in modules) is reads_stories
