"""`weft install claude-code --hooks`: what it writes, keeps and takes out again."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import Cli
from hook_process import around

FILE = Path(".claude/settings.local.json")
OTHER = {
    "permissions": {"allow": ["Bash(ls)"]},
    "hooks": {
        "PostToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "prettier ü"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
    },
}


def read(file: Path = FILE) -> dict[str, Any]:
    return dict(json.loads(file.read_text(encoding="utf-8")))


def commands(settings: dict[str, Any]) -> dict[str, list[str]]:
    return {
        event: [hook["command"] for entry in entries for hook in entry["hooks"]]
        for event, entries in settings["hooks"].items()
    }


def test_install_writes_one_entry_an_event_and_only_once(cli: Cli) -> None:
    assert "+" in cli("install", "claude-code", "--hooks", "--dry-run").out
    assert not FILE.exists()
    assert cli("install", "claude-code", "--hooks").code == 0
    assert set(read()["hooks"]) == {"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"}
    assert read()["hooks"]["PostToolUse"][0]["matcher"] == "Bash|mcp__.*__start_experience"
    assert "has it already" in cli("install", "claude-code", "--hooks").err
    assert cli("install", "claude-code", "--hooks", "--profile", "notes").code == 0
    assert all(len(each) == 1 and each[0].endswith("--profile notes") for each in commands(read()).values())
    assert not Path(".mcp.json").exists()


def test_other_hooks_and_settings_stay_and_a_copy_is_kept(cli: Cli) -> None:
    FILE.parent.mkdir()
    FILE.write_text(json.dumps(OTHER), encoding="utf-8")
    assert cli("install", "claude-code", "--hooks").code == 0
    assert read()["permissions"] == OTHER["permissions"]
    assert commands(read())["PostToolUse"][0] == "prettier ü"
    assert len(commands(read())["PostToolUse"]) == 2
    assert read(FILE.with_name(f"{FILE.name}.weft-backup")) == OTHER
    assert cli("install", "claude-code", "--hooks", "--remove").code == 0
    assert read() == OTHER
    assert "does not have it" in cli("install", "claude-code", "--hooks", "--remove").err


def test_hooks_for_all_folders_go_into_the_users_settings(cli: Cli, tmp_path: Path, world: Path) -> None:
    assert cli("install", "claude-code", "--hooks", "--user").code == 0
    file = tmp_path / "home" / ".claude" / "settings.json"
    assert all("--store" not in each[0] for each in commands(read(file)).values())
    assert cli("install", "claude-code", "--hooks", "--user", "--store", "a b").code == 0
    assert shlex.split(commands(read(file))["SessionStart"][0])[-2:] == ["--store", str(Path("a b").absolute())]


@pytest.mark.parametrize("text", ["{ // a comment\n}", "[]", '{"hooks": []}', '{"hooks": {"Stop": 3}}'])
def test_settings_that_are_not_understood_are_left_alone(cli: Cli, text: str) -> None:
    FILE.parent.mkdir()
    FILE.write_text(text, encoding="utf-8")
    done = cli("install", "claude-code", "--hooks")
    assert done.code == 2
    assert '"UserPromptSubmit"' in done.err
    assert cli("install", "claude-code", "--hooks", "--remove").code == 2
    assert FILE.read_text(encoding="utf-8") == text


def test_other_clients_have_no_hooks(cli: Cli) -> None:
    done = cli("install", "cursor", "--hooks")
    assert done.code == 2
    assert "weft install claude-code --hooks" in done.err


def test_the_command_that_is_installed_answers_in_a_shell(cli: Cli, world: Path) -> None:
    told = json.loads(cli("install", "claude-code", "--hooks", "--json").out)
    assert told["written"]
    (command,) = commands(told)["UserPromptSubmit"]
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Who is Corvin Ashdown?"}
    done = subprocess.run(
        ["bash", "-c", f"{command} --debug --deadline 60"],
        input=json.dumps({**payload, "cwd": str(Path.cwd())}).encode(),
        capture_output=True,
        env=around(Path.cwd()),
        check=True,
    )
    assert not done.stderr
    assert "Corvin" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
