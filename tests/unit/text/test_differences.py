"""Texts that read almost the same: which still tell two things."""

import pytest

from weft.model import Candidate, Node
from weft.pipeline.dedupe import Entry, dedupe
from weft.profiles.types import Dedupe
from weft.text.differences import are_different, find_differing_words

LONG = (
    " ".join(f"{word}ly" for word in "abcdefghijklmnopqrstuvwxyz")
    + " "
    + " ".join(["nothing", "else", "matters"] * 12)
)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Look at the broker before blaming the network", "Look at the cache before blaming the network"),
        ("Retry limit of the mailer is 3", "Retry limit of the mailer is 5"),
        ("Enable the proxy for uploads", "Unenable the proxy for uploads"),
        (f"{LONG[:200]} port 8080", f"{LONG[:200]} port 8081"),
        ("Restart the server after each change", "Never restart the server after each change"),
        ("The server must be restarted by hand", "The server must not be restarted by hand"),
        ("Make a temporary file, cleaned up later", "Make a named temporary file, cleaned up later"),
        ("It is computed from (a < b) or (a == b)", "It is computed from (a >= b) and (a != b)"),
        ("It is decorated with @contextmanager", "It is decorated with @asynccontextmanager"),
        ("The node of the request is kept", "The code of the request is kept"),
        ("Run when a retry is received", "Async run when a retry is received"),
        ("The retry limit of the mailer", "The retry limit of the mailer 3"),
    ],
)
def test_a_telling_word_number_negation_or_comparison_tells_short_texts_apart(left: str, right: str) -> None:
    assert are_different(left, right)
    entries = [
        Entry("a", Candidate(Node(f"k:{at}", "memory", text=text))) for at, text in enumerate((left, right))
    ]
    assert dedupe(entries, Dedupe(similarity=0.5)) == {}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Use tabs", "use TABS!"),
        ("Use tabs for this project", "Use tabs for that project, indeed"),
        ("The broker must be restarted", "The borker must be restarted"),
        ("A filter must match to be listed", "A filter msut match ot be listed"),
        ("Write a frame if the state is open", "Write a frame if the state iso pen"),
        ("The broker must be restarted", "Remember: the broker must be restarted, please"),
        (LONG, LONG.replace("zly", "other")),
    ],
)
def test_fillers_typing_errors_words_around_it_and_one_word_of_many_do_not(left: str, right: str) -> None:
    assert not are_different(left, right)


def test_the_words_that_only_one_has_keep_their_order() -> None:
    assert find_differing_words(["b", "a", "c"], ["c", "d"]) == (["b", "a"], ["d"])
    assert find_differing_words(["same", "same"], ["same"]) == (["same"], [])


@pytest.mark.parametrize(
    ("left", "right", "is_error"),
    [
        ("reciept", "receipt", True),
        ("colour", "color", True),
        ("configuration", "confguraton", True),
        ("configuration", "confgurtin", False),
        ("receipt", "recital", False),
        ("node", "code", False),
    ],
)
def test_one_typing_error_is_forgiven_and_two_in_a_long_word(left: str, right: str, is_error: bool) -> None:
    assert (find_differing_words([left], [right]) == ([], [])) is is_error
