"""Which prompts want nothing from the store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.interfaces.hooks.small_talk import points_back, wants_nothing

ANSWERS = [
    "yes",
    "No.",
    "ok",
    "OK!",
    "y",
    "n",
    "2",
    "b)",
    "option 3",
    "the second one",
    "both",
    "neither",
    "1, 3 and 4",
]
GO_AHEADS = [
    "go ahead",
    "yes please do",
    "do it",
    "ok do both",
    "continue",
    "keep going",
    "carry on please",
    "ship it!",
    "merge it",
    "commit and push",
    "ok, commit the changes",
    "now run the tests again",
    "revert that",
    "undo the last change",
    "try it again",
    "no, use the other one",
    "stop",
    "wait",
    "retry",
    "Fix it.",
    "yes, delete them all",
    "open a pr",
    "open the file again",
    "continue where you left off",
    "leave it as it is and skip the rest",
    "squash the last two commits",
    "show me what you changed",
    "cherry-pick that onto the release branch",
    "open a draft pull request",
    "commit what we have so far",
    "same error as before",
    "looks like the build is broken again",
    "check if ci is green",
    "why did you delete that?",
    "any questions?",
]
THANKS = [
    "thanks",
    "thank you so much!",
    "great job",
    "Perfect. Thanks!",
    "that looks good to me",
    "nice, that worked",
    "lgtm",
    "sounds good",
    "hmm",
    "I see",
    "got it, thanks",
    "wow, that's amazing",
    "sorry, my bad",
    "never mind",
    "I don't mind",
    "let's stop here for today",
    "good catch!",
    "see it again tomorrow",
    "count the words",
    "can you read that back?",
]
ABOUT_THE_ANSWER = [
    "make it shorter",
    "can you make the answer shorter?",
    "please explain that again",
    "say that in one sentence",
    "rewrite your response in plain English",
    "more detail please",
    "translate it to German",
    "put that in a table",
    "summarize your answer in three bullet points",
    "could you be more concise?",
    "write that down in a markdown file",
    "show me the result first",
    "read my last message carefully",
]
SMALL_TALK = [
    "how are you?",
    "hi there",
    "good morning!",
    "tell me a joke",
    "write a haiku about autumn",
    "what's the weather in Oslo?",
    "what time is it?",
    "what day is it today",
    "which model are you?",
    "have a nice weekend",
]
COMMANDS = [
    "git status",
    "git push origin main",
    "git commit -m wip",
    "npm install",
    "docker compose up -d",
    "make test",
    "make",
    "ls -la src",
    "cd ..",
    "pytest -q tests/unit",
    "ok, run git pull",
    "pip install -e .",
    "/clear",
    "!ls src",
    "./gradlew build --info",
    "go test ./... -run TestFoo",
]
WANTED = [
    "why does the login fail?",
    "ok, now why does the login fail?",
    "yes, but the session cookie is still not refreshed",
    "thanks! where are sessions stored?",
    "refunds",
    "Session.save",
    "make after_request run when the view raises",
    "make the parser faster",
    "git blame shows the wrong author, why?",
    "git history of the parser",
    "what does the merge queue do",
    "push notifications are not sent",
    "commit hooks are skipped on Windows",
    "run the migration for tenants",
    "why does the build fail?",
    "how are errors logged?",
    "write a markdown file about routing",
    "make sure ./scripts/build.sh sets the version",
    "undo stack loses entries",
    "continue button does nothing",
    "fix the test for stream_with_context",
    "refactor get_debug_flag",
    "read the settings file and tell me where the port is set",
    "never mind the mocks, how does the client close connections?",
    "count the words of every chapter about Anne",
    "summarise chapter 3",
    "add a --reload-dir option",
    "find out where errors are logged",
    "go modules are not resolved",
    "open files are never closed",
    "how does the answer cache work?",
    "translate error messages to German",
    "the output of export is truncated",
    "what time zone do invoices use?",
    "how are nested blueprints registered?",
    "who calls flush_session",
    "docker build fails because the lock file is missing",
    "where is the firmware flashed from?",
    "please summarize the retry policy",
    "explain the lease protocol",
    "list all endpoints that need a token",
    "日志在哪里？",
    "what did we decide?",
    "what's left to do?",
    "what changed in the last release?",
    "who merged the pull request?",
    "show me the commits of last week",
]


@pytest.mark.parametrize(
    "prompt",
    [*ANSWERS, *GO_AHEADS, *THANKS, *ABOUT_THE_ANSWER, *SMALL_TALK, *COMMANDS, "", "   ", "👍", "...", "?"],
)
def test_a_prompt_without_a_topic_wants_nothing(prompt: str) -> None:
    assert wants_nothing(prompt)


@pytest.mark.parametrize("prompt", WANTED)
def test_a_prompt_with_a_topic_may_want_something(prompt: str) -> None:
    assert not wants_nothing(prompt)


@pytest.mark.parametrize("prompt", WANTED)
@pytest.mark.parametrize("around", ["ok, {}", "Thanks! {}", "{} please", "yes and {}"])
def test_courtesies_around_a_topic_hide_it_not(prompt: str, around: str) -> None:
    assert not wants_nothing(around.format(prompt))


@pytest.mark.parametrize("prompt", ["that one failed too", "can we speed this up?", "show it as a chart"])
def test_a_prompt_about_what_was_said_before_points_back(prompt: str) -> None:
    assert points_back(prompt)


@pytest.mark.parametrize(
    "prompt", ["refunds", "where are sessions stored?", "the parser loses the last byte of it, fix that"]
)
def test_a_prompt_that_can_be_understood_alone_points_nowhere(prompt: str) -> None:
    assert not points_back(prompt)


def test_a_long_prompt_always_has_a_topic() -> None:
    assert not wants_nothing("ok " * 20)
    assert not wants_nothing("do it\nand do that")


@given(st.text(max_size=200))
def test_no_text_breaks_it(prompt: str) -> None:
    assert wants_nothing(prompt) in (True, False)
