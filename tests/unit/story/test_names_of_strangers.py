"""Names in books that nobody prepared for: bare titles, epithets, wives, and capitals for what a word means."""

from weft.story import Entity, Prose, Story, extract_story


def told(*texts: str) -> Story:
    return extract_story([Prose(f"book:{number}", text, number) for number, text in enumerate(texts, start=1)])


def named(story: Story, name: str) -> Entity:
    return next(each for each in story.entities if name in (each.name, *each.aliases))


def names(story: Story) -> set[str]:
    return {name for entity in story.entities for name in (entity.name, *entity.aliases)}


# --- bare titles -----------------------------------------------------------------------------------------


def test_a_bare_title_is_his_who_bears_it_and_not_a_realm_s() -> None:
    story = told(
        "They spoke of the Tsar of Moab. "
        + '"Well," said Tsar Oleg. He sat down. "No," said the Tsar. He rose, and the Tsar left. ' * 3
    )
    assert named(story, "Tsar").name == "Tsar Oleg"
    assert "Tsar of Moab" not in named(story, "Tsar Oleg").aliases


def test_a_president_is_meant_by_the_title_that_stands_before_his_name() -> None:
    story = told(
        "They had a President of the Guild. "
        + '"Come," said President Holm. "Why?" said the President. He laughed. Then Holm sat down. ' * 4
    )
    assert "President" in named(story, "Holm").aliases


def test_a_sovereign_s_given_name_alone_is_he_though_his_full_name_stands_only_once() -> None:
    dull = ["The rain fell on the river and nobody came."] * 13
    reign = ['Emperor Oswin bowed. "Yes," said Emperor Oswin. He sat. Then Oswin wept, and Oswin slept.'] * 12
    story = told(*reign, *dull, "Emperor Oswin Hallam was crowned. Oswin wept.")
    assert "Emperor Oswin" in named(story, "Oswin").aliases


def test_a_rank_that_never_speaks_and_is_seldom_a_he_is_nobody() -> None:
    seldom = "They asked for the Chancellor, and he left. " * 2
    story = told('"Oh," said Ruth. ' + "They asked for the Chancellor, and Ruth left. " * 6 + seldom)
    assert names(story) == {"Ruth"}


def test_a_comrade_and_a_citizen_have_titles() -> None:
    story = told(
        '"Rise," said Comrade Brandt. Otto Brandt rose. "So," said Otto Brandt. "Yes," said Brandt. '
        '"And I," said Citizen Marle. "You," said Marle.'
    )
    assert set(named(story, "Otto Brandt").aliases) == {"Brandt", "Comrade Brandt"}
    assert "Marle" in {named(story, "Citizen Marle").name, *named(story, "Citizen Marle").aliases}


def test_a_surname_may_be_a_saint_s_behind_a_particle() -> None:
    story = told('"Come," said the Marquis de St. Aubrac. He bowed. "Well," said the Marquis. He left. ' * 3)
    assert named(story, "Marquis").name == "Marquis de St. Aubrac"


def test_a_saint_s_surname_may_be_an_everyday_word() -> None:
    story = told(
        '"Just so," said Armand St. Just. He had just come. Armand sat. "Well," said Armand. He left just then. '
        * 3
    )
    assert named(story, "Armand").name == "Armand St. Just"


def test_a_major_who_is_introduced_is_the_major_from_then_on() -> None:
    dull = ["The rain fell on the river and nobody came."] * 30
    story = told(
        'They knew Major Vance. "Come," said the Major.', *dull, *['"No," said the Major. The Major left.'] * 9
    )
    assert "Major" in named(story, "Major Vance").aliases


def test_a_mademoiselle_is_no_countess() -> None:
    story = told(
        '"Come," said Mademoiselle Suzanne de Brey. Suzanne de Brey smiled. "Go," said the Comtesse de Brey. '
        "She rose. Suzanne sat. She sang. " * 3
    )
    assert named(story, "Suzanne") is not named(story, "Comtesse de Brey")


def test_a_title_for_a_woman_is_not_his_whom_the_book_calls_he() -> None:
    wilbur = '"Ah," said Wilbur Minto. Wilbur sat, and he laughed. Wilbur rose when he saw her. '
    story = told(wilbur * 2 + '"Why?" asked Miss Minto. ')
    assert named(story, "Miss Minto") is not named(story, "Wilbur")


