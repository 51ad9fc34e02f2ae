"""Conversations become sessions, messages and decisions, without what tools said and without secrets."""

import json
from pathlib import Path
from typing import Any

import pytest
from chat_files import (
    AGAIN,
    ANSWERED,
    LAST,
    TOKEN,
    chatgpt_export,
    claude_export,
    codex_log,
    coding_log,
    entry,
    gemini_checkpoint,
    gemini_session,
    lines,
    opencode_export,
    role_lines,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import Weft
from weft.ports import Unit
from weft.sources import open_source
from weft.sources.chat.conversations import looks_like_conversations
from weft.sources.chat.logs import read_json_export, read_json_lines

FILES = {
    "log.jsonl": coding_log(),
    "conversations.json": chatgpt_export(),
    "claude.json": claude_export(),
    "roles.jsonl": role_lines(),
    "rollout.jsonl": codex_log(),
    "session-1.json": gemini_session(),
    "checkpoint-1.json": gemini_checkpoint(),
    "opencode.json": opencode_export(),
}


def read(folder: Path, name: str, content: bytes) -> Unit:
    """The one unit of a file."""
    (folder / name).write_bytes(content)
    source = open_source(str(folder / name), name="chat")
    ((unit, _),) = source.units()
    return source.read(unit)


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_log_tells_the_same_conversation(tmp_path: Path, name: str) -> None:
    unit = read(tmp_path, name, FILES[name])
    assert [node.kind for node in unit.nodes] == [
        "session",
        "message",
        "message",
        "decision",
        "message",
        "message",
    ]
    messages = [node for node in unit.nodes if node.kind == "message"]
    assert [node.fields["role"] for node in messages] == ["user", "assistant", "user", "assistant"]
    assert [node.text for node in messages[1:]] == [ANSWERED, AGAIN, LAST]
    assert "TOOL NOISE" not in str(unit)
    assert "SECRET THOUGHT" not in str(unit)
    assert unit.problems == ()


@pytest.mark.parametrize("name", FILES)
def test_no_secret_is_handed_on(tmp_path: Path, name: str) -> None:
    unit = read(tmp_path, name, FILES[name])
    assert TOKEN not in str(unit)
    asked = next(node for node in unit.nodes if node.kind == "message")
    assert asked.text == "The worker says database is locked. I used [redacted: GitHub Token] to fetch the log."
    assert asked.fields["redacted"] == {"GitHub Token": 1}


def test_a_title_does_not_show_the_beginning_of_a_secret(tmp_path: Path) -> None:
    key = "github_pat_" + "aB3" * 40
    unit = read(
        tmp_path, "a.jsonl", lines({"role": "user", "content": key}, {"role": "assistant", "content": "No."})
    )
    assert "aB3aB3" not in str(unit)


def test_a_session_says_what_it_was_about_and_where(tmp_path: Path) -> None:
    unit = read(tmp_path, "log.jsonl", FILES["log.jsonl"])
    session = unit.nodes[0]
    assert (session.key, session.title) == ("chat:log.jsonl", "Why the deploy complains")
    assert session.summary == "4 messages, 2026-03-01"
    assert session.fields == {"folder": "/home/ada/queue", "branch": "wal", "messages": 4}
    assert str(session.created) == "2026-03-01 10:00:01+00:00"
    assert [(edge.type, edge.target.removeprefix("chat:")) for edge in unit.edges] == [
        ("contains", "log.jsonl@1"),
        ("contains", "log.jsonl@2"),
        ("answers", "log.jsonl@1"),
        ("contains", "log.jsonl@2/decision-1"),
        ("contains", "log.jsonl@3"),
        ("contains", "log.jsonl@4"),
        ("answers", "log.jsonl@3"),
    ]


def test_a_decision_is_kept_with_its_reason(tmp_path: Path) -> None:
    decision = next(
        node for node in read(tmp_path, "log.jsonl", FILES["log.jsonl"]).nodes if node.kind == "decision"
    )
    assert decision.title == "We decided to set WAL mode in the installer."
    assert decision.text == "We decided to set WAL mode in the installer. Because it waits for nothing."


@pytest.mark.parametrize(
    ("said", "decided"),
    [
        ("Let's go with SQLite.", True),
        ("Decision: no threads.", True),
        ("We have agreed to ship on Monday.", True),
        ("Have we decided to use threads?", False),
        ("He decided nothing.", False),
        ("We could use threads.", False),
    ],
)
def test_only_what_was_decided_is_a_decision(tmp_path: Path, said: str, decided: bool) -> None:
    unit = read(tmp_path, "a.jsonl", lines({"role": "user", "content": said}))
    assert ("decision" in [node.kind for node in unit.nodes]) == decided


def test_broken_lines_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    broken = b'{"role": "user", "content": "cut o\n' * 25
    unit = read(tmp_path, "a.jsonl", role_lines() + broken + b'{"role": "user"}\n[]\n\xff\n')
    assert [node.kind for node in unit.nodes].count("message") == 4
    assert unit.problems[0].where == "a.jsonl:7"
    assert "not JSON" in unit.problems[0].reason
    assert unit.problems[-1].reason == "6 more lines were skipped for such reasons."


def test_an_export_that_is_cut_off_is_named_with_its_line(tmp_path: Path) -> None:
    unit = read(tmp_path, "conversations.json", chatgpt_export()[:-200])
    assert (unit.nodes, unit.stamp) == ((), "")
    assert "export it again" in unit.problems[0].reason


def test_a_conversation_a_line_and_several_in_a_list_are_told_apart(tmp_path: Path) -> None:
    talk = {"messages": [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Good day."}]}
    shared = {"conversations": [{"from": "human", "value": "Hi."}, {"from": "gpt", "value": "Hello."}]}
    unit = read(tmp_path, "a.jsonl", lines({"id": "x", **talk}, shared))
    assert [node.key for node in unit.nodes if node.kind == "session"] == ["chat:a.jsonl#x", "chat:a.jsonl#2"]
    unit = read(tmp_path, "b.json", json.dumps({"title": "Greeting", **talk}).encode())
    assert [node.title for node in unit.nodes if node.kind == "session"] == ["Greeting"]


def test_records_stay_records(tmp_path: Path) -> None:
    record = {"id": "a", "title": "Roles", "text": "The role of content."}
    assert not looks_like_conversations(lines(record), ".jsonl")
    assert not looks_like_conversations(json.dumps([record]).encode(), ".json")
    assert [node.kind for node in read(tmp_path, "a.jsonl", lines(record)).nodes] == ["note"]


def test_a_chain_that_turns_back_on_itself_ends(tmp_path: Path) -> None:
    said = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hello."]}}
    mapping = {"a": {"parent": "b", "message": said}, "b": {"parent": "a", "message": said}}
    (session,) = read_json_export([{"mapping": mapping, "current_node": "a"}])
    assert [turn.text for turn in session.turns] == ["Hello.\n\nHello."]


def test_a_growing_log_adds_only_what_is_new(tmp_path: Path) -> None:
    log = tmp_path / "chat" / "log.jsonl"
    log.parent.mkdir()
    log.write_bytes(coding_log())
    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        first = weft.index(log.parent)
        log.write_bytes(coding_log() + lines(entry(8, "user", "What about backups?")))
        second = weft.index(log.parent)
        page = weft.context("Why is the database locked?", profile="workspace", max_tokens=800)
    # The session itself changed too: it has one more message.
    assert (first.written, second.written, second.removed) == (6, 2, 0)
    assert "## Previous Conversations" in page.text
    assert TOKEN.encode() not in b"".join(
        path.read_bytes() for path in (tmp_path / ".weft").rglob("*") if path.is_file()
    )


NAMES = ["role", "content", "message", "messages", "mapping", "chat_messages", "parts", "text", "type"]
NAMES += ["author", "parent", "current_node", "timestamp", "summary", "conversations", "sender"]
ODD: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.lists(ODD, max_size=4))
def test_logs_of_any_shape_can_be_read(records: list[Any]) -> None:
    for session in [
        *read_json_export(records),
        *read_json_lines(record for record in records if isinstance(record, dict)),
    ]:
        assert all(turn.text.strip() for turn in session.turns)
