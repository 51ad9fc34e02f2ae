"""Events of each client in its own words become one shape."""

import json
from typing import Any

import pytest

from weft.errors import InvalidInput
from weft.interfaces.hooks.events import Event, format_answer, read_event, read_settings


def read(client: str, **sent: Any) -> Event:
    return read_event(json.dumps(sent).encode(), client)


def shell(client: str, response: Any) -> Event:
    return read(
        client,
        hook_event_name="PostToolUse",
        tool_name="Bash",
        tool_input={"command": "pytest"},
        tool_response=response,
    )


@pytest.mark.parametrize(
    ("response", "has_failed"),
    [
        ("1 passed in 0.1s", None),
        ("Exit code: 1\nWall time: 0.3 seconds\nOutput:\n1 failed", True),
        ("Process exited with code 0\nOutput:\n3 passed", False),
        ({"exit_code": 2, "output": "x"}, True),
        ({"output": "x"}, None),
    ],
)
def test_codex_tells_an_exit_code_only_in_some_of_its_answers(response: Any, has_failed: bool | None) -> None:
    assert shell("codex", response).has_failed is has_failed


def test_claude_code_sends_the_event_after_success_only() -> None:
    assert shell("claude-code", {"stdout": "1 failed"}).has_failed is False


@pytest.mark.parametrize("command", [["bash", "-lc", "cd app && pytest -q"], "cd app && pytest -q"])
def test_a_command_may_be_a_list_of_words(command: Any) -> None:
    event = read("codex", hook_event_name="PostToolUse", tool_name="Bash", tool_input={"command": command})
    assert event.command == "cd app && pytest -q"
    assert read("codex", tool_input={"command": ["pytest", "a b"]}).command == "pytest 'a b'"


@pytest.mark.parametrize("failure", ["timeout", "permission_denied", "error"])
def test_a_command_that_cursor_stopped_has_no_outcome(failure: str) -> None:
    event = read(
        "cursor",
        hook_event_name="postToolUseFailure",
        tool_name="Shell",
        tool_input={"command": "pytest"},
        error_message="Command timed out",
        failure_type=failure,
        is_interrupt=False,
    )
    assert (event.name, event.has_failed, event.output) == ("PostToolUseFailure", True, "Command timed out")
    assert (event.run is None) == (failure != "error")


@pytest.mark.parametrize("tool", ["mcp__weft__start_experience", "MCP:start_experience", "weft_start_experience"])
def test_the_tool_that_starts_an_experience_is_known_under_each_clients_name(tool: str) -> None:
    assert read("claude-code", hook_event_name="PostToolUse", tool_name=tool).is_relevant


def test_a_tool_output_of_cursor_that_is_no_json_is_read_as_it_is() -> None:
    event = read("cursor", hook_event_name="postToolUse", tool_name="Shell", tool_output="3 passed {")
    assert event.output == "3 passed {"


def test_only_opencode_reads_a_text_before_a_compaction() -> None:
    told = {
        client: format_answer(Event("PreCompact", client), "x") for client in ("claude-code", "codex", "cursor")
    }
    assert set(told.values()) == {b""}
    assert b"additionalContext" in format_answer(Event("PreCompact", "opencode"), "x")


def test_an_unknown_client_is_named_with_those_that_are_known() -> None:
    with pytest.raises(InvalidInput, match=r"'emacs'.*claude-code, codex, cursor, opencode"):
        read_settings(["--client", "emacs"])
