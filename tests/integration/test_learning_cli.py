"""The learning memory from the command line."""

import json
from typing import Any

from command_line import Cli

STORY = (
    *("--domain", "debugging", "--strategy", "read-the-error", "--goal", "Make test_login pass"),
    *("--hypothesis", "The proxy drops the cookie", "--action", "Log the headers"),
    *("--prediction", "No Set-Cookie in the log"),
)


def told(cli: Cli, *words: object) -> Any:
    done = cli(*words, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_a_memory_is_remembered_listed_searched_updated_and_forgotten(cli: Cli) -> None:
    done = cli("remember", "Use tabs for\nindentation", "--category", "preference", "--tag", "#style")
    assert done.code == 0
    assert done.out.startswith("Remembered as memory:")
    (memory,) = told(cli, "memories")["memories"]
    assert (memory["category"], memory["tags"], memory["use_count"]) == ("preference", ["style"], 0)
    assert memory["text"] == "Use tabs for\nindentation"
    changed = told(cli, "remember", "Use two tabs", "--update", memory["key"])["memory"]
    assert changed["history"][0]["text"] == memory["text"]
    assert "Use two tabs" in cli("memories", "tabs", "--category", "preference").out
    assert cli("forget", memory["key"]).out == f"Forgot {memory['key']}: Use two tabs\n"
    assert "No memories match" in cli("memories").err
    assert told(cli, "memories")["memories"] == []


def test_a_contradiction_is_noted_with_both_keys(cli: Cli) -> None:
    first = told(cli, "remember", "Retry 3 times on a timeout")["memory"]["key"]
    done = cli("remember", "Retry 5 times on a timeout")
    assert f"may contradict {first} (another number)" in done.err
    assert cli("remember", "Retry 5 times on a timeout.").out.startswith("Merged into memory:")


def test_a_new_value_takes_the_place_of_the_old_which_stays_as_history(cli: Cli) -> None:
    first = told(cli, "remember", "The retry limit is 3")["memory"]["key"]
    done = cli("remember", "The retry limit is 5")
    assert done.out.startswith(f"Replaced the value of {first}")
    assert "It said: “The retry limit is 3”. That is kept as history." in done.err
    (memory,) = told(cli, "memories")["memories"]
    assert (memory["text"], memory["history"][0]["text"]) == ("The retry limit is 5", "The retry limit is 3")


def test_an_audit_lists_first_changes_only_when_told_and_is_undone(cli: Cli) -> None:
    cli("remember", "ok")
    cli("remember", "Retry 3 times on a timeout of the broker")
    cli("remember", "Retry 5 times on a timeout of the broker")
    done = cli("memories", "audit")
    assert "Nothing was changed" in done.err
    assert [line.split()[:2] for line in done.out.splitlines()[1:]] == [
        ["junk", "remove"],
        ["contradictory", "decide"],
    ]
    assert len(told(cli, "memories")["memories"]) == 3
    assert told(cli, "memories", "audit", "--apply")["applied"] is True
    assert len(told(cli, "memories")["memories"]) == 2
    assert cli("memories", "audit", "--undo").out == "Restored 1 memory.\n"
    assert len(told(cli, "memories")["memories"]) == 3
    assert "belong to an audit" in cli("memories", "--apply").err


def test_an_experience_goes_from_start_to_outcome(cli: Cli) -> None:
    begun = told(cli, "experience", "start", *STORY, "--file", "src/proxy.py")
    assert begun["status"] == "open"
    assert cli("experience", "update", begun["id"], "--hypothesis", "The cookie expires at once").code == 0
    done = cli(
        *("experience", "resolve", begun["id"], "--outcome", "falsified", "--result", "The header was there"),
        *("--surprise", "The clock was off", "--root-cause", "environment-issue"),
        *("--root-cause-description", "Drift", "--lesson", "Compare clocks", "--automatic"),
    )
    assert done.out == f"Resolved as falsified (gold): {begun['id']}: Make test_login pass\n"
    shown = cli("experience", "show", begun["id"]).out
    assert "attempt 1 (read-the-error" in shown
    assert "root cause: environment-issue: Drift" in shown
    assert told(cli, "experience", "show", begun["id"])["lesson"]["what_worked"] == "Compare clocks"
    assert begun["id"] in cli("experience", "list", "--domain", "debugging", "--outcome", "falsified").out
    assert told(cli, "experience", "list", "--outcome", "open") == {"experiences": []}
    assert "No experiences match" in cli("experience", "list", "--strategy", "ask-user").err


def test_bad_input_is_told_in_one_line_with_what_is_allowed(cli: Cli) -> None:
    begun = told(cli, "experience", "start", *STORY)["id"]
    told(cli, "experience", "resolve", begun, "--outcome", "abandoned")
    for words, says in (
        (("remember", " "), "is empty"),
        (("remember", "x", "--category", "opinion"), "Valid: context, decision"),
        (("remember", "x", "--importance", "2"), "0 to 1"),
        (("remember", "x", "--update", "memory:none"), "No memory of default has the key 'memory:none'"),
        (("forget", "memory:none"), "weft memories"),
        (("forget", " "), "empty key"),
        (("experience", "start", *STORY[2:], "--domain", "cooking"), "Unknown domain 'cooking'"),
        (("experience", "resolve", begun, "--outcome", "confirmed", "--result", "x"), "was resolved as abandoned"),
        (("experience", "update", "none", "--action", "x"), "No experience of default has the id 'none'"),
        (("experience", "show", "none"), "weft experience list"),
        (("experience", "list", "--domain", "cooking"), "debugging"),
    ):
        done = cli(*words)
        assert (done.code, says in done.err, done.err.count("\n")) == (2, True, 1), (words, done.err)


def test_a_premortem_tells_what_went_wrong_before(cli: Cli) -> None:
    begun = told(cli, "experience", "start", *STORY)["id"]
    assert "Nothing went wrong in debugging yet" in cli("premortem", "debugging").err
    failed = ("--outcome", "falsified", "--result", "It was there", "--surprise", "The clock was off")
    told(cli, "experience", "resolve", begun, *failed)
    page = cli("premortem", "debugging", "--strategy", "read-the-error")
    assert page.code == 0
    assert page.out.startswith("# Premortem: debugging with read-the-error\n")
    assert "- **Surprise**: The clock was off" in page.out
    shape = told(cli, "premortem", "debugging", "--max-tokens", "200")
    assert shape["token_count"] <= 200
    assert shape["items"][0]["metadata"]["id"] == begun
    assert "Unknown domain 'cooking'" in cli("premortem", "cooking").err
    assert cli("premortem", "debugging", "--limit", "0").code == 2


def test_values_are_listed_once_they_emerge(cli: Cli) -> None:
    told(cli, "experience", "start", *STORY)
    assert "No values have emerged yet" in cli("values").err
    assert told(cli, "values", "--refresh", "--axis", "surprise") == {"values": []}
    assert "Unknown axis 'depth'" in cli("values", "--axis", "depth").err
