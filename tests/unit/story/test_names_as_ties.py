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
