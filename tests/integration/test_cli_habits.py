"""Habits of command lines: setting up, keeping quiet, no colours, a manual page, what to type next."""

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from command_line import EXAMPLES, Cli, run_on_terminal

ROOT = EXAMPLES.parent
sys.path.insert(0, str(ROOT / "scripts"))

import man_page  # noqa: E402
from weft.interfaces.cli.init import guess_kind  # noqa: E402


def _on_terminal(folder: Path, words: list[str], typed: bytes = b"", **variables: str) -> tuple[int, str]:
    """Run a command on a terminal with colours, and return its code and all that is seen."""
    around = {"TERM": "xterm-256color", "COLUMNS": "100", **variables}
    code, seen = run_on_terminal(folder, *words, typed=typed, **around)
    return code, seen.decode()


# --- weft init ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("world", "kind"), [("repo", "repository"), ("vault", "vault"), ("novel", "vault")])
def test_what_a_folder_holds_is_guessed(world: str, kind: str) -> None:
    assert guess_kind(EXAMPLES / world) == kind


def test_a_book_is_a_manuscript_and_git_makes_a_repository(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("CHAPTER I\n", "utf-8")
    assert guess_kind(tmp_path / "book.txt") == guess_kind(tmp_path) == "manuscript"
    (tmp_path / ".git").mkdir()
    assert guess_kind(tmp_path) == "repository"


def test_without_a_terminal_nothing_is_asked_and_the_next_commands_are_printed(cli: Cli, tmp_path: Path) -> None:
    folder = shutil.copytree(EXAMPLES / "vault", tmp_path / "work" / "vault")
    done = cli("init", "vault")
    assert done.code == 0, done.err
    assert "Set up vault as a vault." in done.out
    assert "Read: 32 notes" in done.out
    assert "cd vault" in done.out and 'weft context "Noor Haddad"' in done.out
    assert (Path(folder) / ".weft").is_dir()
    told = json.loads(cli("init", "vault", "--json").out)
    assert (told["kind"], told["client"]) == ("vault", "none")
    configured = json.loads(cli("init", "vault", "--client", "claude-code", "--json").out)
    assert configured["client"] == "claude-code"
    assert (Path(folder) / ".mcp.json").is_file()
    assert cli("init", "vault", "--quiet").out == ""


def test_three_questions_are_asked_on_a_terminal_and_the_client_is_configured(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(EXAMPLES / "repo", tmp_path / "repo"))
    code, seen = _on_terminal(folder, ["init"], b"\n\nclaude-code\n", HOME=str(tmp_path))
    assert code == 0, seen
    assert [question in seen for question in ("Which folder or file?", "What is it?", "Which assistant")] == [
        True
    ] * 3
    assert "mcpServers" in (folder / ".mcp.json").read_text("utf-8")
    assert "Set up repo as a repository." in seen


@pytest.mark.parametrize(("world", "kind"), [("repo", "repository"), ("vault", "vault"), ("novel", "manuscript")])
def test_every_question_that_is_suggested_finds_something(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, world: str, kind: str
) -> None:
    monkeypatch.chdir(shutil.copytree(EXAMPLES / world, tmp_path / world))
    lines = cli("init", "--kind", kind).out.partition("Next:\n")[2].splitlines()
    suggested = [shlex.split(line)[1:] for line in lines if not line.startswith("  weft install")]
    assert [words[0] for words in suggested][:2] == ["context", "context" if kind == "manuscript" else "related"]
    for words in suggested:
        done = cli(*words)
        assert done.code == 0 and done.out.count("\n") > 3, words
        assert "Nothing here speaks to this question" not in done.out, words


def test_setting_up_shows_the_chapters_of_a_book_and_what_to_type_for_an_empty_folder(cli: Cli) -> None:
    Path("book.txt").write_text("CHAPTER I\n\nAda met Bela.\n\nCHAPTER II\n\nAda left.\n", "utf-8")
    done = cli("init", "book.txt")
    assert "book: 1 chapter" in done.out and "The chapters are in doubt" in done.err
    Path("empty").mkdir()
    assert 'weft context "YOUR QUESTION"' in cli("init", "empty").out


def test_what_is_indexed_twice_is_noticed(cli: Cli) -> None:
    Path("box/docs").mkdir(parents=True)
    Path("box/docs/oven.md").write_text("# Oven\n\nPreheat it.\n", "utf-8")
    Path("box/docsify.md").write_text("# Docsify\n\nMakes a site.\n", "utf-8")
    assert "in the store twice" not in cli("index", "box").err
    again = cli("index", "box/docs").err
    assert "'docs' lies in 'box'" in again and "`weft remove docs`" in again
    assert "'docs' lies in 'box'" in cli("index", "box").err
    cli("remove", "docs")
    assert "in the store twice" not in cli("index", "box").err
    # A file that the folder's source does not read is there only once.
    Path("box/.hidden").mkdir()
    Path("box/.hidden/secret.md").write_text("# Secret\n\nA recipe.\n", "utf-8")
    assert "in the store twice" not in cli("index", "box/.hidden/secret.md").err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("init", "nowhere"), "There is nothing at 'nowhere'"),
        (("init", ".", "--kind", "valt"), "vault"),
        (("init", ".", "--client", "clod"), "claude-code"),
    ],
)
def test_what_cannot_be_set_up_is_refused_before_anything_is_written(
    cli: Cli, words: tuple[str, ...], problem: str
) -> None:
    done = cli(*words)
    assert done.code == 2
    assert problem in done.err
    assert not Path(".weft").exists()


