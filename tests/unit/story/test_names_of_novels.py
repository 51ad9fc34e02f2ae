"""Names as long novels use them: ships and saints, titles that many bear, families, words that are no names."""

from weft.story import Entity, Prose, Story, tell


def told(*texts: str) -> Story:
    return tell([Prose(f"book:{number}", text, number) for number, text in enumerate(texts, start=1)])


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
    assert kinds(story) == {"Captain": "character"}
    assert named(story, "Captain").aliases == ("Captain Orme",)


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
