"""Names as long novels use them: ships and saints, titles that many bear, families, words that are no names."""

from weft.story import Entity, Prose, Story, extract_story


def told(*texts: str) -> Story:
    return extract_story([Prose(f"book:{number}", text, number) for number, text in enumerate(texts, start=1)])


def kinds(story: Story) -> dict[str, str]:
    return {entity.name: entity.kind for entity in story.entities}


def named(story: Story, name: str) -> Entity:
    return next(each for each in story.entities if name in (each.name, *each.aliases))


def test_what_one_goes_on_board_of_is_no_person() -> None:
    story = told(
        "He slept on board the Halcyon. The mate of the Halcyon said nothing. All came aboard the Halcyon, and "
        "the Halcyon's bell rang. She was fast, the Halcyon, and we loved her."
    )
    assert kinds(story)["Halcyon"] == "object"


def test_a_title_that_several_bear_names_nobody_by_itself() -> None:
    story = told(
        'Captain Orme and Captain Teague met. "No," said Captain Orme. "Yes," said Captain Teague. '
        '"Hush," said the Captain. Then the Captain laughed, and a third Captain laughed too.'
    )
    assert kinds(story) == {"Captain Orme": "character", "Captain Teague": "character"}


def test_a_title_that_one_person_bears_is_that_person() -> None:
    story = told('"No," said Captain Orme. The Captain laughed. He shut the door. "Hush," said the Captain.')
    assert kinds(story) == {"Captain Orme": "character"}
    assert named(story, "Captain").aliases == ("Captain",)


def test_a_saint_is_not_another_of_that_name() -> None:
    story = told(
        'George Hale came in. "Well?" said George. They swore by St. George, and St. George heard it. '
        '"Who?" said George Hale. "St. George," said Ann.'
    )
    assert "St. George" not in named(story, "George Hale").aliases


def test_a_given_name_that_is_a_saint_s_goes_with_its_surname() -> None:
    story = told(
        '"I saw St. John Rivers," said Ann. "St. John is good," said John Hale. St. John came himself. '
        '"I am here," said St. John. "So am I," said John Hale. John laughed.'
    )
    mine = named(story, "St. John")
    assert {mine.name, *mine.aliases} == {"St. John", "St. John Rivers"}


def test_a_king_is_not_the_boy_with_his_short_name() -> None:
    story = told('"Sing," said Pip. Pip sang of King Philip. "More!" cried Pip. He thought of King Philip again.')
    assert "King Philip" not in named(story, "Pip").aliases


def test_a_family_is_not_one_of_its_members() -> None:
    story = told(
        'Mr. Lorne spoke to John Lorne. "Yes," said Mr. Lorne. The two Mr. Lornes walked home. Lornes are '
        "proud. She left early for the John Lornes. Mr. Lorne said good night."
    )
    assert not [name for name in kinds(story) if name.endswith("Lornes")]


def test_a_word_that_mostly_goes_on_with_another_capital_is_no_name() -> None:
    whale = "We saw the Gray Whale raise his head. Nobody fears the Gray Whale as he fears us. "
    story = told(whale * 3 + "A whale is a whale, and no whale, gray or not, fears another whale. " * 3)
    assert "Gray" not in kinds(story)


def test_capes_and_countries_are_places_however_they_are_mentioned() -> None:
    story = told(
        "Beyond Cape Horn the wind rose. Cape Horn was behind us. Then England's ships came, and England won. "
        "England was glad; England sang."
    )
    assert kinds(story) == {"Cape Horn": "location", "England": "location"}


def test_a_place_that_is_mostly_spoken_of_is_one_when_nobody_of_its_name_acts() -> None:
    spoken = "The old men of Marrow know him. All Marrow was glad that he came. A Marrow man is proud. "
    story = told(spoken * 6 + "She lived in Marrow. They met in Marrow. He died in Marrow.")
    assert kinds(story)["Marrow"] == "location"


def test_a_brother_and_sister_are_not_a_couple() -> None:
    story = told('Mr. and Miss Crane came. "Come in," said Mr. Crane. "Thanks," said Miss Crane.')
    assert not [tie for tie in story.ties if tie.type == "spouse"]


FAMILY = (
    '"No," said Charles Reed. Charles Reed left. "Why?" said Ann of Charles Reed. Ann saw Charles Reed. '
    "Charles Reed came back, and Charles Reed sat down. "
    "Charles Musk was at home. Charles Musk slept. Mr. and Mrs. Musk saw Charles Musk. Charles Musk woke. "
    "Then Charles Musk ate. Mrs. Musk scolded Charles. Mr. and Mrs. Musk loved Charles. "
    "Mrs. Musk sent Charles out. Mr. and Mrs. Musk looked for Charles. Mrs. Charles Musk wept. "
    "Mr. and Mrs. Musk came in. "
    '"Hush," said Mrs. Charles. Mrs. Charles Musk was glad of Charles, and Mrs. Musk called Charles. '
)


