"""The learning memory through MCP, driven by the official client."""

from pathlib import Path
from typing import Any

import pytest
from command_line import Cli
from mcp_calls import call, server, text

STORY = {
    "domain": "debugging",
    "strategy": "read-the-error",
    "goal": "Make test_login pass",
    "hypothesis": "The proxy drops the cookie",
    "action": "Log the headers",
    "prediction": "No Set-Cookie in the log",
}


@pytest.fixture
def weft(cli: Cli) -> Any:
    """A server that may write, in an empty working folder."""
    return server(write=True)


def test_a_memory_is_remembered_found_changed_and_forgotten(weft: Any) -> None:
    first = call(weft, "remember", text="The retry limit is 3", importance="0.8", tags="limits, retries")
    key = first.meta["weft"]["key"]
    assert text(first) == f"Remembered as {key}."
    assert "retry limit" in text(call(weft, "context", topic="retry limit", profile="learning"))
    newer = call(weft, "remember", fact="The retry limit is 5")
    assert newer.meta["weft"]["superseded"] == "The retry limit is 3"
    assert "It replaces “The retry limit is 3”, which is kept as history." in text(newer)
    assert text(call(weft, "remember", key=key, text="The retry limit is 4")) == f"Updated {key}."
    assert text(call(weft, "forget", id=key)) == f"Forgot {key}: The retry limit is 4"
    assert call(weft, "forget", key=key).is_error


def test_an_experience_goes_from_start_to_premortem(weft: Any) -> None:
    begun = call(weft, "start_experience", **STORY, files=["src/proxy.py"])
    number = begun.meta["weft"]["id"]
    assert "Nothing went wrong there yet" in text(call(server(), "premortem", domain="debugging"))
    assert "attempt 2" in text(call(weft, "update_experience", id=number, hypothesis="It expires at once"))
    told = call(
        weft,
        "resolve_experience",
        experience_id=number,
        outcome="falsified",
        result="The header was there",
        surprise="The clock was an hour off",
        root_cause="environment-issue",
        root_cause_description="Drift",
        lesson="Compare clocks",
        automatic=True,
    )
    assert (told.meta["weft"]["status"], told.meta["weft"]["tier"]) == ("falsified", "gold")
    page = call(server(), "premortem", domain="debugging", strategy="read-the-error", max_tokens=400)
    assert text(page).startswith("# Premortem: debugging with read-the-error")
    assert page.meta["weft"]["tokens"] <= 400
    assert call(weft, "resolve_experience", id=number, outcome="confirmed", result="x").is_error


@pytest.mark.parametrize(
    ("tool", "given", "says"),
    [
        ("remember", {"text": ""}, "memory is empty"),
        ("remember", {"text": "x", "category": "opinion"}, "Valid: context, decision"),
        ("remember", {"text": "x", "importance": 7}, "a number from 0 to 1"),
        ("forget", {}, "No key is given"),
        ("start_experience", {**STORY, "domain": "cooking"}, "Valid: configuration, debugging"),
        ("start_experience", {"domain": "debugging", "strategy": "ask-user"}, "goal is empty"),
        ("update_experience", {"id": "none", "action": "x"}, "No experience of default has the id 'none'"),
        ("premortem", {"domain": "cooking"}, "Valid: configuration, debugging"),
    ],
)
def test_bad_arguments_are_answered_with_what_is_allowed(
    weft: Any, tool: str, given: dict[str, Any], says: str
) -> None:
    call(weft, "remember", text="Something to make the store with")
    result = call(weft, tool, **given)
    assert result.is_error
    assert says in result.content[0].text


def test_a_server_of_several_tenants_does_not_write(weft: Any, tmp_path: Path) -> None:
    result = call(server(write=True, tenants=("a", "b")), "remember", text="x")
    assert "single --tenant" in result.content[0].text
