"""Ties that prose states, and words that state none."""

import pytest

from weft.story import Prose, extract_story

CAST = (
    '"Well," said Ann Holt. "Yes," said Bram Vane. "No," said Ellen Olen. "Oh," said Newland Archer. '
    "Ann Holt sat, and Bram Vane rose. Ellen Olen left. Newland Archer stayed.\n\n"
)


def ties(sentence: str) -> set[tuple[str, str, str]]:
    story = extract_story([Prose("a", CAST + sentence + "\n\n" + CAST, 1)])
    return {
        (tie.type, story.entities[tie.source].name, story.entities[tie.target].name)
        for tie in story.ties
        if tie.type not in ("co_occurs", "speaks_with")
    }


@pytest.mark.parametrize(
    "sentence",
    [
        "Newland Archer, the husband of Ellen Olen's cousin, came in.",
        "If Ann Holt married Bram Vane, all would be well.",
        "It was never said that Ann Holt was the wife of Bram Vane.",
        "Was Ann Holt the wife of Bram Vane?",
        "Perhaps Ann Holt was the sister of Bram Vane.",
        "The box was filled by her daughter-in-law, Ann Holt, and her daughter, Ellen Olen.",
    ],
)
def test_a_supposition_a_question_a_negation_and_a_possessive_state_nothing(sentence: str) -> None:
    assert ties(sentence) == set()


@pytest.mark.parametrize(
    ("sentence", "tie"),
    [
        ("Ann Holt was the sister of Bram Vane.", ("sibling", "Ann Holt", "Bram Vane")),
        ('"This is my brother Bram Vane," said Ann Holt.', ("sibling", "Ann Holt", "Bram Vane")),
        ('"My dear father, Bram Vane, is here," said Ann Holt.', ("parent", "Bram Vane", "Ann Holt")),
        ('"Here is my daughter Ellen Olen," said Ann Holt.', ("parent", "Ann Holt", "Ellen Olen")),
    ],
)
def test_statements_and_a_speaker_s_own_kin_are_ties(sentence: str, tie: tuple[str, str, str]) -> None:
    assert ties(sentence) == {tie}


def test_the_evidence_of_a_speaker_s_kin_is_what_was_said() -> None:
    text = CAST + '"It rained all day. This is my brother Bram Vane," said Ann Holt.'
    story = extract_story([Prose("a", text, 1)])
    passage = next(tie.evidence[0] for tie in story.ties if tie.type == "sibling")
    assert text[passage.start : passage.end] == "my brother Bram Vane"
