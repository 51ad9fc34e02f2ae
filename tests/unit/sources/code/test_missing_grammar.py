"""A file whose grammar is not installed is text until it is, and the command that installs it is told."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Weft
from weft.sources.code.languages import LANGUAGES, has_grammar

_KOTLIN = "class Oven {\n    fun preheat(degrees: Int): Int {\n        return degrees\n    }\n}\n"


@pytest.fixture(autouse=True)
def forget_grammars() -> Iterator[None]:
    """Forget which grammars are installed: a process looks that up once, and these tests change it."""
    has_grammar.cache_clear()
    yield
    has_grammar.cache_clear()


def test_a_file_without_grammar_is_text_with_the_command_and_read_again_once_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "Oven.kt").write_text(_KOTLIN)
    with Weft.open(tmp_path / "store") as weft:
        with monkeypatch.context() as without:
            without.setitem(sys.modules, "tree_sitter_kotlin", None)
            report = weft.index(repository)
        assert any("pip install tree-sitter-kotlin" in remark for remark in report.passed_over)
        assert ["fun preheat" in node.text for node in weft.show("repository:Oven.kt")] == [True]
        assert "repository:Oven.kt#Oven.preheat" not in [node.key for node in weft.nodes()]
        has_grammar.cache_clear()
        assert weft.index(repository).passed_over == {}
        assert "repository:Oven.kt#Oven.preheat" in [node.key for node in weft.nodes()]


def test_every_grammar_comes_with_weft_or_with_the_extra_all() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["all"]]
    offered = {requirement.partition(">=")[0].replace("-", "_") for requirement in wanted}
    assert {language.wheel for language in LANGUAGES} <= offered
