"""Names as they come in books from other countries: titles, particles, initials, patronymics."""

import pytest

from weft.story import Entity, Prose, Story, extract_story


def told(*texts: str) -> Story:
    return extract_story([Prose(f"book:{number}", text, number) for number, text in enumerate(texts, start=1)])


def named(story: Story, name: str) -> Entity:
    return next(each for each in story.entities if name in (each.name, *each.aliases))


def all_names(story: Story, name: str) -> set[str]:
    mine = named(story, name)
    return {mine.name, *mine.aliases}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            '"Bon," said M. Brulard. Monsieur Brulard left. "Brulard!" cried Ann. "No," said M. Brulard.',
            {"Brulard", "M. Brulard", "Monsieur Brulard"},
        ),
        (
            '"Ah," said Mlle. Orsel. Mademoiselle Orsel played. She sang. "Play," said Ann to Mlle. Orsel.',
            {"Mlle. Orsel", "Mademoiselle Orsel"},
        ),
        (
            '"So," said Capt. Rudge. "Sit," said Captain Rudge. "Rudge!" cried Ann. Cap\'n Rudge sat down.',
            {"Rudge", "Capt. Rudge", "Captain Rudge", "Cap'n Rudge"},
        ),
        (
            '"I," said Signora Tosi. Signora Tosi wept. "Here," said Beatrice Tosi. "Beatrice," said Ann.',
            {"Beatrice Tosi", "Beatrice", "Signora Tosi"},
        ),
    ],
)
def test_a_title_is_the_same_however_it_is_written_or_in_what_language(text: str, names: set[str]) -> None:
    assert all_names(told(text), sorted(names)[0]) == names


def test_madame_may_be_a_countess_and_mrs_is_none() -> None:
    text = (
        '"Dear," said Ellen Marsky. Ellen laughed. "Countess Marsky," said he. {} Marsky rose. "No," said Ellen.'
    )
    assert "Madame Marsky" in all_names(told(text.format("Madame")), "Ellen")
    assert "Mrs. Marsky" not in all_names(told(text.format("Mrs.")), "Ellen")


def test_husband_and_wife_stay_two_in_every_language() -> None:
    story = told('"Ja," said Herr Lindau. Herr Lindau sat. "Nein," said Frau Lindau. Frau Lindau rose. She left.')
    assert named(story, "Herr Lindau") is not named(story, "Frau Lindau")


def test_a_surname_is_the_same_without_its_particle() -> None:
    story = told(
        '"Come," said Baron von Rahden. Rahden bowed. "Rahden," said Ann, "sit." He sat. "Well," said Rahden.'
    )
    assert all_names(story, "Rahden") == {"Rahden", "Baron von Rahden"}
    assert "Vicomte de Brissac" in all_names(
        told(
            '"I," said Raoul de Brissac. The Vicomte de Brissac bowed. "Raoul," said Ann. He left. "So," said he.'
        ),
        "Raoul",
    )


def test_initials_are_no_given_name_and_are_printed_with_their_stops() -> None:
    story = told('"See," said Dr. T. J. Eckhart. Doctor Eckhart stared. "Eckhart!" cried Ann. Dr. Eckhart left.')
    assert all_names(story, "Eckhart") == {"Eckhart", "Dr. Eckhart", "Doctor Eckhart", "Dr. T. J. Eckhart"}
    story = told('"See," said J. Ward Mooring. Mr. Mooring left. "Mooring," said Ann. Ward Mooring came back.')
    assert {"J. Ward Mooring", "Mr. Mooring", "Ward Mooring"} <= all_names(story, "Mooring")


def test_a_pet_name_of_a_short_name_is_the_same_person_s() -> None:
    story = told(
        '"Hello," said Huckleberry Finn. "Hello," said Huck Finn. "Hucky," said Ann. "Huck!" cried Ann. Huck ran. '
        '"Hucky, come," said Ann. He came.'
    )
    assert "Hucky" in all_names(story, "Huck")


KARAVIN = (
    '"No," said Alexey Petrovitch Karavin. Alyosha smiled. "Well," said Alexey Petrovitch. "Ivan!" cried Dmitri '
    'Petrovitch. Ivan Petrovitch laughed. "Mitya," said Ivan, "no." Pyotr Ilyitch Karavin frowned. "Sons," said '
    'Pyotr Ilyitch. Alyosha left. "Alyosha!" said Mitya. Alexey Karavin was a monk. Dmitri Karavin was not.'
)


def test_a_father_s_name_is_no_surname() -> None:
    story = told(KARAVIN)
    assert all_names(story, "Alyosha") == {
        "Alyosha",
        "Alexey Petrovitch",
        "Alexey Karavin",
        "Alexey Petrovitch Karavin",
    }
    assert all_names(story, "Mitya") == {"Mitya", "Dmitri Petrovitch", "Dmitri Karavin"}
    assert all_names(story, "Ivan") == {"Ivan", "Ivan Petrovitch"}
    assert all_names(story, "Pyotr Ilyitch") == {"Pyotr Ilyitch", "Pyotr Ilyitch Karavin"}


def test_namesakes_of_two_fathers_stay_two() -> None:
    story = told(
        '"I," said Ivan Petrovitch. "And I," said Ivan Sergeyevitch. Ivan Petrovitch met Ivan Sergeyevitch.'
    )
    assert named(story, "Ivan Petrovitch") is not named(story, "Ivan Sergeyevitch")


def test_a_surname_may_have_several_particles() -> None:
    story = told(
        '"Ah," said Mr. van der Loon. "Dine with us," said Mr. van der Loon. Mrs. van der Loon came. She ate.'
    )
    assert {named(story, "Mr. van der Loon").name, named(story, "Mrs. van der Loon").name} == {
        "Mr. van der Loon",
        "Mrs. van der Loon",
    }


def test_a_german_article_behind_a_name_is_no_particle() -> None:
    story = told(
        "»Danke«, sagte Greta. Karl gab Greta den Brief. »Gern«, sagte Karl. Er lachte. »Der Brief«, sagte Greta. "
        "Karl sah Peter van den Berg. »Herr van den Berg«, sagte Karl."
    )
    assert all_names(story, "Greta") == {"Greta"}
    assert "Peter van den Berg" in {name for each in story.entities for name in (each.name, *each.aliases)}
