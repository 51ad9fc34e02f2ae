"""The example plugin, installed from its folder as anybody's package, adds what it says."""

import sys
from pathlib import Path

import pytest
from distribution import ROOT, run

PLUGIN = ROOT / "examples" / "plugin"


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The settings of a process that sees the installed plugin."""
    pytest.importorskip("hatchling")
    target = tmp_path_factory.mktemp("target")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    done = run(*pip, "--target", target, PLUGIN)
    assert done.returncode == 0, done.stderr
    return {"PYTHONPATH": f"{ROOT / 'src'}:{target}", "WEFT_STORE": str(target / "store")}


def test_its_format_source_embedder_and_tokenizer_are_used_by_name(around: dict[str, str], tmp_path: Path) -> None:
    kitchen = PLUGIN / "tests" / "kitchen"

    def weft(*words: str) -> str:
        done = run(sys.executable, "-m", "weft", *words, environment=around, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    weft("index", str(kitchen), f"pantry://{kitchen / 'stock.csv'}", "--embedder", "letters:64")
    page = weft("context", "how long does rye bread bake?", "--token-model", "words", "--embedder", "letters:64")
    assert "Bake it for 70 minutes" in page
    assert "the lower shelf" in weft("context", "where is the rye flour?", "--embedder", "letters:64")
    examined = weft("doctor", "--embedder", "letters:64")
    assert "letters-64, 64 dimensions" in examined
    assert "recipe of weft-kitchen (weft.formats)" in examined


def test_its_own_tests_hold(around: dict[str, str], tmp_path: Path) -> None:
    done = run(
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path),
        *("-c", "/dev/null", PLUGIN / "tests"),
        environment=around,
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