def test_a_doctor_may_be_a_professor_but_no_colonel() -> None:
    doctor = '"Come," said Dr. Hoorn. He rose. "Good," said Hoorn. He sat. "Friend," said {} Hoorn. He bowed. '
    learned, soldier = told(doctor.format("Professor") * 3), told(doctor.format("Colonel") * 3)
    assert named(learned, "Dr. Hoorn") is named(learned, "Professor Hoorn")
    assert named(soldier, "Dr. Hoorn") is not named(soldier, "Colonel Hoorn")


def test_a_known_given_name_is_one_though_it_only_opens_sentences() -> None:
    story = told('Dmitri Prokofitch Razin sat. "Yes," said Razin. Dmitri Prokofitch rose. "No," said Razin.')
    assert "Dmitri Prokofitch Razin" in names(story)


# --- epithets --------------------------------------------------------------------------------------------


def test_little_and_old_and_poor_make_nobody_else() -> None:
    story = told(
        '"Come," said Little Wat. Wat Holm ran. "No," said Wat Holm. Little Wat Holm laughed, and Wat sang. '
        '"Oh," said Old Brock. Brock sat down. "Yes," said Brock. Poor Brock slept.'
    )
    assert {"Wat", "Little Wat", "Little Wat Holm"} <= set(named(story, "Wat Holm").aliases)
    brock = named(story, "Brock")
    assert (set(brock.aliases), len(brock.mentions)) == ({"Old Brock"}, 4)


def test_an_epithet_before_a_title_is_no_name() -> None:
    story = told('"Yes," said Old Mr. Brock. He sat. "No," said Old Mr. Brock. "So?" said Mr. Brock. ' * 2)
    assert names(story) == {"Mr. Brock"}


def test_an_old_place_stays_a_place() -> None:
    story = told(
        '"Come," said Ruth. They went to the Old Bridge, stood at the Old Bridge and left the Old Bridge.'
    )
    assert named(story, "Old Bridge").kind == "location"


def test_an_epithet_behind_the_article_belongs_to_a_name_that_often_has_it() -> None:
    story = told(
        '"Caw," said Rusty the Rook. Rusty flew off. "Caw," said Rusty. Rusty the Rook sat, and Rusty slept.'
    )
    assert named(story, "Rusty").name == "Rusty the Rook"


def test_an_article_between_two_names_that_stand_so_once_parts_them() -> None:
    story = told(
        '"Yes," said Ruth. They told Ruth the Dales were out. "No," said Ruth. The Dales came to the Dales.'
    )
    assert "Ruth the Dales" not in names(story)


def test_a_nickname_is_not_the_long_name_s_with_an_epithet() -> None:
    story = told(
        'They read of William the Bold and of William the Bold alone. "Here," said Bill. Bill ran; Bill hid.'
    )
    assert named(story, "Bill").name == "Bill"


def test_a_king_s_number_is_no_surname() -> None:
    story = told(
        '"Yes," said William. William sat, and William rose. They had seen William Fourth. William Fourth bowed.'
    )
    assert named(story, "William").name == "William"
    assert "William Fourth" not in named(story, "William").aliases


def test_a_short_name_is_not_somebody_s_who_is_elsewhere() -> None:
    dull = ["The rain fell on the river and nobody came."] * 26
    bill = '"Here," said Bill. Bill ran, and Bill hid.'
    william = '"Yes," said William. William sat, and William rose. William slept.'
    story = told(bill, bill, bill, *dull, bill, william, *dull, william, william)
    assert named(story, "Bill").name != named(story, "William").name


# --- wives -----------------------------------------------------------------------------------------------

_HUSBAND = '"My dear," said Mr. John Vane. '
_WIFE = 'They met Mrs. John Vane. "Indeed," said Mrs. John Vane. She sat. '


def test_a_wife_by_her_husband_s_name_is_the_woman_who_is_named_with_him() -> None:
    dull = "The rain fell. Agnes Holm came. Agnes Holm sat. Agnes Holm left. " * 4
    story = told((_HUSBAND + "John Vane kissed Ruth. " + dull) * 4 + _WIFE * 3)
    assert named(story, "Ruth").name == "Mrs. John Vane"


def test_a_wife_is_nobody_s_other_name_where_two_women_are_named_with_him() -> None:
    dull = "The rain fell. Agnes Holm came. Agnes Holm sat. Agnes Holm left. " * 4
    story = told((_HUSBAND + "John Vane kissed Ruth. John Vane kissed Laura. " + dull) * 4 + _WIFE * 3)
    assert named(story, "Mrs. John Vane").name == "Mrs. John Vane"


