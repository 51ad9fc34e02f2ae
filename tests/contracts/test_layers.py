"""Imports go down only, sibling stages never meet, and heavy libraries stay unloaded until they are needed."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "weft"

FOUNDATION = {"__init__", "model", "errors", "frozen"}
TOOLS = {
    "ports",
    "profile",
    "loading",
    "profiles",
    "tokens",
    "text",
    "terms",
    "sketch",
    "vectors",
    "excerpt",
    "quoting",
    "redact",
    "recent",
    "sampling",
    "candidates",
    "leads",
    "leaves",
    "room",
    "shelf",
    "phrases",
    "pool",
    "question",
    "differing",
    "beside",
}
STAGES = {"asides", "bridge", "retrieve", "naming", "expand", "score", "cover", "dedupe", "budget", "subjects"}
ROOMS = {"sources", "link", "store", "embed", "render", "learning", "history", "story"}
ASSEMBLY = {
    "prepare",
    "preparing",
    "plan",
    "adapting",
    "topics",
    "gather",
    "layout",
    "mapping",
    "grouping",
    "spots",
    "printing",
    "account",
    "compose",
    "assemble",
    "ingest",
    "relating",
    "relink",
    "corrections",
    "stories",
    "views",
    "writing",
    "remembering",
    "experiencing",
    "valuing",
    "copying",
    "reembedding",
}
EVALUATION = {"evaluation"}
FACES = {"client", "facades", "faces", "__main__"}

LAYERS = (FOUNDATION, TOOLS, STAGES | ROOMS, ASSEMBLY, EVALUATION, FACES)
HEAVY = ("numpy", "tantivy", "tiktoken", "tokenizers", "rich", "orjson", "detect_secrets", "psycopg", "pymilvus")


def room_of(module: str) -> str:
    """The part of the package that a dotted module belongs to."""
    return module.split(".")[1] if "." in module else "__init__"


def height(room: str) -> int:
    """The layer of a part, counted from the bottom."""
    return next(number for number, layer in enumerate(LAYERS) if room in layer)


def modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """The weft modules that a file imports, also inside functions, with their line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name.split(".")[0] == "weft")
        elif isinstance(node, ast.ImportFrom) and node.module == "weft":
            yield from ((f"weft.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("weft."):
            yield node.module, node.lineno


def known(module: str) -> str:
    """The room an imported name means; names defined in weft/__init__.py belong to the package itself."""
    room = room_of(module)
    return room if any(room in layer for layer in LAYERS) else "__init__"


def test_every_part_of_the_package_has_a_layer() -> None:
    rooms = {room_of(module) for module, _ in modules()}
    assert rooms - set().union(*LAYERS) == set()


def test_imports_go_down_only() -> None:
    # The package's own __init__ names the library face, lazily: it is the door, not a layer.
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} imports {target}"
        for module, path in modules()
        if module != "weft"
        for target, line in imports(path)
        if height(known(target)) > height(room_of(module))
    ]
    assert wrong == []


def test_stages_and_rooms_do_not_import_each_other() -> None:
    apart = STAGES | ROOMS
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} imports {target}"
        for module, path in modules()
        for target, line in imports(path)
        if room_of(module) in apart and known(target) in apart and known(target) != room_of(module)
    ]
    assert wrong == []


def test_only_wiring_reads_the_environment() -> None:
    readers = [
        str(path.relative_to(PACKAGE))
        for _, path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv")
    ]
    assert set(readers) <= {"faces/wiring.py"}


@pytest.mark.parametrize(
    "statement",
    [
        "import weft",
        "from weft import Node, Request",
        "from weft.faces.cli import run; run(['--help'])",
        "from weft.faces.cli import run; run(['--version'])",
    ],
)
def test_heavy_libraries_are_not_loaded_to_say_hello(statement: str) -> None:
    code = f"import sys; {statement}; print('loaded:', *sorted(set({HEAVY!r}) & set(sys.modules)))"
    around = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=around)
    loaded = next(line for line in done.stdout.splitlines() if line.startswith("loaded:"))
    allowed = {"orjson"} if "cli" in statement else set()
    assert set(loaded.split()[1:]) <= allowed
