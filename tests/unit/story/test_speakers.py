"""Speakers and those they speak to are read from paragraphs of dialogue."""

import pytest

from weft.story import Prose, extract_story
from weft.story.speakers import read_turns

CAST = "Ann Holt sat. She slept. Bram Vane rose. He laughed. Ann Holt and Bram Vane met.\n\n"


def speakers(dialogue: str) -> list[tuple[str, str]]:
    """Return the speaker and the listener of each paragraph of a dialogue, behind a cast of two."""
    text = CAST + dialogue
    story = extract_story([Prose("a", text, 1)])
    names = [entity.name for entity in story.entities] + [""]
    mentions = sorted(
        ((mention, index) for index, entity in enumerate(story.entities) for mention in entity.mentions),
        key=lambda each: each[0].start,
    )
    genders = ["f" if name.startswith("Ann") else "m" for name in names]
    return [
        (
            names[-1 if turn.speaker is None else turn.speaker],
            names[-1 if turn.listener is None else turn.listener],
        )
        for turn in read_turns(0, text, mentions, genders)
    ]


@pytest.mark.parametrize(
    ("dialogue", "expected"),
    [
        ('"No," said Ann Holt.\n\n"Yes," said Bram Vane.', [("Ann Holt", "Bram Vane"), ("Bram Vane", "Ann Holt")]),
        ('"No," said Ann Holt.\n\n"Yes," he said.', [("Ann Holt", "Bram Vane"), ("Bram Vane", "Ann Holt")]),
        (
            '"No," said Ann Holt.\n\n"Yes," said Bram Vane.\n\n"Why?"\n\n"Because."',
            [("Ann Holt", "Bram Vane"), ("Bram Vane", "Ann Holt")] * 2,
        ),
        ('"Come, Bram Vane," said Ann Holt.', [("Ann Holt", "Bram Vane")]),
        ('Ann Holt smiled. "Indeed."', [("Ann Holt", "")]),
        ('"Indeed," said her mother.', [("", "")]),
    ],
)
def test_a_speaker_is_told_by_name_pronoun_gesture_or_turn(dialogue: str, expected: list[tuple[str, str]]) -> None:
    assert speakers(dialogue) == expected
