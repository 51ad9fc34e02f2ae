"""`weft diff`, `weft history`, sessions and `weft install` on the command line."""

import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from command_line import Cli

NOW = "2026-03-01T12:00:00Z"


def context_id(cli: Cli, *words: object) -> str:
    return str(json.loads(cli("context", *words, "--now", NOW, "--json").out)["id"])


def test_diff_says_what_a_smaller_budget_takes_away(cli: Cli, world: Path) -> None:
    large, small = context_id(cli, "boots"), context_id(cli, "boots", "--max-tokens", 200)
    done = cli("diff", large, small[:8])
    assert done.code == 0
    assert done.out.startswith(f"{large} → {small}\nasked differently: max_tokens: 'unset' → 200\n")
    assert "vanished" in done.out
    found = json.loads(cli("diff", large, small, "--json").out)
    assert {change["what"] for change in found["changes"]} <= {"vanished", "changed", "moved"}


def test_since_tells_what_a_new_note_brings(cli: Cli, world: Path, tmp_path: Path) -> None:
    before = context_id(cli, "boots")
    assert "0 changed" in cli("diff", "--since", before, "--now", NOW).out
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "cobbler.md").write_text("# Cobbler\n\nThe cobbler resoled the boots.\n")
    cli("index", tmp_path / "more")
    result = cli("diff", "--since", before, "--now", NOW).out
    assert "appeared  Cobbler  [more:cobbler.md]\n          not found then; score" in result


@pytest.mark.parametrize("words", [[], ["a"], ["a", "b", "c"], ["a", "--since", "b"], ["aaaa", "bbbb"]])
def test_what_is_no_comparison_is_refused(cli: Cli, world: Path, words: list[str]) -> None:
    done = cli("diff", *words)
    assert done.code == 2
    assert "weft history" in done.err


def test_history_lists_what_was_asked_and_prints_the_books_of_one(cli: Cli, world: Path) -> None:
    assert "No context has been kept yet" in cli("history").err
    name = context_id(cli, "boots")
    assert name in cli("history").out
    assert "Slack Water" in cli("history", name).out
    assert [each["id"] for each in json.loads(cli("history", "--json").out)] == [name]
    assert cli("history", "--limit", 0).code == 2


def test_a_session_is_told_what_is_left_out(cli: Cli, world: Path) -> None:
    first = cli("context", "boots", "--session", "s")
    second = cli("context", "boots", "--session", "s")
    assert "Slack Water" in first.out
    assert "already received in session s" in second.out
    assert "already received in session s" in second.err
    assert cli("context", "boots", "--session", " ").code == 2


def test_a_lens_finds_its_profile(cli: Cli, world: Path) -> None:
    named = cli("context", "boots", "--profile", "notes", "--lens", "meeting-prep", "--now", NOW)
    assert cli("context", "boots", "--lens", "meeting-prep", "--now", NOW).out == named.out
    done = cli("context", "boots", "--lens", "meting-prep")
    assert done.code == 2
    assert "Did you mean 'meeting-prep'" in done.err


# --- install ---

