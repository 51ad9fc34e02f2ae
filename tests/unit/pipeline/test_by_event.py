"""What happens to somebody in a story is found whatever the words of the question and of the book."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Weft

_TALK = (
    '"The end of the pier is wet," said Mrs. Moor, and {0} met her there. "So it is," said {0}. They spoke of'
    " bodies of water, of trips and ends, and of what was done with the boats.\n\n"
)
_DEATH = (
    "A cable came on Tuesday. Nobody had thought that Mrs. Moor would leave the ship. She died at sea, and they"
    " lowered her into the water off the coast."
)
_WEDDING = 'Bells rang in the village. "At last!" cried Tom. That morning Orla Vane and Bram Holt were married.'


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    """Open a tale in which a death and a wedding are told once among much talk."""
    folder = tmp_path_factory.mktemp("tale")
    talk = "".join(_TALK.format(name) for name in ("Orla Vane", "Bram Holt", "Tom", "Orla Vane"))
    parts = [talk, talk, f"{_DEATH}\n\n{talk}", talk, talk, f"{_WEDDING}\n\n{talk}", talk]
    text = "\n\n".join(f"CHAPTER {number}\n\n{part}" for number, part in enumerate(parts, start=1))
    (folder / "tale.txt").write_text(text)
    with Weft.open(folder / ".weft") as opened:
        opened.index(str(folder / "tale.txt"))
        yield opened


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How did Mrs. Moor meet her end, and what was done with the body?", "died at sea"),
        ("What became of Mrs. Moor when she was buried?", "died at sea"),
        ("To whom did Bram Holt get engaged and wed in the end?", "were married"),
        ("Who became the wife of Bram?", "were married"),
    ],
)
def test_an_event_is_found_whatever_the_words(weft: Weft, question: str, answer: str) -> None:
    assert answer in weft.context(question, max_tokens=350).text


def test_a_store_without_a_story_answers_such_a_question_too(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Workers\n\nA worker that is killed by Marle restarts.\n")
    with Weft.open(tmp_path / ".weft") as opened:
        opened.index(str(tmp_path))
        assert "restarts" in opened.context("When is a worker of Marle killed?", max_tokens=300).text
