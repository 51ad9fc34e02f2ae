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
    events = {"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PreCompact"}
    assert set(read()["hooks"]) == events
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


def test_a_client_without_hooks_is_told_which_have_some(cli: Cli) -> None:
    done = cli("install", "vscode", "--hooks")
    assert done.code == 2
    assert "claude-code, codex, cursor, opencode" in done.err
    assert "claude-code, codex, cursor, opencode" in cli("install", "--hooks").err


def test_codex_keeps_hooks_of_the_same_shape_in_the_users_folder(cli: Cli, tmp_path: Path) -> None:
    done = cli("install", "codex", "--hooks")
    assert "codex_hooks = true" in done.err
    file = tmp_path / "home" / ".codex" / "hooks.json"
    assert set(read(file)["hooks"]) == {"SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact"}
    assert all(each[0].endswith("--client codex") for each in commands(read(file)).values())
    assert cli("install", "codex", "--hooks", "--remove").code == 0
    assert read(file) == {}


def test_cursor_lists_hooks_by_event_and_others_stay(cli: Cli) -> None:
    file = Path(".cursor/hooks.json")
    file.parent.mkdir()
    other = {"version": 1, "hooks": {"stop": [{"command": "say done"}], "postToolUse": [{"command": "fmt"}]}}
    file.write_text(json.dumps(other), encoding="utf-8")
    assert cli("install", "cursor", "--hooks").code == 0
    assert cli("install", "cursor", "--hooks").err.startswith(f"note: {file.absolute()} has it already")
    hooks = read(file)["hooks"]
    assert next(entry["command"] for entry in hooks["postToolUse"]) == "fmt"
    (shell,) = hooks["postToolUse"][1:]
    assert (shell["matcher"], shell["command"].split()[-2:]) == (
        "Shell|MCP:.*start_experience",
        ["--client", "cursor"],
    )
    assert len(hooks["beforeSubmitPrompt"]) == 1
    assert cli("install", "cursor", "--hooks", "--remove").code == 0
    assert read(file) == other


def test_opencode_gets_a_plugin_that_is_deleted_again_unless_it_is_anothers(cli: Cli) -> None:
    file = Path(".opencode/plugins/weft.js")
    assert cli("install", "opencode", "--hooks").code == 0
    assert '"--client", "opencode"]' in file.read_text(encoding="utf-8")
    assert cli("install", "opencode", "--hooks", "--remove").out == f"Deleted {file.absolute()}.\n"
    assert not file.exists()
    file.write_text("export const Mine = 1\n", encoding="utf-8")
    assert "did not write" in cli("install", "opencode", "--hooks").err
    assert "does not have it" in cli("install", "opencode", "--hooks", "--remove").err
    assert file.read_text(encoding="utf-8") == "export const Mine = 1\n"


def test_opencode_lists_the_server_with_its_command_as_one_list(cli: Cli, world: Path) -> None:
    assert cli("install", "opencode").code == 0
    server = read(Path("opencode.json"))["mcp"]["weft"]
    assert (server["type"], server["enabled"], server["command"][-1]) == ("local", True, "mcp")
    assert cli("install", "opencode", "--remove").code == 0
    assert read(Path("opencode.json")) == {}


@pytest.mark.parametrize("client", ["claude-code", "codex", "cursor", "opencode"])
def test_installing_where_there_is_no_store_says_so(cli: Cli, client: str) -> None:
    assert "There is no store in" in cli("install", client, "--hooks").err


def test_installing_beside_a_store_warns_of_nothing(cli: Cli, world: Path) -> None:
    assert "no store" not in cli("install", "cursor", "--hooks").err
    assert "no store" not in cli("install", "cursor").err


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
