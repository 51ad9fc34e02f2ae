"""Texts that read almost the same: which still tell two things."""

import pytest

from weft.dedupe import Entry, dedupe
from weft.differing import apart, tell_apart
from weft.model import Candidate, Node
from weft.profile import Dedupe

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
    ],
)
def test_an_exchanged_word_or_number_tells_short_texts_apart(left: str, right: str) -> None:
    assert tell_apart(left, right)
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
        (LONG, LONG.replace("zly", "other")),
    ],
)
def test_fillers_typing_errors_additions_and_one_word_of_many_do_not(left: str, right: str) -> None:
    assert not tell_apart(left, right)


def test_the_words_that_only_one_has_keep_their_order() -> None:
    assert apart(["b", "a", "c"], ["c", "d"]) == (["b", "a"], ["d"])
    assert apart(["same", "same"], ["same"]) == (["same"], [])
