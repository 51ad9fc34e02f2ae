"""A question finds texts that write its words apart, its numbers as digits or its dates the other way."""

from pathlib import Path

import pytest

from weft import Weft
from weft.model import Node
from weft.text.terms import spell_otherwise


@pytest.mark.parametrize(
    ("question", "spelled"),
    [
        ("How do I back up the vault?", "backup"),
        ("Where is the time out set?", "timeout"),
        ("a token of ninety minutes", "90"),
        ("after 12 tries", "twelv"),
        ("What came with v2.0.1?", "2.0.1"),
        ("Does it run on 3.12?", "v3.12"),
        ("What was decided on March 5th, 2024?", "2024-03-05"),
        ("notes of 5 Mar. 2024", "2024-03-05"),
        ("notes of 2024-03-05", "march"),
        ("When did HTTP/3 arrive?", "http3"),
        ("Is Python 3 needed?", "python3"),
    ],
)
def test_parts_of_a_question_are_spelled_as_others_write_them(question: str, spelled: str) -> None:
    assert spelled in [term for _, term in spell_otherwise(question)]


@pytest.mark.parametrize("question", ["", "Which one is it?", "at 10.0.0.1:8080/v2", "备份 90", "2024-99-05"])
def test_what_has_no_other_spelling_gets_none(question: str) -> None:
    assert not {"backup", "1", "one", "2024-99-05"}.intersection(term for _, term in spell_otherwise(question))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How do I back up?", "A nightly backup goes to the second disk."),
        ("a limit of ninety", "Sessions end after 90 minutes without a request."),
        ("decisions of March 5, 2024", "2024-03-05: the queue moves to its own machine."),
        ("changes of v2.0.1", "Release 2.0.1 mends the parser."),
        ("support for HTTP/3", "The server speaks http3 by default."),
    ],
)
def test_a_text_in_another_spelling_is_found_by_its_words_alone(question: str, text: str, tmp_path: Path) -> None:
    others = [Node(f"put:{n}", "note", text=f"Something else about ferry {n} and its crew.") for n in range(20)]
    with Weft.open(tmp_path, embedder=None) as weft:
        weft.put([Node("put:wanted", "note", text=text), *others])
        assert text in weft.context(question, max_tokens=300).text


def test_a_spelling_that_the_store_does_not_use_changes_nothing(tmp_path: Path) -> None:
    with Weft.open(tmp_path, embedder=None) as weft:
        weft.put([Node("put:a", "note", text="Go back to the start, then up the ladder.")])
        with_spelling, without = (weft.search(question).candidates for question in ("go back up", "go back"))
        assert [hit.score for hit in with_spelling] == [hit.score for hit in without]
