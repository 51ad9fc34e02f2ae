"""Plugins of other packages are found by name, and a broken one is named without stopping the rest."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft import Weft
from weft.embed import open_embedder
from weft.errors import SourceError, UnknownName
from weft.ports.plugins import EMBEDDERS, FORMATS, PluginError, find_plugin, list_plugins

ROOT = Path(__file__).parents[3]


def _declare(folder: Path, package: str, text: str) -> None:
    """Write what an installer keeps of a package's entry points."""
    metadata = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "entry_points.txt").write_text(text, "utf-8")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which packages are found."""
    folder = tmp_path / "installed"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_entry_points_are_found_by_group_and_name(installed: Path) -> None:
    _declare(
        installed,
        "weft-kitchen",
        "[console_scripts]\nkitchen = a:b\n\n[weft.formats]\nrecipe = kitchen.recipes:Recipes [old]\n"
        "[weft.embedders]\nletters=kitchen.models:open\n[weft.other]\nx = y:z\n",
    )
    assert [(each.name, each.target, each.package) for each in list_plugins(FORMATS)] == [
        ("recipe", "kitchen.recipes:Recipes", "weft-kitchen")
    ]
    assert find_plugin(EMBEDDERS, "letters") is not None
    assert find_plugin(EMBEDDERS, "recipe") is None


def test_an_embedder_of_a_plugin_is_opened_and_an_unknown_one_is_told_beside_it(installed: Path) -> None:
    (installed / "kitchen_models.py").write_text("def make(argument):\n    return ('embedder', argument)\n")
    _declare(installed, "weft-kitchen", "[weft.embedders]\nletters = kitchen_models:make\n")
    assert open_embedder("letters:64") == ("embedder", "64")
    with pytest.raises(UnknownName, match="letters"):
        open_embedder("leters:64")


def test_a_plugin_that_cannot_be_loaded_names_its_package_and_what_to_do(installed: Path) -> None:
    _declare(installed, "weft-kitchen", "[weft.embedders]\nletters = no_such_module:make\n")
    with pytest.raises(PluginError, match=r"'letters' of weft-kitchen .*pip uninstall weft-kitchen"):
        open_embedder("letters:64")


def test_a_broken_format_leaves_the_other_files_readable_and_is_reported(installed: Path, tmp_path: Path) -> None:
    _declare(installed, "weft-kitchen", "[weft.formats]\nrecipe = no_such_module:Recipes\n")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "oven.md").write_text("# Oven\n\nPreheat it.\n", "utf-8")
    with Weft.open(tmp_path / "store") as weft:
        report = weft.index(notes)
        assert report.written == 1
        assert any("'recipe' of weft-kitchen" in reason for reason in report.passed_over)


def test_an_unknown_scheme_is_refused_with_those_that_are_known(installed: Path, tmp_path: Path) -> None:
    _declare(installed, "weft-kitchen", "[weft.sources]\npantry = kitchen:open_pantry\n")
    with Weft.open(tmp_path / "store") as weft, pytest.raises(SourceError, match="tana://, pantry://"):
        weft.index("larder://stock.csv")


def test_a_question_looks_for_no_plugin(tmp_path: Path) -> None:
    (tmp_path / "oven.md").write_text("# Oven\n\nPreheat it.\n", "utf-8")
    script = (
        "import sys\n"
        "from weft.interfaces.cli import run\n"
        "run(sys.argv[1:])\n"
        "sys.exit('weft.ports.plugins' in sys.modules)\n"
    )
    around = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    for words, loads in ((("index", "."), True), (("context", "preheat the oven"), False), (("--help",), False)):
        done = subprocess.run(
            [sys.executable, "-c", script, *words], cwd=tmp_path, env=around, capture_output=True, check=False
        )
        assert bool(done.returncode) is loads, words
