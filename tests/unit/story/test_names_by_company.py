"""Names of families of which the company they keep tells whose they are."""

from weft.story import Entity, Prose, Story, extract_story


def told(*texts: str) -> Story:
    return extract_story([Prose(f"book:{number}", text, number) for number, text in enumerate(texts, start=1)])


def named(story: Story, name: str) -> Entity:
    return next(each for each in story.entities if name in (each.name, *each.aliases))


def test_a_title_and_surname_mean_the_sister_in_whose_scenes_they_stand() -> None:
    home = 'Thea Moss sang. She ran. Thea laughed.\n\n"Thank you, Miss Moss." The maid left.\n\nThea laughed.'
    elsewhere = (
        '"No," said Tillie. She baked. Tillie Moss slept, and Tillie sighed. Tillie Moss rose, and Tillie sat. '
    )
    story = told(*[home, elsewhere * 2] * 5)
    assert "Miss Moss" in named(story, "Thea").aliases
    assert "Miss Moss" not in named(story, "Tillie").aliases


def test_an_uncle_is_the_namesake_whom_the_book_calls_so_by_his_full_name() -> None:
    story = told(
        *['George Vane laughed. "Yes," said George. "No," said George Arden Vane. George ran.'] * 6,
        *['Uncle George Moore sat. "Well," said Uncle George. George Moore smiled.'] * 3,
    )
    assert "Uncle George" in named(story, "George Moore").aliases
    assert "Uncle George" not in named(story, "George Arden Vane").aliases


def test_a_doctor_is_called_by_name_and_by_title_in_one_sentence() -> None:
    both = '"Well," said Dr. Marsh, and when Dr. Marsh had sat down, the Doctor laughed at it. The Doctor rose. '
    apart = (
        "Dr. Marsh wrote. He read. The Doctor slept. He woke. Dr. Marsh ate. He left. The Doctor came. He sat. "
    )
    story = told(*[both + apart * 4] * 8)
    assert named(story, "Dr. Marsh") == named(story, "Doctor")


def test_a_squire_is_meant_by_his_title_alone() -> None:
    story = told(*['"Yes," said Squire Cass. The Squire sat down. "No," said the Squire. He rose.'] * 3)
    assert "Squire" in named(story, "Squire Cass").aliases


def test_two_ranks_in_a_row_are_one_rank_and_mean_the_man_who_bears_it() -> None:
    story = told(
        *['"Yes," said Chief Inspector Heat. He sat. Heat laughed. "No," said the Chief Inspector. He rose.'] * 4
    )
    assert "Chief Inspector" in named(story, "Inspector Heat").aliases


def test_a_variant_of_a_given_name_that_stands_in_other_scenes_is_somebody_else() -> None:
    story = told(
        *['"I will wait," said Sarah. She wept. Silas took the hand of Sarah.'] * 3,
        *['"Mind the child," said Sally Oates. She sat down. Silas saw Sally Oates.'] * 3,
    )
    assert named(story, "Sarah") != named(story, "Sally Oates")


def test_a_person_whose_surname_is_also_a_lake_is_no_place() -> None:
    scene = 'Barbara Lake sang. "Yes," said Barbara. She stood with Barbara Lake. Miss Lake laughed. '
    story = told(*[scene * 6 + "They went in to Barbara Lake."] * 4)
    assert named(story, "Barbara Lake").kind == "character"
    assert named(story, "Barbara Lake") == named(story, "Barbara")
