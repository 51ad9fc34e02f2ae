"""The hooks of Claude Code, run as it runs them, with the payloads that it documents."""

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hook_process import COMMAND, PATIENT, Answer, around, failed, finish, prompt, send, start, succeeded

from weft import Node, Weft
from weft.interfaces.hooks.outcomes import claim_started
from weft.memory import Experience, Lesson, Outcome, RootCause, UsageLog
from weft.memory.experience_store import find_experience, resolve_experience, start_experience
from weft.memory.memory_store import remember
from weft.model import Filter
from weft.tokens import counter_for

NOW = datetime(2026, 5, 1, tzinfo=UTC)
TOPICS = {
    "refunds": "Refunds above 500 euros are approved by Odile, who looks at the order's history first.",
    "cookies": "The session cookie is signed by the proxy and expires after twenty minutes of silence.",
    "backups": "Backups of the ledger run at four in the morning and are verified by restoring one table.",
    "queues": "The mail queue retries three times, then parks the message for the night shift.",
}


def started(weft: Weft, goal: str, **given: str) -> Experience:
    said = {
        "domain": "debugging",
        "strategy": "read-the-error",
        "hypothesis": f"The cause of {goal} is the clock",
        "action": "Set the clock right",
        "prediction": "All tests pass",
        **given,
    }
    return start_experience(weft.workshop(), goal=goal, now=NOW, **said)  # type: ignore[arg-type]


