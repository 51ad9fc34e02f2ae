"""Shells complete commands and options with the scripts of `weft completion`, typed on a real terminal.

Nobody tried the script for PowerShell: no package of it is at hand, so that only its text is checked.
"""

import os
import pty
import re
import select
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import Cli

from weft.interfaces.cli.completion import describe_commands

TYPED = {
    "weft cont": "context",
    "weft context what --max": "context what --max-tokens",
    "weft profile sh": "profile show",
    "weft jobs list --js": "jobs list --json",
    # Words of a question that are also commands lead nowhere.
    "weft context jobs list --max": "context jobs list --max-tokens",
    "weft index ov": "index oven.md",
}
"""The text typed before the Tab key, and the words that the command gets."""
MAX_WAIT_SECONDS = 60
"""After which time without a sign of the shell a test fails instead of waiting."""


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


def words_after_tab(shell: list[str], setting_up: str, folder: Path) -> list[str]:
    """Type each line with a Tab at its end into a shell on a terminal; return the words that `weft` was given."""
    (folder / "oven.md").write_text("# Oven\n", "utf-8")
    lines = [setting_up, *(f"{line}\t" for line in TYPED), "exit"]
    ours, theirs = pty.openpty()
    around = {**os.environ, "TERM": "dumb", "HOME": str(folder), "PS1": "> "}
    with subprocess.Popen(
        shell, cwd=folder, env=around, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ):
        os.close(theirs)
        seen = b""
        # One line at a time, each when the one before was answered: typed ahead, a Tab would be a Tab.
        for number, line in enumerate(lines):
            os.write(ours, f"{line}\n".encode())
            while number < len(lines) - 1 and len(re.findall(rb"^<<.*>>", seen, re.MULTILINE)) <= number:
                assert select.select([ours], [], [], MAX_WAIT_SECONDS)[0], f"{line!r} is not answered: {seen!r}"
                seen += os.read(ours, 65_536)
    os.close(ours)
    return re.findall(r"^<<(.*?)>>", seen.decode(), re.MULTILINE)[1:]


def test_bash_completes_what_is_typed(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "weft.bash"
    script.write_text(cli("completion", "bash").out, "utf-8")
    ready = f"source {script}; weft() {{ printf '<<%s>>\\n' \"$*\"; }}; echo '<<ready>>'"
    assert words_after_tab(["bash", "--norc", "-i"], ready, tmp_path) == list(TYPED.values())


def test_zsh_completes_what_is_typed(cli: Cli, tmp_path: Path) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    script = tmp_path / "weft.zsh"
    script.write_text(cli("completion", "zsh").out, "utf-8")
    loaded = f"autoload -U compinit; compinit -D -u; source {script}"
    ready = f"{loaded}; weft() {{ print -r \"<<$*>>\" }}; print '<<ready>>'"
    assert words_after_tab(["zsh", "-f", "-i"], ready, tmp_path) == list(TYPED.values())


def test_fish_completes_what_is_typed(cli: Cli, tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    (tmp_path / "oven.md").write_text("# Oven\n", "utf-8")
    script = tmp_path / "weft.fish"
    script.write_text(cli("completion", "fish").out, "utf-8")

    def complete(line: str) -> list[str]:
        asked = ["fish", "-c", f"source {script}; complete -C {line!r}"]
        done = subprocess.run(
            asked,
            cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return [candidate.partition("\t")[0] for candidate in done.stdout.splitlines()]

    for line, completed in TYPED.items():
        assert complete(line) == [completed.split()[-1]]
    assert complete("weft jobs ") == ["add", "list", "retry", "run"]


def test_powershell_is_given_a_list_of_pairs_for_every_command(cli: Cli) -> None:
    entries = re.findall(r"^ {8}'(.*?)' = @\((,?)(.*)\)$", cli("completion", "powershell").out, re.MULTILINE)
    program = describe_commands()
    inner = [each for group in program.commands for each in group.commands]
    assert {path for path, _, _ in entries} == {
        " ".join(each.path) for each in (program, *program.commands, *inner)
    }
    for path, comma, pairs in entries:
        # A list of one pair would become the pair itself without the comma.
        count = len(re.findall(r"@\('(?:[^']|'')*', '(?:[^']|'')*'\)", pairs))
        assert (comma == ",") == (count == 1), path


def test_an_unknown_shell_is_refused_with_those_that_are_known(cli: Cli) -> None:
    done = cli("completion", "tcsh")
    assert done.code == 2
    assert "bash, fish, powershell, zsh" in done.err