def test_a_wife_is_not_the_woman_beside_her() -> None:
    dull = "The rain fell. Agnes Holm came. Agnes Holm sat. Agnes Holm left. " * 4
    story = told((_HUSBAND + "John Vane kissed Ruth. " + dull) * 4 + _WIFE * 3 + "Mrs. John Vane kissed Ruth.")
    assert named(story, "Ruth").name != named(story, "Mrs. John Vane").name


# --- capitals for what a word means ----------------------------------------------------------------------


def test_a_language_that_is_spoken_is_nobody() -> None:
    story = told('"Yes," said Ruth. They spoke French. ' * 5 + "The French were many. " * 99)
    assert names(story) == {"Ruth"}


def test_institutions_and_beliefs_are_nobody() -> None:
    story = told(
        '"Oh," said Ruth. He wrote of Empire and of Catholicism, of Empire or Christianity. Then of Empire, '
        "and of Catholicism and Christianity once more: all Catholicism, all Christianity."
    )
    assert names(story) == {"Ruth"}


def test_an_institution_that_has_the_article_is_a_group_and_one_that_is_an_event_is_one() -> None:
    story = told(
        '"Oh," said Ruth. They feared the Guild. The men of the Guild came, for the Guild paid. '
        "It was before the Rebellion. After the Rebellion all was quiet, but for the Rebellion of the heart."
    )
    assert named(story, "Guild").kind == "faction"
    assert named(story, "Rebellion").kind == "event"


def test_an_institution_with_a_name_is_still_one() -> None:
    story = told('"Oh," said Ruth. They feared the Salt Council. The Salt Council sat, and the Salt Council rose.')
    assert named(story, "Salt Council").kind == "faction"


def test_a_sound_that_is_drawn_out_is_nobody() -> None:
    story = told(
        '"Go," said Ruth. It went Gr-r-r and Gr-r-r and then Gr-r-r. It went Chug-a-rum, Chug-a-rum, Chug-a-rum.'
    )
    assert names(story) == {"Ruth"}


def test_a_given_name_makes_a_person_of_a_name_that_hardly_acts() -> None:
    story = told('"Yes," said Ruth. She believed in Jimmy Vole. There was more in Jimmy Vole than they thought.')
    assert named(story, "Jimmy Vole").kind == "character"


def test_a_rare_full_name_without_the_usual_one_is_not_taken_for_the_name() -> None:
    story = told(
        '"Yes," said Lizzy. Lizzy sat. ' * 30 + "They wrote to Elizabeth Holm, and Elizabeth Holm wrote back."
    )
    assert named(story, "Lizzy").name == "Lizzy"


# --- places that look like people --------------------------------------------------------------------------


def test_a_woman_whose_surname_is_a_place_is_a_woman() -> None:
    story = told(
        'Orla Vale came to the ferry. "Good morning," said Orla. "Well," said Orla. She went to Orla Vale.'
    )
    assert named(story, "Orla").kind == "character"
    story = told('Orla Vale came to the ferry. "Good morning," said Orla. "Well," said Orla. She sat down.')
    assert (named(story, "Orla").name, named(story, "Orla Vale").kind) == ("Orla", "character")


def test_streets_islands_and_towns_are_places_whatever_they_are_called() -> None:
    story = told(
        '"Come," said Ruth. Pearl Street was dark. Prince Edward Island was far. Coketown smoked. '
        'The Severn rose, and the Severn fell. "No," said Ruth. She loved Coketown. They feared the Severn. '
        "Pearl Street was loud. Prince Edward Island was near. " * 3
    )
    places = {entity.name for entity in story.entities if entity.kind == "location"}
    assert {"Pearl Street", "Prince Edward Island", "Coketown"} <= places
    assert named(story, "Severn").kind != "character"


def test_a_day_is_somebody_only_where_many_speak_by_it() -> None:
    days = '"Come," he said Sunday. ' * 2 + "They slept on Sunday. She met Ruth on Sunday, and Ruth sang. " * 12
    assert "Sunday" not in names(told(days))
    assert "Sunday" in names(told(days + '"I am," said Sunday. He laughed. "You are not," Sunday replied. ' * 9))


def test_a_family_in_the_plural_is_nobody_s_other_name() -> None:
    story = told(
        '"Come," said Mrs. van der Loon. She rose. The Loons came, and the Loons went. Mr. van der Loon bowed. '
        '"Well, Loons," said Ruth. ' * 4
    )
    assert "Loons" not in names(story)
