"""Names that several members of a family, or several of a rank, may bear."""

from weft.story import TIES, Entity, Prose, Story, extract_story


def told(*texts: str) -> Story:
    return extract_story([Prose(f"book:{number}", text, number) for number, text in enumerate(texts, start=1)])


def named(story: Story, name: str) -> Entity:
    return next(each for each in story.entities if name in (each.name, *each.aliases))


def names(story: Story) -> set[str]:
    return {entity.name for entity in story.entities}


def test_a_younger_sister_is_not_the_miss_of_the_surname() -> None:
    story = told(
        '"Come," said Lucy Steel. Lucy sang, and Lucy danced. Lucy wrote; Lucy read; Lucy slept. "Oh," said Lucy. '
        "They met the Miss Steels. Miss Lucy bowed. Miss Lucy Steel smiled at Miss Lucy. "
        + '"Well," said Miss Steel. She laughed. '
        * 6
    )
    assert "Miss Steel" not in named(story, "Lucy Steel").aliases
    assert named(story, "Miss Steel").aliases == ()


def test_the_mr_of_a_surname_is_the_son_where_the_father_is_called_by_his_given_name_too() -> None:
    story = told(
        "Mr. Henry Dash was ill. Mr. Henry Dash died, and John Dash came. "
        '"Well," said Mr. John Dash. "So it is," said Mr. John Dash. "Indeed," said John Dash. '
        + '"My dear," said Mr. Dash. He sighed. '
        * 4
    )
    assert "Mr. Dash" in named(story, "John Dash").aliases


def test_a_given_name_means_whoever_bears_it_far_more_often_than_his_namesakes() -> None:
    dull = ["The rain fell on the river and nobody came."] * 13
    john = '"Yes," said John Dash. John Dash sat down, and John Dash rose. "No," said John Dash.'
    alone = '"Who?" said John. John laughed.'
    story = told("They spoke of John Smith.", john, alone, *dull, alone, *dull, alone)
    assert "John" in named(story, "John Dash").aliases


def test_a_title_of_many_realms_is_nobody_s() -> None:
    kings = "The King of Spain, the King of Poland, the King of Moab and the King of Sweden met in Venice. "
    story = told(kings + '"Well," said the King. The King sat. Then another King rose, and the King left.')
    assert "King" not in {name for entity in story.entities for name in (entity.name, *entity.aliases)}


def test_a_title_of_many_realms_is_his_whose_realm_is_named_most() -> None:
    kings = "The King of Spain met the King of Poland and the King of Moab. The King of Spain bowed. "
    story = told(kings + '"Well," said the King of Spain. "No," said the King. He sat. "Yes," said the King.')
    assert "King" in named(story, "King of Spain").aliases


def test_what_is_counted_is_a_kind_and_nobody() -> None:
    story = told(
        "He had two Andalusian horses. They saw three Andalusian horses and one Andalusian mule. "
        '"Ride," said Orla. Orla rode. They were Andalusian too.'
    )
    assert names(story) == {"Orla"}


def test_a_surname_stays_one_though_a_family_is_counted() -> None:
    story = told(
        '"He is a Shepherd," said Buck. "A Shepherd shot him, and every Shepherd knows," said Buck. '
        '"I am," said Harney Shepherd. Harney Shepherd ran.'
    )
    assert "Harney Shepherd" in names(story)


def test_a_word_that_hardly_stands_without_a_possessive_is_one_name_with_it() -> None:
    story = told(
        "She lived in Edgar's Buildings. They walked from Edgar's Buildings to Edgar's Buildings. "
        '"Here," said Isabel. "In Edgar\'s Buildings," said Isabel.'
    )
    assert names(story) == {"Edgar's Buildings", "Isabel"}
    assert named(story, "Edgar's Buildings").kind == "location"


def test_a_namesake_of_one_chapter_is_not_the_hero_though_the_hero_is_often_near() -> None:
    home = ['"Well," said Jim. He laughed. Jim went out, and Jim came back.'] * 130
    robbers = '"Jim Turner, you shall hang," said Bill. "No," said Jim Turner. He shook.'
    titled = '"Mister Jim!" cried Bill.'
    story = told(*home[:60], robbers, titled, *home[60:])
    assert named(story, "Jim Turner") is not named(story, "Jim")


def test_a_title_at_the_end_of_a_name_is_no_surname() -> None:
    story = told(
        '"No," said Captain Orme. "Yes," said Captain Teague. He was made a Post Captain. '
        '"Hush," said the Captain. Then the Captain laughed, and a third Captain laughed too.'
    )
    assert {"Captain Orme", "Captain Teague"} <= names(story)
    assert "Captain" not in {name for entity in story.entities for name in (entity.name, *entity.aliases)}


