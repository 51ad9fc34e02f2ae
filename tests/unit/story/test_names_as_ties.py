"""Ties that names alone tell: couples by their titles, households, and siblings of siblings."""

from weft.story import Prose, extract_story


def ties(*texts: str) -> set[tuple[str, str, str]]:
    story = extract_story([Prose(f"book:{number}", text, number) for number, text in enumerate(texts, start=1)])
    return {
        (tie.type, story.entities[tie.source].name, story.entities[tie.target].name)
        for tie in story.ties
        if tie.type not in ("co_occurs", "speaks_with")
    }


def speeches(*names: str) -> str:
    return " ".join(f'"Well," said {name}. {name} sat down and {name} rose again.' for name in names) + "\n\n"


def test_the_only_mr_and_the_only_mrs_of_a_name_are_a_couple() -> None:
    assert ties(speeches("Mr. Turton", "Mrs. Turton", "Ann Holt")) == {("spouse", "Mr. Turton", "Mrs. Turton")}


def test_a_man_who_goes_by_his_surname_is_the_husband_of_its_only_mrs() -> None:
    text = speeches("Turton", "Mrs. Turton") + '"Mr. Turton!" cried Ann Holt. Ann Holt left. ' + speeches("Turton")
    assert ("spouse", "Turton", "Mrs. Turton") in {
        (kind, *sorted(pair, reverse=True)) for kind, *pair in ties(text)
    }


def test_sir_and_lady_of_one_name_are_a_couple() -> None:
    text = speeches("Sir Thomas Bertram", "Sir Thomas", "Sir Thomas", "Lady Bertram", "Lady Bertram")
    assert {kind for kind, *_ in ties(text)} == {"spouse"}


def test_of_two_men_and_one_mrs_of_a_name_none_is_her_husband_by_it() -> None:
    assert ties(speeches("Mr. Robert Ferrars", "Mr. Edward Ferrars", "Mrs. Ferrars")) == set()


def test_two_people_of_one_name_who_are_named_once_or_twice_are_no_couple() -> None:
    assert ties('"Hush," said Mr. Harris. "Why?" said Mrs. Harris. ' + speeches("Ann Holt", "Bram Vane")) == set()


def test_siblings_of_one_person_are_siblings() -> None:
    text = speeches("Ann Holt", "Bram Vane", "Kate Rook")
    stated = "Ann Holt was the sister of Bram Vane. Kate Rook was the sister of Bram Vane.\n\n"
    assert ("sibling", "Ann Holt", "Kate Rook") in ties(text + stated + text)


def test_nobody_is_born_to_the_name_that_she_has_by_marriage() -> None:
    text = speeches("Edna", "Mrs. Potter", "Edna", "Mr. Potter", "Edna Potter", "Edna", "Mr. Potter") * 4
    assert {kind for kind, *_ in ties(text + "Edna Potter and her husband sat there.")} <= {"spouse"}


def test_a_wife_by_her_husbands_full_name_is_his() -> None:
    text = speeches("Mrs. John Vane", "John Vane", "Robert Vane", "Mrs. John Vane", "John Vane")
    assert ("spouse", "John Vane", "Mrs. John Vane") in {
        (kind, *sorted(pair)) for kind, *pair in ties(text) if kind == "spouse"
    }


def test_a_mr_is_no_father_where_a_sir_of_his_name_is() -> None:
    text = "".join(
        f'"Well," said Sir Walter Elling. "Oh," said Anne Elling. Anne saw Mr. Elling. Mr. Elling {word} Anne. '
        for word in ("saw", "met", "knew", "liked", "heard", "left", "found")
    )
    assert not [pair for kind, *pair in ties(text) if kind == "parent" and "Mr. Elling" in pair]


def test_a_marriage_is_read_where_the_wife_is_a_pronoun() -> None:
    text = speeches("Ann Holt", "Bram Vane") + "Ann Holt looked out. She had married Bram Vane in spring.\n\n"
    doubted = speeches("Ann Holt", "Bram Vane") + "Ann Holt looked out. Perhaps she had married Bram Vane.\n\n"
    assert ("spouse", "Ann Holt", "Bram Vane") in ties(text * 3)
    assert ties(doubted * 3) == set()


def test_of_two_marriages_the_last_is_true_in_the_end() -> None:
    text = speeches("Ann Holt", "Bram Vane", "Kate Rook") + "Bram Vane had married Kate Rook.\n\n"
    assert ties(text, "At last Ann Holt married Bram Vane.") in (
        {("spouse", "Ann Holt", "Bram Vane")},
        {("spouse", "Bram Vane", "Ann Holt")},
    )


def test_two_of_one_surname_who_often_meet_and_bear_no_title_are_siblings() -> None:
    text = "".join(
        f"Matthew Cuth {word} Marilla Cuth. " for word in ("saw", "met", "heard", "left", "found", "sought")
    )
    assert ties(speeches("Matthew Cuth", "Marilla Cuth") + text) == {("sibling", "Marilla Cuth", "Matthew Cuth")}


def test_somebody_is_whose_kin_the_sentence_says_by_a_pronoun() -> None:
    text = speeches("Anna Hart", "Jake Hart", "Anna Hart") + 'Anna Hart sat down. "Jake?" she said.\n\n'
    said = "Jake Hart was her brother, two years younger.\n\n"
    doubted = "Perhaps Jake Hart was her brother, too.\n\n"
    assert {kind for kind, *_ in ties(text + f"Anna Hart sat; {said}" * 2)} == {"sibling"}
    assert ties(text + f"Anna Hart sat. {doubted}" * 2) == set()
