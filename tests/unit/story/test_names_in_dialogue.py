"""Names told apart, or brought together, by who speaks, who is addressed and who answers."""

from weft.story import Correction, Entity, Prose, Story, extract_story
from weft.story.dialogue import find_quotations, read_speeches, split_paragraphs
from weft.story.find_names import find_names


def told(*texts: str, corrections: tuple[Correction, ...] = ()) -> Story:
    proses = [Prose(f"book:{number}", text, number) for number, text in enumerate(texts, start=1)]
    return extract_story(proses, corrections=corrections)


def named(story: Story, name: str) -> Entity:
    return next(each for each in story.entities if name in (each.name, *each.aliases))


def names(story: Story) -> set[str]:
    return {name for entity in story.entities for name in (entity.name, *entity.aliases)}


AUNT = (
    '"Good morning," said Mrs. Munt.\n\nHelen looked up.\n\n"Dear Aunt Juley, do sit down," said Helen.\n\n'
    "Mrs. Munt sat down.\n\n"
)


def test_a_name_by_which_somebody_is_only_spoken_to_is_theirs_who_is_there() -> None:
    story = told(*[AUNT] * 6)
    assert named(story, "Aunt Juley") is named(story, "Mrs. Munt")


def test_a_name_that_the_narrator_uses_too_is_somebody_s_own() -> None:
    story = told(*[AUNT + "Aunt Juley came in and Aunt Juley laughed.\n\n"] * 6)
    assert named(story, "Aunt Juley") is not named(story, "Mrs. Munt")


def test_who_addresses_a_name_does_not_bear_it() -> None:
    scene = '"Well, Kate Marsh?" said Kitty Marsh.\n\n"Well, Kitty Marsh?" said Kate Marsh.\n\n'
    story = told(scene, scene, scene)
    assert named(story, "Kitty Marsh") is not named(story, "Kate Marsh")


def test_a_father_is_not_the_son_whom_the_narrator_calls_by_his_given_name() -> None:
    scene = (
        '"No," said Mr. Grind, the father.\n\n"Yes," said Tom to his father.\n\nThe rain fell.\n\n'
        '"So," said Mr. Grind.\n\n"Indeed," said Tom Grind.\n\n"Oh," said Tom.\n\n'
    )
    story = told(*[scene] * 8)
    assert "Mr. Grind" not in named(story, "Tom").aliases
    assert "Tom Grind" in (named(story, "Tom").name, *named(story, "Tom").aliases)


def test_a_surname_before_another_capital_is_no_given_name() -> None:
    story = told(
        '"No," said Newland Archer. Mr. Archer drank. "Yes," said Mrs. Archer. Archer poured the Archer Madeira. '
        '"Well," said Archer. They liked the Archer Madeira, and Mr. Archer laughed with Mrs. Archer.'
    )
    assert named(story, "Archer") is named(story, "Newland Archer")
    assert not {name for name in names(story) if "Madeira" in name}


def test_a_day_before_a_name_is_no_part_of_it() -> None:
    story = told('"Well," said Anne Bell. Anne sang. They met, and on Monday Anne danced. "Yes," said Anne.')
    assert names(story) == {"Anne", "Anne Bell"}


def test_a_bare_surname_that_two_men_may_bear_is_nobody_s() -> None:
    story = told(
        '"No," said John Dish. "Yes," said Lawrence Dish. John Dish sat, and Lawrence Dish rose. ' * 6
        + "They spoke of Dish. It was Dish again."
    )
    assert "Dish" not in names(story)


def test_a_mister_of_many_pages_is_no_admiral() -> None:
    story = told(
        '"Well," said Mr. Crow. "Yes," said Henry Crow. ' * 6 + '"Avast," said Admiral Crow. Admiral Crow left.'
    )
    assert named(story, "Admiral Crow") is not named(story, "Henry Crow")


def test_a_nickname_that_stands_beside_the_long_name_is_another_woman_s() -> None:
    scene = '"Well," said Margaret Hale. She sat. Margaret met Madge. "Hm," said Madge. She rose. '
    story = told(scene, scene, scene)
    assert named(story, "Madge") is not named(story, "Margaret Hale")


def test_names_are_split_off_dropped_and_taken_back() -> None:
    text = (
        '"No," said Tom Grind. "Yes," said Tommy Grind. Tom sat. Tommy rose. "So," said Tom Grind. '
        '"Oh," said Tommy.'
    )
    found = told(text)
    assert named(found, "Tommy") is named(found, "Tom")
    split = told(text, corrections=(Correction("split", ("Tom Grind", "Tommy", "Tommy Grind")),))
    assert named(split, "Tommy").aliases == ("Tommy Grind",)
    assert named(split, "Tommy") is not named(split, "Tom")
    dropped = told(text, corrections=(Correction("drop-alias", ("Tom Grind", "Tommy")),))
    assert "Tommy" not in names(dropped) and "Tommy Grind" in names(dropped)


def test_speeches_have_their_speaker_and_whom_they_address() -> None:
    text = (
        '"My dear Ann, come," said Bram Holt.\n\nAnn Holt came.\n\n"Here I am, Bram!" cried Ann Holt, "at last."'
    )
    mentions = find_names([Prose("a", text, 1)]).mentions
    _, speeches = read_speeches(0, text, mentions)
    assert [(each.speaker.names if each.speaker else None) for each in speeches] == [
        ("Bram", "Holt"),
        ("Ann", "Holt"),
    ]
    assert [[address.names for address in each.addressed] for each in speeches] == [[("Ann",)], [("Bram",)]]


def test_quotations_are_found_in_every_common_style() -> None:
    for text, quoted in (
        ('He said, "Come in," and sat. "Now."', ["Come in,", "Now."]),
        ("“Come in,” he said.", ["Come in,"]),
        ("‘It’s late,’ she said. ‘Go.’", ["It’s late,", "Go."]),
        ("— Entrez, dit-elle.", ["Entrez, dit-elle."]),
        ("«Komm», sagte er.", ["Komm"]),
        ("Nobody spoke.", []),
    ):
        assert [text[start:end] for start, end in find_quotations(text, 0, len(text))] == quoted


def test_paragraphs_are_parted_by_blank_lines_or_else_by_lines() -> None:
    assert list(split_paragraphs("a\nb\n\nc")) == [(0, 3), (5, 6)]
    assert list(split_paragraphs("a\nb")) == [(0, 1), (2, 3)]