def test_a_surname_that_is_a_title_too_is_somebody_s() -> None:
    story = told('"No," said Mr. Bishop. He sat. Mr. Tom Bishop rose. "Yes," said Bishop. He laughed at Ann.')
    assert "Bishop" in named(story, "Mr. Bishop").aliases


def test_a_word_of_kinship_before_a_name_shows_a_person() -> None:
    story = told("He wrote to his cousin Brenna. Nobody answered. It rained on Brenna, and it snowed.")
    assert {entity.name: entity.kind for entity in story.entities} == {"Brenna": "character"}
    assert names(told("He wrote to Brenna. Nobody answered. It rained on Brenna, and it snowed.")) == set()


def ties(story: Story) -> set[tuple[str, str, str]]:
    stated = [tie for tie in story.ties if tie.type in TIES]
    return {(story.entities[tie.source].name, tie.type, story.entities[tie.target].name) for tie in stated}


def test_his_sister_is_the_sister_of_the_man_before_her() -> None:
    story = told(
        '"Well," said Mr. Hart. Mr. Hart loved his sister Rosa. "Oh," said Rosa. Mrs. Lane looked at his brother '
        'Ned. "Hm," said Ned. "I," said Mrs. Lane, whose daughter Brenna was ill. "Me," said Brenna.'
    )
    assert ties(story) == {("Mr. Hart", "sibling", "Rosa"), ("Mrs. Lane", "parent", "Brenna")}


def test_a_list_and_another_clause_state_no_kinship() -> None:
    story = told(
        '"Well," said Mr. Hart. Mr. Hart, his son, Emma and the dog came. "Oh," said Emma. Mr. Hart merely bowed; '
        'but his friend Mr. Lane spoke. "I," said Mr. Lane.'
    )
    assert ties(story) == set()


def test_a_house_that_one_is_of_is_a_group() -> None:
    story = told('"I," said Godric. Godric of the House of Marr rode in. "Ride," said Ann of the House of Marr.')
    assert ("Godric", "member", "House of Marr") in ties(story)


def test_the_only_woman_of_a_family_is_its_mrs_though_others_may_be_anybody() -> None:
    story = told(
        '"Yes," said Edna Pont. She rose. "Edna," said Mrs. Lane, "come." Edna came. She wept. Mrs. Pont slept. '
        '"No," said Mrs. Pont. "Mrs. Pont!" cried Ann. She sat. They spoke of Leander Pont.'
    )
    assert named(story, "Mrs. Pont") is named(story, "Edna Pont")


def test_a_miss_and_a_mrs_of_one_surname_are_two_and_the_given_name_is_the_miss_s() -> None:
    story = told(
        '"Dear," said Mrs. Vale. Mrs. Vale wept. "Mrs. Vale!" cried Tom. "Sybil," said Tom. Sybil Vale laughed. '
        'She sang. "Miss Vale," said Tom. Sybil danced.'
    )
    assert named(story, "Miss Vale") is named(story, "Sybil Vale")
    assert named(story, "Mrs. Vale") is not named(story, "Sybil Vale")


def test_a_womans_given_name_behind_mrs_is_hers() -> None:
    story = told(
        '"So," said Mrs. Rachel. "Well," said Mrs. Rachel. Mrs. Rachel Lind sat. "Hm," said Mrs. Lind. ' * 2
    )
    assert named(story, "Mrs. Rachel") is named(story, "Mrs. Lind") is named(story, "Mrs. Rachel Lind")


def test_a_lady_may_be_an_aunt() -> None:
    story = told('"Sit," said Lady Agatha. Lady Agatha smiled. "Aunt Agatha," said Tom. Aunt Agatha rang.')
    assert named(story, "Lady Agatha") is named(story, "Aunt Agatha")


def test_a_lord_is_called_by_a_short_name_that_stands_only_where_he_does() -> None:
    scene = (
        '"Art," said Lord Henry. "Oh, Harry!" cried Basil. Lord Henry smiled. He smoked. "Harry, no," said Basil. '
    )
    story = told(scene, scene + "Lord Henry Watt rose.", scene)
    assert named(story, "Harry") is named(story, "Lord Henry")
    apart = told(
        scene.replace("Harry", "Tom"), *(['"Hm," said Harry to Basil. He sat. '] * 20), "Lord Henry Watt came."
    )
    assert named(apart, "Harry") is not named(apart, "Lord Henry")