def test_a_given_name_alone_is_his_whose_family_is_around_not_his_who_is_named_in_full() -> None:
    story = told(FAMILY)
    assert "Charles" in named(story, "Charles Musk").aliases
    assert named(story, "Charles Reed").aliases == ()


def test_a_father_is_not_the_son_whose_wife_goes_by_his_given_name() -> None:
    story = told(FAMILY)
    assert named(story, "Mr. Musk") is not named(story, "Charles Musk")
    assert named(story, "Mrs. Charles") is named(story, "Mrs. Charles Musk")


def test_a_mother_is_not_the_wife_of_her_son_however_short_that_is_called() -> None:
    story = told(FAMILY + '"Well," said Mrs. Charles. ' * 12)
    assert named(story, "Mrs. Musk") is not named(story, "Mrs. Charles Musk")


def test_a_word_made_of_a_name_is_nobody() -> None:
    story = told('"Emma Stone!" said Ann. "I heard her Emma Stone-ing you," said Emma Stone. "It was Ann-like."')
    assert {entity.name for entity in story.entities} == {"Emma Stone", "Ann"}


def test_a_namesake_of_one_late_chapter_is_not_the_one_of_all_the_others() -> None:
    home = ['"Well," said Jim. He laughed. Jim went out, and Jim came back.'] * 300
    robbers = '"Jim Turner, you shall hang," said Bill. "No," said Jim Turner. He shook.'
    story = told(*home[:60], robbers, *home)
    assert named(story, "Jim").aliases == ()
    assert named(story, "Jim Turner") is not named(story, "Jim")


def test_a_short_name_far_from_the_long_one_is_another_s() -> None:
    dull = ["The rain fell on the river and nobody came."] * 30
    first = '"Hang him," said Bill. He laughed. Bill was drunk, and Bill knew it. "I am," said Bill.'
    last = '"Peace," said William Hale. William was kind. "I am," said William. William Hale sat down.'
    story = told(first, *dull, last)
    assert "Bill" not in named(story, "William Hale").aliases
    assert "Bill" in named(told(first, last), "William Hale").aliases


def test_an_aunt_by_a_short_name_is_nobody_with_the_long_one() -> None:
    story = told(
        '"Come," said Aunt Polly. Mary Hale came. "Here," said Mary. Aunt Polly smiled. "Oh, Polly!" said Ann. '
        '"Hush," said Aunt Polly to Mary. "Yes," said Mary Hale.'
    )
    assert {named(story, "Aunt Polly").name, *named(story, "Aunt Polly").aliases} == {"Aunt Polly", "Polly"}


def test_a_full_name_may_begin_with_the_short_one() -> None:
    story = told(
        '"Hello," said Huckleberry Finn. "Hello," said Huck. Huck Finn laughed. "Huckleberry," said Ann, "no." '
        '"Yes," said Huck. He left. "Where is Huckleberry?" said Ann.'
    )
    mine = named(story, "Huck")
    assert {"Huckleberry Finn", "Huckleberry", "Huck", "Huck Finn"} == {mine.name, *mine.aliases}


def test_whoever_is_the_only_one_of_a_family_is_meant_by_title_and_surname() -> None:
    story = told(
        '"I came," said Mr. Jabez Wilson. Mr. Wilson sat down. "Well," said Mr. Jabez Wilson. '
        '"So," said Mr. Wilson.'
    )
    assert named(story, "Mr. Wilson") is named(story, "Mr. Jabez Wilson")


def test_a_saint_behind_a_title_or_a_given_name_is_a_surname() -> None:
    story = told(
        '"Yes," said Edward St. Clair. Mr. St. Clair rose. "No," said Mrs. St. Clair. "Why?" said Edward. '
        "Mrs. St. Clair wept. She loved Edward St. Clair."
    )
    assert {"Mr. St. Clair", "Edward"} <= {*named(story, "Edward St. Clair").aliases}
    assert named(story, "Mrs. St. Clair") is not named(story, "Edward St. Clair")


def test_a_person_whose_name_ends_like_a_place_is_no_place() -> None:
    story = told('"Oh," thought Alfred Temple. Alfred Temple laughed. He met Ann. "Hm," said Alfred.')
    assert kinds(story)["Alfred Temple"] == "character"


