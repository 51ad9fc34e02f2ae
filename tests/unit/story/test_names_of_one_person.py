"""Names that share no word and are one person's: a wife's, a narrator's, a role."""

from weft.story import Entity, Prose, Story, extract_story


def told(*texts: str) -> Story:
    return extract_story([Prose(f"book:{number}", text, number) for number, text in enumerate(texts, start=1)])


def named(story: Story, name: str) -> Entity:
    return next(each for each in story.entities if name in (each.name, *each.aliases))


_COURTSHIP = (
    '"Good day," said Dorothea. She smiled. Mr. Casaubon bowed to Dorothea.\n\n'
    "Dorothea was engaged to Mr. Casaubon. She told Celia.\n\nDorothea married Mr. Casaubon in May."
)
_MARRIED_LIFE = (
    '"Good evening, Mrs. Casaubon," said Will. She rose.\n\nMrs. Casaubon was at home.\n\n'
    'Dorothea thought of her husband. Mr. Casaubon slept.\n\n"Is Mrs. Casaubon here?" asked Will.'
)


def test_a_woman_who_marries_in_the_book_is_also_called_by_her_husbands_name() -> None:
    story = told(_COURTSHIP, _MARRIED_LIFE)
    assert "Mrs. Casaubon" in named(story, "Dorothea").aliases


def test_a_mother_in_law_is_not_the_woman_who_takes_her_name() -> None:
    mother = 'Mrs. Casaubon came in. "Sit down," said Mrs. Casaubon. She was old. Mrs. Casaubon frowned.'
    story = told(mother, mother, _COURTSHIP)
    assert "Mrs. Casaubon" not in named(story, "Dorothea").aliases


def test_two_ladies_of_one_surname_and_sentence_are_two() -> None:
    both = "\n\nMrs. Casaubon kissed Dorothea, and Dorothea thanked Mrs. Casaubon."
    story = told(_COURTSHIP + both * 4, _MARRIED_LIFE)
    assert "Mrs. Casaubon" not in named(story, "Dorothea").aliases


def _say(name: str) -> str:
    talk = (
        '"Come here, {0}," said Herbert.\n\n"I am coming," said I.\n\n"Sit down, {0}," said Herbert. He sat.\n\n'
    )
    return talk.format(name)


def test_a_narrator_is_called_by_all_names_by_which_others_speak_to_him() -> None:
    story = told(_say("Pip") * 4 + _say("Handel") * 3)
    assert {"Pip", "Handel"} <= {named(story, "Pip").name, *named(story, "Pip").aliases}


def test_somebody_whom_the_narrator_names_is_not_the_narrator() -> None:
    story = told(_say("Pip") * 4 + _say("Biddy") * 3 + "Biddy came in. I looked at Biddy. Biddy smiled. " * 3)
    assert "Biddy" not in named(story, "Pip").aliases


def test_where_nobody_says_i_no_name_is_the_narrators() -> None:
    talk = '"Come here, {}," said Herbert.\n\n"I am coming," said she.\n\n'
    story = told(talk.format("Pip") * 6 + talk.format("Handel") * 6)
    assert not [each for each in story.entities if {"Pip", "Handel"} <= {each.name, *each.aliases}]


def test_who_is_only_known_by_a_role_has_the_article() -> None:
    story = told('"Have some," said the Hatter. The Hatter sat down. He poured. "More," said the Hatter. ' * 3)
    assert [each.name for each in story.entities] == ["The Hatter"]
    assert story.entities[0].aliases == ("Hatter",)


def test_a_couple_named_in_the_plural_is_nobody() -> None:
    story = told(
        'Sam Clark laughed. "Come," said Sam Clark. The Sam Clarks gave a party. Sam went to bed. "No," said Sam.'
    )
    assert [each.name for each in story.entities] == ["Sam Clark"]


def test_a_contraction_is_no_name() -> None:
    story = told(
        "“I’m late,” said Ann. “I’m sorry. Let’s go, Bob. I’m Bob’s aunt,” said Ann. She ran. “I’m off!” " * 2
    )
    assert {each.name for each in story.entities} == {"Ann", "Bob"}
