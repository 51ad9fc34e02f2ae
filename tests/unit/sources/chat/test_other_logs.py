"""Logs that are more than one file of JSON, what people write to each other, copies, and logs that grow."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from chat_files import OPENCODE, OPENCODE_SESSION, codex_log, coding_log, entry, lines, opencode_messages

from weft import Weft
from weft.model import Filter, Node
from weft.sources import open_source

MAIL = """From ada@example.org Mon Mar  2 10:00:00 2026
From: Ada Venn <ada@example.org>
Subject: The ferry
Date: Mon, 02 Mar 2026 10:00:00 +0000
Message-ID: <1@example.org>

When does the ferry leave?

--
Ada Venn, harbour office

From ben@example.org Mon Mar  2 11:00:00 2026
From: =?utf-8?b?QsOpbiBPcnQ=?= <ben@example.org>
Subject: Re: The ferry
Date: Mon, 02 Mar 2026 11:00:00 +0000
Message-ID: <2@example.org>
In-Reply-To: <1@example.org>
Content-Type: text/html; charset=utf-8

<p>At nine &amp; at noon.</p><blockquote></blockquote>

From ada@example.org Mon Mar  2 12:00:00 2026
From: Ada Venn <ada@example.org>
Subject: Ropes
Date: Mon, 02 Mar 2026 12:00:00 +0000
Message-ID: <3@example.org>

Always buy hemp.

On Mon, 2 Mar 2026, somebody wrote:
> Which rope?
"""


def nodes_in(place: Path, kind: str = "message") -> list[Node]:
    source = open_source(str(place), name="s")
    units = [source.read(name) for name, _ in list(source.units())]
    assert [problem for unit in units for problem in unit.problems] == []
    return [node for unit in units for node in unit.nodes if not kind or node.kind == kind]


def write(file: Path, content: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))


def write_opencode(storage: Path) -> None:
    write(storage / "session" / "p" / "ses_1.json", OPENCODE_SESSION)
    for info, parts in opencode_messages():
        write(storage / "message" / "ses_1" / f"{info['id']}.json", info)
        for part in parts:
            write(storage / "part" / info["id"] / f"{part['id']}.json", part)


def test_the_storage_of_opencode_is_read_as_sessions_and_its_pieces_as_nothing_else(tmp_path: Path) -> None:
    write_opencode(tmp_path / "storage")
    found = nodes_in(tmp_path / "storage", "")
    messages = [node for node in found if node.kind == "message"]
    assert [node.fields["role"] for node in messages] == [role for role, _ in OPENCODE]
    assert {node.kind for node in found} == {"session", "message", "decision"}
    assert [node.fields["folder"] for node in found if node.kind == "session"] == ["/home/ada/queue"]


def test_a_new_message_of_opencode_is_noticed(tmp_path: Path) -> None:
    write_opencode(tmp_path / "storage")
    source = open_source(str(tmp_path / "storage"), name="s")
    before = dict(source.units())
    info = {"id": "msg_9", "sessionID": "ses_1", "role": "user", "time": {"created": 1772359300000}}
    write(tmp_path / "storage" / "message" / "ses_1" / "msg_9.json", info)
    changed = {name for name, stamp in dict(source.units()).items() if before.get(name, stamp) != stamp}
    assert changed == {"session/p/ses_1.json"}


def opencode_database(file: Path) -> None:
    """The database that opencode has kept its sessions in since version 1.2, as far as it is read."""
    with closing(sqlite3.connect(file)) as database:
        database.executescript(
            "CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, directory text,"
            " title text, time_created integer);"
            "CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);"
            "CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);"
        )
        database.execute("INSERT INTO session VALUES ('ses_1', 'p', NULL, '/home/ada/queue', 'Locked', 1)")
        database.execute("INSERT INTO session VALUES ('ses_2', 'p', 'ses_1', '/home/ada/queue', 'Sub-agent', 2)")
        for session in ("ses_1", "ses_2"):
            for info, parts in opencode_messages():
                id = f"{session}-{info['id']}"
                data = json.dumps({key: value for key, value in info.items() if key not in ("id", "sessionID")})
                database.execute("INSERT INTO message VALUES (?, ?, 0, ?)", (id, session, data))
                for part in parts:
                    row = (f"{id}-{part['id']}", id, session, json.dumps({**part, "id": None}))
                    database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)
        database.commit()


def test_the_database_of_opencode_is_read_without_the_work_of_agents(tmp_path: Path) -> None:
    opencode_database(tmp_path / "opencode.db")
    found = nodes_in(tmp_path, "")
    messages = [node for node in found if node.kind == "message"]
    assert [node.fields["role"] for node in messages] == [role for role, _ in OPENCODE]
    assert [node.text for node in messages[1:]] == [text for _, text in OPENCODE[1:]]
    assert [(node.title, node.fields["folder"]) for node in found if node.kind == "session"] == [
        ("Locked", "/home/ada/queue")
    ]
    assert messages[0].key.endswith("opencode.db#ses_1@1")


def test_sessions_that_opencode_moved_into_its_database_are_not_read_twice(tmp_path: Path) -> None:
    write_opencode(tmp_path / "storage")
    opencode_database(tmp_path / "opencode.db")
    assert len([node for node in nodes_in(tmp_path, "") if node.kind == "session"]) == 1


def test_a_message_that_is_only_in_the_log_of_a_database_is_noticed_and_read(tmp_path: Path) -> None:
    file = tmp_path / "opencode.db"
    opencode_database(file)
    with closing(sqlite3.connect(file)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("SELECT 1 FROM session").fetchone()
        source = open_source(str(tmp_path), name="s")
        before = dict(source.units())
        data = json.dumps({"role": "user", "time": {"created": 1772359300000}})
        writer.execute("INSERT INTO message VALUES ('m9', 'ses_1', 0, ?)", (data,))
        writer.execute(
            "INSERT INTO part VALUES ('p9', 'm9', 'ses_1', ?)", (json.dumps({"type": "text", "text": "And now?"}),)
        )
        writer.commit()
        after = dict(source.units())
        assert after["opencode.db"] != before["opencode.db"]
        assert source.read("opencode.db").nodes[-1].text == "And now?"


def test_another_database_is_no_conversation(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        database.execute("CREATE TABLE session (id text)")
        database.commit()
    assert nodes_in(tmp_path, "") == []


def step(type: str, content: str, source: str = "MODEL", **more: Any) -> str:
    """A line of Antigravity's transcript."""
    line = {"step_index": 1, "source": source, "type": type, "status": "DONE", "content": content, **more}
    return json.dumps({**line, "created_at": "2026-07-16T09:30:00Z"}) + "\n"


