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


def test_the_evidence_of_a_tie_is_its_sentence() -> None:
    text = CAST + '"It rained all day. This is my brother Bram Vane," said Ann Holt.'
    story = extract_story([Prose("a", text, 1)])
    passage = next(tie.evidence[0] for tie in story.ties if tie.type == "sibling")
    assert text[passage.start : passage.end] == 'This is my brother Bram Vane," said Ann Holt.'


FAMILY = (
    '"Well," said Mrs. Vale. Mrs. Vale sat. "Mrs. Vale!" cried Tom Rook. Tom Rook rose. "Oh," said Lucy Vale. '
    'Lucy Vale left. "No," said Mr. Vale. Mr. Vale slept. "Ah," said Kate Vale. Kate Vale sang.\n\n'
)


@pytest.mark.parametrize(
    ("prose", "tie"),
    [
        (
            '"Are you coming, mamma?" said Lucy.\n\n"Soon," said Mrs. Vale.\n\n"Mamma, it rains," said Lucy.\n\n'
            '"I see," said Mrs. Vale.\n\n"Then, mamma, wait," said Lucy.\n\n"No," said Mrs. Vale.\n\n',
            ("parent", "Mrs. Vale", "Lucy Vale"),
        ),
        ("Mr. and Mrs. Vale dined.", ("spouse", "Mr. Vale", "Mrs. Vale")),
        ("Lucy Vale was engaged to Tom Rook.", ("betrothed", "Lucy Vale", "Tom Rook")),
        ("Lucy Vale had married Tom Rook.", ("spouse", "Lucy Vale", "Tom Rook")),
        ("Mrs. Vale's butler, Tom Rook, bowed.", ("serves", "Tom Rook", "Mrs. Vale")),
        ("Tom Rook was the cousin of Mr. Vale.", ("relative", "Mr. Vale", "Tom Rook")),
        ("Tom Rook, Lucy Vale's friend, came.", ("friend", "Lucy Vale", "Tom Rook")),
    ],
)
def test_ties_come_from_address_names_and_statements(prose: str, tie: tuple[str, str, str]) -> None:
    story = extract_story([Prose("a", FAMILY + prose, 1), Prose("b", FAMILY, 2)])
    found = {
        (each.type, *(story.entities[index].name for index in (each.source, each.target))) for each in story.ties
    }
    assert tie in found or (tie[0], tie[2], tie[1]) in (found if tie[0] not in ("parent", "serves") else set())


def test_what_follows_from_two_ties_is_a_tie_with_both_passages() -> None:
    prose = "Mrs. Vale was the mother of Lucy Vale. Kate Vale was the sister of Lucy Vale."
    story = extract_story([Prose("a", FAMILY + prose, 1), Prose("b", FAMILY, 2)])
    tie = next(
        each for each in story.ties if each.type == "parent" and story.entities[each.target].name == "Kate Vale"
    )
    assert story.entities[tie.source].name == "Mrs. Vale"
    assert len(tie.evidence) == 2


def test_nobody_is_both_the_sister_and_the_mother_of_another() -> None:
    prose = "Kate Vale was the sister of Lucy Vale. Kate Vale was the mother of Lucy Vale. "
    story = extract_story([Prose("a", FAMILY + prose, 1), Prose("b", FAMILY, 2)])
    pairs = [each for each in story.ties if each.type in ("sibling", "parent")]
    assert pairs == []


@pytest.mark.parametrize(
    "prose",
    [
        "Tom Rook bowed; but his friend Mr. Vale spoke.",
        '"Do not heed my friend, Lucy Vale," said Tom Rook.',
        "Mr. Vale, his son, Kate Vale and the dog came.",
        '"Our friend Tom Rook," said Lucy Vale, "is late."',
    ],
)
def test_a_list_a_jest_and_another_clause_tie_nobody(prose: str) -> None:
    story = extract_story([Prose("a", FAMILY + prose, 1), Prose("b", FAMILY, 2)])
    assert [each for each in story.ties if each.type in ("friend", "parent")] == []


@pytest.mark.parametrize(
    ("prose", "tie"),
    [
        ("Bram Vane's cousins, Ann Holt and Ellen Olen, came.", ("relative", "Ann Holt", "Bram Vane")),
        ("Bram Vane's cousins, Ann Holt and Ellen Olen, came.", ("relative", "Bram Vane", "Ellen Olen")),
        ("The two sisters, Ann Holt and Ellen Olen, came.", ("sibling", "Ann Holt", "Ellen Olen")),
        ("Ann Holt and Ellen Olen were sisters.", ("sibling", "Ann Holt", "Ellen Olen")),
        ("Bram Vane's two daughters, Ann Holt and Ellen Olen, came.", ("parent", "Bram Vane", "Ellen Olen")),
        ("Bram Vane brought his two daughters, Ann Holt and Ellen Olen.", ("sibling", "Ann Holt", "Ellen Olen")),
        ("Bram Vane and Newland Archer were old friends.", ("friend", "Bram Vane", "Newland Archer")),
    ],
)
def test_a_list_beside_a_word_for_several_relatives_ties_all_of_it(prose: str, tie: tuple[str, str, str]) -> None:
    assert tie in ties(prose)


@pytest.mark.parametrize(
    "prose",
    [
        "If Ann Holt and Ellen Olen were sisters, he would have known.",
        "Ann Holt and Ellen Olen were not sisters.",
        "His sisters came, and Ann Holt and Ellen Olen left.",
        "Ann Holt and Ellen Olen's sisters came.",
    ],
)
def test_a_list_that_is_doubted_or_stands_elsewhere_ties_nobody(prose: str) -> None:
    assert not {tie for tie in ties(prose) if {"Ann Holt", "Ellen Olen"} <= set(tie)}


def test_the_husband_of_an_aunt_is_a_relative_too() -> None:
    prose = "Ann Holt was the aunt of Newland Archer.\n\nAnn Holt was married to Bram Vane."
    assert ("relative", "Bram Vane", "Newland Archer") in ties(prose)
