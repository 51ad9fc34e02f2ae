"""Weft installs under the name weft-context with pip, pipx and uv from a local index, and is not large."""

import json
import sys
from pathlib import Path

import pytest
from distribution import NEWER_PYTHONS, find_python, find_tool, run, succeed

_MAX_BASE_BYTES = 150_000_000
"""The size of a base installation as the wheels unpack it, without the bytecode that some installers add."""
_HANDSHAKE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
)


def _answers_a_question(weft: Path, folder: Path) -> None:
    """Follow the first two commands of the README in a folder of one's own."""
    project = folder / "project"
    project.mkdir()
    (project / "ovens.py").write_text('"""Ovens."""\n\n\ndef preheat(degrees: int) -> int:\n    return degrees\n')
    indexed = succeed(weft, "index", ".", folder=project)
    asked = succeed(weft, "context", "where is preheat defined?", folder=project)
    assert "ovens.py" in asked.stdout and "def preheat(degrees: int)" in asked.stdout, (indexed, asked)


def _offline(index: Path, folder: Path) -> dict[str, str]:
    """Return the settings with which pip, pipx and uv take everything from a folder and leave the user's alone."""
    return {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(index),
        "PIP_CONFIG_FILE": "/dev/null",
        "PIPX_HOME": str(folder / "pipx"),
        "PIPX_BIN_DIR": str(folder / "bin"),
        "PIPX_MAN_DIR": str(folder / "man"),
        "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": str(index),
        "UV_NO_CONFIG": "1",
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(folder / "cache" / "uv"),
        "UV_TOOL_DIR": str(folder / "uv" / "tools"),
        "UV_TOOL_BIN_DIR": str(folder / "bin"),
        "UV_PYTHON": sys.executable,
    }


def test_pip_installs_the_base_under_its_size_and_a_missing_extra_names_its_command(
    local_index: Path, tmp_path: Path
) -> None:
    succeed(sys.executable, "-m", "venv", "--without-pip", tmp_path / "home")
    python = tmp_path / "home" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile")
    succeed(*pip, "weft-context", environment=_offline(local_index, tmp_path))
    packages = next((tmp_path / "home" / "lib").glob("*/site-packages"))
    sizes: dict[str, int] = {}
    for file in packages.rglob("*"):
        if file.is_file():
            part = file.relative_to(packages).parts[0]
            sizes[part] = sizes.get(part, 0) + file.stat().st_size
    largest = sorted(((size, name) for name, size in sizes.items()), reverse=True)[:12]
    assert sum(sizes.values()) < _MAX_BASE_BYTES, largest
    weft = tmp_path / "home" / "bin" / "weft"
    _answers_a_question(weft, tmp_path)
    refused = run(weft, "mcp", "--http")
    assert refused.returncode != 0
    assert "pip install 'weft-context[mcp]'" in refused.stderr, refused


def test_a_package_called_weft_beside_it_is_told_on_import(local_index: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--target", target)
    succeed(*pip, "weft-context", environment=_offline(local_index, tmp_path))
    imported = run(sys.executable, "-S", "-c", "import weft", environment={"PYTHONPATH": str(target)})
    assert imported.stderr == ""
    (target / "weft-2.1.0.dist-info").mkdir()
    warned = run(sys.executable, "-S", "-c", "import weft", environment={"PYTHONPATH": str(target)})
    assert "Another package called 'weft' (weft-2.1.0.dist-info)" in warned.stderr
    assert "pip uninstall weft weft-context" in warned.stderr
    # Installed later, the other package replaces the first file.
    (target / "weft" / "__init__.py").write_text("__version__ = '2.1.0'\n")
    refused = run(sys.executable, "-m", "weft", "--help", environment={"PYTHONPATH": str(target)})
    assert refused.returncode != 0
    assert "was installed over weft-context" in refused.stderr, refused


def test_pipx_installs_the_command(local_index: Path, tmp_path: Path) -> None:
    settings = _offline(local_index, tmp_path)
    pipx = find_tool("pipx")
    succeed(pipx, "install", "--python", sys.executable, "weft-context", environment=settings)
    _answers_a_question(tmp_path / "bin" / "weft", tmp_path)
    refused = run(tmp_path / "bin" / "weft", "mcp", "--http")
    assert "pipx install --force 'weft-context[mcp]'" in refused.stderr, refused


def test_uv_tool_installs_the_command(local_index: Path, tmp_path: Path) -> None:
    settings = _offline(local_index, tmp_path)
    succeed(find_tool("uv"), "tool", "install", "weft-context", environment=settings)
    _answers_a_question(tmp_path / "bin" / "weft", tmp_path)
    refused = run(tmp_path / "bin" / "weft", "mcp", "--http")
    assert "uv tool install 'weft-context[mcp]'" in refused.stderr, refused


def test_uvx_serves_agents_without_an_installation(local_index: Path, tmp_path: Path) -> None:
    settings = _offline(local_index, tmp_path)
    uvx = find_tool("uvx")
    served = run(
        *(uvx, "--from", "weft-context", "weft", "mcp", "--store", tmp_path / "store"),
        environment=settings,
        given=f"{_HANDSHAKE}\n",
    )
    assert json.loads(served.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "weft", served.stderr
    # Over HTTP it needs an extra, and the answer is the command that works.
    refused = run(uvx, "--from", "weft-context", "weft", "mcp", "--http", environment=settings)
    assert "uvx --from 'weft-context[mcp]' weft" in refused.stderr, refused


@pytest.mark.parametrize("version", NEWER_PYTHONS)
def test_every_newer_python_at_hand_answers_a_question(version: str, local_index: Path, tmp_path: Path) -> None:
    uv = find_tool("uv")
    python = find_python(version)
    settings = _offline(local_index, tmp_path) | {"UV_PYTHON": str(python)}
    succeed(uv, "venv", "--python", python, tmp_path / "home", environment=settings)
    succeed(
        *(uv, "pip", "install", "--python", tmp_path / "home" / "bin" / "python", "weft-context"),
        environment=settings,
    )
    _answers_a_question(tmp_path / "home" / "bin" / "weft", tmp_path)
