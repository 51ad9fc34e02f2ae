"""Names that are one person's because the text says so, or because the same company is kept under both."""

from typing import Final

import pytest

from weft.story import Entity, Prose, Story, extract_story


def told(*texts: str) -> Story:
    return extract_story([Prose(f"book:{number}", text, number) for number, text in enumerate(texts, start=1)])


def named(story: Story, name: str) -> Entity:
    return next(each for each in story.entities if name in (each.name, *each.aliases))


def names(entity: Entity) -> set[str]:
    return {entity.name, *entity.aliases}


_TALK: Final = '"Come," said {0}. {0} laughed. "Stay here," said {0}. He rose.\n\n'


@pytest.mark.parametrize(
    ("statement", "second"),
    [
        ("Jack Dawkins, better known as Sparrow, came in.", "Sparrow"),
        ("In came the form of Jack Dawkins (otherwise Sparrow).", "Sparrow"),
        ("Jack Dawkins, whose real name was Edwin Leigh, came in.", "Edwin Leigh"),
        ("Jack Dawkins was known to his friends by the name of Sparrow.", "Sparrow"),
        ("Jack Dawkins alias Sparrow came in.", "Sparrow"),
        ("They had heard of Jack Dawkins, known to his friends for some reason as Sparrow.", "Sparrow"),
    ],
)
def test_two_names_are_one_person_s_where_the_text_says_so(statement: str, second: str) -> None:
    story = told(_TALK.format("Jack Dawkins") + statement, _TALK.format(second))
    assert second in names(named(story, "Jack Dawkins"))


@pytest.mark.parametrize(
    "statement",
    [
        "Jack Dawkins called Sparrow.",
        "There was a servant of Jack Dawkins, called Sparrow.",
        "Jack Dawkins and Sparrow came in.",
        "Jack Dawkins, Sparrow and the others came in.",
    ],
)
def test_two_names_in_one_sentence_are_two_people_s_otherwise(statement: str) -> None:
    story = told(_TALK.format("Jack Dawkins") + statement, _TALK.format("Sparrow"))
    assert "Sparrow" not in names(named(story, "Jack Dawkins"))


def test_whom_a_statement_joins_may_not_be_named_together_elsewhere() -> None:
    both = "Jack Dawkins struck Sparrow. Sparrow thanked Jack Dawkins. "
    story = told(_TALK.format("Jack Dawkins") + "Jack Dawkins, better known as Sparrow, came in. " + both * 4)
    assert "Sparrow" not in names(named(story, "Jack Dawkins"))


def test_a_lady_has_the_surname_that_she_is_said_to_have_now() -> None:
    story = told(
        '"Yes," said Miss Taylor. She sat. "No," said Miss Taylor. She smiled.',
        "In came Miss Taylor, now Mrs. Weston, in tears.",
        '"Yes," said Mrs. Weston. She sat. "No," said Mrs. Weston. She smiled.',
    )
    assert {"Miss Taylor", "Mrs. Weston"} <= names(named(story, "Mrs. Weston"))


def test_an_office_is_its_bearer_s_who_is_introduced_by_it() -> None:
    office = '"Well," said the Collector. He sat. The Collector frowned. "Go," said the Collector.\n\n'
    story = told(_TALK.format("Mr. Turton") + "In came Mr. Turton, the Collector.\n\n" + office * 2)
    assert named(story, "Collector") is named(story, "Mr. Turton")


def test_a_list_with_an_office_introduces_nobody() -> None:
    guests = _TALK.format("Rosa Lee") + "In came Rosa Lee, Mr. Turton, the Collector.\n\n"
    office = '"Well," said the Collector. He sat. The Collector frowned. "Go," said the Collector.\n\n'
    story = told(_TALK.format("Mr. Turton") + guests + office * 2)
    assert named(story, "Collector") is not named(story, "Mr. Turton")


# --- the same company ------------------------------------------------------------------------------------

_WIFE: Final = '"Yes," said Mrs. Spencer. She sat. Mrs. Spencer nodded. "No," said Mrs. Spencer. She rose.\n\n'


def test_a_wife_who_is_introduced_by_her_husband_s_name_is_the_plain_mrs_of_that_scene() -> None:
    story = told("Mrs. Alexander Spencer came to tea. She was kind.\n\n" + _WIFE, _WIFE)
    assert {"Mrs. Spencer", "Mrs. Alexander Spencer"} <= names(named(story, "Mrs. Spencer"))


def test_a_wife_by_her_husband_s_name_of_another_scene_is_another() -> None:
    younger = '"Well," said Mrs. Alexander Spencer. She sat. Mrs. Alexander Spencer rose. She left.\n\n'
    story = told(*[_WIFE] * 4, younger)
    assert "Mrs. Alexander Spencer" not in names(named(story, "Mrs. Spencer"))


_SCENE: Final = (
    '{0} came in and saw Rosa Lee and Colin Drew.\n\n"Sit down, Henry," said Rosa Lee. "Thank you," said {0}. '
    "He sat.\n\nColin Drew looked at {0}. He was tired. Rosa Lee poured the tea.\n\n"
)


def test_a_given_name_by_which_somebody_is_spoken_to_each_time_is_his() -> None:
    story = told(*(_SCENE.format("Mr. Wilcox") for _ in range(4)))
    assert {"Henry", "Mr. Wilcox"} <= names(named(story, "Mr. Wilcox"))


def test_a_given_name_is_nobody_s_who_is_named_beside_it() -> None:
    both = "Henry bowed to Mr. Wilcox, and Mr. Wilcox to Henry.\n\n"
    story = told(*(_SCENE.format("Mr. Wilcox") + both for _ in range(4)))
    assert "Henry" not in names(named(story, "Mr. Wilcox"))


# --- ranks ------------------------------------------------------------------------------------------------

_OFFICER: Final = '"Yes," said {0}. He sat. {0} nodded. "No," said {0}. He rose.\n\n'


def test_an_officer_is_promoted() -> None:
    story = told(*([_OFFICER.format("Captain Dobbin")] * 3 + [_OFFICER.format("Major Dobbin")] * 3))
    assert {"Captain Dobbin", "Major Dobbin"} <= names(named(story, "Major Dobbin"))


def test_officers_of_two_ranks_at_one_time_are_two() -> None:
    scene = _OFFICER.format("Captain Dobbin") + _OFFICER.format("Major Dobbin")
    story = told(*[scene] * 3)
    assert "Captain Dobbin" not in names(named(story, "Major Dobbin"))
