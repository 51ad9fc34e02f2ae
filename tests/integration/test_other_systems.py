"""Differences of Windows and macOS, simulated on this system.

Names that differ in case or in how an accent is written, folders that are not ASCII, terminals in old code
pages, files that another program holds, and long paths. Nothing here needs those systems.
"""

import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from command_line import EXAMPLES, Cli, run_on_terminal

from weft import Weft

SOURCE = Path(__file__).parents[2] / "src"
_QUESTION = "which city has the café?"
_NOTE = "# Städte\n\nThe café in 東京 is open → ask for the “flat white”.\n"


def _run_with_encoding(folder: Path, encoding: str, *words: str) -> tuple[int, bytes]:
    """Run a command on a terminal of this encoding, and return its code and the bytes that it printed."""
    return run_on_terminal(folder, *words, PYTHONIOENCODING=encoding, PYTHONUTF8="0")


@pytest.mark.parametrize(
    ("encoding", "kept", "escaped"), [("cp1252", "café", "\\u6771"), ("cp950", "東京", "\\xe9")]
)
def test_a_terminal_in_an_old_code_page_gets_escapes_and_no_failure(
    tmp_path: Path, encoding: str, kept: str, escaped: str
) -> None:
    (tmp_path / "cities.md").write_text(_NOTE, "utf-8")
    assert _run_with_encoding(tmp_path, encoding, "index", ".")[0] == 0
    for command in (("context", _QUESTION), ("search", _QUESTION), ("status",), ("--help",), ("doctor",)):
        code, printed = _run_with_encoding(tmp_path, encoding, *command)
        assert code == 0, printed.decode(encoding)
    _, page = _run_with_encoding(tmp_path, encoding, "context", _QUESTION)
    assert kept.encode(encoding) in page
    assert escaped.encode() in page


def test_no_file_is_read_or_written_in_the_encoding_of_the_locale(tmp_path: Path) -> None:
    """Run with Python's own check for opened files without an encoding, which would be cp1252 on Windows."""
    (tmp_path / "cities.md").write_text(_NOTE, "utf-8")
    (tmp_path / "shop.py").write_text('"""Der Laden."""\n\n\ndef öffne() -> None: ...\n', "utf-8")
    script = (
        "import sys, warnings\n"
        "seen = []\n"
        "warnings.showwarning = lambda message, kind, file, *rest: seen.append((kind.__name__, file))\n"
        "warnings.simplefilter('always', EncodingWarning)\n"
        "from weft.interfaces.cli import run\n"
        "for words in (['index', '.'], ['context', 'café'], ['status'],\n"
        "              ['remember', 'Ask in 東京.'], ['doctor'],\n"
        "              ['install', '--list'], ['memories'], ['search', 'öffne'], ['profile', 'list']):\n"
        "    run(words)\n"
        "ours = [each for each in seen if each[0] == 'EncodingWarning' and '/weft/' in each[1]]\n"
        "sys.exit(str(ours) if ours else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


def test_a_store_and_a_source_may_lie_in_folders_that_are_not_ascii(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "Zoë’s Bücher 日本"
    folder.mkdir()
    (folder / "Städte.md").write_text(_NOTE, "utf-8")
    monkeypatch.chdir(folder)
    assert cli("index", ".").code == 0
    page = cli("context", _QUESTION)
    assert page.code == 0
    assert "東京" in page.out
    assert "Städte" in page.out
    assert cli("show", "Städte.md").code == 0


def test_a_note_is_linked_and_found_however_its_accents_are_written(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    # macOS used to write names of files decomposed, and keyboards write texts composed.
    decomposed = unicodedata.normalize("NFD", "Café Zoë")
    (vault / f"{decomposed}.md").write_text("# Café Zoë\n\nOpens at seven.\n", "utf-8")
    (vault / "Plan.md").write_text("# Plan\n\nMeet at [[Café Zoë]].\n", "utf-8")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(vault)
        shown = weft.show("Café Zoë")
        assert [node.title for node in shown] == ["Café Zoë"]
        linked = [node for node, _ in weft.related("vault:Plan.md")]
        assert any("seven" in node.text for node in linked)


def test_a_file_renamed_in_its_case_only_is_one_file(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "guide.md").write_text("# Guide\n\nPreheat the oven.\n", "utf-8")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(repository)
        # As a system that ignores case does it, in one step and to the same file.
        (repository / "guide.md").rename(repository / "Guide.md")
        weft.index(repository)
        assert [node.key for node in weft.nodes() if "uide" in node.key] == ["repository:Guide.md"]


def test_a_file_that_another_program_holds_keeps_what_is_stored_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    held = repository / "oven.md"
    held.write_text("# Oven\n\nPreheat the oven.\n", "utf-8")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(repository)
        held.write_text("# Oven\n\nPreheat it to 180 degrees.\n", "utf-8")
        (repository / "rack.md").write_text("# Rack\n\nThe middle rack.\n", "utf-8")
        with monkeypatch.context() as holding:
            _hold(holding, held)
            report = weft.index(repository)
        assert [problem.where for problem in report.problems] == ["oven.md"]
        assert {node.key for node in weft.nodes()} >= {"repository:oven.md", "repository:rack.md"}
        weft.index(repository)
        assert any("180 degrees" in node.text for node in weft.nodes())


def _hold(monkeypatch: pytest.MonkeyPatch, held: Path) -> None:
    """Refuse to open a file, as Windows does while another program writes it."""
    opened = Path.open
    read_bytes = Path.read_bytes

    def refuse(path: Path) -> None:
        if path == held:
            raise PermissionError(13, "The process cannot access the file because it is being used", str(path))

    def open_unless_held(self: Path, *arguments: Any, **options: Any) -> Any:
        refuse(self)
        return opened(self, *arguments, **options)

    def read_unless_held(self: Path) -> bytes:
        refuse(self)
        return read_bytes(self)

    monkeypatch.setattr(Path, "open", open_unless_held)
    monkeypatch.setattr(Path, "read_bytes", read_unless_held)


def test_search_files_that_a_reader_holds_are_replaced_later_and_answers_stay_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Weft.open(tmp_path / "store") as weft:
        weft.index(EXAMPLES / "vault")
    # Windows refuses to remove a file that is mapped by another process.
    removed = os.unlink

    def refuse(path: Any, *arguments: Any, **options: Any) -> None:
        if "derived" in str(path):
            raise PermissionError(13, "The process cannot access the file", str(path))
        removed(path, *arguments, **options)

    monkeypatch.setattr(os, "unlink", refuse)
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "oven.md").write_text("# Oven\n\nPreheat the oven to 180 degrees.\n", "utf-8")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(notes)
        assert "180 degrees" in weft.context("how hot is the oven?").text


def test_paths_beyond_260_characters_are_read_and_the_store_adds_little_to_its_folder(tmp_path: Path) -> None:
    deep = tmp_path / "repository"
    while len(str(deep)) < 300:
        deep /= "a folder with a long name"
    deep.mkdir(parents=True)
    (deep / "oven.py").write_text("def preheat():\n    return 180\n", "utf-8")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(tmp_path / "repository")
        assert "def preheat" in weft.context("where is preheat defined?").text
    longest = max(len(str(path.relative_to(tmp_path / "store"))) for path in (tmp_path / "store").rglob("*"))
    # A project folder of 150 characters leaves room for the store within the 260 that Windows takes by default.
    assert longest <= 100