FILES = {
    "claude-code": (".mcp.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".vscode/mcp.json", "servers"),
    "claude-desktop": ("{home}/Claude/claude_desktop_config.json", "mcpServers"),
    "codex": ("{home}/.codex/config.toml", "mcp_servers"),
}


def read(file: Path) -> dict[str, Any]:
    text = file.read_text(encoding="utf-8")
    return tomllib.loads(text) if file.suffix == ".toml" else dict(json.loads(text))


@pytest.mark.parametrize("client", FILES)
def test_install_writes_the_clients_file_keeps_the_rest_and_a_copy(cli: Cli, client: str, tmp_path: Path) -> None:
    name, table = FILES[client]
    file = Path(name.format(home=tmp_path / "home"))
    assert cli("install", client, "--dry-run").code == 0
    assert not file.exists()
    assert cli("install", client).code == 0
    entry = read(file)[table]["weft"]
    assert entry["args"][-1] == "mcp"
    other = (
        f'model = "x"\n\n[{table}.other]\ncommand = "o"\n\n[{table}.weft]\ncommand = "old"\n\n[tui]\ntheme = "y"\n'
        if file.suffix == ".toml"
        else json.dumps({"theme": "ü", table: {"other": {"command": "o"}, "weft": {"command": "old"}}})
    )
    file.write_text(other, encoding="utf-8")
    file.chmod(0o600)
    before = read(file)
    assert cli("install", client).code == 0
    assert read(file) == {**before, table: {**before[table], "weft": entry}}
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.with_name(f"{file.name}.weft-backup").read_text(encoding="utf-8") == other
    assert "has it already" in cli("install", client).err
    assert cli("install", client, "--profile", "notes").code == 0
    assert file.with_name(f"{file.name}.weft-backup-2").exists()


def test_install_names_the_store_where_the_client_would_not_find_it(cli: Cli, world: Path, tmp_path: Path) -> None:
    def words(*given: object) -> list[str]:
        return list(json.loads(cli("install", *given, "--dry-run", "--json").out)["server"]["args"])

    assert words("claude-code")[-1] == "mcp"
    assert words("cursor")[-2:] == ["--store", "${workspaceFolder}/.weft"]
    for client in (["claude-desktop"], ["claude-code", "--user"], ["other"]):
        assert words(*client)[-2:] == ["--store", str(world)]
    assert words("codex", "--write", "--tenant", "t")[-3:] == ["--write", "--tenant", "t"]
    assert words("codex", "--command", "uvx weft")[:2] == ["weft", "mcp"]


def test_a_file_that_a_repository_shares_names_the_program_without_a_path(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "weft"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    assert cli("install", "claude-code").code == 0
    assert read(Path(".mcp.json"))["mcpServers"]["weft"]["command"] == "weft"
    alone = json.loads(cli("install", "claude-code", "--user", "--dry-run", "--json").out)["server"]
    assert Path(alone["command"]).is_absolute()
    # Of an environment the client may know nothing.
    advice = "pipx install weft-context"
    assert advice not in cli("install", "claude-code", "--dry-run").err
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert advice in cli("install", "claude-code", "--dry-run").err
    assert advice not in cli("install", "claude-code", "--dry-run", "--command", "uvx weft").err


def test_install_prints_the_entry_for_any_other_client(cli: Cli) -> None:
    done = cli("install", "zed")
    assert done.code == 0
    assert json.loads(done.out)["mcpServers"]["weft"]["args"][-1] == "mcp"
    assert "claude-code" in done.err


@pytest.mark.parametrize("text", ["{ // a comment\n}", "[]", '{"mcpServers": []}', "\x00"])
def test_a_file_that_is_not_understood_is_left_alone_and_the_entry_shown(cli: Cli, text: str) -> None:
    Path(".mcp.json").write_text(text, encoding="utf-8")
    done = cli("install", "claude-code")
    assert done.code == 2
    assert '"mcpServers"' in done.err
    assert Path(".mcp.json").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", ["", "a b", "x.y", "../x", "[mcp]", "n" * 65])
def test_a_name_that_clients_would_not_take_is_refused(cli: Cli, name: str) -> None:
    assert cli("install", "codex", "--name", name).code == 2


@pytest.mark.parametrize("client", FILES)
def test_remove_takes_the_server_out_and_leaves_the_rest(cli: Cli, client: str, tmp_path: Path) -> None:
    name, table = FILES[client]
    file = Path(name.format(home=tmp_path / "home"))
    assert "does not have it" in cli("install", client, "--remove").err
    assert not file.exists()
    cli("install", client, "--name", "other")
    before = read(file)
    cli("install", client)
    assert cli("install", client, "--remove", "--dry-run").code == 0
    assert "weft" in read(file)[table]
    assert cli("install", client, "--remove").code == 0
    assert read(file) == before
    assert cli("install", client, "--remove", "--name", "other").code == 0
    assert read(file) == {}
