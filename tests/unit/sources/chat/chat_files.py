"""Logs and exports of one small conversation, as several programs write them."""

import json
from typing import Any

TOKEN = "ghp" + "_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
ASKED = f"The worker says database is locked. I used {TOKEN} to fetch the log."
ANSWERED = (
    "It was started before the mode was set.\n\n"
    "We decided to set WAL mode in the installer. Because it waits for nothing."
)
AGAIN = "And the timeout?"
LAST = "It does not apply to that statement."


def lines(*records: Any) -> bytes:
    """Records as JSONL."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def entry(number: int, role: str, content: Any, **more: Any) -> dict[str, Any]:
    """One line of a coding assistant's log."""
    return {
        "parentUuid": f"u{number - 1}" if number else None,
        "uuid": f"u{number}",
        "sessionId": "s-1",
        "type": role,
        "timestamp": f"2026-03-01T10:00:{number:02}.000Z",
        "cwd": "/home/ada/queue",
        "gitBranch": "wal",
        "isSidechain": False,
        "message": {"role": role, "content": content},
        **more,
    }


def coding_log() -> bytes:
    """A log with a summary, tools, thoughts, reminders, commands and a helper's own conversation."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat worker.log"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "TOOL NOISE " * 50}
    first, second = ANSWERED.split("\n\n")
    return lines(
        {"type": "summary", "summary": "Why the deploy complains", "leafUuid": "u9", "sessionId": "s-1"},
        {"type": "file-history-snapshot", "messageId": "u0", "snapshot": {}},
        entry(0, "user", "<command-name>/clear</command-name>", isMeta=True),
        entry(1, "user", f"{ASKED}<system-reminder>Be brief. TOOL NOISE</system-reminder>"),
        entry(
            2,
            "assistant",
            [{"type": "thinking", "thinking": "SECRET THOUGHT"}, {"type": "text", "text": first}, call],
        ),
        entry(3, "user", [result]),
        entry(4, "assistant", [{"type": "text", "text": "I look at every line."}], isSidechain=True),
        entry(5, "assistant", [{"type": "text", "text": second}]),
        entry(6, "user", [{"type": "text", "text": AGAIN}]),
        entry(7, "assistant", [{"type": "text", "text": LAST}]),
        {"type": "system", "subtype": "local_command", "content": "TOOL NOISE", "sessionId": "s-1"},
    )


def chatgpt_export() -> bytes:
    """One conversation with a branch that was given up, a hidden system prompt and a call of a tool."""

    def message(name: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [text]}
        said = {
            "id": name,
            "author": {"role": role},
            "create_time": 1772359200.5,
            "content": content,
            "recipient": "all",
        }
        return {"id": name, "parent": parent, "children": [], "message": {**said, **more}}

    code = {"content": {"content_type": "code", "text": "TOOL NOISE"}, "recipient": "python"}
    mapping = {
        "root": {"id": "root", "parent": None, "children": ["sys"], "message": None},
        "sys": message(
            "sys", "root", "system", "TOOL NOISE", metadata={"is_visually_hidden_from_conversation": True}
        ),
        "q": message("q", "sys", "user", ASKED),
        "given-up": message("given-up", "q", "assistant", "TOOL NOISE"),
        "call": message("call", "q", "assistant", "", **code),
        "result": message("result", "call", "tool", "TOOL NOISE"),
        "a": message("a", "result", "assistant", ANSWERED),
        "q2": message("q2", "a", "user", AGAIN),
        "a2": message("a2", "q2", "assistant", LAST),
    }
    conversation = {"title": "Why the deploy complains", "create_time": 1772359200.5, "mapping": mapping}
    return json.dumps([{**conversation, "current_node": "a2", "conversation_id": "c-1"}]).encode()


def claude_export() -> bytes:
    """One conversation with a tool's parts among what was said."""

    def said(sender: str, text: str) -> dict[str, Any]:
        parts = [{"type": "tool_use", "name": "search", "input": {}}, {"type": "text", "text": text}]
        return {
            "uuid": text[:4],
            "sender": sender,
            "text": text,
            "content": parts,
            "created_at": "2026-03-01T10:00:00Z",
        }

    messages = [said("human", ASKED), said("assistant", ANSWERED), said("human", AGAIN), said("assistant", LAST)]
    return json.dumps(
        [{"uuid": "c-1", "name": "Why the deploy complains", "account": {"uuid": "x"}, "chat_messages": messages}]
    ).encode()