ANTIGRAVITY = (
    step(
        "USER_INPUT",
        "<USER_REQUEST>\nWhy is the ferry late?\n</USER_REQUEST>\n"
        "<ADDITIONAL_METADATA>noise</ADDITIONAL_METADATA>",
        "USER_EXPLICIT",
    )
    + step("PLANNER_RESPONSE", "", tool_calls=[{"name": "run_command", "args": {"CommandLine": "tide"}}])
    + step("RUN_COMMAND", "TOOL NOISE")
    + step("USER_INPUT", "a reminder of the client", "SYSTEM")
    + step("PLANNER_RESPONSE", "The tide is low.", thinking="SECRET THOUGHT")
)


def test_a_transcript_of_antigravity_is_read_once_and_only_what_was_said(tmp_path: Path) -> None:
    logs = tmp_path / "brain" / "0f1e" / ".system_generated" / "logs"
    write(logs / "transcript_full.jsonl", ANTIGRAVITY)
    write(logs / "transcript.jsonl", ANTIGRAVITY.replace("low.", "lo…"))
    messages = [node for node in nodes_in(tmp_path, "") if node.kind == "message"]
    assert [(node.fields["role"], node.text) for node in messages] == [
        ("user", "Why is the ferry late?"),
        ("assistant", "The tide is low."),
    ]
    assert f"{messages[0].created:%Y-%m-%d}" == "2026-07-16"
    # Equal logs are read once, too.
    write(logs / "transcript.jsonl", ANTIGRAVITY)
    assert len([node for node in nodes_in(tmp_path, "") if node.kind == "message"]) == 2


def test_of_a_log_that_grows_while_it_is_read_only_whole_lines_are_taken_and_the_rest_next_time(
    tmp_path: Path,
) -> None:
    file = tmp_path / "transcript.jsonl"
    whole = ANTIGRAVITY + step("USER_INPUT", "Thanks, and when does it leave?", "USER_EXPLICIT")
    source = open_source(str(tmp_path), name="s")
    for cut in (len(whole) - 9, len(whole) - 60, len(ANTIGRAVITY) + 1):
        file.write_text(whole[:cut])
        dict(source.units())
        unit = source.read("transcript.jsonl")
        assert unit.problems == ()
        said = [node.text for node in unit.nodes if node.kind == "message"]
        assert said == ["Why is the ferry late?", "The tide is low."]
    before = dict(source.units())
    file.write_text(whole)
    assert dict(source.units()) != before
    assert source.read("transcript.jsonl").nodes[-1].text == "Thanks, and when does it leave?"


def cursor_database(file: Path, *, apart: bool) -> None:
    said = [(1, "Why is the ferry late?"), (2, "The tide is low."), (1, "Thanks.")]
    bubbles = [{"bubbleId": f"b{n}", "type": kind, "text": text} for n, (kind, text) in enumerate(said)]
    composer: dict[str, Any] = {"composerId": "c1", "name": "Ferry", "createdAt": 1772359200000}
    rows = {}
    if apart:
        composer["fullConversationHeadersOnly"] = [{"bubbleId": each["bubbleId"]} for each in bubbles]
        rows = {f"bubbleId:c1:{each['bubbleId']}": json.dumps(each) for each in bubbles}
    else:
        composer["conversation"] = bubbles
    database = sqlite3.connect(file)
    database.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB)")
    rows |= {"composerData:c1": json.dumps(composer), "composerData:broken": "{"}
    database.executemany("INSERT INTO cursorDiskKV VALUES (?, ?)", rows.items())
    database.commit()
    database.close()