# --- the manual page --------------------------------------------------------------------------------------


def test_the_manual_page_is_the_one_that_the_commands_make() -> None:
    # Remade by `python scripts/man_page.py`.
    assert man_page.PAGE.read_text("utf-8") == man_page.make_page()


# --- quiet, colours, status, doctor -------------------------------------------------------------------------


def test_quiet_prints_the_answer_and_problems_alone(cli: Cli) -> None:
    Path("oven.md").write_text("# Oven\n\nPreheat the oven to 180 degrees.\n", "utf-8")
    Path("broken.jsonl").write_text('{"key": "a", "text": "fine"}\n{broken\n', "utf-8")
    indexed = cli("--quiet", "index", ".")
    assert indexed.out == ""
    assert indexed.code == 3
    assert "broken.jsonl" in indexed.err
    asked = cli("context", "how hot is the oven?", "--quiet", "--tenant", "default", "--tenant", "nobody")
    assert "180 degrees" in asked.out
    assert asked.err == ""
    assert "'nobody' holds nothing" in cli("context", "oven", "--tenant", "default", "--tenant", "nobody").err
    # After `--` it is a word of the question.
    assert cli("search", "--", "--quiet", "oven").code == 0


def test_no_color_is_obeyed_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "oven.md").write_text("# Oven\n\nPreheat it.\n", "utf-8")
    assert _on_terminal(tmp_path, ["index", "."])[0] == 0
    for words in (["--help"], ["search", "oven"], ["status"]):
        code, seen = _on_terminal(tmp_path, words, NO_COLOR="1")
        assert code == 0
        assert "\x1b[3" not in seen and "\x1b[9" not in seen
    assert "\x1b[" in _on_terminal(tmp_path, ["--help"])[1]


def test_status_draws_a_bar_for_each_kind(cli: Cli) -> None:
    assert cli("index", EXAMPLES / "repo").code == 0
    lines = cli("status").out.splitlines()
    bars = [line for line in lines if line.startswith("  ") and line.endswith("#")]
    counts = [int(line.split()[1].replace(",", "")) for line in bars]
    assert counts == sorted(counts, reverse=True)
    assert bars[0].count("#") == 40
    assert all(line.count("#") >= 1 for line in bars)


def test_doctor_ends_with_what_to_type(cli: Cli) -> None:
    assert cli("doctor").out.splitlines()[-1] == "Type next, because of store: weft index PATH"
    assert cli("index", EXAMPLES / "vault").code == 0
    assert cli("doctor").out.splitlines()[-1] == 'All is well. Type next: weft context "YOUR QUESTION"'
    shutil.rmtree(".weft/derived")
    assert "Type next" in cli("doctor").out.splitlines()[-1]