def role_lines() -> bytes:
    """Roles with their content, one a line."""
    said = [
        ("system", "TOOL NOISE"),
        ("user", ASKED),
        ("assistant", ANSWERED),
        ("tool", "TOOL NOISE"),
        ("user", AGAIN),
    ]
    return lines(*({"role": role, "content": text} for role, text in [*said, ("assistant", LAST)]))


def codex_log() -> bytes:
    """A rollout of Codex: what was said as items, the same as events, and what the client adds."""

    def item(second: int, payload: dict[str, Any], kind: str = "response_item") -> dict[str, Any]:
        return {"timestamp": f"2026-03-01T10:00:{second:02}.000Z", "type": kind, "payload": payload}

    def said(second: int, role: str, text: str) -> dict[str, Any]:
        kind = "input_text" if role == "user" else "output_text"
        content = [{"type": kind, "text": text}]
        return item(second, {"type": "message", "role": role, "content": content})

    meta = {"id": "s-1", "cwd": "/home/ada/queue", "git": {"branch": "wal"}, "cli_version": "0.65.0"}
    call = {"type": "function_call", "name": "shell", "arguments": "TOOL NOISE", "call_id": "c1"}
    return lines(
        item(0, meta, "session_meta"),
        said(0, "developer", "TOOL NOISE"),
        said(0, "user", "<environment_context>TOOL NOISE</environment_context>"),
        said(0, "user", "# AGENTS.md instructions for /home\n\n<INSTRUCTIONS>TOOL NOISE</INSTRUCTIONS>"),
        said(1, "user", ASKED),
        item(1, {"type": "user_message", "message": ASKED}, "event_msg"),
        item(2, {"type": "reasoning", "summary": [{"type": "summary_text", "text": "SECRET THOUGHT"}]}),
        item(2, call),
        item(3, {"type": "function_call_output", "call_id": "c1", "output": "TOOL NOISE"}),
        said(4, "assistant", ANSWERED),
        item(4, {"type": "agent_message", "message": ANSWERED}, "event_msg"),
        said(5, "user", AGAIN),
        said(6, "assistant", LAST),
    )


def gemini_session() -> bytes:
    """A chat of the Gemini CLI with thoughts, calls of tools and messages of the client."""

    def said(kind: str, content: Any, **more: Any) -> dict[str, Any]:
        return {"id": "m", "timestamp": "2026-03-01T10:00:00.000Z", "type": kind, "content": content, **more}

    messages = [
        said("info", "TOOL NOISE"),
        said("user", [{"text": ASKED}]),
        said("gemini", ANSWERED, thoughts=[{"description": "SECRET THOUGHT"}], toolCalls=[{"name": "TOOL NOISE"}]),
        said("user", AGAIN),
        said("gemini", LAST),
    ]
    return json.dumps({"sessionId": "s-1", "projectHash": "ab12", "messages": messages}).encode()


def gemini_checkpoint() -> bytes:
    """The saved history of a chat, in the form that the model is sent."""
    said = [("user", ASKED), ("model", ANSWERED), ("user", AGAIN), ("model", LAST)]
    call = {"role": "model", "parts": [{"functionCall": {"name": "TOOL NOISE"}}]}
    turns = [{"role": role, "parts": [{"text": text}]} for role, text in said]
    return json.dumps([*turns[:1], call, *turns[1:]]).encode()


OPENCODE: list[tuple[str, str]] = [("user", ASKED), ("assistant", ANSWERED), ("user", AGAIN), ("assistant", LAST)]
OPENCODE_SESSION = {"id": "ses_1", "projectID": "p", "directory": "/home/ada/queue", "title": "Locked"}


def opencode_messages() -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The messages of a session of opencode, each with its parts."""
    found = []
    for number, (role, text) in enumerate(OPENCODE):
        ids = {"sessionID": "ses_1", "messageID": f"msg_{number}"}
        parts = [
            {"id": "prt_1", "type": "text", "text": "TOOL NOISE", "synthetic": True, **ids},
            {"id": "prt_2", "type": "reasoning", "text": "SECRET THOUGHT", **ids},
            {"id": "prt_3", "type": "text", "text": text, **ids},
        ]
        info = {
            "id": f"msg_{number}",
            "sessionID": "ses_1",
            "role": role,
            "time": {"created": 1772359200000 + number},
        }
        found.append((info, parts))
    return found


def opencode_export() -> bytes:
    """A session as `opencode export` writes it."""
    messages = [{"info": info, "parts": parts} for info, parts in opencode_messages()]
    return json.dumps({"info": OPENCODE_SESSION, "messages": messages}).encode()
