"""Habits of command lines: setting up, completing, keeping quiet, no colours, a manual page, what to type next."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import EXAMPLES, Cli

ROOT = EXAMPLES.parent
sys.path.insert(0, str(ROOT / "scripts"))

import man_page  # noqa: E402
from weft.interfaces.cli.completion import describe_commands  # noqa: E402
from weft.interfaces.cli.init import guess_kind  # noqa: E402


def _on_terminal(folder: Path, words: list[str], typed: bytes = b"", **variables: str) -> tuple[int, str]:
    """Run a command on a terminal, with what is typed there, and return its code and all that is seen."""
    ours, theirs = pty.openpty()
    around = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "TERM": "xterm-256color",
        "COLUMNS": "100",
        **variables,
    }
    with subprocess.Popen(
        [sys.executable, "-m", "weft", *words], cwd=folder, env=around, stdin=theirs, stdout=theirs, stderr=theirs
    ) as running:
        os.close(theirs)
        os.write(ours, typed)
        seen = b""
        while True:
            try:
                part = os.read(ours, 65_536)
            except OSError:
                break
            if not part:
                break
            seen += part
        code = running.wait()
    os.close(ours)
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
    assert "Set up the vault vault" in done.out
    assert "cd vault" in done.out and 'weft context "what am I working on?"' in done.out
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
    assert "Set up the repository" in seen


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


# --- completion and the manual page -------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_every_command_and_option_is_in_every_script(cli: Cli, shell: str) -> None:
    script = cli("completion", shell).out
    program = describe_commands()
    for command in (*program.commands, *(inner for group in program.commands for inner in group.commands)):
        assert command.path[-1] in script
        for option in command.options:
            for name in option.names:
                assert (f"-l {name[2:]}" if shell == "fish" else name) in script
    assert "\t" not in script


def test_bash_completes_commands_options_and_commands_of_groups(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "weft.bash"
    script.write_text(cli("completion", "bash").out, "utf-8")

    def complete(*words: str) -> list[str]:
        written = " ".join(f"'{word}'" for word in words)
        asked = (
            f"source {script}; COMP_WORDS=({written}); COMP_CWORD={len(words) - 1}; _weft; echo ${{COMPREPLY[@]}}"
        )
        return subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True).stdout.split()

    assert complete("weft", "cont") == ["context"]
    assert complete("weft", "context", "what", "--max") == ["--max-tokens"]
    assert {"list", "add"} <= set(complete("weft", "jobs", ""))
    assert complete("weft", "profile", "sh") == ["show"]
    assert complete("weft", "jobs", "list", "--js") == ["--json"]


@pytest.mark.parametrize(("shell", "check"), [("zsh", ["zsh", "-n"]), ("fish", ["fish", "-n"])])
def test_the_script_can_be_parsed_by_its_shell(cli: Cli, tmp_path: Path, shell: str, check: list[str]) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(cli("completion", shell).out, "utf-8")
    assert subprocess.run([*check, str(script)], capture_output=True, check=False).returncode == 0


def test_an_unknown_shell_is_refused_with_those_that_are_known(cli: Cli) -> None:
    done = cli("completion", "tcsh")
    assert done.code == 2
    assert "bash, fish, powershell, zsh" in done.err or "bash, zsh, fish, powershell" in done.err


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