@pytest.mark.parametrize("apart", [True, False])
def test_a_database_of_cursor_is_read_in_both_its_forms(tmp_path: Path, apart: bool) -> None:
    cursor_database(tmp_path / "state.vscdb", apart=apart)
    found = nodes_in(tmp_path / "state.vscdb")
    assert [node.text for node in found] == ["Why is the ferry late?", "The tide is low.", "Thanks."]
    assert [node.fields["role"] for node in found] == ["user", "assistant", "user"]


def test_a_database_that_is_none_keeps_what_is_stored(tmp_path: Path) -> None:
    (tmp_path / "state.vscdb").write_bytes(b"SQLite format 3\0" + b"\1" * 4000)
    source = open_source(str(tmp_path / "state.vscdb"), name="s")
    unit = source.read(next(name for name, _ in source.units()))
    assert (unit.stamp, unit.nodes) == ("", ())
    assert "index again" in unit.problems[0].reason


def test_a_mailbox_is_read_as_threads_with_their_authors(tmp_path: Path) -> None:
    (tmp_path / "all.mbox").write_text(MAIL)
    found = nodes_in(tmp_path / "all.mbox", "")
    sessions = [node.title for node in found if node.kind == "session"]
    messages = [(node.fields["author"], node.text) for node in found if node.kind == "message"]
    assert sessions == ["The ferry", "Ropes"]
    assert messages == [
        ("Ada Venn", "When does the ferry leave?"),
        ("Bén Ort", "At nine & at noon."),
        ("Ada Venn", "Always buy hemp."),
    ]
    assert all(node.kind != "rule" and "standing" not in node.fields for node in found)


def test_a_slack_export_is_read_by_channel_and_day_with_names(tmp_path: Path) -> None:
    users = [{"id": "U1", "real_name": "Ada Venn", "is_primary_owner": True}, {"id": "U2", "name": "ben"}]
    write(tmp_path / "users.json", users)
    write(tmp_path / "channels.json", [{"id": "C1", "name": "harbour", "is_general": True, "members": ["U1"]}])
    said = [
        {"type": "message", "user": "U1", "text": "Is &lt;nine&gt; fine, <@U2>?", "ts": "1772359200.000100"},
        {"type": "message", "subtype": "channel_join", "user": "U2", "text": "joined", "ts": "1772359201.000100"},
        {"type": "message", "user": "U2", "text": "See <https://x.example|the plan>.", "ts": "1772359202.000100"},
        {"type": "message", "user": "U3", "text": "Yes.", "ts": "1772359203.000100"},
    ]
    write(tmp_path / "harbour" / "2026-03-01.json", said)
    found = nodes_in(tmp_path, "")
    assert [(node.fields["author"], node.text) for node in found if node.kind == "message"] == [
        ("Ada Venn", "Is <nine> fine, @ben?"),
        ("ben", "See the plan (https://x.example)."),
        ("U3", "Yes."),
    ]
    assert [node.title for node in found if node.kind == "session"] == ["#harbour"]
    assert {node.kind for node in found} == {"session", "message"}


def test_a_copied_log_doubles_nothing_even_if_one_of_them_went_on(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(codex_log())
    (tmp_path / "b.jsonl").write_bytes(codex_log())
    (tmp_path / "c.jsonl").write_bytes(codex_log() + codex_log().splitlines(keepends=True)[-1])
    (tmp_path / "other.jsonl").write_bytes(coding_log())
    origins = {node.origin.file for node in nodes_in(tmp_path)}
    assert origins == {"c.jsonl", "other.jsonl"}


def test_a_copy_is_read_when_its_original_is_gone(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        (logs / name).write_bytes(coding_log())
    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        weft.index(logs)
        first = [node.key for node in weft.nodes(filter=Filter(kinds=("message",)))]
        (logs / "a.jsonl").unlink()
        weft.index(logs)
        second = [node.key for node in weft.nodes(filter=Filter(kinds=("message",)))]
    assert [key.replace("a.jsonl", "b.jsonl") for key in first] == second
    assert len(first) == 4


def test_a_line_that_is_being_written_is_no_problem_and_is_read_when_it_is_whole(tmp_path: Path) -> None:
    whole = lines(entry(8, "user", "What about backups?"))
    log = tmp_path / "log.jsonl"
    log.write_bytes(coding_log() + whole[:40])
    assert len(nodes_in(log)) == 4
    log.write_bytes(coding_log() + whole)
    assert [node.text for node in nodes_in(log)][-1] == "What about backups?"


def test_a_question_is_not_told_by_its_session_too(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(lines({"role": "user", "content": "Why is the ferry late?"}))
    found = nodes_in(log, "")
    assert [node.kind for node in found if "ferry" in f"{node.title}{node.summary}{node.text}"] == ["message"]
