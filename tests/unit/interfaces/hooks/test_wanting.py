"""How relevant a store must be to a prompt before the hook adds a page."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.interfaces.hooks.wanting import is_for_a_tool, needed_relevance

NOTHING = [
    *("yes", "No.", "ok", "y", "2", "b)", "the second one", "both", "1, 3 and 4", "", "   ", "👍", "...", "?"),
    *("go ahead", "ok do both", "keep going", "ship it!", "commit and push", "revert that", "stop", "Fix it."),
    *("thank you so much!", "great job", "sounds good", "never mind", "wow, that's amazing", "sorry, my bad"),
    *("make it shorter", "say that in one sentence", "more detail please", "how are you?", "tell me a joke"),
]
"""Prompts to which hardly any page could be relevant enough."""
UNSEEN_NOTHING = [
    *("hang fire until I've had a look", "park that thought", "your call", "roger that"),
    *(
        "less talk, more action",
        "spot on",
        "we're done here, cheers",
        "let's rewind a little",
        "I changed my mind",
    ),
    *("how sure are you, on a scale of 1 to 10?", "you misread my question", "have another crack at it"),
]
"""The same in words that the constants were not fitted on."""
SOMETHING = [
    *(
        "why does the login fail?",
        "where are sessions stored?",
        "make the parser faster",
        "who calls flush_session",
    ),
    *("refactor get_debug_flag", "how are nested blueprints registered?", "list all endpoints that need a token"),
    *("docker build fails because the lock file is missing", "explain the lease protocol", "Session.save"),
]
UNSEEN_SOMETHING = [
    *("requests with a malformed percent sign crash, handle them", "multipart uploads leave tempfiles behind"),
    *("is the session id regenerated on login", "query parser depth limit", "which middlewares come built in"),
]
COMMANDS = [
    *("git status", "git commit -m wip", "npm install", "docker compose up -d", "make test", "make", "ls -la src"),
    *("cd ..", "pytest -q tests/unit", "ok, run git pull", "/clear", "!ls src", "./gradlew build --info"),
]
SENTENCES = [
    *("git blame shows the wrong author, why?", "make the parser faster", "go modules are not resolved"),
    *("find out where errors are logged", "open files are never closed", "make sure ./scripts/build.sh is run"),
]


@pytest.mark.parametrize("prompt", [*NOTHING, *UNSEEN_NOTHING])
def test_hardly_any_page_suits_a_prompt_without_a_topic(prompt: str) -> None:
    assert (needed_relevance(prompt) or 1.0) > 0.85


@pytest.mark.parametrize("prompt", [*SOMETHING, *UNSEEN_SOMETHING])
def test_a_prompt_with_a_topic_gets_what_is_somewhat_relevant(prompt: str) -> None:
    assert (needed_relevance(prompt) or 1.0) < 0.7


@pytest.mark.parametrize("prompt", SOMETHING)
@pytest.mark.parametrize("around", ["ok, {}", "Thanks! {}", "{} please", "That worked. {} Take your time."])
def test_courtesies_around_a_topic_hide_it_not(prompt: str, around: str) -> None:
    assert (needed_relevance(around.format(prompt)) or 1.0) < 0.85


@pytest.mark.parametrize("prompt", COMMANDS)
def test_a_command_line_is_for_a_tool(prompt: str) -> None:
    assert is_for_a_tool(prompt)
    assert needed_relevance(prompt) is None


@pytest.mark.parametrize("prompt", SENTENCES)
def test_a_sentence_that_begins_like_a_command_is_none(prompt: str) -> None:
    assert not is_for_a_tool(prompt)


@settings(deadline=None)
@given(st.text(max_size=200))
def test_no_text_breaks_it(prompt: str) -> None:
    assert 0.0 <= (needed_relevance(prompt) or 0.0) <= 1.0
