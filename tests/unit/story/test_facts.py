"""Facts that prose states of people: deaths, marriages, births, killings, looks; and contradictions among them."""

import pytest

from weft.story import Prose, extract_story
from weft.story.continuity import check_story
from weft.story.facts import read_facts

CAST = (
    "Ann Holt sat. She slept. Bram Vane rose. He laughed.\n\n"
    '"Well," said Ann Holt.\n\n"Yes," said Bram Vane.\n\n"No," said Ann Holt.\n\n"Oh," said Bram Vane.\n\n'
)


def facts(prose: str) -> set[tuple[str, ...]]:
    proses = [Prose("a", CAST + prose, 1)]
    story = extract_story(proses)
    return {
        (
            fact.kind,
            story.entities[fact.entity].name,
            *(() if fact.other is None else (story.entities[fact.other].name,)),
            *((fact.value,) if fact.value else ()),
            *(("hearsay",) if fact.is_hearsay else ()),
        )
        for fact in read_facts(proses, story)
    }


@pytest.mark.parametrize(
    ("prose", "fact"),
    [
        ("Ann Holt died that night.", ("death", "Ann Holt")),
        ("By then Ann Holt was dead.", ("death", "Ann Holt")),
        ("They spoke of the death of Ann Holt.", ("death", "Ann Holt")),
        ("After Ann Holt's funeral it rained.", ("death", "Ann Holt")),
        ("Bram Vane had murdered Ann Holt.", ("killing", "Bram Vane", "Ann Holt")),
        ("Ann Holt was killed by Bram Vane.", ("killing", "Bram Vane", "Ann Holt")),
        ("Ann Holt and Bram Vane were married in May.", ("marriage", "Ann Holt", "Bram Vane")),
        ("All came to the wedding of Ann Holt and Bram Vane.", ("marriage", "Ann Holt", "Bram Vane")),
        ("Ann Holt lost her life in the flood.", ("death", "Ann Holt")),
        ("That winter Bram Vane hanged himself.", ("death", "Bram Vane")),
        ("In the morning they found Bram Vane lying dead.", ("death", "Bram Vane")),
        ("Bram Vane had been found dead on Monday.", ("death", "Bram Vane")),
        ("Ann Holt became the wife of Bram Vane.", ("marriage", "Ann Holt", "Bram Vane")),
        ("Ann Holt and Bram Vane were now man and wife.", ("marriage", "Ann Holt", "Bram Vane")),
        ("Ann Holt's marriage to Bram Vane surprised them.", ("marriage", "Ann Holt", "Bram Vane")),
        ("In May she gave birth to Bram Vane.", ("birth", "Bram Vane")),
        ("Ann Holt was engaged to be married to Bram Vane.", ("engagement", "Ann Holt", "Bram Vane")),
        ("Ann Holt was engaged to Bram Vane.", ("engagement", "Ann Holt", "Bram Vane")),
        ("Ann Holt was born in a storm.", ("birth", "Ann Holt")),
        ("Bram Vane learned that the mill was sold.", ("knowledge", "Bram Vane")),
        ("Ann Holt had very blue eyes.", ("eyes", "Ann Holt", "blue")),
        ('"I hear that Ann Holt died," he said.', ("death", "Ann Holt", "hearsay")),
        ('"I am sorry to say Ann Holt\'s dead."', ("death", "Ann Holt", "hearsay")),
    ],
)
def test_a_plain_statement_is_a_fact(prose: str, fact: tuple[str, ...]) -> None:
    assert fact in facts(prose)


def test_the_death_of_somebody_s_father_is_not_that_person_s() -> None:
    assert ("death", "Ann Holt") not in facts("It was soon after the death of Ann Holt's father.")


@pytest.mark.parametrize(
    "prose",
    [
        "Ann Holt nearly died of fright.",
        "If Ann Holt died, nobody would care.",
        "Ann Holt never died.",
        "Ann Holt died of laughter when she saw it.",
        "Her voice was low, and the song of Ann Holt died away.",
        "They feared that Ann Holt was dead.",
        '"Is it true that Ann Holt died?" he asked.',
        "It might have been the death of Ann Holt.",
        "The letter was Ann Holt's death warrant.",
        "Perhaps Ann Holt and Bram Vane were married.",
    ],
)
def test_a_supposition_a_fear_a_question_and_a_figure_of_speech_are_none(prose: str) -> None:
    assert {fact[0] for fact in facts(prose)} <= {"place"}


def problems(*chapters: str) -> list[tuple[str, int, int]]:
    proses = [Prose(str(number), CAST * (number == 1) + text, number) for number, text in enumerate(chapters, 1)]
    story = extract_story(proses)
    return [
        (each.kind, proses[each.first.prose].sequence, proses[each.second.prose].sequence)
        for each in check_story(proses, story)
    ]


def test_who_speaks_after_dying_is_found_with_both_places() -> None:
    speaks = '"Good day," said Ann Holt.\n\n"What a wind," said Ann Holt.'
    assert problems("It rained.", "Ann Holt died.", speaks) == [("dead", 2, 3)]
    assert problems("It rained.", "Ann Holt nearly died.", speaks) == []
    assert problems("It rained.", speaks, "Ann Holt died.") == []


def test_two_colours_of_eyes_are_found_and_one_is_not() -> None:
    assert problems("Ann Holt had blue eyes.", "Ann Holt's green eyes shone.") == [("eyes", 1, 2)]
    assert problems("Ann Holt had grey eyes.", "Ann Holt's gray eyes shone.") == []


def test_a_date_that_is_two_weekdays_is_found() -> None:
    assert problems("It was Monday, the 3rd of June.", "On Tuesday, June 3, they left.") == [("weekday", 1, 2)]
    assert problems("It was Monday, 3 June 1901.", "On Tuesday, June 3, 1902, they left.") == []