def started_here(folder: Path, goal: str, session: str = "abc123", **given: str) -> Experience:
    """An experience that a session started in its folder, as the hook saw it start."""

    def start_and_claim(weft: Weft) -> Experience:
        experience = started(weft, goal, **given)
        claim_started(weft, f"claude-code {session}", experience.id, "default", str(folder))
        return experience

    return within(folder, start_and_claim)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    with Weft.open(folder / ".weft") as weft:
        weft.put([Node(f"docs:{name}", "note", title=name.title(), text=text) for name, text in TOPICS.items()])
        remember(weft.workshop(), "Use tabs for indentation", now=NOW, category="preference")
        for domain in ("testing", "debugging"):
            past = started(weft, f"An old {domain} goal", domain=domain)
            outcome = Outcome(
                "falsified",
                f"The {domain} fixture was shared",
                surprise=f"Two {domain} runs met",
                root_cause=RootCause("test-isolation", "One database for all"),
                lesson=Lesson("A database for each test"),
            )
            resolve_experience(weft.workshop(), past.id, outcome, now=NOW)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A working folder with a store of its own."""
    return Path(shutil.copytree(made, tmp_path / "work"))


def within(folder: Path, do: Callable[[Weft], Any]) -> Any:
    with Weft.open(folder / ".weft") as weft:
        return do(weft)


# --- the start ---


def test_a_session_starts_with_a_short_status(folder: Path) -> None:
    goal = within(folder, lambda weft: started(weft, "Make the login pass")).goal
    answer = send(folder, "SessionStart", source="startup", model="claude-sonnet-4-6")
    told = json.loads(answer.out)
    assert told["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert "1 memory, 3 experiences" in answer.text
    assert goal in answer.text
    assert counter_for("cl100k_base")[0].count(answer.text) < 120


def test_a_session_starts_with_the_standing_rules_which_no_page_repeats(folder: Path) -> None:
    assert "Standing rules: Use tabs for indentation" in send(folder, "SessionStart", source="startup").text
    assert "Use tabs" not in prompt(folder, "Who approves refunds above 500 euros?").text
    assert "Use tabs" in prompt(folder, "Who approves refunds above 500 euros?", "another").text


def test_a_prompt_is_answered_from_the_files_as_they_are_now(tmp_path: Path) -> None:
    for name, text in TOPICS.items():
        (tmp_path / f"{name}.md").write_text(f"# {name.title()}\n\n{text}\n")
    with Weft.open(tmp_path / ".weft") as weft:
        weft.index(tmp_path)
    (tmp_path / "refunds.md").write_text(f"# Refunds\n\n{TOPICS['refunds'].replace('Odile', 'Hermengild')}\n")
    text = prompt(tmp_path, "Who approves refunds above 500 euros?").text
    assert "Hermengild" in text
    assert "Odile" not in text


def test_a_compacted_session_is_told_the_standing_rules_again(folder: Path) -> None:
    send(folder, "SessionStart", source="startup")
    assert "Standing rules" not in send(folder, "SessionStart", source="resume").text
    assert "Standing rules: Use tabs" in send(folder, "SessionStart", source="compact").text


def test_a_session_starts_with_three_lines_at_most(folder: Path) -> None:
    for goal in ("one", "two", "three", "four"):
        within(folder, lambda weft, goal=goal: started(weft, f"Goal {goal}\nin two lines"))
    lines = send(folder, "SessionStart", source="startup").text.splitlines()
    assert [line.split()[0] for line in lines] == ["The", "Standing", "Open"]


def test_a_session_id_that_another_conversation_had_begins_anew_and_a_resumed_one_goes_on(folder: Path) -> None:
    question = "Who approves refunds above 500 euros?"
    assert "Odile" in prompt(folder, question).text
    send(folder, "SessionStart", source="resume")
    assert not prompt(folder, question).text
    send(folder, "SessionStart", source="startup")
    assert "Odile" in prompt(folder, question).text


def test_two_clients_and_an_agent_within_a_session_share_no_session(folder: Path) -> None:
    question = {"prompt": "Who approves refunds above 500 euros?"}
    assert "Odile" in send(folder, "UserPromptSubmit", **question).text
    assert "Odile" in send(folder, "UserPromptSubmit", *PATIENT, "--client", "codex", **question).text
    assert "Odile" in send(folder, "UserPromptSubmit", agent_id="agent-1", **question).text
    assert not send(folder, "UserPromptSubmit", **question).text


def test_what_a_session_was_given_may_come_again_after_a_compaction(folder: Path) -> None:
    question = "Who approves refunds above 500 euros?"
    assert "Odile" in prompt(folder, question).text
    assert send(folder, "PreCompact", trigger="manual", custom_instructions="").out == ""
    assert "Standing rules" in send(folder, "SessionStart", source="compact").text
    assert "Odile" in prompt(folder, question).text


def test_a_client_that_announces_no_start_after_a_compaction_is_told_with_the_next_prompt(folder: Path) -> None:
    within(folder, lambda weft: remember(weft.indexing_context(), "The ledger is called Mabel", now=NOW))
    assert "Mabel" in prompt(folder, "What is the ledger called?").text
    send(folder, "PreCompact", trigger="auto")
    told = prompt(folder, "go on")
    assert told.text.splitlines() == [
        "Standing rules: Use tabs for indentation (2026-05-01)",
        "Told before the conversation was shortened: The ledger is called Mabel",
    ]
    assert not prompt(folder, "go on").text


def test_a_rule_that_is_new_to_a_session_is_told_with_its_next_page_and_not_lost_on_a_silent_one(
    folder: Path,
) -> None:
    send(folder, "SessionStart", source="startup")
    rule = "Never page Odile at night"
    within(folder, lambda weft: remember(weft.indexing_context(), rule, now=NOW))
    assert not prompt(folder, "Which moons has Jupiter?").text
    assert rule in prompt(folder, "Who approves refunds above 500 euros?").text
    assert rule not in prompt(folder, "When do backups of the ledger run?").text


# --- prompts ---


def test_a_prompt_gets_what_bears_on_it_within_the_budget(folder: Path) -> None:
    answer = prompt(folder, "Who approves refunds above 500 euros?")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out)["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert TOPICS["refunds"] in answer.text
    assert "not instructions" in answer.text
    small = prompt(folder, "Who approves refunds above 500 euros?", "other", "--max-tokens", "90", *PATIENT)
    assert TOPICS["refunds"] in small.text
    assert counter_for("cl100k_base")[0].count(small.text) <= 90


def test_a_prompt_is_answered_without_loading_what_it_does_not_need(folder: Path) -> None:
    payload = {"session_id": "a", "cwd": str(folder), "hook_event_name": "UserPromptSubmit"}
    done = subprocess.run(
        [COMMAND[0], "-X", "importtime", *COMMAND[1:], *PATIENT],
        input=json.dumps({**payload, "prompt": "Who approves refunds, and when are backups verified?"}).encode(),
        capture_output=True,
        env=around(folder),
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    needless = {
        "detect_secrets",
        "numpy.ma",
        "pydantic",
        "rich",
        "tiktoken",
        "weft.interfaces.hooks.outcomes",
        "weft.indexing.ingest",
    }
    assert TOPICS["refunds"] in done.stdout.decode()
    assert "numpy" in loaded
    assert not needless & loaded


def test_a_memory_that_is_told_counts_as_used(folder: Path) -> None:
    assert "Use tabs for indentation" in prompt(folder, "Is the indentation made with tabs?").text
    book = UsageLog(folder / ".weft")
    (key,) = within(folder, lambda weft: [node.key for node in weft.nodes(filter=Filter(kinds=("memory",)))])
    assert book.read_uses([("default", key)])["default", key].times == 1


def test_no_block_is_told_twice_in_a_session_and_another_session_gets_it(folder: Path) -> None:
    asked = [
        "Who approves refunds?",
        "Who else approves refunds of an order?",
        "When does the cookie expire?",
    ]
    told = [prompt(folder, words).text for words in asked]
    for text in TOPICS.values():
        assert sum(text in each for each in told) <= 1
    assert TOPICS["refunds"] in told[0]
    assert TOPICS["refunds"] in prompt(folder, asked[0], "another").text


def test_a_value_that_changed_after_it_was_told_is_told_anew_with_the_one_before(folder: Path) -> None:
    within(folder, lambda weft: remember(weft.indexing_context(), "The deadline of Atlas is May 5", now=NOW))
    assert "May 5" in prompt(folder, "When is the deadline of Atlas?").text
    later = NOW + timedelta(days=1)
    within(folder, lambda weft: remember(weft.indexing_context(), "Atlas' deadline is now June 1", now=later))
    told = prompt(folder, "Is the deadline of Atlas still the same?").text
    assert "Atlas' deadline is now June 1" in told
    assert f"was May 5 until {later:%Y-%m-%d}" in told
    assert "June 1" not in prompt(folder, "Is the deadline of Atlas still the same?").text


@pytest.mark.parametrize("words", ["yes, go on", "OK!", "   ", "zzyzx qwrtp"])
def test_a_prompt_about_nothing_that_is_known_gets_nothing(folder: Path, words: str) -> None:
    assert prompt(folder, words) == Answer(0, "", "")


def test_a_page_refers_back_to_what_the_session_has(folder: Path) -> None:
    prompt(folder, "Who approves refunds above 500 euros?", "abc123", "--max-tokens", "90", *PATIENT)
    answer = prompt(folder, "Are backups verified when refunds above 500 euros are approved?").text
    assert TOPICS["backups"] in answer
    assert TOPICS["refunds"] not in answer
    assert answer.rstrip().splitlines()[-1].startswith("Given above already: Refunds")


def test_how_often_the_hook_spoke_and_what_was_used_of_it_is_counted(folder: Path) -> None:
    transcript = folder / ".claude" / "projects" / "x" / "abc123.jsonl"
    transcript.parent.mkdir(parents=True)
    prompt(folder, "Who approves refunds above 500 euros?")
    said = {"type": "assistant", "message": {"content": [{"type": "text", "text": "See the note on refunds."}]}}
    transcript.write_text(json.dumps(said) + '\n{"type": "assistant", "mess')
    prompt(folder, "thanks")
    prompt(folder, "ok, go ahead")
    counts = UsageLog(folder / ".weft").read_turns()
    assert (counts.spoke, counts.silent, counts.used) == (1, 2, 1)
    assert counts.given >= 1


def test_two_sessions_at_once_each_get_their_page(folder: Path) -> None:
    def payload(session: str) -> bytes:
        words = {"prompt": "Who approves refunds?", "hook_event_name": "UserPromptSubmit"}
        return json.dumps({"session_id": session, "cwd": str(folder), **words}).encode()

    hooks = [start(payload(f"s{number % 2}"), folder) for number in range(4)]
    told = [finish(hook).text for hook in hooks]
    for session in (0, 1):
        assert any(TOPICS["refunds"] in text for text in told[session::2])


# --- tests and builds ---


def test_the_first_failure_of_a_test_brings_a_premortem_once_a_session(folder: Path) -> None:
    first = failed(folder, "npm test", "Exit code 1\n1 failing")
    assert json.loads(first.out)["hookSpecificOutput"]["hookEventName"] == "PostToolUseFailure"
    assert "Premortem: testing" in first.text
    assert "The testing fixture was shared" in first.text
    assert "debugging fixture" not in first.text
    assert failed(folder, "npm test", "Exit code 1\n1 failing").out == ""
    assert "Premortem" in failed(folder, "npm test", "Exit code 1", session="other").text


@pytest.mark.parametrize(
    ("came", "status"), [("pass", "confirmed"), ("fail", "falsified"), ("hidden", "falsified")]
)
def test_the_outcome_of_a_test_resolves_the_open_experience_as_gold(folder: Path, came: str, status: str) -> None:
    experience = started_here(folder, "Make the login pass")
    output = "E   KeyError: 'user'\n==== 1 failed, 4 passed in 0.31s ===="
    if came == "pass":
        answer = succeeded(folder, "pytest -q", "5 passed in 0.3s")
    elif came == "fail":
        answer = failed(folder, "pytest -q", f"Exit code 1\n{output}")
    else:
        answer = succeeded(folder, "pytest -q 2>&1 | tail -5", output)
    found = within(folder, lambda weft: find_experience(weft.workshop(), experience.id))
    assert (found.status, found.tier) == (status, "gold")
    assert "0.3" in found.result
    assert f"Experience {experience.id}" in answer.text
    if status == "falsified":
        assert found.surprise == "KeyError: 'user'"
        assert "Premortem: debugging with read-the-error" in answer.text
    else:
        assert "Premortem" not in answer.text


def test_a_predicted_failure_confirms(folder: Path) -> None:
    experience = started_here(folder, "Reproduce it", prediction="The new test fails")
    failed(folder, "pytest -q", "Exit code 1\n1 failed in 0.2s")
    assert within(folder, lambda weft: find_experience(weft.workshop(), experience.id)).status == "confirmed"


UNTESTED = {
    "collection": "Exit code 2\nERROR collecting tests/test_x.py\nModuleNotFoundError: No module "
    "named 'y'\n1 error in 0s",
    "usage": "Exit code 4\nERROR: usage: pytest [options]\npytest: error: unrecognized arguments: --fast",
    "import": "Exit code 1\nImportError while loading conftest 'tests/conftest.py'.",
    "compile": "Exit code 101\nerror: could not compile `login`",
    "script": "Exit code 1\nnpm error Missing script: test",
}
"""The output of test runners when nothing was tested."""


@pytest.mark.parametrize("way", UNTESTED)
def test_a_run_that_could_not_begin_resolves_nothing(folder: Path, way: str) -> None:
    experience = started_here(folder, "Make the login pass")
    failed(folder, "pytest", UNTESTED[way])
    assert within(folder, lambda weft: find_experience(weft.workshop(), experience.id)).status == "open"


@pytest.mark.parametrize("other", ["session", "folder", "kind", "target", "unclaimed"])
def test_a_run_of_another_session_folder_kind_or_target_resolves_nothing(folder: Path, other: str) -> None:
    claim = (lambda goal: within(folder, lambda weft: started(weft, goal))) if other == "unclaimed" else None
    goal = "Make test_login pass"
    experience = claim(goal) if claim else started_here(folder, goal)
    command = {"kind": "tsc --noEmit", "target": "pytest tests/test_cart.py"}.get(other, "pytest")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    fields: dict[str, Any] = {"cwd": str(elsewhere)} if other == "folder" else {}
    session = "someone-else" if other == "session" else "abc123"
    send(
        folder,
        "PostToolUse",
        "--store",
        str(folder / ".weft"),
        *PATIENT,
        session=session,
        tool_name="Bash",
        tool_input={"command": command},
        tool_response={"stdout": "5 passed in 0.1s", "stderr": ""},
        **fields,
    )
    assert within(folder, lambda weft: find_experience(weft.workshop(), experience.id)).status == "open"


@pytest.mark.parametrize(
    ("command", "output", "status"),
    [
        ("pytest", "FAILED tests/test_cart.py::test_total - KeyError: 'x'\n1 failed, 9 passed in 1s", "open"),
        ("pytest", "FAILED tests/test_auth.py::test_login - KeyError: 'x'\n1 failed, 9 passed in 1s", "falsified"),
        (
            "pytest tests/test_auth.py",
            "FAILED tests/test_auth.py::test_login - KeyError: 'x'\n1 failed",
            "falsified",
        ),
        ("pytest -k cart", "1 failed in 1s", "open"),
        ("pytest -k login", "1 failed in 1s", "falsified"),
        ("go test ./...", "--- FAIL: TestCart (0.00s)\nFAIL", "open"),
    ],
)
def test_of_a_run_of_many_tests_only_those_that_an_experience_names_decide_it(
    folder: Path, command: str, output: str, status: str
) -> None:
    experience = started_here(folder, "Make test_login pass")
    failed(folder, command, f"Exit code 1\n{output}")
    assert within(folder, lambda weft: find_experience(weft.workshop(), experience.id)).status == status


@pytest.mark.parametrize("way", ["interrupted", "listing", "background", "missing"])
def test_what_is_no_outcome_resolves_nothing(folder: Path, way: str) -> None:
    experience = started_here(folder, "Make the login pass")
    if way == "interrupted":
        answer = failed(folder, "pytest -q", "Exit code 130", interrupted=True)
    elif way == "listing":
        answer = succeeded(folder, "ls tests")
    elif way == "missing":
        answer = failed(folder, "pytest", "Exit code 127\npytest: command not found")
    else:
        given = {"command": "pytest", "run_in_background": True}
        answer = send(folder, "PostToolUse", tool_name="Bash", tool_input=given, tool_response={"stdout": ""})
    assert answer == Answer(0, "", "")
    assert within(folder, lambda weft: find_experience(weft.workshop(), experience.id)).status == "open"


def test_a_sessions_tests_decide_its_own_experiences_only(folder: Path) -> None:
    mine, theirs = (within(folder, lambda weft, goal=goal: started(weft, goal)) for goal in ("Mine", "Theirs"))
    succeeded(folder, "weft experience start --domain debugging …", f"Started {mine.id}: Mine", "me")
    send(
        folder,
        "PostToolUse",
        session="they",
        tool_name="mcp__weft__start_experience",
        tool_input={"goal": "Theirs"},
        tool_response=[{"type": "text", "text": json.dumps({"id": theirs.id})}],
    )
    succeeded(folder, "pytest", "5 passed in 0.1s", "nobody")
    succeeded(folder, "pytest", "5 passed in 0.1s", "they")
    found = [
        within(folder, lambda weft, id=each.id: find_experience(weft.workshop(), id)) for each in (mine, theirs)
    ]
    assert [each.status for each in found] == ["open", "confirmed"]


def test_two_outcomes_at_once_leave_the_first(folder: Path) -> None:
    experience = started_here(folder, "Make the login pass", "s")

    def payload(event: str, **fields: object) -> bytes:
        common = {"session_id": "s", "cwd": str(folder), "hook_event_name": event, "tool_name": "Bash"}
        return json.dumps({**common, "tool_input": {"command": "pytest"}, **fields}).encode()

    hooks = [
        start(payload("PostToolUse", tool_response={"stdout": "1 passed in 1s"}), folder),
        start(payload("PostToolUseFailure", error="Exit code 1\n1 failed in 1s"), folder),
    ]
    told = [finish(hook).text for hook in hooks]
    found = within(folder, lambda weft: find_experience(weft.workshop(), experience.id))
    assert found.tier == "gold"
    assert sum("is resolved as" in text for text in told) == 1


# --- never in the way ---


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"hook_event_name": "UserPromptSubmit"}',
        b'{"hook_event_name": "UserPromptSubmit", "prompt": 7, "session_id": null, "cwd": []}',
        b'{"hook_event_name": "SomethingNew", "prompt": "refunds"}',
        b'{"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": "pytest", "tool_response": 3}',
        b'{"hook_event_name": "UserPromptSubmit", "prompt": "refunds \\ud800 cookie", "session_id": "\\udfff"}',
    ],
)
def test_whatever_comes_the_exit_code_is_0_and_stderr_is_empty(folder: Path, payload: bytes) -> None:
    answer = finish(start(payload, folder))
    assert (answer.code, answer.err) == (0, "")


def test_past_its_deadline_a_hook_leaves_without_a_word(folder: Path) -> None:
    assert prompt(folder, "Who approves refunds?", "abc", "--deadline", "0.001") == Answer(0, "", "")


def test_a_client_that_never_ends_its_event_is_not_waited_for(folder: Path) -> None:
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=around(folder)
    ) as hook:
        assert hook.wait(timeout=60) == 0
        assert hook.stdout is not None and hook.stdout.read() == b""


@pytest.mark.parametrize("trouble", ["no store", "not a database", "wrong option", "unknown profile"])
def test_an_error_is_no_answer_and_only_who_asks_is_told(folder: Path, tmp_path: Path, trouble: str) -> None:
    options = {"wrong option": ("--colour", "red"), "unknown profile": ("--profile", "nope", *PATIENT)}
    given = options.get(trouble, PATIENT)
    if trouble == "no store":
        shutil.rmtree(folder / ".weft")
    if trouble == "not a database":
        (folder / ".weft" / "weft.sqlite").write_bytes(b"no" * 5000)
    assert prompt(folder, "Who approves refunds?", "abc", *given) == Answer(0, "", "")
    told = prompt(folder, "Who approves refunds?", "abc", "--debug", *given)
    assert (told.code, told.out) == (0, "")
    assert "Traceback" in told.err


def test_a_broken_file_of_sessions_costs_the_memory_of_the_session_only(folder: Path) -> None:
    (folder / ".weft" / "contexts.sqlite").write_bytes(b"no" * 5000)
    assert TOPICS["refunds"] in prompt(folder, "Who approves refunds?").text


def test_the_file_of_sessions_of_an_older_weft_is_brought_up_to_date(folder: Path) -> None:
    prompt(folder, "Who approves refunds?")
    with sqlite3.connect(folder / ".weft" / "contexts.sqlite") as connection:
        connection.executescript("DROP TABLE claims; PRAGMA user_version = 1;")
    experience = started_here(folder, "Make the login pass")
    succeeded(folder, "pytest", "5 passed in 0.1s")
    assert within(folder, lambda weft: find_experience(weft.workshop(), experience.id)).status == "confirmed"


def test_a_prompt_in_a_vault_gets_the_page_of_notes(tmp_path: Path) -> None:
    with Weft.open(tmp_path / ".weft") as weft:
        weft.index(Path(__file__).parents[2] / "examples" / "vault", source="v")
    text = send(tmp_path, "UserPromptSubmit", prompt="Who is the owner of the cargo bike project?").text
    assert "### Cargo bike (PROJECT) #project/build #wheel" in text
    assert "- **Owner**: Ada Brandt" in text


@pytest.mark.parametrize("at", [1, 20, 60, 150, -3])
def test_a_payload_that_is_cut_in_the_middle_leaves_nothing_behind(folder: Path, at: int) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "cut", "cwd": str(folder)}
    payload = json.dumps({**event, "prompt": "Who approves refunds above 500 euros?"}).encode()
    answer = finish(start(payload[:at], folder))
    assert (answer.code, answer.out, answer.err) == (0, "", "")
    assert "Odile" in finish(start(payload, folder)).text


def test_two_hooks_of_one_session_at_once_both_answer_and_the_session_has_it_once(folder: Path) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "twice", "cwd": str(folder)}
    payload = json.dumps({**event, "prompt": "Who approves refunds above 500 euros?"}).encode()
    both = [finish(hook) for hook in [start(payload, folder) for _ in range(2)]]
    assert {(answer.code, answer.err) for answer in both} == {(0, "")}
    assert any("Odile" in answer.text for answer in both)
    assert not finish(start(payload, folder)).text
