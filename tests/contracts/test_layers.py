"""The folders of src/weft are its layers: imports go down only, and heavy libraries stay unloaded until needed."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "weft"

# From the ground up. A folder imports itself and what lies below it, never a folder beside or above it.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"model", "errors", "ports", "runtime"}),
    frozenset({"text", "tokens", "embed", "scoring", "profiles"}),
    frozenset({"sources", "links", "story", "store", "render", "history"}),
    frozenset({"pipeline", "indexing"}),
    frozenset({"memory"}),
    frozenset({"api", "config", "assemblers"}),
    frozenset({"evaluation", "overview", "corrections"}),
    frozenset({"interfaces", "client", "facades", "testing", "__main__"}),
)
# The layers whose folders know nothing of each other.
APART = LAYERS[2:4]
# Stages of the pipeline that know nothing of each other; assemble.py brings them together.
STAGES = frozenset({"retrieve", "walk", "bridge", "score", "dedupe", "subjects", "fit"})
ROOT_DOOR = "__init__"
HEAVY = ("numpy", "tantivy", "tiktoken", "tokenizers", "rich", "orjson", "detect_secrets", "psycopg", "pymilvus")


def folder_of(module: str) -> str:
    """Return the folder, or module at the root, that a dotted name belongs to; the package is its own door."""
    part = module.split(".")[1] if "." in module else ROOT_DOOR
    return part if any(part in layer for layer in LAYERS) else ROOT_DOOR


def height(folder: str) -> int:
    """Return the number of a folder's layer, counted from the bottom."""
    return next((number for number, layer in enumerate(LAYERS) if folder in layer), 0)


def modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


@cache
def imports(path: Path) -> tuple[tuple[str, int], ...]:
    """Return the weft modules that a file imports, also inside functions, with their lines."""
    return tuple(read_imports(path))


def read_imports(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name.split(".")[0] == "weft")
        elif isinstance(node, ast.ImportFrom) and node.module == "weft":
            yield from ((f"weft.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("weft."):
            yield node.module, node.lineno


def crossings() -> Iterator[tuple[str, str, str]]:
    """Yield every import from one folder into another: the two folders, and where it stands."""
    for module, path in modules():
        for target, line in imports(path):
            here, there = folder_of(module), folder_of(target)
            if here != there:
                yield here, there, f"{path.relative_to(PACKAGE)}:{line} imports {target}"


def test_every_folder_has_a_layer() -> None:
    listed = frozenset().union(*LAYERS)
    here = {path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert here - {"__init__", "__pycache__"} == listed


def test_imports_go_down_only() -> None:
    # The package's own __init__ offers the public names lazily: it is the door, not a layer.
    wrong = [where for here, there, where in crossings() if here != ROOT_DOOR and height(there) > height(here)]
    assert wrong == []


def test_folders_of_one_layer_do_not_import_each_other() -> None:
    wrong = [where for here, there, where in crossings() if any({here, there} <= layer for layer in APART)]
    assert wrong == []


def test_stages_of_the_pipeline_do_not_import_each_other() -> None:
    stages = {f"weft.pipeline.{name}" for name in STAGES}
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} imports {target}"
        for module, path in modules()
        if module in stages
        for target, line in imports(path)
        if target in stages
    ]
    assert wrong == []
    assert stages <= {module for module, _ in modules()}


def test_only_config_reads_the_environment() -> None:
    readers = {
        str(path.relative_to(PACKAGE))
        for _, path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv")
    }
    assert readers == {"config.py"}


@pytest.mark.parametrize(
    "statement",
    [
        "import weft",
        "from weft import Node, Request",
        "from weft.interfaces.cli import run; run(['--help'])",
        "from weft.interfaces.cli import run; run(['--version'])",
    ],
)
def test_heavy_libraries_are_not_loaded_to_say_hello(statement: str) -> None:
    code = f"import sys; {statement}; print('loaded:', *sorted(set({HEAVY!r}) & set(sys.modules)))"
    around = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=around)
    loaded = next(line for line in done.stdout.splitlines() if line.startswith("loaded:"))
    allowed = {"orjson"} if "cli" in statement else set()
    assert set(loaded.split()[1:]) <= allowed