def test_a_surname_one_goes_to_is_no_place_where_somebody_bears_it() -> None:
    story = told('He went to Cody, to Cody who was rich. "Come," said Dan Cody. He owed it to Cody.')
    assert named(story, "Cody") is named(story, "Dan Cody")


def test_a_capital_before_a_name_belongs_to_it() -> None:
    road = "a long road, long hours, and no island near for long. "
    story = told(f"We drove down Long Island, {road}They lived on Long Island, {road}She left Long Island.")
    assert kinds(story) == {"Long Island": "location"}


def test_peoples_sounds_and_compounds_of_everyday_words_are_nobody() -> None:
    story = told(
        "He sailed from Nantucket. In Nantucket they knew him: the Nantucketer, they said. The Nantucketer slept, "
        "and the Spaniard slept, and the Spaniard snored. He drank the Pain-killer; the Pain-killer helped his "
        "pain, that killer of a pain. He went to the South, and the South was warm. And s'I, no, and s'I, well."
    )
    assert kinds(story) == {"Nantucket": "location"}


def test_a_title_that_two_bear_once_is_still_somebody_called_by_it_alone() -> None:
    alone = '"Go," said the Baron. The Baron frowned. He left. "Stay," said the Baron. ' * 6
    story = told(alone + "He knew Baron Thun and Baron Rahl.")
    assert kinds(story)["The Baron"] == "character"


def test_grace_is_somebody_and_her_grace_is_nobody() -> None:
    story = told(
        '"Come," said Grace. Grace Poole laughed. "No," said Grace. They said grace. "Your Grace," said Tom, "is '
        'good." His Grace said nothing. "Yes," said Tom.'
    )
    assert len(named(story, "Grace").mentions) == 3


def test_whoever_only_opens_sentences_is_found_by_what_he_does() -> None:
    story = told(
        "Marrow sold a horse. It was cold. Marrow walked home. Marrow sat down. Meanwhile the rain fell. Marrow "
        "opened the gate. Meanwhile the wind rose. Meanwhile it was dark. Meanwhile they slept. Marrow was old."
    )
    assert set(kinds(story)) == {"Marrow"}


def test_small_words_with_a_capital_are_no_part_of_a_name() -> None:
    story = told("He read The Tribune daily. In The Tribune he found it, and The Tribune was right. He read on.")
    assert not [name for name in kinds(story) if name.startswith("The ")]


def test_somebody_may_go_by_what_others_are_or_only_exclaim() -> None:
    home = '"Come," said Mother. "No, Mother," said Ann. His mother was ill. "Oh," Mother said. '
    assert len(named(told(home * 4), "Mother").mentions) == 12
    bear = '"Bother," said Pooh. "Pooh, pooh," said Ann. "Hm," said Pooh to Ann. '
    assert kinds(told(bear * 3))["Pooh"] == "character"


def test_what_is_only_exclaimed_or_stands_before_a_name_is_nobody() -> None:
    story = told('"Pooh," said Ann. "Pooh! Mother," said Tom. "Hm," said Aunt Jane. ' * 9)
    assert set(kinds(story)) == {"Ann", "Tom", "Aunt Jane"}


def test_a_namesake_whose_family_is_never_around_is_not_the_one_of_all_the_other_chapters() -> None:
    home = ['"Hush," said Mary. She sang to Mrs. Lane. Mary laughed, and Mary went out.'] * 120
    late = '"Mary King is gone," said Tom. "Miss King is rich." Mary King left. "Miss King!" "Miss King," said he.'
    story = told(*home, late, *home[:5])
    assert named(story, "Mary").aliases == ()
    assert named(story, "Miss King") is named(story, "Mary King")


def test_a_given_name_that_one_goes_to_once_is_no_place() -> None:
    story = told(
        "He came to Rupert. It was for Rupert, he said. He gave it to Rupert. Nobody else came near Rupert."
    )
    assert kinds(story) == {"Rupert": "character"}


def test_an_avenue_is_a_place_and_peoples_parties_and_courtesies_are_nobody() -> None:
    story = told(
        "They walked down Fifth Avenue. The Cossack slept near Fifth Avenue, and the Tories drank. A Tory laughed "
        'at him. "Yes, Monsieur," said Ann. "No, Monsieur," said Ann. "Oh, Madame!" On the Sabbath they slept.'
    )
    assert kinds(story) == {"Fifth Avenue": "location", "Ann": "character"}


def test_words_made_of_peoples_and_farewells_are_nobody() -> None:
    story = told(
        '"Good-bye," said Ann. "Good-bye, dear." In Sino-Japanese days, a Sino-Japanese treaty came. "Good-bye!" '
        "said Ann."
    )
    assert set(kinds(story)) == {"Ann"}
